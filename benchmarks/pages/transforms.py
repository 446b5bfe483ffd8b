"""docs/benchmarks/transforms.md: copies by a transformation, beside bare loops.

python benchmarks/pages/transforms.py

Half a minute of a core.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine

from rsbounds import schemes
from rsbounds.sampling import ArraySampler
from rsbounds.sampling.internal import block_size, stream
from rsbounds.schemes.internal import Transformed
from rsbounds.transforms import TRANSFORMS, Transform

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "transforms.md"
N, TURNS = 4000, 40
LEVEL = 0.3

rng = np.random.default_rng(0)
PICTURE = rng.random((1, 28, 28)).astype(np.float32)
CLOUD = rng.normal(size=(256, 3)).astype(np.float32)
WEIGHTS = rng.normal(size=(784, 10)).astype(np.float32)


def model(batch: Any) -> Any:
    """A linear model, which takes less time than its copies."""
    rows = batch.reshape(len(batch), -1)
    return rows @ WEIGHTS[: rows.shape[1]]


def scheme_of(transform: Transform) -> Transformed:
    if transform.one_sided:
        law = schemes.exponential(1 / LEVEL)
    else:
        law = schemes.gaussian(LEVEL)
    return schemes.transformed(law, transform)


def parameters(transform: Transform, size: int, generator: np.random.Generator) -> Any:
    if transform.one_sided:
        return LEVEL * generator.exponential(size=(size, 1))
    return LEVEL * generator.standard_normal((size, 1))


def loop(transform: Transform, x: Any, kind: type[np.floating[Any]]) -> Any:
    """A loop over blocks whose copies are computed in a type."""
    generator = np.random.default_rng(0)
    point = x.astype(kind)
    size = block_size(N, x.size)
    counts = np.zeros(10, dtype=np.int64)
    for start in range(0, N, size):
        a = parameters(transform, min(size, N - start), generator).astype(kind)
        copies = transform.apply(point, a, np).astype(np.float32, copy=False)
        counts += np.bincount(model(copies).argmax(1), minlength=10)
    return counts


def seconds(call: Callable[[], Any]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def error(transform: Transform, x: Any) -> float:
    """The largest error of copies in float32, over the largest number of each copy."""
    a = parameters(transform, N, np.random.default_rng(1))
    exact = transform.apply(x.astype(np.float64), a, np).reshape(N, -1)
    copies = transform.apply(x, a.astype(np.float32), np).reshape(N, -1)
    off = abs(copies - exact).max(axis=1) / abs(exact).max(axis=1)
    return float(off.max())


def row_of(transform: Transform) -> list[str]:
    x = CLOUD if transform.name == "rotation-z" else PICTURE
    scheme = scheme_of(transform)
    sampler = ArraySampler(model, noise=scheme)
    calls = [
        lambda: sampler(x, scheme.level, N, stream(0, 0, 1)),
        partial(loop, transform, x, np.float32),
        partial(loop, transform, x, np.float64),
    ]
    times = [[seconds(call) for call in calls] for _ in range(TURNS + 1)][1:]
    ours, single, double = np.min(times, axis=0)
    return [
        transform.name,
        f"{ours / N * 1e6:.1f}",
        f"{ours / single:.2f}",
        f"{ours / double:.2f}",
        f"{error(transform, x):.1g}",
    ]


def main() -> None:
    moving = [each for each in TRANSFORMS.values() if isinstance(each, Transform)]
    heads = [
        "transformation",
        "microseconds a copy",
        "over a loop in float32",
        "over a loop in float64",
        "largest error of a copy",
    ]
    text = [
        "# Copies by a transformation",
        "",
        "Sampling of NumPy's models under noise in a parameter, beside a plain loop:",
        "draw the parameters of a block, transform, run the model, count. The model is",
        "linear, so that what is timed is mostly the copies. Pictures have 28 x 28",
        "numbers, for `rotation-z` there are 256 points. Ratios below 1 mean that",
        f"rsbounds takes less time. Processor time, the least of {TURNS} turns of all",
        "three. The error is that of float32, relative to a copy's largest number.",
        "Written by `benchmarks/pages/transforms.py` on",
        f"{machine()}.",
        "",
        f"| {' | '.join(heads)} |",
        f"| --- |{' ---: |' * (len(heads) - 1)}",
        *(f"| {' | '.join(row_of(transform))} |" for transform in moving),
        "",
    ]
    PAGE.write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    main()
