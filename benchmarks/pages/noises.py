"""How long discrete noise takes: beside a loop over samples, and beside one draw of
floating-point numbers that are compared with a probability; and its radii.

Run as ``python benchmarks/pages/noises.py``; it writes ``docs/benchmarks/noises.md``.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import machine
from scipy import sparse

from rsbounds import schemes
from rsbounds.sampling import torch_bits
from rsbounds.sampling.bits import ArrayBits
from rsbounds.sampling.streams import Block

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "noises.md"
ROUNDS = 7
NODES = 10_000
EDGES = 20_000
SIZES = (100_000, 1_000_000)
CPU = torch.device("cpu")

rng = np.random.default_rng(0)
PIXELS = rng.integers(0, 256, 784)
BITS = rng.integers(0, 2, 784)
TOKENS = rng.integers(0, 30_000, 512)


def least(call: Callable[[], Any]) -> float:
    """The least processor time of some calls, in seconds."""
    call()
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        call()
        times.append(time.process_time() - begun)
    return min(times)


def by_numpy(noise: Any, x: Any, size: int) -> Callable[[], Any]:
    checked = noise.checked(x)

    def call() -> Any:
        bits = ArrayBits(rng, size)
        return noise.presented(noise.noisy(checked, noise.level, size, bits)), bits.void

    return call


def by_torch(noise: Any, x: Any, size: int) -> Callable[[], Any]:
    ready = torch_bits.on_device(noise.checked(x), CPU)
    generator = torch.Generator()
    names = [Block(0, 1)]
    return lambda: torch_bits.copies(noise, ready, noise.level, size, names, generator)


def loop(one: Callable[[], Any], size: int) -> Callable[[], Any]:
    return lambda: [one() for _ in range(size)]


# --- one sample, as programs with a loop over samples draw it


def one_categorical() -> Any:
    kept = rng.random(PIXELS.shape) < 0.8
    other = rng.integers(0, 255, PIXELS.shape)
    return np.where(kept, PIXELS, other + (other >= PIXELS))


def one_flips() -> Any:
    chance = np.where(BITS == 1, 0.6, 0.01)
    return np.where(rng.random(BITS.shape) < chance, 1 - BITS, BITS)


def one_mask() -> Any:
    copy = np.full(TOKENS.shape, 103)
    left = random.sample(range(len(TOKENS)), 51)
    copy[left] = TOKENS[left]
    return copy


def one_deletion() -> Any:
    return TOKENS[rng.random(TOKENS.shape) > 0.9]


# --- all samples at once, probabilities in floating point


def all_categorical(size: int) -> Any:
    kept = rng.random((size, len(PIXELS))) < 0.8
    other = rng.integers(0, 255, (size, len(PIXELS)))
    return np.where(kept, PIXELS, other + (other >= PIXELS))


def all_flips(size: int) -> Any:
    chance = np.where(BITS == 1, 0.6, 0.01)
    return np.where(rng.random((size, len(BITS))) < chance, 1 - BITS, BITS)


def all_mask(size: int) -> Any:
    keys = rng.random((size, len(TOKENS)))
    left = np.argpartition(keys, 51, axis=1)[:, :51]
    copies = np.full((size, len(TOKENS)), 103)
    np.put_along_axis(copies, left, TOKENS[left], axis=1)
    return copies


def all_deletion(size: int) -> Any:
    left = rng.random((size, len(TOKENS))) > 0.9
    return [TOKENS[row] for row in left]


def dense_rows() -> list[list[str]]:
    size = 512
    cases = [
        (
            "categorical, 784 pixels, keep .8 of 256",
            schemes.categorical(0.8, 256),
            PIXELS,
            one_categorical,
            all_categorical,
        ),
        (
            "flips, 784 bits, .01 and .6",
            schemes.flips(0.01, 0.6),
            BITS,
            one_flips,
            all_flips,
        ),
        (
            "mask, 51 of 512 tokens kept",
            schemes.mask(512, 51, hidden=103),
            TOKENS,
            one_mask,
            all_mask,
        ),
        (
            "deletion of .9, 512 tokens",
            schemes.deletion(0.9),
            TOKENS,
            one_deletion,
            all_deletion,
        ),
    ]
    rows = []
    for name, noise, x, one, all_at_once in cases:
        ours = least(by_numpy(noise, x, size))
        theirs = least(loop(one, size))
        together = least(lambda draw=all_at_once: draw(size))
        tensors = least(by_torch(noise, x, size))
        rows.append(
            [
                name,
                f"{theirs / ours:.2g}",
                f"{together / ours:.2g}",
                f"{ours / size / len(x) * 1e9:.1f}",
                f"{tensors / size / len(x) * 1e9:.1f}",
            ]
        )
    return rows


def graph() -> Any:
    row, column = rng.integers(0, NODES, (2, EDGES))
    above = sparse.coo_array((np.ones(EDGES), (row, column)), shape=(NODES, NODES))
    both = sparse.csr_array(((above + above.T) > 0).astype(np.int64))
    both.setdiag(0)
    both.eliminate_zeros()
    return both


def dense_flips(matrix: Any) -> Any:
    chance = np.where(matrix, 0.6, 1e-4)
    upper = np.triu(rng.random(matrix.shape, dtype=np.float32) < chance, 1)
    return np.where(upper | upper.T, 1 - matrix, matrix)


def sparse_rows() -> list[list[str]]:
    matrix = graph()
    dense = matrix.toarray().astype(np.int8)
    begun = time.process_time()
    dense_flips(dense)
    of_dense = time.process_time() - begun
    rows = []
    for add in (1e-4, 1e-6):
        noise = schemes.flips(add, 0.6, symmetric=True)
        ours = least(by_numpy(noise, matrix, 8)) / 8
        name = f"symmetric flips, {add:g} and .6"
        rows.append([name, f"{ours * 1e3:.2g}", f"{of_dense / ours:.2g}"])
    return rows


# --- curves


def thresholds(make: Callable[[], Any]) -> Callable[[], Any]:
    """All thresholds up to 50 changes, by a curve that has computed nothing yet."""

    def call() -> Any:
        curve = make()
        return [curve.threshold(r) for r in range(51)]

    return call


def curve_rows() -> list[list[str]]:
    cases: list[tuple[str, str, Callable[[], Any]]] = [
        (
            "categorical, keep .2 of 256, 51 thresholds",
            "10",
            thresholds(lambda: schemes.categorical(0.2, 256).curve),
        ),
        (
            "categorical, keep .1 of 128,256, 51 thresholds",
            "10",
            thresholds(lambda: schemes.categorical(0.1, 128_256).curve),
        ),
        (
            "mask, 45 of 150,528, 51 thresholds",
            "10",
            thresholds(lambda: schemes.mask(150_528, 45).curve),
        ),
        (
            "deletion of .9, 51 thresholds",
            "10",
            thresholds(lambda: schemes.deletion(0.9).curve),
        ),
        (
            "flips, .01 and .6, threshold of 50 added and 50 deleted",
            "50",
            lambda: schemes.flips(0.01, 0.6).curve.threshold((50, 50)),
        ),
        (
            "flips, .01 and .6, frontier at .9",
            "",
            lambda: schemes.flips(0.01, 0.6).curve.frontier(0.9),
        ),
    ]
    return [[name, f"{least(call) * 1e3:.2g}", goal] for name, goal, call in cases]


def radius_rows() -> list[list[str]]:
    p_a = rng.uniform(0.5, 1.0, 1_000_000)
    curves = [
        ("categorical, keep .2 of 256", schemes.categorical(0.2, 256).curve),
        ("mask, 45 of 150,528", schemes.mask(150_528, 45).curve),
        ("deletion of .9", schemes.deletion(0.9).curve),
        ("flips, .01 and .6", schemes.flips(0.01, 0.6).curve),
    ]
    rows = []
    for name, curve in curves:
        each = [least(lambda p=p_a[:n], c=curve: c.radius(p)) / n for n in SIZES]
        rows.append([name, *(f"{seconds * 1e9:.0f}" for seconds in each)])
    return rows


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page() -> str:
    dense = table(
        [
            "noise",
            "loop / rsbounds",
            "at once / rsbounds",
            "NumPy, ns a coordinate",
            "torch, ns a coordinate",
        ],
        dense_rows(),
    )
    matrices = table(["noise", "ms a copy", "dense / rsbounds"], sparse_rows())
    curves = table(["curve", "ms", "goal, ms"], curve_rows())
    radii = table(
        ["radius of an array, ns each", *(f"{n:,} numbers" for n in SIZES)],
        radius_rows(),
    )
    return f"""# Discrete noise

What drawing and what radii cost, by

```sh
python benchmarks/pages/noises.py
```

on: {machine("torch")}. One thread; processor time, the least of {ROUNDS} rounds.

## Arrays and sequences

512 copies. "Loop" draws one copy after the other, as the programs of the field mostly
do; "at once" draws all of them in one call from float64 numbers that are compared with
a probability, which rounds it. rsbounds compares whole numbers, exactly, and decides on
further bits where 16 don't; a ratio below 1 is a loss. torch draws 63 bits for each
coordinate.

{dense}

## Sparse matrices

An undirected graph of {NODES:,} nodes and {EDGES:,} edges, a copy in CSR form. "Dense"
draws a number for each pair of nodes.

{matrices}

## Radii

Curves are computed in doubles with a proved error, each here by an object that has
computed nothing yet.

{curves}

The radii of an array are searched together: between two numbers of one radius nothing
is asked. For numbers drawn from [1/2, 1]:

{radii}
"""


if __name__ == "__main__":
    torch.set_num_threads(1)
    PAGE.write_text(page())
    print(PAGE.read_text())
