"""Certification against nothing but its forward passes: what the engine itself costs.

Ratios are in processor time on the CPU, where other processes disturb it less, and in
wall time on a GPU. Limits hold under ``run.py``: with memory given back between calls,
chance decides.
"""

import time

import numpy as np
import pytest
import torch
from torch import nn

from rsbounds.certify import certify
from rsbounds.sampling.streams import Block
from rsbounds.schemes import gaussian
from rsbounds.torch import TorchSampler

SIGMA = 0.5


def small_cnn() -> nn.Module:
    """For 28 x 28 digits."""
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * 49, 10)),
    )


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            *(
                nn.Conv2d(inputs, width, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(),
            ),
            nn.Conv2d(width, width, 3, stride, padding=1, bias=False),
            *(nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)),
        )
        self.short: nn.Module = nn.Identity()
        if stride > 1 or inputs != outputs:
            projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.short = nn.Sequential(projection, nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.short(x) + self.body(x))


def resnet50() -> nn.Module:
    """The layers of ResNet-50, for 224 x 224 images; random weights cost the same."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, padding=3, bias=False),
        nn.BatchNorm2d(64),
    ]
    layers += [nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]
    inputs = 64
    for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(depth):
            layers.append(Bottleneck(inputs, width, stride if i == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)
    )


def ratio(
    benchmark, model: nn.Module, x: torch.Tensor, n: int, *, noise: bool, clock
) -> float:
    """Time of certification over that of its forward passes, the best of several of
    each.
    """
    sampler = TorchSampler(model, device=x.device)
    block = sampler.backend.block_size(n, x.numel())
    batch = x + SIGMA * torch.randn((block, *x.shape), device=x.device)
    n0 = block  # selection is one forward pass

    def engine() -> None:
        certify(sampler, x, gaussian(SIGMA), n0=n0, n=n)

    @torch.inference_mode()
    def passes() -> None:
        for _ in range(1 + -(-n // block)):
            model(x + SIGMA * torch.randn_like(batch) if noise else batch)

    times: dict[str, list[float]] = {"engine": [], "passes": []}
    for _ in range(7):
        for name, call in (("engine", engine), ("passes", passes)):
            start = clock()
            call()
            times[name].append(clock() - start)
    found = min(times["engine"]) / min(times["passes"])
    benchmark.extra_info["over_forward_passes"] = found
    benchmark.pedantic(engine, rounds=3)
    return found


@pytest.mark.benchmark(group="certify, n = 10,000, small CNN, d = 784")
@pytest.mark.parametrize("noise", [True, False], ids=["randn", "resident"])
def test_small_cnn_on_the_cpu(benchmark, noise):
    torch.set_num_threads(1)
    x, clock = torch.rand(1, 28, 28), time.process_time
    found = ratio(benchmark, small_cnn(), x, 10_000, noise=noise, clock=clock)
    assert found <= 1.10


@pytest.mark.benchmark(group="certify, n = 2,220, ResNet-50, d = 150528")
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("half", [False, True], ids=["float32", "bfloat16"])
def test_resnet50_on_a_gpu(benchmark, half):
    x = torch.rand(3, 224, 224, device="cuda")
    model = resnet50().eval().cuda().to(torch.bfloat16 if half else torch.float32)

    def clock() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    if half:  # the reference casts its batch, as the engine does
        model = nn.Sequential(Cast(), model)
    assert ratio(benchmark, model, x, 2220, noise=False, clock=clock) <= 1.05


class Cast(nn.Module):
    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return batch.bfloat16()


@pytest.mark.benchmark(group="noise for 334 inputs, d = 784")
@pytest.mark.parametrize("sound", [False, True], ids=["float", "sound"])
def test_noise(benchmark, sound):
    from rsbounds.sampling import torch_noise as draw

    x = torch.arange(784) % 256 / 255
    torch.set_num_threads(1)
    function = draw.on_grid if sound else draw.gaussian
    generator = torch.Generator()
    with torch.inference_mode():
        benchmark(function, x, SIGMA, 334, [Block(0, 0)], generator)


def test_memory_does_not_grow_with_n():
    """The largest batch seen is the same at any n."""
    sizes: list[int] = []
    model = small_cnn()
    model.register_forward_pre_hook(lambda _, args: sizes.append(len(args[0])))
    sampler = TorchSampler(model, batch=500)
    for n in (1_000, 20_000):
        sampler(torch.zeros(1, 28, 28), SIGMA, n, np.random.default_rng(0))
    assert max(sizes) <= 334
