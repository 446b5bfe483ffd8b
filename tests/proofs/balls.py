"""Proofs over an interval: Taylor polynomials in ball arithmetic, and subdivision until
they do.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from flint import arb, arb_series, ctx

ROOT = Path(__file__).parents[2]
# other headers to prove: `--mutate` has copies with an error in them
HEADERS = Path(
    os.environ.get("RSBOUNDS_HEADERS", ROOT / "rsbounds_ext" / "include" / "rsbounds")
)
TERMS, BITS, DEEPEST = 24, 192, 30
Series = Callable[[arb_series], arb_series]


@dataclass(frozen=True)
class Claim:
    """|error(x)| <= bound on [low, high], ``error`` being the error over what it is
    relative to.
    """

    name: str  # in the ledger
    says: str
    error: Series
    low: float
    high: float
    bound: float


@dataclass(frozen=True)
class Sweep:
    """Each of the numbers that a program yields, one for each of its own boxes, is at
    most that.
    """

    name: str
    says: str
    errors: Callable[[], Iterator[arb]]
    low: float
    high: float
    bound: float


@dataclass(frozen=True)
class Proof:
    boxes: int
    largest: float  # an upper bound of |error|


def prove(claim: Claim | Sweep, bound: float | None = None) -> Proof:
    """The proof of a claim, perhaps with another bound; ArithmeticError where there is
    none.
    """
    limit = arb(claim.bound if bound is None else bound)
    before = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = BITS, TERMS + 1
    try:
        if isinstance(claim, Sweep):
            return _swept(claim, limit)
        todo, boxes, largest = [(arb(claim.low), arb(claim.high), 0)], 0, 0.0
        while todo:
            low, high, depth = todo.pop()
            middle, radius = ((low + high) / 2).mid(), ((high - low) / 2).upper()
            here = claim.error(arb_series([middle, 1], TERMS + 1))
            if abs(here[0]) > limit:
                raise ArithmeticError(f"{claim.name}: {abs(here[0])} at {middle}")
            size = sum((abs(here[k]) * radius**k for k in range(TERMS)), arb(0))
            size += _last(claim.error, arb(middle, radius)) * radius**TERMS
            if size <= limit:
                boxes, largest = boxes + 1, max(largest, float(size.upper()))
                continue
            if depth == DEEPEST:
                raise ArithmeticError(f"{claim.name}: no proof at {middle}")
            todo += [(low, middle, depth + 1), (middle, high, depth + 1)]
    finally:
        ctx.prec, ctx.cap = before
    return Proof(boxes, largest)


def _swept(claim: Sweep, limit: arb) -> Proof:
    boxes, largest = 0, 0.0
    for size in claim.errors():
        if not size <= limit:
            raise ArithmeticError(f"{claim.name}: {size} at box {boxes}")
        boxes, largest = boxes + 1, max(largest, float(size.upper()))
    return Proof(boxes, largest)


def _last(error: Series, box: arb) -> arb:
    """The size of the coefficient that bounds Taylor's remainder on the box."""
    try:
        return abs(error(arb_series([box, 1], TERMS + 1))[TERMS])
    except ValueError:  # a division by a ball that holds 0
        return arb("inf")


def literal(header: str, pattern: str) -> float:
    """The number in a header that the one group of a pattern matches, once."""
    text = (HEADERS / header).read_text(encoding="utf-8")
    (number,) = re.findall(pattern, text)
    return float.fromhex(number) if "0x" in number else float(number)


def named(header: str, name: str) -> float:
    """The value of a constant of a header."""
    return literal(header, rf"constexpr double {name} = ([-\w.]+);")


def require(holds: bool, what: str) -> None:
    """ArithmeticError where a border of the code is beyond what a program covers."""
    if not holds:
        raise ArithmeticError(f"not covered: {what}")


def numbers(header: str, after: str, *, skip: int = 0) -> list[list[float]]:
    """The rows of the array of doubles after that text in a header (`skip` arrays
    further on).
    """
    text = (HEADERS / header).read_text(encoding="utf-8").split(after, 1)[1]
    text = text.split("static constexpr double ", skip + 1)[-1]
    body = re.sub(r"//.*", "", text[text.index("= {") + 2 : text.index("};") + 1])
    rows = re.findall(r"\{([^{}]*)\}", body)
    return [[float(v) for v in re.sub(r"\s", "", row).split(",") if v] for row in rows]


def polynomial(coefficients: list[float], x: arb_series) -> arb_series:
    total = x * 0
    for c in reversed(coefficients):
        total = total * x + arb(c)
    return total
