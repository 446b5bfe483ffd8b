"""The cards of certificates that papers published, from their result files.

    python benchmarks/certificates/published.py FOLDER

FOLDER has clones of repositories of ``SOURCES`` under OWNER+NAME, each with a file
``.commit`` or as a git clone; the cards of the others stay as they are. Nothing of
theirs is stored here but for figures: a card names the file by its path, its commit and
its hash, and whoever has it can make the card again. For a model that was trained in
several ways, or several times, the run with the largest average radius is taken; its
card says of how many. What was made of which file is written to ``published.json``: a
card is shown as computed from a public file only if it is, byte for byte, one of it.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tss
from entries import CARDS, ROOT, Stated, _counted, _quoted, as_text, failing, make_card
from groups import Group, file_misfits, group_of
from judge import PUBLISHED, digest, published, rows_digest

from rsbounds._numerics.decimals import truncated
from rsbounds.audit.internal import verify_printed
from rsbounds.confidence import lower_bound
from rsbounds.reports import card
from rsbounds.results import Results, read

N, ALPHA, OTHER = 100_000, 0.001, 0.01
SPLIT, DSRS, TOPK = (
    "alevine0+smoothingSplittingNoise",
    "llylly+DSRS",
    "jjy1994+Certify_Topk",
)
BY_HAND = "Compared by a program of its own: rsbounds verify doesn't read such files."
PAGES = ROOT / "docs" / "benchmarks"
PAGE = PAGES / "published.md"


class Family(NamedTuple):
    """Runs of one kind of training: which files of a repository they are."""

    name: str
    title: str
    repository: str
    folder: str
    files: str  # a regular expression for paths
    paper: str


COHEN, SALMAN, JEONG, MIX = (
    "locuslab+smoothing",
    "Hadisalman+smoothing-adversarial",
    "jh-jeong+smoothing-consistency",
    "jh-jeong+smoothmix",
)
CIFAR, IMAGENET, MNIST = "cifar-10/l2", "imagenet/l2", "mnist/l2"
SMOOTHADV = "Salman et al. 2019, SmoothAdv"
CONSISTENCY = "Jeong and Shin 2020, consistency"
SMOOTHMIX = "Jeong et al. 2021, SmoothMix"
OF_JEONG = "trained by Jeong and Shin 2020"
PAPERS = {
    "cohen": "arXiv 1902.02918",
    "smoothadv": "arXiv 1906.04584",
    "consistency": "arXiv 2006.04062",
    "smoothmix": "arXiv 2111.09277",
    "macer": "arXiv 2001.02378",
    "stability": "arXiv 1809.03113",
    "dsrs": "arXiv 2206.07912",
    "split": "arXiv 2103.10834",
    "topk": "arXiv 1912.09899",
    "tss": "arXiv 2002.12398",
}
_PLAIN = r"(?:best_models/)?(?:cifar10/ours/)?cifar10/(?:DDN|PGD)_.*"
_TUNED = r"(?:best_models/)?(?:cifar10/ours_\w+/)?cifar10/finetune\w*/"
FAMILIES = [
    Family("cohen", "Cohen et al. 2019", COHEN, CIFAR, r"cifar10/.*/test/.*", "cohen"),
    Family(
        "cohen", "Cohen et al. 2019", COHEN, IMAGENET, r"imagenet/.*/test/.*", "cohen"
    ),
    Family("smoothadv", SMOOTHADV, SALMAN, CIFAR, _PLAIN, "smoothadv"),
    Family(
        "smoothadv-pretrained",
        f"{SMOOTHADV}, pre-trained",
        SALMAN,
        CIFAR,
        _TUNED + r"(?:DDN|PGD)_.*",
        "smoothadv",
    ),
    Family(
        "smoothadv-selftrained",
        f"{SMOOTHADV}, self-trained",
        SALMAN,
        CIFAR,
        r"(?:best_models/)?(?:cifar10/ours_\w+/)?cifar10/self_training/.*",
        "smoothadv",
    ),
    Family(
        "smoothadv-both",
        f"{SMOOTHADV}, pre-trained and self-trained",
        SALMAN,
        CIFAR,
        _TUNED + r"self_training.*",
        "smoothadv",
    ),
    Family(
        "smoothadv",
        SMOOTHADV,
        SALMAN,
        IMAGENET,
        r"(?:best_models/)?imagenet/(?:DDN|PGD)_.*",
        "smoothadv",
    ),
    Family(
        "consistency", CONSISTENCY, JEONG, CIFAR, r"cifar10/consistency/.*",
        "consistency",
    ),
    Family(
        "consistency", CONSISTENCY, JEONG, IMAGENET, r"imagenet/consistency/.*",
        "consistency",
    ),
    Family(
        "consistency", CONSISTENCY, JEONG, MNIST, r"mnist/consistency/.*",
        "consistency",
    ),
    Family(
        "macer", f"MACER, {OF_JEONG}", JEONG, CIFAR, r"cifar10/macer/.*", "macer"
    ),
    Family("macer", f"MACER, {OF_JEONG}", JEONG, MNIST, r"mnist/macer.*", "macer"),
    Family(
        "stability", f"Stability training, {OF_JEONG}", JEONG, CIFAR,
        r"cifar10/stab/.*", "stability",
    ),
    Family(
        "stability", f"Stability training, {OF_JEONG}", JEONG, MNIST, r"mnist/stab/.*",
        "stability",
    ),
    Family(
        "cohen", f"Gaussian training, {OF_JEONG}", JEONG, MNIST, r"mnist/cohen/.*",
        "cohen",
    ),
    Family(
        "smoothadv", f"SmoothAdv, {OF_JEONG}", JEONG, MNIST, r"mnist/salman/.*",
        "smoothadv",
    ),
    Family("smoothmix", SMOOTHMIX, MIX, CIFAR, r"cifar10/smoothmix/.*", "smoothmix"),
    Family("smoothmix", SMOOTHMIX, MIX, MNIST, r"mnist/smoothmix/.*", "smoothmix"),
]  # fmt: skip
SOURCES = (COHEN, SALMAN, JEONG, MIX, SPLIT, DSRS, TOPK, tss.REPOSITORY)


def commit(clone: Path) -> str:
    """The commit of a clone, or of an export that has it in a file."""
    if (clone / ".commit").is_file():
        return (clone / ".commit").read_text().strip()
    command = ["git", "-C", str(clone), "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def level_of(path: Path) -> float | None:
    """The noise level that a file of the field has in its name."""
    name = re.fullmatch(r"(?:sigma|noise)_(\d\.\d+)(?:_\d+)?", path.name)
    return float(name[1]) if name else None


def runs(root: Path, family: Family) -> Iterator[tuple[float, Path]]:
    """Noise level and file of each run of a family."""
    base = root / family.repository / "data" / "certify"
    for path in sorted(base.rglob("*")):
        sigma = level_of(path)
        inside = re.fullmatch(family.files, path.relative_to(base).as_posix())
        if sigma is not None and inside and path.is_file():
            yield sigma, path


def best(paths: list[Path]) -> tuple[Path, int] | None:
    """The file with the largest average radius, and how many there are to choose from.

    Files of the same content count once; some can't be read (no rows, other columns).
    """
    by_content: dict[bytes, tuple[float, Path]] = {}
    for path in paths:
        try:
            file = read(path)
        except ValueError:
            continue
        if file.rows:
            by_content.setdefault(
                path.read_bytes(), (float(file.average_radius()), path)
            )
    if not by_content:
        return None
    _, path = max(by_content.values())
    return path, len(by_content)


def of_field(root: Path, family: Family) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Where the cards of a family lie, and the cards."""
    group = group_of(family.folder)
    by_level: dict[float, list[Path]] = {}
    for sigma, path in runs(root, family):
        by_level.setdefault(sigma, []).append(path)
    for sigma, paths in sorted(by_level.items()):
        chosen = best(paths)
        if chosen is None:
            continue
        path, many = chosen
        made = make_card(path, group, stated=Stated(sigma, N, ALPHA))
        made["notes"] += [note_of(text) for text in file_misfits(group, read(path))]
        if failing(made["verified"]) and holds_otherwise(path, group, sigma):
            made["about"]["holds_at"] = str(OTHER)
            made["notes"].append(
                f"At alpha = {OTHER} every radius is that of a count of {N}: it seems "
                "to hold at that level, not at the one stated."
            )
        made["about"] |= said(root, family.repository, path, many) | {
            "title": family.title,
            "paper": PAPERS[family.paper],
        }
        yield place(group, f"{family.name}-{sigma:g}"), made


def holds_otherwise(path: Path, group: Group, sigma: float) -> bool:
    """Whether every radius is that of a count at another level than the stated one."""
    proof = make_card(path, group, stated=Stated(sigma, N, OTHER))["verified"]
    return bool(proof["findings"] <= proof["rounded"])


def note_of(misfit: str) -> str:
    """A note on a file that is of the data set, and not of the inputs of its group."""
    if "inputs" not in misfit.partition(":")[0]:
        raise ValueError(misfit)
    return f"Cut off before its end: {misfit}."


def said(root: Path, repository: str, path: Path, many: int) -> dict[str, str]:
    """Where a file of a repository is, and out of how many it was chosen."""
    chosen = "the only run" if many == 1 else f"largest average radius of {many} runs"
    return {
        "code": f"https://github.com/{repository.replace('+', '/')}",
        "commit": commit(root / repository),
        "file": path.relative_to(root / repository).as_posix(),
        "chosen": chosen,
    }


def place(group: Group, name: str) -> Path:
    """The path of a card below the folder of cards."""
    return group.folder / f"{name}.json"


def of_split(root: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Splitting noise in l1, of radii in single precision.

    They spend alpha/2 on each side of an interval, so that the radius of the count at
    alpha is above them: then the rounding of single precision does no harm.
    """
    group = group_of("cifar-10/l1")
    counts = np.arange(N + 1)
    half = np.asarray(lower_bound(counts, N, ALPHA / 2))
    full = np.asarray(lower_bound(counts, N, ALPHA))
    folders = root / SPLIT / "checkpoints"
    for path in sorted(folders.glob("cifar_split_*/radius_l1.npy")):
        # others were trained for stability, or have noise that is not drawn
        level = re.fullmatch(r"cifar_split_(\d\.\d+)", path.parent.name)
        if level is None:
            continue
        sigma = float(level[1])
        width = 2 * np.sqrt(3) * sigma
        file = read(path)
        held = np.array([row.radius for row in file.rows if row.radius])
        exact = width * (half - 0.5)
        right = np.clip(np.searchsorted(exact, held), 1, N)
        left_is_near = held - exact[right - 1] < exact[right] - held
        nearest = np.where(left_is_near, right - 1, right)
        is_count = np.abs(exact[nearest] - held) <= 1e-6
        failing = int((~is_count | (held > width * (full[nearest] - 0.5))).sum())
        excess = held - exact[nearest]
        above = int((excess > 1e-12).sum())
        audit = {
            "rows": len(file.rows),
            "proved": 0,
            "findings": failing,
            "first": [],
            "stated": ["sigma", "n", "alpha"],
        }
        made = make_card(path, group, stated=Stated(sigma, N, ALPHA), audit=audit)
        made["noise"]["method"] = "splitting noise"
        made["about"] |= said(root, SPLIT, path, 1) | {
            "title": "Levine and Feizi 2021, splitting noise",
            "paper": PAPERS["split"],
        }
        made["notes"].append(
            f"The radii spend alpha/2 and are in single precision: {above} are above "
            f"the exact radius at alpha/2, by up to {excess.max():.1e}, and "
            f"{failing or 'none'} above that of its count at alpha."
        )
        made["notes"].append(BY_HAND)
        yield place(group, f"splitting-{sigma:g}"), made


def of_dsrs(root: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Double sampling, with the rows that the page of published certificates found."""
    group = group_of("imagenet/l2")
    model = "cohen-imagenet-75260-0.50.pth"
    name = "new-rad-general-gaussian-th-75260-0.5-x+-50000-0.0005.txt"
    path = root / DSRS / "data" / "new-radius" / model / name
    section = PAGE.read_text(encoding="utf-8").split("## DSRS")[1].split("\n## ")[0]
    rows = int(re.search(r"(\d+) rows", section)[1])
    found = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \|", section, re.M)
    file = read(path)
    kept = tuple(row for row in file.rows if row.idx % 200 == 0)
    if len(kept) != rows:
        raise ValueError(f"{path} has {len(kept)} rows of every 200th, {PAGE} {rows}")
    audit = {
        "rows": rows,
        "proved": 0,
        "findings": len(found),
        "first": [
            f"input {index}: radius is {printed}, above the exact {exact}"
            for index, printed, exact in found
        ],
        "stated": ["sigma", "n", "alpha", "probabilities"],
    }
    made = make_rows_card(path, Results(str(path), kept), group, audit)
    made["noise"]["method"] = "generalized Gaussian, double sampling"
    made["about"] |= said(root, DSRS, path, 1) | {
        "title": "Li et al. 2022, DSRS",
        "paper": PAPERS["dsrs"],
    }
    made["notes"].append(
        "The radii are compared with the exact optimum under both intervals as "
        "published beside them, which are of another sampling for some rows."
    )
    made["notes"].append(BY_HAND)
    yield place(group, "dsrs-0.5"), made


def of_topk(root: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The best three classes, with what the page of answers found."""
    group = group_of("cifar-10/l2-top-3")
    path = root / TOPK / "result.txt"
    text = (PAGES / "answers.md").read_text(encoding="utf-8")
    found = re.search(r"\*\*(\d+) of the (\d+)\*\* that are not 0", text)
    file = read(path)
    held = sum(row.radius > 0 for row in file.rows)
    if found is None or int(found[2]) != held:
        raise ValueError(f"{path} has {held} radii above 0, the page another number")
    above = int(found[1])
    audit = {
        "rows": len(file.rows),
        "proved": 0,
        "findings": above,
        "first": [],
        "stated": ["sigma", "n", "alpha", "probabilities"],
        "rounded": above,
    }
    made = make_card(path, group, stated=Stated(0.25, N, ALPHA), audit=audit)
    made["noise"]["method"] = "gaussian"
    made["about"] |= said(root, TOPK, path, 1) | {
        "title": "Jia et al. 2020, top-3",
        "paper": PAPERS["topk"],
    }
    made["notes"].append(BY_HAND)
    yield place(group, "topk-0.25"), made


def of_tss(root: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Parameters of transformations; the best run of each training and noise level."""
    runs_of: dict[Path, list[tuple[tss.File, Results]]] = {}
    for path in tss.files_of(root / tss.REPOSITORY):
        file = tss.file_of(path.relative_to(root / tss.REPOSITORY).as_posix())
        if file is None:
            continue
        try:
            held = tss.rows_of(path, file)
        except ValueError:  # damaged
            continue
        group = group_of(f"{file.data}/{file.kind.threat}")
        if [*file_misfits(group, held)]:  # cut off
            continue
        runs_of.setdefault(place(group, _name_of_tss(file, held)), []).append(
            (file, held)
        )
    for path, each in sorted(runs_of.items()):
        group = group_of(path.parent)
        by_content = {rows_digest(held): (file, held) for file, held in each}
        file, held = max(
            by_content.values(), key=lambda run: float(run[1].average_radius())
        )
        yield path, _of_transformation(root, group, file, held, len(by_content))


def _name_of_tss(file: tss.File, held: Results) -> str:
    """The name of a card: what tells its run from the group's others."""
    words = ["tss"]
    if file.kind.method not in ("gaussian", "brightness-contrast"):
        words.append(file.kind.method.partition(" ")[0])
    if file.training:
        words.append(file.training)
    if _is_earlier(file, held):
        words.append("earlier")
    return "-".join([*words, f"{file.given['sigma']:g}"])


def _is_earlier(file: tss.File, held: Results) -> bool:
    """Whether a file's radii are by a formula that its authors mended since."""
    if len(file.kind.laws) < 2:
        return False
    found = tss.earned(held, file)
    return found is not None and found.law is not tss.chain


_TRAINING = {"cohen": ", Gaussian training", "consistency": ", consistency training"}
_OF_NOISE = {
    "exponential": ", exponential noise",
    "uniform": ", uniform noise",
    "folded Gaussian": ", folded noise",
    "enumeration": ", all displacements",
}
_IN_STEPS = (
    "The interval was gone through in steps, each sampled until its l2 radius was "
    "above what lies between two steps: neither samples nor that bound are in the file."
)
_KERNELS = (
    "Blurs by sampled kernels are no group: two of them are not the third. The radii "
    "are those of the law of a blur that is one."
)
_ROUND = (
    "Pictures were shifted around their borders by whole pixels, noise being rounded: "
    "the radius holds for whole shifts."
)


def _of_transformation(
    root: Path, group: Group, file: tss.File, held: Results, many: int
) -> dict[str, Any]:
    """The card of one file, compared with the counts that can have earned it."""
    notes, n, bound, doubt = [], tss.SAMPLES[-1], "clopper-pearson", ""
    path = root / tss.REPOSITORY / file.path
    if file.kind.extent:
        n = 10_000 if file.data == "imagenet" else n
        audit = tss.of_intervals(held)
        doubt, notes = "progressive sampling that is not recomputed", [_IN_STEPS]
        notes.append(f"n = {n:,} is what the authors' commands say.")
    elif not file.kind.laws:
        audit = tss.enumerated(held)
        n, bound = (2 * group.shape[1] + 1) ** 2, "exact"
        notes.append(
            "All whole displacements were tried, the nearest first: a radius is the "
            "length of the first at which the class was another. sigma is that of the "
            "training's noise."
        )
    else:
        found = tss.earned(held, file)
        if found is None:
            raise ValueError(f"{file.path} is above all laws")
        n, audit = found.n, tss.findings(held, found)
        if found.law is tss.gaussian:
            own = verify_printed(path, sigma=file.given["sigma"], n=n, alpha=ALPHA)
            audit = _quoted(own, path) | _counted(own)
        notes.append(
            "The file states neither n nor alpha: its largest radius is, as printed, "
            f"at most that of {n:,} samples at alpha = {ALPHA}."
        )
        if file.kind.laws[0] is tss.chain:
            notes += _of_chain(held, found, file)
        if file.kind.threat == "translation":
            notes.append(_ROUND)
    if file.kind.kernels:
        doubt = "a law that sampled kernels have only nearly"
        notes.append(_KERNELS)
    stated = Stated(file.given["sigma"], n, ALPHA)
    made = make_card(path, group, stated=stated, audit=audit, file=held)
    made["procedure"]["bound"] = made["about"]["bound"] = bound
    made["noise"] |= {
        "method": file.kind.method,
        "parameters": (
            {"transform": group.transformation} if group.transformation else {}
        ),
    }
    made["about"] |= said(root, tss.REPOSITORY, path, many) | {
        "title": f"Li et al. 2021, TSS{_TRAINING.get(file.training, '')}"
        f"{', an earlier bound' if _is_earlier(file, held) else ''}"
        f"{_OF_NOISE.get(file.kind.method, '')}",
        "paper": PAPERS["tss"],
    }
    if doubt:
        made["about"]["as_printed"] = doubt
    by_hand = [] if file.kind.laws == (tss.gaussian,) else [BY_HAND]
    made["notes"] += [*notes, *by_hand]
    return made


def _of_chain(held: Results, found: tss.Earned, file: tss.File) -> Iterator[str]:
    """What is exact beside two bounds one after the other."""
    most, above = tss.exact(held, found, file)
    contrast = file.given["contrast"]
    by = {
        "chain": "two bounds one after the other",
        "second_chain": "two bounds, with a factor that their authors mended since",
        "first_chain": "two bounds, of a formula that their authors mended since",
    }[found.law.__name__]
    yield (
        f"Radii are by {by}. The exact one of all samples, by quadrature at contrasts "
        f"from {1 - contrast:g} to {1 + contrast:g}, is {truncated(most, 4)}; "
        f"{above or 'none'} of the file's {'is' if above < 2 else 'are'} above that of "
        "its count."
    )


def make_rows_card(
    path: Path, file: Results, group: Group, audit: dict[str, Any]
) -> dict[str, Any]:
    """The card of some rows of a file: n and alpha are for each of two samplings."""
    made = make_card(path, group, stated=Stated(0.5, 50_000, 0.0005), audit=audit)
    part = card(file, [at["radius"] for at in made["accuracy"]])
    for name in ("inputs", "accuracy", "abstain", "acr"):
        made[name] = part[name]
    return made


def main() -> None:
    root = Path(sys.argv[1])
    here = {name for name in SOURCES if (root / name).is_dir()}
    listed = {
        name: entry
        for name, entry in published().items()
        if entry["repository"].replace("/", "+") not in here
    }
    families = (family for family in FAMILIES if family.repository in here)
    cards = (card for family in families for card in of_field(root, family))
    others = {
        SPLIT: of_split,
        DSRS: of_dsrs,
        TOPK: of_topk,
        tss.REPOSITORY: of_tss,
    }
    for path, made in chain(
        cards, *(of(root) for r, of in others.items() if r in here)
    ):
        listed[path.as_posix()] = write(root, path, made)
    lines = [
        f"{json.dumps(name)}: {json.dumps(own)}" for name, own in sorted(listed.items())
    ]
    body = ",\n".join(lines)
    PUBLISHED.write_text(f"{{\n{body}\n}}\n", encoding="utf-8")


def write(root: Path, path: Path, made: dict[str, Any]) -> dict[str, str]:
    """Write a card; what the list says of it and its file."""
    target = CARDS / path
    target.parent.mkdir(parents=True, exist_ok=True)
    text = as_text(made)
    target.write_text(text, encoding="utf-8")
    proof, about = made["verified"], made["about"]
    print(f"{path}: {proof['rows']} rows, {proof['findings']} findings", flush=True)
    repository = about["code"].removeprefix("https://github.com/")
    file = root / repository.replace("/", "+") / about["file"]
    return {
        "repository": repository,
        "commit": about["commit"],
        "path": about["file"],
        "sha256": digest(file.read_bytes()),
        "rows": rows_digest(read(file)),
        "card": digest(text.encode()),
    }


if __name__ == "__main__":
    main()
