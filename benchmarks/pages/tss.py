"""docs/benchmarks/tss.md, and a row for each published file of TSS in tss/ beside it.

    python benchmarks/pages/tss.py FOLDER

FOLDER has a clone of AI-secure/semantic-randomized-smoothing under OWNER+NAME, with a
file ``.commit``. ``benchmarks/certificates/tss.py`` says which file is of what.
"""

import csv
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
FOLDER = PAGE.with_suffix("")
_BY = {
    "chain": "two bounds",
    "second_chain": "two bounds, mended since",
    "first_chain": "two bounds, mended twice since",
}
_PARAMETERS: list[object] = [
    "transformation", "data", "noise", "sigma", "rows", "certified", "largest", "n",
    "of all n", "rounded up", "no count's",
]  # fmt: skip
_TOTALS: list[object] = [
    "transformation", "noise", "files", "rows", "certified", "rounded up", "no count's"
]  # fmt: skip
_CHAINED: list[object] = [
    "data", "sigma", "contrasts", "bound", "n", "largest", "of all n", "exact",
    "above the exact one", "rounded up", "no count's",
]  # fmt: skip
_IN_STEPS: list[object] = [
    "transformation", "up to", "data", "sigma", "rows", "certified"
]  # fmt: skip
_ENUMERATED: list[object] = [
    "transformation", "data", "training sigma", "rows", "certified", "rounded up",
    "no displacement's",
]  # fmt: skip
_HEAD = """\
# Transformations as TSS published them

What the result files of
[TSS](https://github.com/AI-secure/semantic-randomized-smoothing) (Li et al. 2021,
commit `{commit}`) say, and what can be recomputed from them.
[The table](../leaderboard.md) has a card for the best run of each training and noise
level. `benchmarks/pages/tss.py` writes this page; the files are not stored here.

**{files} files have the columns of result files, with {rows:,} rows**; {distinct} of
them differ. `rsbounds report` reads {read} and refuses {refused}: two whose `correct`
is False where the prediction is the label, and one with an index twice. {short} of the
different ones end early. {study} are left out below: they try how many steps a rotation
needs, combine an interval with changes in l2, or have unclear paths. No file states n
or alpha.

## Radii of a parameter

A radius is **rounded up** if it is above that of the largest count that prints so, and
**no count's** if no count prints so at alpha = {alpha}. n is assumed to be the least of
{samples} that can show the file's largest radius.

"""
_CHAINS = """\

[Each file](tss/parameters.csv).

TSS blurs by sampled kernels, which form no group: these radii hold for the exact blur
alone, and the table calls them "as printed". Its translations by whole pixels around
the border are an exact group.

## Brightness and contrast

Copies are e^k (x + b), brightness first. The files chain two bounds, by three versions
of a formula; the table has the last version. "Exact" is the exact radius of these laws
by Neyman and Pearson's lemma (a quadrature at {grid} contrasts, without an error
bound). **No radius of these files, of any version, is above the exact one of its own
count.**

"""
_STEPS = """\

[Each file, of all versions](tss/brightness-contrast.csv).

TSS is quoted with .677, for sigma .4 and factors of contrast from .6 to 1.4, which are
-.511 to .336 in logarithms. [The library's noise](../theory/transformations.md) e^k x +
b certifies {ours} at the same n and sigma for all logarithms within .511. Noise and
attack differ, so neither figure corrects the other.

## Intervals covered in steps

Rotations and scalings interpolate pixels and form no group. TSS samples at many angles,
each until its l2 radius covers the step to the next. A row certifies its whole interval
or nothing: the column `radius` is what was left at the last angle, below 0 where it
failed. The files hold neither the samples nor the bound between steps, so nothing can
be recomputed, and the table calls such a card "as printed". {sums} of the files end
with their own certified share; it agrees with the rows in {agree}.

"""
_DISPLACEMENTS = """\

[Each file](tss/steps.csv), with those that allow for brightness too.

## All displacements

Where every whole displacement was tried, a radius is the length of the first that
failed: all shorter ones are certified, without samples. In {enumerated} files
{rows:,} rows certify {certified:,}; printing rounded {rounded:,} of these lengths up,
and {unearned} are no displacement's length. [Each file](tss/displacements.csv).
"""


Rows = list[list[object]]


def markdown(rows: Rows, right: int) -> str:
    """A table whose columns are set to the right from number ``right`` on."""
    under = ["---" if k < right else "---:" for k in range(len(rows[0]))]
    each = [rows[0], under, *rows[1:]]
    return "".join(f"| {' | '.join(map(str, cells))} |\n" for cells in each)


def save(name: str, rows: Rows) -> None:
    with (FOLDER / name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def certified(held: Results) -> int:
    return sum(row.radius > 0 for row in held.rows)


def title(file: tss.File) -> str:
    """The threat's name, with what was trained for it."""
    name = group_of(f"{file.data}/{file.kind.threat}").threat_title
    return f"{name}, {file.training}" if file.training else name


def sampled(each: list[tuple[tss.File, Results]]) -> Iterator[list[object]]:
    for file, held in each:
        if not file.kind.laws or file.kind.laws[0] is tss.chain:
            continue
        found = tss.earned(held, file)
        told = tss.findings(held, found)
        largest = max(row.radius for row in held.rows)
        yield [
            title(file), file.data, file.kind.method, f"{file.given['sigma']:g}",
            len(held.rows), certified(held), largest, found.n,
            truncated(float(found.radii[-1]), 4), told["rounded"], told["unearned"],
        ]  # fmt: skip


def chained(each: list[tuple[tss.File, Results]]) -> Iterator[list[object]]:
    for file, held in each:
        if not file.kind.laws or file.kind.laws[0] is not tss.chain:
            continue
        found = tss.earned(held, file)
        most, above = tss.exact(held, found, file)
        told = tss.findings(held, found)
        contrast = file.given["contrast"]
        yield [
            file.data, f"{file.given['sigma']:g}",
            f"{1 - contrast:g} to {1 + contrast:g}", _BY[found.law.__name__],
            found.n, max(row.radius for row in held.rows),
            truncated(float(found.radii[-1]), 4), truncated(most, 4), above,
            told["rounded"], told["unearned"],
        ]  # fmt: skip


def in_steps(each: list[tuple[tss.File, Results]]) -> Iterator[list[object]]:
    for file, held in each:
        if file.kind.extent:
            share = f"{certified(held) / len(held.rows):.3f}"
            yield [
                title(file), f"{file.kind.extent:g}", file.data,
                f"{file.given['sigma']:g}", len(held.rows), share,
            ]  # fmt: skip


def enumerated(each: list[tuple[tss.File, Results]]) -> Iterator[list[object]]:
    for file, held in each:
        if not file.kind.laws and not file.kind.extent:
            told = tss.enumerated(held)
            yield [
                title(file), file.data, f"{file.given['sigma']:g}", len(held.rows),
                certified(held), told["rounded"], told["unearned"],
            ]  # fmt: skip


def of_each(rows: Rows, *columns: int) -> Iterator[tuple[list[object], Rows]]:
    """The rows that agree in these columns, but for the training behind a comma."""
    groups: dict[tuple[object, ...], Rows] = defaultdict(list)
    for row in rows:
        key = (re.sub(", (consistency|cohen)$", "", str(row[k])) for k in columns)
        groups[tuple(key)].append(row)
    for key, group in groups.items():
        yield list(key), group


def total(rows: Rows, column: int) -> int:
    return sum(int(str(row[column])) for row in rows)


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
    FOLDER.mkdir(exist_ok=True)
    parameters = [*sampled(each)]
    save("parameters.csv", [_PARAMETERS, *parameters])
    totals: Rows = [
        [*key, len(rows), *(f"{total(rows, k):,}" for k in (4, 5, 9, 10))]
        for key, rows in of_each(parameters, 0, 2)
    ]
    text += markdown([_TOTALS, *totals], right=2)
    ours = brightness_radius(
        lower_bound(100_000, 100_000, tss.ALPHA), 0.4, 0.4, contrast=-math.log(0.6)
    )
    text += _CHAINS.format(grid=tss.GRID)
    chains = [*chained(each)]
    save("brightness-contrast.csv", [_CHAINED, *chains])
    last = [row for row in chains if row[3] == _BY["chain"]]
    shown: Rows = [[*row[:3], f"{row[4]:,}", *row[5:8]] for row in last]
    text += markdown([[*_CHAINED[:3], *_CHAINED[4:8]], *shown], right=3)
    text += _STEPS.format(**numbers, ours=truncated(float(ours), 4))
    steps = [*in_steps(each)]
    save("steps.csv", [_IN_STEPS, *steps])
    shares: Rows = []
    alone = [row for row in steps if "brightness" not in str(row[0])]
    for key, rows in of_each(alone, 0, 2):
        found = sorted(str(row[5]) for row in rows)
        shares.append([*key, len(rows), f"{found[0]} to {found[-1]}"])
    text += markdown([["transformation", "data", "files", "certified"], *shares], 2)
    displacements = [*enumerated(each)]
    save("displacements.csv", [_ENUMERATED, *displacements])
    text += _DISPLACEMENTS.format(
        enumerated=len(displacements),
        rows=total(displacements, 3),
        certified=total(displacements, 4),
        rounded=total(displacements, 5),
        unearned=total(displacements, 6),
    )
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
