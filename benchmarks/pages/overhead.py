"""docs/benchmarks/overhead.md: rows a second beside a bare loop of noise and forward
passes.

    python benchmarks/pages/overhead.py

About three minutes of a core. Interleaved: what is compared runs in turn, and ratios
are medians.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from machine import machine
from torch import nn

from rsbounds import certify_dataset, demo, schemes
from rsbounds.sampling.internal import block_size
from rsbounds.sampling.torch_sampler import TorchSampler

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "overhead.md"
SIGMA, N0, TURNS = 0.5, 100, 9
#: Samples of an input, and how many inputs: enough to be timed.
SIZES = ((1000, 30), (10_000, 4))


def small() -> nn.Module:
    """A convolution that takes less time than its noise."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(
            *(nn.Conv2d(1, 4, 3, stride=2), nn.ReLU(), nn.Flatten()),
            nn.Linear(4 * 13 * 13, 10),
        ).eval()


def blocks(n: int, dim: int) -> list[int]:
    """The sizes of the batches that the sampler uses."""
    size = block_size(n, dim)
    return [min(size, n - k) for k in range(0, n, size)]


@torch.no_grad()
def bare(network: nn.Module, x: np.ndarray, n: int, draw: bool, look: bool) -> None:
    """The loop that anyone would write; its noise or its forward passes alone."""
    generator = torch.Generator()
    held = {}
    for number, one in enumerate(torch.from_numpy(x)):
        generator.manual_seed(number)
        counts = torch.zeros(10, dtype=torch.int64)
        for size in (N0, *blocks(n, one.numel())):
            if draw or size not in held:
                noise = torch.empty((size, *one.shape)).normal_(generator=generator)
                held[size] = noise.mul_(SIGMA).add_(one)
            if look:
                counts += torch.bincount(network(held[size]).argmax(1), minlength=10)


def seconds(what: Callable[[], object]) -> float:
    begun = time.perf_counter()
    what()
    return time.perf_counter() - begun


def turns(
    network: nn.Module, x: np.ndarray, y: np.ndarray, n: int, folder: Path
) -> np.ndarray:
    """Seconds of the loop, of its forward passes, of its noise, of certify, and of
    certify into a file; a row a turn.
    """
    sampler = TorchSampler(network, 10)
    scheme = schemes.gaussian(SIGMA)

    def certify(out: Path | None) -> object:
        return certify_dataset(sampler, (x, y), scheme, n=n, n0=N0, out=out)

    certify(None)
    rows = []
    for turn in range(TURNS):
        file = folder / f"{turn}.tsv"
        rows.append(
            [
                seconds(lambda: bare(network, x, n, draw=True, look=True)),
                seconds(lambda: bare(network, x, n, draw=False, look=True)),
                seconds(lambda: bare(network, x, n, draw=True, look=False)),
                seconds(lambda: certify(None)),
                seconds(lambda file=file: certify(file)),
            ]
        )
    return np.array(rows)


def lines_of(name: str, network: nn.Module, x: np.ndarray, y: np.ndarray) -> list[str]:
    """The lines of a network."""
    lines = []
    for n, inputs in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            times = turns(network, x[:inputs], y[:inputs], n, Path(folder))
        loop, forward, noise, _, file = np.median(times, axis=0)
        without, within = np.median(times[:, :1] / times[:, 3:], axis=0)
        cells = [
            f"{n:,}",
            f"{inputs / loop:.1f}",
            f"{inputs / file:.1f}",
            f"{within:.2f}",
            f"{without:.2f}",
            f"{forward / file:.2f}",
            f"{noise / file:.2f}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    torch.set_num_threads(1)
    _, _, x, y = demo.digits()
    heads = [
        "network",
        "n",
        "bare loop, rows a second",
        "certify into a file",
        "ratio",
        "ratio without a file",
        "forward passes",
        "noise",
    ]
    text = [
        "# What certify costs beside the model",
        "",
        "`certify_dataset` beside a bare loop of noise, forward passes and counts in",
        "the same batches, in turn, on one thread; digits of 28 x 28 numbers. Ratios",
        f"are rows a second over those of the bare loop, medians of {TURNS}; forward",
        "passes and noise are shares of the time of a run into a file, each measured",
        "alone. The rest is checks, counts, bounds, radius and hash, the row on the",
        "disk, and what a run does once. Written by `benchmarks/pages/overhead.py` on",
        f"{machine('torch')}; other work ran beside it.",
        "",
        f"| {' | '.join(heads)} |",
        f"| --- |{' ---: |' * (len(heads) - 1)}",
        *lines_of("the demo's", demo.model(), x, y),
        *lines_of("a small convolution", small(), x, y),
        "",
        "Beside the forward passes a small model's time is mostly noise: torch's",
        "normal numbers in float32. Bounds and radius take .1 ms a row.",
        "",
    ]
    PAGE.write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    main()
