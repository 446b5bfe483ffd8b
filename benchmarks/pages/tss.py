"""docs/benchmarks/tss.md: the published files of TSS, one table a transformation.

    python benchmarks/pages/tss.py FOLDER

FOLDER has a clone of AI-secure/semantic-randomized-smoothing under OWNER+NAME, with a
file ``.commit``. ``benchmarks/certificates/tss.py`` says which file is of what.
"""

import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "certificates"))

import tss  # noqa: E402
from groups import file_misfits, group_of  # noqa: E402
from judge import digest  # noqa: E402

from rsbounds._numerics.decimals import truncated  # noqa: E402
from rsbounds.confidence import lower_bound  # noqa: E402
from rsbounds.gaussian import brightness_radius  # noqa: E402
from rsbounds.results import Results, read  # noqa: E402

PAGE = ROOT / "docs" / "benchmarks" / "tss.md"
_BY = {
    "chain": "two bounds",
    "second_chain": "two bounds, mended since",
    "first_chain": "two bounds, mended twice since",
}
_HEAD = """\
# Transformations as TSS published them

What the result files of
[TSS](https://github.com/AI-secure/semantic-randomized-smoothing) (Li et al. 2021)
say, and what can be computed of it. Written by `benchmarks/pages/tss.py`, which
stores none of them; [the table](../leaderboard.md) has cards of the best run of each
training and noise level. Commit `{commit}`.

**{files} files have the field's columns, with {rows:,} rows**: {distinct} of them
differ, the others are copies in other folders. `rsbounds report` reads {read}. It
refuses {refused}: two whose `correct` is False where the prediction is the label, and
one that has an index twice. {short} of the different ones were cut off before the end
of their inputs. {study} are not among the tables here: they try how many steps a
rotation needs, allow for changes in l2 beside an interval, or have paths that don't
state it. No file states n or alpha.

## Radii of a parameter

A radius is **rounded up** if it is above that of the largest count that prints so,
and **no count's** if none prints so at alpha = {alpha}. n is the least of {samples}
whose full count reaches the largest radius, as printed.

"""
_CHAINS = """\

Blur is by sampled kernels, which are no group: those radii hold for the exact law
alone, and the table calls them "as printed". Translations went around the border by
whole pixels, with rounded noise: they are an exact group for whole shifts.

## Brightness beside contrast

Copies are e^k (x + b), brightness first. The files chain two bounds: a contrast of c
divides the noise of the brightness by c, and then both are shifted. The formula was
mended twice; files of all three stand in the repository, and in each the radii fit
one of them. The last one is for e^kappa (x + beta) and for e^kappa x + beta, the
others for the first of these alone. Beside it stands the exact radius of these laws,
by Neyman and Pearson's lemma (`kept` in `benchmarks/certificates/tss.py`: a
quadrature at {grid} contrasts, without an error bound). **No radius of any of these
files is above the exact one of its own count**, whichever formula it is of.

The .677 that TSS is quoted with stands here: sigma .4, contrasts from .6 to 1.4 in
factors, so from -.511 to .336 in logarithms, by the last formula. [Our
noise](../theory/transformations.md) is e^k x + b, for the attack e^kappa x + beta,
and earns {ours} for all logarithms within .511, and 1.4089 within .4; a chain of two
bounds of ours gives 1.0685 there. The three differ in noise, attack and contrasts,
and are no errors of one another.

"""
_STEPS = """\

## Intervals gone through in steps

Rotations and scalings interpolate pixels and are no group. The authors sample at many
angles, each until its l2 radius is above what can lie between two of them; the column
`radius` is what was left at the last, below 0 where it ended there. So a row
certifies its whole interval or nothing, and `rsbounds report` reads it so. Neither
samples nor the bound between steps are in the files: nothing of it can be computed
again, and the table calls such a card "as printed". {sums} of the files below end
with a line of their own sums: the share that is certified agrees in {agree}.

"""
_DISPLACEMENTS = """\

## All displacements

Where every whole displacement was tried, a radius is the length of the first that
failed: below it all are certified, without samples. A length is the root of a sum of
two squares, and printing can only have lifted it.

"""


def head(*names: str) -> str:
    """The head of a table; a colon behind a name sets its column to the right."""
    under = ["---:" if name.endswith(":") else "---" for name in names]
    return line(*(name.rstrip(":") for name in names)) + line(*under)


def line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def certified(held: Results) -> int:
    return sum(row.radius > 0 for row in held.rows)


def title(file: tss.File) -> str:
    """The threat's name, with what was trained for it."""
    name = group_of(f"{file.data}/{file.kind.threat}").threat_title
    return f"{name}, {file.training}" if file.training else name


def sampled(each: list[tuple[tss.File, Results]]) -> Iterator[str]:
    for file, held in each:
        if not file.kind.laws or file.kind.laws[0] is tss.chain:
            continue
        found = tss.earned(held, file)
        told = tss.findings(held, found)
        largest = max(row.radius for row in held.rows)
        yield line(
            title(file), file.data, file.kind.method, f"{file.given['sigma']:g}",
            len(held.rows), certified(held), largest, f"{found.n:,}",
            truncated(float(found.radii[-1]), 4), told["rounded"], told["unearned"],
        )  # fmt: skip


def chained(each: list[tuple[tss.File, Results]]) -> Iterator[str]:
    for file, held in each:
        if not file.kind.laws or file.kind.laws[0] is not tss.chain:
            continue
        found = tss.earned(held, file)
        most, above = tss.exact(held, found, file)
        told = tss.findings(held, found)
        contrast = file.given["contrast"]
        yield line(
            file.data, f"{file.given['sigma']:g}",
            f"{1 - contrast:g} to {1 + contrast:g}", _BY[found.law.__name__],
            f"{found.n:,}", max(row.radius for row in held.rows),
            truncated(float(found.radii[-1]), 4), truncated(most, 4), above,
            told["rounded"], told["unearned"],
        )  # fmt: skip


def in_steps(each: list[tuple[tss.File, Results]]) -> Iterator[str]:
    for file, held in each:
        if file.kind.extent:
            share = f"{certified(held) / len(held.rows):.3f}"
            yield line(
                title(file), f"{file.kind.extent:g}", file.data,
                f"{file.given['sigma']:g}", len(held.rows), share,
            )  # fmt: skip


def enumerated(each: list[tuple[tss.File, Results]]) -> Iterator[str]:
    for file, held in each:
        if not file.kind.laws and not file.kind.extent:
            told = tss.enumerated(held)
            yield line(
                title(file), file.data, f"{file.given['sigma']:g}", len(held.rows),
                certified(held), told["rounded"], told["unearned"],
            )  # fmt: skip


def own_share(path: Path) -> float | None:
    """The certified share that a file's last line states."""
    found = re.search(r"^CleanACC = .* RACC = \S+ = ([\d.]+)$", path.read_text(), re.M)
    return float(found[1]) if found else None


def main() -> None:
    root = Path(sys.argv[1]) / tss.REPOSITORY
    numbers: dict[str, int] = defaultdict(int)
    contents, each = set[str](), list[tuple[tss.File, Results]]()
    for path in tss.files_of(root):
        numbers["files"] += 1
        text = path.read_text()
        numbers["rows"] += sum(
            entry.count("\t") == 5 for entry in text.splitlines()[1:]
        )
        new = digest(text.encode()) not in contents
        contents.add(digest(text.encode()))
        file = tss.file_of(path.relative_to(root).as_posix())
        try:
            held = read(path) if file is None else tss.rows_of(path, file)
        except ValueError:
            numbers["refused"] += 1
            continue
        numbers["read"] += 1
        if not new:
            continue
        if file is None:
            numbers["study"] += 1
        elif [*file_misfits(group_of(f"{file.data}/{file.kind.threat}"), held)]:
            numbers["short"] += 1
        else:
            each.append((file, held))
            share = own_share(path)
            numbers["sums"] += share is not None
            numbers["agree"] += share == certified(held) / len(held.rows)
    each.sort(key=lambda one: (tss.KINDS.index(one[0].kind), one[0].path))
    commit = (root / ".commit").read_text().strip()[:12]
    samples = ", ".join(f"{n:,}" for n in tss.SAMPLES)
    text = _HEAD.format(
        **numbers, distinct=len(contents), commit=commit, alpha=tss.ALPHA,
        samples=samples,
    )  # fmt: skip
    text += head(
        "transformation",
        "data",
        "noise",
        "sigma:",
        "rows:",
        "certified:",
        "largest:",
        "n:",
        "of all n:",
        "rounded up:",
        "no count's:",
    )
    text += "".join(sampled(each))
    ours = brightness_radius(
        lower_bound(100_000, 100_000, tss.ALPHA), 0.4, 0.4, contrast=-math.log(0.6)
    )
    text += _CHAINS.format(grid=tss.GRID, ours=truncated(float(ours), 4))
    text += head(
        "data",
        "sigma:",
        "contrasts",
        "bound",
        "n:",
        "largest:",
        "of all n:",
        "exact:",
        "above the exact one:",
        "rounded up:",
        "no count's:",
    )
    text += "".join(chained(each))
    text += _STEPS.format(**numbers)
    text += head(
        "transformation",
        "up to:",
        "data",
        "sigma:",
        "rows:",
        "certified:",
    )
    text += "".join(in_steps(each))
    text += _DISPLACEMENTS
    text += head(
        "transformation",
        "data",
        "training sigma:",
        "rows:",
        "certified:",
        "rounded up:",
        "no displacement's:",
    )
    text += "".join(enumerated(each))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
