"""Certify a network of timm."""

import numpy as np

from rsbounds.cli import main

x = np.random.default_rng(0).random((2, 3, 160, 160), np.float32)
np.savez("data.npz", x=x, y=[0, 1])
words = "certify --model timm:test_resnet --model-args pretrained=False"
words += " --data data.npz --sigma 0.25 --n 20 --out out.tsv"
assert main(words.split()) == 0
