"""docs/benchmarks/program.md: votes and certificates of one network on many machines.

    python benchmarks/pages/program.py docs/benchmarks/program.md

The demo's network on its held-out digits, under the same noise, as programs that differ
in precision, batches, threads and compiler. Takes some minutes; needs a C++ compiler.
"""

import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from machine import machine
from numpy.typing import NDArray

from rsbounds import demo
from rsbounds._numerics.decimals import truncated
from rsbounds.answers import TopClass
from rsbounds.answers._votes import Votes
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.certify import Procedure, measure_margin
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.sampling import Phase
from rsbounds.sampling.internal import stream
from rsbounds.sampling.margins import leads
from rsbounds.schemes import gaussian
from rsbounds.torch import TorchSampler

SIGMA, N0, N, ALPHA = 0.5, 20, 100, 0.05
SEED = 0

HEAD = """# One network, many programs

The demo's network on {digits} held-out digits, sound noise at $\\sigma$ = {sigma},
n = {n} and alpha = {alpha}: {votes:,} samples, the same for every program. Each row is
a program, compared with the first: float32, batches of 1000, one thread. Written by
`benchmarks/pages/program.py` on {machine}.

"""
NOTE = """
- **scores**: the largest difference of a score to that of the first program.
- **votes**: samples whose class is another, without a margin.
- **rows**: digits whose counts are others, and so their certificates, without a margin.
- **opposed**: under the margin, samples that count in both programs, for two classes.
- **void in one**: under the margin, samples that count in one of the programs alone.
- **classes**: under the margin, digits with another class certified, and (in brackets)
  with a class in one of the two programs and none in the other.
"""


class Program(NamedTuple):
    """One way to run the network."""

    name: str
    scores: Callable[[torch.Tensor], torch.Tensor]
    threads: int = 1
    rows: int = 1000  # of a batch


@contextmanager
def threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def programs(network: torch.nn.Module) -> list[Program]:
    """What is compared, the first with all others."""
    wide = copy.deepcopy(network).double()
    narrow = copy.deepcopy(network).bfloat16()
    compiled = torch.compile(network)

    def mixed(batch: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            scores: torch.Tensor = network(batch)
        return scores

    return [
        Program("float32, batches of 1000, one thread", network),
        Program("batches of 1", network, rows=1),
        Program("two threads", network, threads=2),
        Program("compiled", compiled),
        Program("float64", lambda batch: wide(batch.double())),
        Program("bfloat16 by autocast", mixed),
        Program("bfloat16 throughout", lambda batch: narrow(batch.bfloat16())),
    ]


def noisy(digits: NDArray[np.float32]) -> torch.Tensor:
    """The samples of all digits: sound noise, of the run's own streams."""
    seen: list[torch.Tensor] = []

    class Kept(torch.nn.Module):
        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            return batch[:, 0, 0, :2]

    sampler = TorchSampler(Kept(), noise=OnGrid())
    # the noise alone, before the sampler looks at copies of its rows
    sampler.watch = lambda batch, scores: seen.append(batch.clone())
    for index, x in enumerate(digits):
        for phase, n in ((Phase.SELECT, N0), (Phase.ESTIMATE, N)):
            sampler(x, SIGMA, n, stream(SEED, index, phase))
    return torch.cat(seen)


@torch.no_grad()
def drawn(program: Program, batch: torch.Tensor, digits: int) -> NDArray[np.float64]:
    """The scores that a program gives: shape (digits, n0 + n, classes)."""
    with threads(program.threads):
        parts = [program.scores(part) for part in torch.split(batch, program.rows)]
    scores: NDArray[np.float64] = torch.cat(parts).double().numpy()
    return scores.reshape(digits, N0 + N, -1)


def certified(
    scores: NDArray[np.float64], labels: Sequence[int], margin: float | None
) -> list[Certificate]:
    """The certificate of each digit, by the votes that count."""
    answer = TopClass(gaussian(SIGMA))
    procedure = Procedure(n0=N0, n=N, alpha=ALPHA, margin=margin)
    made = []
    for index, (of_digit, label) in enumerate(zip(scores, labels, strict=True)):
        valid = np.ones(len(of_digit), dtype=bool)
        if margin is not None:
            valid = leads(of_digit, margin)
        votes = np.where(valid, of_digit.argmax(1), of_digit.shape[1])
        select, counts = (
            np.bincount(part, minlength=of_digit.shape[1] + 1)[:-1]
            for part in (votes[:N0], votes[N0:])
        )
        evidence = Votes(SIGMA, select, counts, N)
        answered = answer.certify(evidence, procedure, label=int(label), index=index)
        made.append(answered.certificate)
    return made


def row(
    name: str,
    first: NDArray[np.float64],
    other: NDArray[np.float64],
    labels: Sequence[int],
    margin: float,
) -> str:
    """A line of the table."""
    flipped = int((first.argmax(2) != other.argmax(2)).sum())
    bare = zip(
        certified(first, labels, None), certified(other, labels, None), strict=True
    )
    rows = sum((a.select, a.counts) != (b.select, b.counts) for a, b in bare)
    counts, counts_too = (
        leads(scores.reshape(-1, scores.shape[2]), margin) for scores in (first, other)
    )
    both = (counts & counts_too).reshape(first.shape[:2])
    opposed = int((both & (first.argmax(2) != other.argmax(2))).sum())
    alone = int((counts != counts_too).sum())
    predicted = [
        (a.predict, b.predict)
        for a, b in zip(
            certified(first, labels, margin),
            certified(other, labels, margin),
            strict=True,
        )
    ]
    contrary = sum(a != b and ABSTAIN not in (a, b) for a, b in predicted)
    one_abstains = sum(a != b and ABSTAIN in (a, b) for a, b in predicted)
    largest = float(np.abs(first - other).max())
    return (
        f"| {name} | {largest:.2g} | {flipped} | {rows} | {opposed} | {alone} "
        f"| {contrary} ({one_abstains}) |\n"
    )


def summary(
    name: str, scores: NDArray[np.float64], labels: Sequence[int], margin: float | None
) -> str:
    """What the certificates of a program are worth."""
    made = certified(scores, labels, margin)
    right = [c for c, label in zip(made, labels, strict=True) if c.predict == label]
    average = sum(c.radius for c in right) / len(labels)
    void = sum(c.void for c in made) / (len(labels) * (N0 + N))
    shown = "none" if margin is None else f"{margin:.2g}"
    return (
        f"| {name} | {shown} | {void:.2%} | {len(right) / len(labels):.3f} "
        f"| {truncated(average, 4)} |\n"
    )


def main() -> None:
    torch.set_num_threads(1)
    network = demo.model(SEED)
    _, _, x, labels = demo.digits(SEED)
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else len(x)
    x, labels = x[:limit], labels[:limit]
    batch = noisy(x)
    several = programs(network)
    scores_of = [drawn(program, batch, len(x)) for program in several]
    first = scores_of[0]
    measured = measure_margin(network, (x, labels), gaussian(SIGMA))
    rounded = copy.deepcopy(network).bfloat16()
    narrow = measure_margin(rounded, (x, labels), gaussian(SIGMA))
    text = HEAD.format(
        digits=len(x),
        sigma=SIGMA,
        n=N,
        alpha=ALPHA,
        votes=len(batch),
        machine=machine("torch"),
    )
    titles = "| program | scores | votes | rows | opposed | void in one | classes |\n"
    text += f"Margins are measured (`auto`): {measured.margin:.2g} for float32, and "
    text += f"{narrow.margin:.2g} for bfloat16.\n\n"
    text += titles + "| --- " * 7 + "|\n"
    for program, scores in zip(several[1:], scores_of[1:], strict=True):
        own = narrow if program.name.startswith("bfloat16") else measured
        text += row(program.name, first, scores, labels, own.margin)
    text += NOTE
    text += "\nWhat a margin costs:\n\n"
    text += "| program | margin | void | certified accuracy at 0 | average radius |\n"
    text += "| --- " * 5 + "|\n"
    text += summary("float32", first, labels, None)
    text += summary("float32", first, labels, measured.margin)
    text += summary("bfloat16", scores_of[-1], labels, None)
    text += summary("bfloat16", scores_of[-1], labels, narrow.margin)
    Path(sys.argv[1]).write_text(text)


if __name__ == "__main__":
    main()
