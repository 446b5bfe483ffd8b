"""docs/benchmarks/published.md: certificates that papers published, recomputed.

    python benchmarks/pages/published.py FOLDER

FOLDER has a clone of each repository of ``REPOSITORIES`` under OWNER+NAME; those that
are not there are left out. Nothing of theirs is stored here: the page has counts and
largest differences.
"""

import csv
import hashlib
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from machine import machine
from published_dsrs import Law, radius
from scipy.stats import norm

from rsbounds.audit import _bounds
from rsbounds.audit._balls import event
from rsbounds.audit._printing import Printing
from rsbounds.audit._published import earned
from rsbounds.confidence import lower_bound
from rsbounds.results import read

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "published.md"
SPLITTING = PAGE.with_name("published-splitting.csv")
FIELD_FILE = PAGE.with_name("published-field.csv")
FIELD_HEAD = [
    "repository", "sigma", "files", "rows", "certified", "rounded up", "by up to",
    "no count's", "above all", "ACR printed", "ACR cut",
]  # fmt: skip
N, ALPHA, OTHER = 100_000, 0.001, 0.01
FIELD = {
    "locuslab+smoothing": "Cohen et al. 2019",
    "Hadisalman+smoothing-adversarial": "Salman et al. 2019, SmoothAdv",
    "jh-jeong+smoothing-consistency": "Jeong and Shin 2020, consistency",
    "jh-jeong+smoothmix": "Jeong et al. 2021, SmoothMix",
}
SPLIT, DSRS, TOPK = (
    "alevine0+smoothingSplittingNoise",
    "llylly+DSRS",
    "jjy1994+Certify_Topk",
)
WITHOUT = {
    "RuntianZ+macer": "Zhai et al. 2020, MACER",
    "jh-jeong+smoothing-multiscale": "multiscale smoothing",
    "tonyduan+rs4a": "Yang et al. 2020, RS4A",
    "microsoft+denoised-smoothing": "Salman et al. 2020, denoised smoothing",
    "ethz-spylab+diffusion_denoised_smoothing": "Carlini et al. 2023",
}
REPOSITORIES = (*FIELD, DSRS, TOPK, SPLIT, *WITHOUT)


def commit(folder: Path) -> str:
    """The commit of a clone."""
    command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.strip()


@cache
def radii_of(sigma: float, alpha: float) -> np.ndarray:
    """The radii that counts from 0 to N earn."""
    return sigma * scores(alpha)


@cache
def scores(alpha: float) -> np.ndarray:
    return earned(N, alpha)


class Printed(NamedTuple):
    """What one file has."""

    sigma: float
    rows: int
    certified: int
    unexplained: int  # radii that no count prints as, at the level stated
    fits: bool  # at another level every radius is a count's
    above: int  # of these, above the radius of all samples
    rounded: int  # above every count that prints as they are
    excess: float  # the largest of these
    acr: float
    sound: float


def printed(path: Path, sigma: float) -> Printed | None:
    """A file of the field, at n = N and alpha = ALPHA."""
    try:
        results = read(path)
    except ValueError:  # read() says which line
        return None
    rows = results.rows
    cells = results.printed["radius"]
    if not rows:
        return None
    levels = radii_of(sigma, ALPHA)
    held = [row for row in rows if row.radius]
    printing = Printing.of_radii(cells, levels)
    distinct = {row.radius for row in held}
    known = {r: printing.count(r, levels) for r in distinct}
    sound = {r: below(r, levels) for r in known}
    lost = [row for row in held if known[row.radius] is None]
    up = [
        r
        for row in held
        if (k := known[r := row.radius]) is not None and disproved(r, sigma, k)
    ]
    excess = max((r - levels[known[r]] for r in set(up)), default=0.0)
    above = sum(disproved(row.radius, sigma, N) for row in lost)
    right = [row.radius for row in rows if row.correct]
    acr = math.fsum(right) / len(rows)
    own = math.fsum(sound.get(r, 0.0) for r in right) / len(rows)
    other = radii_of(sigma, OTHER)
    printing = Printing.of_radii(cells, other)
    fits = bool(lost) and None not in {printing.count(r, other) for r in known}
    numbers = len(rows), len(held), len(lost), fits, above, len(up), excess, acr, own
    return Printed(sigma, *numbers)


def below(r: float, levels: np.ndarray) -> float:
    """The largest radius of a count that is not above r."""
    return max(float(levels[max(np.searchsorted(levels, r, "right") - 1, 0)]), 0.0)


@cache
def disproved(r: float, sigma: float, count: int) -> bool:
    """Whether so many of N samples don't show r, in ball arithmetic."""
    from flint import arb, ctx

    with ctx.workprec(192):
        at = event(arb(r) / arb(sigma))
        return bool(_bounds.tail(count, N, *at) > arb(ALPHA))


def files(folder: Path) -> Iterator[tuple[Path, float]]:
    """Result files with the noise level that their name states."""
    for path in sorted(folder.rglob("*")):
        name = re.fullmatch(r"(?:sigma|noise)_(\d\.\d+)(?:_\d+)?", path.name)
        parts = path.relative_to(folder).parts
        if name and path.is_file() and "certify" in parts:
            yield path, float(name[1])


def field(root: Path) -> list[str]:
    text = [
        "## Files of the field",
        "",
        f"The papers state n = {N:,}, alpha = {ALPHA} and one-sided Clopper-Pearson "
        "bounds. `{:.3}` and `{:.4f}` round to nearest. A radius is **rounded up** if "
        "it is above the exact radius of every count that prints so; **no count's** if "
        f"no count of {N:,} prints so at alpha = {ALPHA}; **above all** if it is above "
        "the radius that all samples earn. Each is proved in ball arithmetic. In the "
        "file, ACR is that of the printed radii, and that of the largest exact radius "
        "of a count below each. Copies of a file count once.",
        "",
    ]
    table: list[tuple[Any, ...]] = []
    notes, seen = [], set[str]()
    for name, paper in FIELD.items():
        groups: dict[float, list[Printed]] = {}
        lost, other = 0, []
        for path, sigma in files(root / name):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest in seen:
                continue
            seen.add(digest)
            own = printed(path, sigma)
            if own is None:
                lost += 1
                continue
            groups.setdefault(sigma, []).append(own)
            if own.unexplained:
                other.append((path.relative_to(root / name), own))
        for sigma, each in sorted(groups.items()):
            rows, certified, lots, above, up = (
                sum(getattr(own, part) for own in each)
                for part in ("rows", "certified", "unexplained", "above", "rounded")
            )
            excess = max(own.excess for own in each)
            acr, cut = (
                np.mean([getattr(own, part) for own in each])
                for part in ("acr", "sound")
            )
            cells = (
                paper,
                f"{sigma:g}",
                len(each),
                rows,
                certified,
                up,
                f"{excess:.1e}",
                lots,
            )
            table.append((*cells, above, f"{acr:.4f}", f"{cut:.4f}"))
        fits = [path for path, own in other if own.fits]
        if other:
            notes.append(
                f"- {paper}: {len(other)} files have radii that are no count's at "
                f"alpha = {ALPHA}. "
                + (
                    f"In {len(fits)} of them every radius is that of a count at alpha "
                    f"= {OTHER}, such as `{fits[0]}`: they seem to hold at that "
                    "level, not at the one stated."
                    if fits
                    else ""
                )
            )
        if lost:
            notes.append(
                f"- {paper}: {lost} files are left out: they have no rows, other "
                "columns, an index twice or a row that contradicts itself."
            )
    with FIELD_FILE.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows([FIELD_HEAD, *table])
    link = f"[Each noise level, with average radii]({FIELD_FILE.name})."
    return [*text, *totals(table), "", link, "", *notes]


def totals(table: list[tuple[Any, ...]]) -> list[str]:
    """A row for each repository, over its noise levels."""
    head = FIELD_HEAD[:1] + FIELD_HEAD[2:9]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for paper, each in groupby(table, key=lambda row: row[0]):
        rows = list(each)
        files, total, held, up, lots, above = (
            f"{sum(row[k] for row in rows):,}" for k in (2, 3, 4, 5, 7, 8)
        )
        excess = max((row[6] for row in rows), key=float)
        lines.append([paper, files, total, held, up, excess, lots, above])
    return ["| " + " | ".join(line) + " |" for line in lines]


def top_k(folder: Path) -> list[str]:
    rows, table = (
        read(folder / "result.txt").rows,
        np.loadtxt(folder / "cifar0.25.txt", dtype=int),
    )
    return [
        "## Certify_Topk",
        "",
        f"`result.txt` ({len(rows)} rows, sigma = .25, k = 3) and the counts of "
        f"{len(table)} inputs: [answers beyond one class](answers.md) has the radii "
        "above the exact ones and what the same counts earn here.",
    ]


def split(folder: Path) -> list[str]:
    """Radii of splitting noise: 2 lambda (p - 1/2) in l1, p bounded at alpha/2."""
    text = [
        "## Splitting noise",
        "",
        "Levine and Feizi 2021: arrays in single precision. The l1 radius is 2 lambda "
        "(p - 1/2) for noise of width 2 lambda, lambda = sqrt(3) sigma; p is the "
        f"lower end of a two-sided Clopper-Pearson interval at {ALPHA}, of n = {N:,} "
        "(the script's default), so that only half of the stated level is spent. "
        "A radius is "
        "above if it exceeds the exact radius of the nearest count at alpha/2, which "
        "the rounding of single precision explains.",
        "",
    ]
    head = ["file", "rows", "certified", "above", "by up to", "mean radius"]
    rows: list[list[str]] = [[*head, "the same counts at alpha"]]
    bounds = np.asarray(lower_bound(np.arange(N + 1), N, ALPHA / 2))
    one = np.asarray(lower_bound(np.arange(N + 1), N, ALPHA))
    for path in sorted(folder.glob("checkpoints/cifar_split_[0-9]*/radius_l1.npy")):
        width = 2 * math.sqrt(3) * float(path.parent.name.split("_")[2])
        held = np.array([row.radius for row in read(path).rows])
        exact = width * (bounds - 0.5)
        k = np.clip(np.searchsorted(exact, held), 1, N)
        k = np.where(held - exact[k - 1] < exact[k] - held, k - 1, k)[held > 0]
        excess = held[held > 0] - exact[k]
        cells = path.parent.name, len(held), len(excess), int((excess > 1e-12).sum())
        means = (width * (own[k].mean() - 0.5) for own in (bounds, one))
        rest = f"{excess.max():.1e}", *(f"{mean:.4f}" for mean in means)
        rows.append([str(cell) for cell in (*cells, *rest)])
    with SPLITTING.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows(rows)
    certified, above = (sum(int(row[i]) for row in rows[1:]) for i in (2, 3))
    most = max((row[4] for row in rows[1:]), key=float)
    text.append(
        f"Of {certified:,} certified rows in {len(rows) - 1} files {above:,} are "
        f"above, by up to {most} ([each file]({SPLITTING.name}))."
    )
    return text


def pairs(path: Path, start: str = "") -> dict[int, tuple[float, ...]]:
    """Index -> numbers of a file; the first line of an index counts."""
    found: dict[int, tuple[float, ...]] = {}
    for line in path.read_text().splitlines():
        if line.startswith(start) and line.strip():
            index, *rest = line.removeprefix(start).split()
            found.setdefault(int(index), tuple(map(float, rest)))
    return found


def dsrs(folder: Path, every: int = 200) -> list[str]:
    """The radii from two distributions, against the probabilities published beside
    them.
    """
    model, d, k, sigma = "cohen-imagenet-75260-0.50.pth", 150_528, 75_260, 0.5
    law, data = Law(d, k, sigma), folder / "data"
    name = f"general-gaussian-{k}-{sigma}-50000-0.0005"
    p, q = (
        pairs(data / "sampling" / model / f"{name}{end}.txt", "o ")
        for end in ("", "-x+")
    )
    first = pairs(data / "sampling" / f"{model}-small" / f"{name}.txt", "o ")
    new = data / "new-radius" / model
    new = pairs(new / f"new-rad-general-gaussian-th-{k}-{sigma}-x+-50000-0.0005.txt")
    old = pairs(data / "orig-radius" / model / f"orig-rad-{name}.txt")
    lines, rows, held = [], 0, 0
    for index, (r, *_) in sorted(new.items()):
        if index % every or index not in p or index not in q:
            continue
        rows, held = rows + 1, held + (r > 0)
        if not r:
            continue
        best = exact(law, p, index, q)
        if r <= best * (1 + 1e-4):  # what the quadrature may be off by
            continue
        other = exact(law, first, index, q)
        near = exact(Law(d, k, sigma, points=160), p, index, q)  # a finer quadrature
        assert abs(near - best) < 1e-4 * best < r - best
        alone = radius(law, p[index][0])
        cells = (
            index,
            f"{r:.4f}",
            f"{best:.4f}",
            f"{other:.4f}" if index in first else "-",
        )
        cells = *cells, f"{old[index][0]:.4f}", f"{alone:.4f}"
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return [
        "## DSRS",
        "",
        f"Li et al. 2022: generalized Gaussian noise (d = {d:,}, k = {k:,}), a second "
        "distribution cut at a ball, intervals from n = 50,000 each at alpha = .0005. "
        "With the second distribution a radius may be above that of Neyman and "
        "Pearson; what is compared is the exact optimum under both intervals as "
        "published (`benchmarks/pages/published_dsrs.py` derives it). ImageNet, sigma "
        f"= .5, every {every}th index: {rows} rows, {held} of them certified, "
        f"**{len(lines)} above the exact radius**. Most of these fit the probabilities "
        "of an earlier sampling, kept in the folder `-small` (fourth column): the rows "
        "and the probabilities beside them are of two samplings.",
        "",
        "| index | printed | exact | exact, earlier sampling | first radius printed | "
        "exact |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
        *lines,
    ]


def exact(law: Law, p: dict[int, tuple[float, ...]], index: int, q: dict) -> float:
    """With the threshold that their rule chooses from p."""
    if index not in p:
        return math.nan
    low, high = p[index]
    if high >= 1 - 1e-8:  # all samples agreed: the second half is of P as well
        return radius(law, max(low, q[index][0]))
    tau = 0.08 * (-math.log(1 - low) - 5) + 0.6 if low >= 0.5 else 0.5
    return max(radius(law, low, tau, *q[index]), radius(law, low))


def main() -> None:
    root = Path(sys.argv[1])
    here = [name for name in REPOSITORIES if (root / name).is_dir()]
    text = [
        "# Published certificates, recomputed",
        "",
        "Result files in the public repositories of papers, compared with the exact "
        "radii of any count they can have come from: 3.5 million rows in all. None of "
        "these files is stored here. To check the page, clone the repositories at the "
        "commits [below](#commits), each into FOLDER/OWNER+NAME, and run "
        "`python benchmarks/pages/published.py FOLDER`, which writes it again. On "
        f"{machine()}. The largest score at alpha = {ALPHA} is "
        f"{scores(ALPHA)[-1]:.5f} (and {norm.ppf(ALPHA ** (1 / N)):.5f} by SciPy). "
        "`rsbounds verify FILE --sigma S --n N --alpha A` checks such a file, "
        "`rsbounds report` reads it; [a table](../leaderboard.md) has cards of the "
        "best.",
        "",
        *field(root),
    ]
    for name, section in ((DSRS, dsrs), (TOPK, top_k), (SPLIT, split)):
        if name in here:
            text += ["", *section(root / name)]
    text += ["", "## Commits", ""]
    for name in here:
        own = " (no result files)" if name in WITHOUT else ""
        text.append(f"- {name.replace('+', '/')} `{commit(root / name)[:12]}`{own}")
    PAGE.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
