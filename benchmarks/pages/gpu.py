"""Certification on a GPU beside Cohen's program on the same device: writes the page.

python benchmarks/pages/gpu.py docs/benchmarks/gpu.md

It certifies by networks of 28 x 28 and 224 x 224 inputs, in float32, bfloat16 and
compiled, and counts the same samples on the CPU.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from machine import machine
from torch import nn

from rsbounds.certify import certify
from rsbounds.sampling.internal import stream
from rsbounds.sampling.port import block_size
from rsbounds.schemes import gaussian
from rsbounds.torch import TorchSampler

sys.path.insert(0, str(Path(__file__).parents[1] / "cases"))

SIGMA, ALPHA, N0 = 0.5, 0.001, 100
ROUNDS = 3  # the best of so many

Clock = Callable[[], float]


@torch.no_grad()
def cohen(model: nn.Module, x: torch.Tensor, num: int, batch_size: int) -> np.ndarray:
    """``_sample_noise`` of Cohen's program, with its counts on the host each batch."""
    counts = np.zeros(10_000, dtype=int)
    left = num
    while left > 0:
        size = min(batch_size, left)
        left -= size
        batch = x.repeat((size, *[1] * x.ndim))
        noise = torch.randn_like(batch) * SIGMA
        predictions = model(batch + noise).argmax(1)
        for index in predictions.cpu().numpy():
            counts[index] += 1
    return counts


def clock_of(device: torch.device) -> Clock:
    def clock() -> float:
        if device.type != "cpu":
            torch.get_device_module(device).synchronize()
        return time.perf_counter()

    return clock


def timed(call: Callable[[], object], clock: Clock) -> float:
    """The least time of several, after one that is not counted."""
    call()
    times = []
    for _ in range(ROUNDS):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def agreement(model: nn.Module, x: torch.Tensor, device: torch.device) -> str:
    """On how many of the same noisy inputs device and CPU name the same class."""
    noise = torch.Generator().manual_seed(0)
    size = min(block_size(1000, x.numel()), 64)
    draws = torch.randn((size, *x.shape), generator=noise)
    batch = x.cpu() + SIGMA * draws
    dtype = next(model.parameters()).dtype
    with torch.no_grad():
        here = model.to("cpu")(batch.to(dtype)).argmax(1)
        there = model.to(device)(batch.to(device, dtype)).argmax(1).cpu()
    return f"{int((here == there).sum())} of {len(batch)}"


def row(
    title: str,
    model: nn.Module,
    shape: tuple[int, ...],
    n: int,
    device: torch.device,
    *,
    compile: bool = False,
) -> str:
    """Samples a second of both programs, their ratio, and agreement with the CPU."""
    model = model.eval().to(device)
    half = next(model.parameters()).dtype
    x = torch.rand(shape, device=device)
    clock = clock_of(device)
    sampler = TorchSampler(model, device=device, compile=compile)
    scheme = gaussian(SIGMA)
    size = sampler.backend.block_size(n, x.numel())

    def ours() -> None:
        certify(sampler, x, scheme, n0=N0, n=n, alpha=ALPHA)

    def theirs() -> None:
        with torch.autocast(device.type, half, enabled=half is not torch.float32):
            cohen(model, x, N0, size)
            cohen(model, x, n, size)

    own = timed(ours, clock)
    other = timed(theirs, clock)
    repeated = [np.asarray(sampler(x, SIGMA, n, stream(0, 0, 1))) for _ in range(2)]
    same = "yes" if np.array_equal(*repeated) else "no"
    cells = [
        title,
        f"{n:,}",
        f"{(N0 + n) / own:,.0f}",
        f"{(N0 + n) / other:,.0f}",
        f"{other / own:.2f}",
        same,
        agreement(model, x, device),
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    from test_engine import resnet50, small_cnn

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--n", type=int, nargs=2, default=[100_000, 10_000])
    options = parser.parse_args()
    device = torch.device(options.device)
    small, large = options.n
    name = "CPU"
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    torch.manual_seed(0)
    digits = (1, 28, 28)
    photographs = (3, 224, 224)
    bfloat16 = torch.bfloat16
    rows = [
        row("small CNN, 28 x 28", small_cnn(), digits, small, device),
        row("it, bfloat16", small_cnn().to(bfloat16), digits, small, device),
        row("it, compiled", small_cnn(), digits, small, device, compile=True),
        row("ResNet-50, 224 x 224", resnet50(), photographs, large, device),
        row("it, bfloat16", resnet50().to(bfloat16), photographs, large, device),
        row("it, compiled", resnet50(), photographs, large, device, compile=True),
    ]
    columns = [
        "network",
        "n",
        "samples a second",
        "Cohen's program",
        "ratio",
        "counts repeat",
        "the CPU names the same class",
    ]
    heading = "| " + " | ".join(columns) + " |"
    options.page.write_text(
        "# On a GPU\n\n"
        f"{name}; {machine('torch')}. Weights are random. Cohen's program runs on the "
        "same device, with batches of the same size; a ratio above 1: rsbounds is "
        "faster. A device draws noise of its own, so the last column classifies the "
        "CPU's noisy inputs on both.\n\n"
        "```sh\npython benchmarks/pages/gpu.py docs/benchmarks/gpu.md\n```\n\n"
        + "\n".join([heading, "|" + " --- |" * len(columns), *rows])
        + "\n"
    )


if __name__ == "__main__":
    main()
