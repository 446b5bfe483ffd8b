"""Bounds and decision lists from the same counts, on Fashion-MNIST and MNIST: writes the page.

python benchmarks/pages/composite.py docs/benchmarks/composite.md

The counts are in composite/ beside the page; they are drawn where the file is missing (some
minutes for a data set), and the page is written from them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from composite_case import CALIBRATE, IMAGES, N0, SIGMAS, TRAIN, Case, N, load
from numpy.typing import NDArray

import rsbounds
from rsbounds import certify, composite, datasets, schemes
from rsbounds.composite import Cond, Rule

ALPHA = 0.001
RADII = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
GATES = (0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
FINE, LEAST = np.arange(0.0, 5.0, 0.05), 0.05  # radii of "any radius", while so many are certified
JOINT = 100  # images
UNION = "union of the constants"
HEAD = """# Bounds and decision lists from the same counts

Certified accuracy is the part of all images that is classified rightly and certified beyond the
radius; ACR is the mean of the certified radius, 0 where the class is wrong or the classifier
abstains; samples are those that one image uses, in the mean. Pixels are in [0, 1], distances l2.

```sh
python benchmarks/pages/composite.py docs/benchmarks/composite.md
```

Counts are drawn once for every image and level and kept in `composite/` beside this page; all
rows are certified from them. {n0} samples a level choose, n = {n} a level estimate, and alpha =
.001 **in total** for every row. 784-256-128-10 networks, one for each of the levels {sigmas},
trained under Gaussian noise of that level and nothing else. Rules were fitted by
`rsbounds.composite.fit` to {calibrate} samples a level of {images} calibration images, which are
neither among those trained on nor among the {images} that are certified here. One seed; rsbounds
{version}.
"""
TAIL = """
## How to read it

- **Cohen** puts p_B = 1 - p_A; **runner-up** bounds the largest other count too, at alpha/2 and
  alpha/2. Same samples, same model.
- **gate s > t**: the class that leads at level s is returned if its normal score is above t;
  otherwise the next item is asked. **majority**: p > 1/2. **argmax**: the class that leads.
- A list's **constant** is the runner-up certificate at the level of its first item.
- "At any radius" is on a grid of .05 as far as the constant certifies {least:.0%} of the images.
- The **union** takes, at each radius, the constant that is best there: no classifier does that. To
  come within 3 % of it at every radius with a certificate is open.
- The differences of a list to its constant are paired; their standard error is given where a goal
  hangs on it.

## What failed

These were tried while the theory was made, on other runs; there are no figures for them here.
Routers (an argmax over routing votes, "dual smoothing") have valid certificates and added
nothing to lists. Learned potentials and classes for rejection gained nothing. Lists of more than
three items gained nothing; neither did lumping rare classes together, Holm's procedure, or
choosing between Cohen's bound and the pair by the selection samples. More in [several levels at
once](../theory/several-levels.md).
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """Radii of the images, 0 where the class is wrong, and samples that each used."""

    name: str
    radii: Floats
    samples: float

    def accuracy(self, radius: float) -> float:
        return float(np.mean(self.radii > radius))

    @property
    def acr(self) -> float:
        return float(self.radii.mean())

    def cells(self) -> list[str]:
        curve = [f"{self.accuracy(r):.3f}" for r in RADII]
        return [self.name, *curve, f"{self.acr:.3f}", f"{self.samples:.0f}"]


@dataclass(frozen=True)
class Goal:
    """A figure, as it is printed, beside what was wanted of it."""

    what: str
    measured: float
    wanted: float
    at_least: bool = True
    unit: str = ""
    more: str = ""

    def cells(self) -> list[str]:
        sign = ">=" if self.at_least else "<="
        met = self.measured >= self.wanted if self.at_least else self.measured <= self.wanted
        return [
            self.what,
            f"{self.measured:g}{self.unit}{self.more}",
            f"{sign} {self.wanted:g}{self.unit}",
            "met" if met else "**missed**",
        ]


class Bench:
    """One data set's certificates."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.constants = [self.constant(f"runner-up, sigma {s:g}", k) for k, s in enumerate(SIGMAS)]

    def row(self, name: str, one: Callable[[int], Any], samples: Callable[[Any], int]) -> Row:
        found = [one(index) for index in range(len(self.case.labels))]
        right = np.array([c.predict for c in found]) == self.case.labels
        radii = np.where(right, [c.radius for c in found], 0.0)
        return Row(name, radii, float(np.mean([samples(c) for c in found])))

    def constant(self, name: str, level: int, **how: Any) -> Row:
        sigma = SIGMAS[level]
        known: dict[str, Any] = {"n0": N0, "n": N, "alpha": ALPHA, **how}

        def one(index: int) -> Any:
            drawn = self.case.select[index, level], self.case.counts[index, level]
            return certify.certify_counts(schemes.gaussian(sigma), sigma, *drawn, **known)

        return self.row(name, one, lambda _: N0 + N)

    def list(self, rule: Rule, name: str = "") -> Row:
        used = sorted({q.stage for item in rule.items for q in item})
        items = [[replace(q, stage=used.index(q.stage)) for q in item] for item in rule.items]
        asked = Rule([SIGMAS[k] for k in used], items)
        select, counts = self.case.select[:, used], self.case.counts[:, used]

        def one(index: int) -> Any:
            return composite.certify_counts(asked, select[index], counts[index], N, ALPHA)

        return self.row(name + told(rule), one, lambda c: c.samples)

    def fitted(self) -> list[tuple[Rule, Row]]:
        ways = {"two items": ("acr", 2), "three items": ("acr", 3), "curve": ("curve", 3)}
        found = []
        for name, (objective, items) in ways.items():
            known: dict[str, Any] = {"objective": objective, "items": items, "gates": GATES}
            drawn = self.case.calibration, self.case.calibration_labels
            rule = composite.fit(*drawn, SIGMAS, **known).rule
            found.append((rule, self.list(rule, f"list ({name}): ")))
        return found

    def first(self, rule: Rule) -> Row:
        """The constant at the level of a rule's first item."""
        return self.constants[rule.items[0][0].stage]

    def joint(self) -> str:
        part = Case(*(v[:JOINT] for v in vars(self.case).values()))
        bench = Bench(part)
        pair, joint = bench.constants[1], bench.constant("", 1, bound="joint")
        return (
            f"The joint limit at sigma 1, on the first {JOINT} images alone: ACR {joint.acr:.3f} "
            f"against {pair.acr:.3f} for the pair of bounds, accuracy {joint.accuracy(0):.3f} "
            f"against {pair.accuracy(0):.3f}."
        )


def told(rule: Rule) -> str:
    """A rule in words."""
    words = []
    for item in rule.items:
        level = SIGMAS[item[0].stage]
        if len(item) == 2:
            words.append(f"gate {level:g} > {item[1].threshold / level:g}")
        else:
            words.append(f"{'argmax' if item[0].kind == 'margin' else 'majority'} {level:g}")
    return ", ".join(words)


def swept() -> Iterable[Rule]:
    """Two and three items over all levels, at thresholds that nobody chose."""

    def gate(k: int, s: float) -> list[Cond]:
        return [Cond("margin", k), Cond("score", k, -s * SIGMAS[k])]

    for s in (0.25, 0.3, 0.4, 0.5):
        for a, b in (0, 1), (0, 2), (1, 2):
            yield Rule(SIGMAS, [gate(a, s), [Cond("margin", b)]])
        yield Rule(SIGMAS, [gate(0, s), [Cond("score", 1)], [Cond("margin", 2)]])
        yield Rule(SIGMAS, [gate(0, s), gate(1, s), [Cond("margin", 2)]])


def compared(row: Row, other: Row, union: list[Row] | None = None) -> tuple[float, ...]:
    """Points at radius 0, worst per cent at any radius, ratios of ACR and samples: as printed."""
    base = np.array([max(r.accuracy(x) for r in union or [other]) for x in FINE])
    own = np.array([row.accuracy(x) for x in FINE])
    kept = base >= LEAST
    return (
        round(100 * (row.accuracy(0) - other.accuracy(0)), 1),
        round(100 * float(np.min(own[kept] / base[kept] - 1)), 1),
        round(row.acr / other.acr, 3),
        round(row.samples / other.samples, 2),
    )


def goals(cohen: Row, runner: Row, lists: list[tuple[Row, Row]], union: list[Row]) -> list[Goal]:
    """``lists``: each with its constant."""
    found = [Goal("runner-up over Cohen, sigma 1: ACR", compared(runner, cohen)[2], 1.05)]
    for row, base in lists:
        name = row.name.split(":")[0]
        points, worst, acr, samples = compared(row, base)
        won = (row.radii > 0) * 1.0 - (base.radii > 0)
        error = 100 * float(won.std()) / np.sqrt(len(won))
        found += [
            Goal(f"{name}: points at radius 0", points, 1.5, more=f" (standard error {error:.1f})"),
            Goal(f"{name}: worst at any radius", worst, -2.0, unit=" %"),
            Goal(f"{name}: ACR over its constant's", acr, 1.0),
            Goal(f"{name}: samples over its constant's", samples, 1.3, at_least=False),
        ]
    best = max(compared(row, row, union)[1] for row in (*union, *(row for row, _ in lists)))
    return [*found, Goal("open: the best row, worst against the union", best, -3.0, unit=" %")]


def section(case: Case) -> str:
    bench = Bench(case)
    cohen = bench.constant("Cohen, sigma 1", 1, runner_up=False)
    fitted = bench.fitted()
    rows = [cohen, bench.constants[1], bench.constants[0], bench.constants[2]]
    curve = [f"{max(r.accuracy(x) for r in bench.constants):.3f}" for x in RADII]
    body = [row.cells() for row in [*rows, *(row for _, row in fitted)]]
    main = ["certificate", *(f"> {r:g}" for r in RADII), "ACR", "samples"]
    parts = [_table([main, *body, [UNION, *curve, "", ""]]), bench.joint()]
    lists = [(row, bench.first(rule)) for rule, row in fitted if len(rule.items) > 1]
    for rule, row in fitted:
        if len(rule.items) == 1:
            parts.append(f"No list beat the constants on the calibration images: {row.name}.")
    wanted = ["goal", "measured", "wanted", "verdict"]
    judged = goals(cohen, bench.constants[1], lists, bench.constants)
    parts.append(_table([wanted, *(goal.cells() for goal in judged)]))
    parts.append(
        "Thresholds that nobody chose, all on the same test images and each against its constant "
        "(to take the best of them from here would be to choose on the test split):"
    )
    sweep = [["list", "points at 0", "worst, %", "ACR", "samples", "all four"]]
    for rule in swept():
        row = bench.list(rule)
        points, worst, acr, samples = compared(row, bench.first(rule))
        all_four = points >= 1.5 and worst >= -2 and acr >= 1 and samples <= 1.3
        figures = [f"{points:+.1f}", f"{worst:+.1f}", f"{acr:.3f}", f"{samples:.2f}"]
        sweep.append([row.name, *figures, "yes" if all_four else "no"])
    return "\n\n".join([*parts, _table(sweep)])


def _table(rows: list[list[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    page = parser.parse_args().page
    text = HEAD.format(
        n0=N0, n=N, sigmas=", ".join(f"{s:g}" for s in SIGMAS), calibrate=CALIBRATE,
        images=IMAGES, version=rsbounds.__version__,
    )  # fmt: skip
    for name in TRAIN:
        file = page.with_suffix("") / f"{name.lower()}.npz"
        if name != "MNIST" and not file.exists() and not datasets.FASHION_FOLDER.exists():
            print(f"{name} is skipped: apt-get install dataset-fashion-mnist")
            continue
        found = section(load(file, name))
        text += f"\n## {name}\n\n{TRAIN[name][0]:,} images to train on.\n\n{found}\n"
        print(text, flush=True)
    page.write_text(text + TAIL.format(least=LEAST))


if __name__ == "__main__":
    main()
