"""Certify a model in a folder of transformers."""

import numpy as np

from rsbounds.cli import main
from rsbounds.loading.packages import need

# not by import: beside a PyTorch for CPUs alone the index's torchvision can't be loaded
transformers = need("transformers", "this file")
config = transformers.ViTConfig(
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=16,
    image_size=32,
    patch_size=8,
    num_labels=3,
)
transformers.ViTForImageClassification(config).save_pretrained("vit")
transformers.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained("vit")
x = np.random.default_rng(0).random((2, 3, 32, 32), np.float32)
np.savez("data.npz", x=x, y=[0, 1])
words = "certify --model hf:vit --data data.npz --sigma 0.25 --n 20 --out out.tsv"
assert main(words.split()) == 0
