"""Certify a network of torchvision on a folder of pictures."""

from pathlib import Path

import numpy as np
from PIL import Image

from rsbounds.cli import main

rng = np.random.default_rng(0)
for name in ("0", "1"):  # classes of the network
    Path("pictures", name).mkdir(parents=True)
    pixels = rng.integers(0, 256, (80, 60, 3), np.uint8)
    Image.fromarray(pixels).save(Path("pictures", name, "a.png"))
words = "certify --model torchvision:squeezenet1_1 --model-args weights=None"
words += " --data imagefolder:pictures --sigma 0.25 --n 20 --out out.tsv"
assert main(words.split()) == 0
