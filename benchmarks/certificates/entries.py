"""The cards of the public table: where they lie, and how they are made.

A card lies in ``cards/DATA/THREAT/NAME.json``, and ``groups.toml`` says what DATA and
THREAT are. Its result file may lie beside it, ``NAME.tsv`` with its manifest, or among
the pages of this repository, where ``about.file`` says; else the card stands alone.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from groups import Group

from rsbounds._numerics.decimals import truncated
from rsbounds.audit import verify
from rsbounds.audit._finding import Audit, Kind
from rsbounds.audit.internal import verify_printed
from rsbounds.reports import card
from rsbounds.results import Results, read

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CARDS = HERE / "cards"
#: Where result files lie that pages of this repository are about.
PAGES = ROOT / "docs" / "benchmarks"
#: What a card says besides its file, in its part "about".
SAID = ("title", "code", "paper", "commit", "file", "chosen")
#: Findings that a card quotes.
QUOTED = 5
#: Samples of a file without a manifest, at most.
MOST_SAMPLES = 10**7
#: Points of a curve, at most.
POINTS = 100


class Stated(NamedTuple):
    """What the paper of a file without a manifest states."""

    sigma: float
    n: int
    alpha: float


def card_paths(folder: Path = CARDS) -> list[Path]:
    """All cards, sorted."""
    return sorted(
        path
        for path in folder.rglob("*.json")
        if not path.name.endswith((".manifest.json", ".commitment.json"))
    )


def file_of(path: Path, made: Mapping[str, Any]) -> Path | None:
    """The result file of a card, where the repository has it."""
    beside = path.with_suffix(".tsv")
    if beside.is_file():
        return beside
    named = made["about"].get("file", "")
    if "commit" not in made["about"] and is_ours(named):
        return ROOT / named
    return None


def is_ours(name: str) -> bool:
    """Whether a result file of this repository's pages is called so."""
    if not re.fullmatch(r"[\w./-]+\.tsv", name, re.ASCII):
        return False
    place = ROOT / name
    return place.is_file() and place.resolve() == place and PAGES in place.parents


def grid(group: Group, file: Results) -> list[float]:
    """The radii of a card: the table's, and steps to the first above all of the file's.

    Just below the largest radius the curve still stands, and it ends at zero.
    """
    largest = file.counted.largest
    points = min(int(largest / group.step) + 2, POINTS)
    steps = [group.step * i for i in range(points)]
    end = float(truncated(largest, 3))
    return sorted({*group.radii, *steps, end})


def make_card(
    path: Path,
    group: Group,
    *,
    stated: Stated | None = None,
    audit: Mapping[str, Any] | None = None,
    file: Results | None = None,
) -> dict[str, Any]:
    """The card of a result file, audited; ``stated`` where it has no manifest.

    ``audit`` is what a check of its own gave, for files that ``verify`` can't read;
    ``file`` its rows, where their radii mean something else than the file shows.
    """
    file = read(path) if file is None else file
    notes: tuple[str, ...] = ()
    if stated is not None and audit is None:
        _require_printable(group)
    if audit is None:
        own = verify_printed(path, **stated._asdict()) if stated else verify(path)
        audit = _quoted(own, path) | (_counted(own) if stated else {})
        notes = own.notes
    made = card(file, grid(group, file), verified=audit)
    made["notes"] += notes
    if stated is not None:
        _state(made, stated, group)
    plain: dict[str, Any] = json.loads(json.dumps(made))
    return plain


def _require_printable(group: Group) -> None:
    """ValueError for a group whose radii can't be compared without a manifest."""
    if group.norm != "2" or group.k is not None or group.transformation:
        raise ValueError(
            "the file has no manifest: without one only l2 radii of one class can be "
            f"compared, and {group.folder.as_posix()} is another question"
        )


def _quoted(audit: Audit, path: Path) -> dict[str, Any]:
    """What a card says of an audit: its findings without the name of the file."""
    proof = audit.on_card(path)
    start = f"{path.name}:"
    quoted = proof["first"][:QUOTED]
    proof["first"] = [f"line {text.removeprefix(start).strip()}" for text in quoted]
    return proof


def _counted(audit: Audit) -> dict[str, int]:
    """How many findings say that a radius was rounded up in print, or is no count's."""
    kinds = audit.of_kind()
    return {
        "rounded": kinds.get(Kind.ROUNDED, 0),
        "unearned": kinds.get(Kind.UNEARNED, 0),
    }


def failing(proof: Mapping[str, Any]) -> int:
    """How many findings of an audit say that a radius, or its row, is wrong."""
    harmless = proof.get("rounded", 0) + proof.get("unearned", 0)
    return int(proof["findings"]) - int(harmless)


def _state(made: dict[str, Any], stated: Stated, group: Group) -> None:
    """Write down what only the paper of a file states."""
    made["procedure"] = {
        "n": stated.n,
        "alpha": stated.alpha,
        "bound": "clopper-pearson",
    }
    made["noise"] |= {"sigma": [stated.sigma, stated.sigma]}
    if group.k is not None:
        made["answer"] = {"name": group.answers[0], "k": group.k}
    made["about"] |= {
        "norm": group.norm,
        "sigma": f"{stated.sigma:g}",
        "n": str(stated.n),
        "alpha": f"{stated.alpha:g}",
    }


def stated_of(made: Mapping[str, Any]) -> Stated:
    """What a card says that the paper of its file states."""
    levels, procedure = made["noise"]["sigma"], made["procedure"]
    if len(set(levels)) != 1 or not {"n", "alpha"} <= procedure.keys():
        raise ValueError("the file has no manifest, and the card states no sigma, n")
    stated = Stated(levels[0], procedure["n"], procedure["alpha"])
    if not stated.n <= MOST_SAMPLES:  # the radii of all counts are computed
        raise ValueError(f"n must be at most {MOST_SAMPLES}; got {stated.n!r:.40}")
    return stated


def as_text(made: Mapping[str, Any]) -> str:
    """A card as JSON, a line for each point of its curve."""
    text = json.dumps(made, indent=2, ensure_ascii=False)
    point = r'\{\s*"radius"[^}]*\}'
    return re.sub(point, lambda match: json.dumps(json.loads(match[0])), text) + "\n"
