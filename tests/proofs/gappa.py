"""Counts of straight-line roundings by Gappa, from expressions in the headers.

A second opinion on what the ledger has "on paper" (https://gappa.gitlabpages.inria.fr):
each case is a text of a header, the ranges of its variables, which are doubles, what
those that are computed themselves are off by, and the count that the page claims.
"""

import re
import shutil
import subprocess
from typing import NamedTuple

from .balls import HEADERS, named, numbers

PROGRAM = shutil.which("gappa")
UNIT = 2.0**-53


class Case(NamedTuple):
    """The formula, its variables' ranges, and (low, high) that the page claims.

    `exact` has the variables that are rounded results of something, each with its
    claimed error in units of 2^-53; `truth` is what the formula is compared with, if it
    is not its own exact value; `factor` then is what stands between the two.
    """

    formula: str
    ranges: dict[str, tuple[float, float]]
    low: float
    high: float
    exact: dict[str, float]
    relative: bool = True
    truth: str = ""
    factor: str = ""


def written(header: str, pattern: str, **names: str) -> str:
    """The formula that the group of a pattern matches, with names that Gappa takes."""
    text = " ".join((HEADERS / header).read_text(encoding="utf-8").split())
    (formula,) = re.findall(pattern, text)
    formula = formula.replace("std::sqrt", "sqrt")
    for name, plain in names.items():
        formula = re.sub(rf"\b{name}\b", plain, formula)
    return re.sub(r"\b\w+\.(?=[a-z])", "", formula)


def horner(row: list[float], x: str) -> str:
    formula = repr(row[-1])
    for c in reversed(row[:-1]):
        formula = f"({formula} * {x} + {c!r})"
    return formula


def median() -> str:
    """median_series<7>, its polynomials written out."""
    text = " ".join((HEADERS / "median.hpp").read_text(encoding="utf-8").split())
    (rest,) = re.findall(r"if \(terms > 4\) rest = ([^;]*);", text)
    (more,) = re.findall(r"if \(terms > 2\) rest = ([^;]*);", text)
    (value,) = re.findall(r"return (2 \* \(w \* \(horner\(c1[^;]*);", text)
    formula = value.replace("rest", f"({more.replace('rest', f'({rest})')})")
    for j in range(1, 7):
        [row] = numbers("median.hpp", f"double c{j}[]", skip=-1)
        formula = formula.replace(f"horner(c{j}, t)", horner(row, "t"))
    return formula


def cases() -> dict[str, Case]:
    ratio = named("gain.hpp", "ratio_error")
    change = written("gain.hpp", r"\(up\) return \{1 \+ change, change, ([^}]*)\};")
    widened = written("envelope.hpp", r"(change \* \(1 \+ ratio_error\))")
    moved = written("gain.hpp", r"const double moved = (pair\.dim [^;]*);")
    c2 = written("median.hpp", r"double c2 = (std::sqrt\(mu \* mu \+ nc \* x\));")
    dim, nc = (1.0, 1e8), (1e-30, 1e60)
    return {
        "|k^2 - 1|, 3 units": Case(
            change, {"change": (1e-100, 1e100)}, -3 * UNIT, 3 * UNIT, {}
        ),
        # two roundings of |sigma1 - sigma0|/sigma0, and the product: never below it
        "ratio_error": Case(
            widened.replace("ratio_error", repr(ratio)),
            {"change": (1e-12, 1e8)},
            0.0,
            1e-15,
            {"change": 2},
            truth="change",
            factor=f"(1 + {ratio!r})",
        ),
        "end_error, 11 units": Case(
            moved,
            {
                "dim": dim,
                "alpha": (1e-30, 1e30),
                "s0": (1e-30, 1e60),
                "k2": (1e-16, 1e16),
                "change2": (1e-30, 1e16),
            },
            -11 * UNIT,
            11 * UNIT,
            {"change2": 3, "k2": 1},
        ),
        "c2 of the sign, 4 units": Case(
            c2,
            {"mu": (0.5, 5e7), "nc": nc, "x": (1e-3, 1e61)},
            -4 * UNIT,
            4 * UNIT,
            {"x": 3},
        ),
        "median_error, 10 units": Case(
            median(),
            {"t": (0.0, 0.5), "w": (1e-60, 1 / named("median.hpp", "series_from"))},
            -10 * UNIT,
            10 * UNIT,
            {},
            relative=False,
        ),
    }


def coarse() -> Case:
    """tau of the sign without an integral: x, mu and c2 depend on one another, which
    Gappa does not see, so that it finds no bound at all where the page counts 24 units.
    """
    return Case(
        written("median.hpp", r"const double tau = ([^;]*);"),
        {"d": (1e-9, 1e9), "x": (1e2, 1e9), "mu": (0.5, 5e7), "c2": (1e2, 1e9)},
        -24 * UNIT,
        24 * UNIT,
        {"x": 3, "c2": 4},
    )


def script(case: Case) -> str:
    """The case as Gappa reads it."""
    lines = ["@rnd = float<ieee_64, ne>;"]
    lines += [f"{name} = rnd({name}_);" for name in case.ranges]
    lines += [f"computed rnd= {case.formula};"]
    exact = case.truth or case.formula
    for name in case.exact:
        exact = re.sub(rf"\b{name}\b", f"{name.upper()}X", exact)
    lines += [f"EXACT = {exact};"]
    given = [
        f"{name.upper() + 'X' if name in case.exact else name} in [{low!r}, {high!r}]"
        for name, (low, high) in case.ranges.items()
    ]
    given += [
        f"{name} -/ {name.upper()}X in [-{units * UNIT!r}, {units * UNIT!r}]"
        for name, units in case.exact.items()
    ]
    off = "(computed - EXACT) / EXACT" if case.relative else "computed - EXACT"
    goal = f"{off} in [{case.low!r}, {case.high!r}]"
    lines.append("{ " + " /\\ ".join(given) + f" -> {goal} }}")
    if case.factor:  # Gappa finds no such step by itself
        x, factor = case.truth, f"rnd{case.factor}"
        of_product = f"(computed - {x} * {factor}) / ({x} * {factor})"
        of_x = f"({x} - {exact}) / {exact}"
        lines.append(
            f"({off.split(' / ')[0][1:-1]}) / EXACT -> "
            f"(1 + {of_product}) * {factor} * (1 + {of_x}) - 1 "
            f"{{ {x} <> 0, {exact} <> 0, {factor} <> 0 }};"
        )
    return "\n".join(lines) + "\n"


def proves(case: Case) -> bool:
    """Whether Gappa finds a proof."""
    assert PROGRAM is not None
    done = subprocess.run(
        [PROGRAM], input=script(case), capture_output=True, text=True, check=False
    )
    return done.returncode == 0
