"""The cards of the public table: where they lie, what they must say, how they are made.

A card lies in ``cards/DATA/THREAT/NAME.json``, and ``groups.toml`` says what DATA and
THREAT are. Its result file may lie beside it, ``NAME.tsv`` with its manifest, or
elsewhere in the repository, where ``about.file`` says; else the card stands alone.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from rsbounds._numerics.decimals import truncated
from rsbounds.audit import verified, verify, verify_printed
from rsbounds.audit._finding import Audit, Kind
from rsbounds.results import Results, card, manifest_path, read, read_card

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CARDS = HERE / "cards"
GROUPS = HERE / "groups.toml"
#: What a card says besides its file, in its part "about".
SAID = ("title", "code", "paper", "commit", "file", "chosen")
#: The longest of these; a table has no room for more.
LONGEST = 200
#: Findings that a card quotes.
QUOTED = 5
#: Points of a curve, at most.
POINTS = 100
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
_LINK = re.compile(r"https://[\w./~%?=&#+:@-]+")


class Group(NamedTuple):
    """A table of its own: the certificates of a data set against a threat."""

    data: str
    threat: str
    data_title: str
    threat_title: str
    norm: str
    about: str
    step: float
    radii: tuple[float, ...]

    @property
    def folder(self) -> Path:
        """Where its cards lie, below ``cards``."""
        return Path(self.data) / self.threat

    @property
    def title(self) -> str:
        return f"{self.data_title}, {self.threat_title}"


class Stated(NamedTuple):
    """What the paper of a file without a manifest states."""

    sigma: float
    n: int
    alpha: float


def groups() -> dict[Path, Group]:
    """Folder -> group, in the order of ``groups.toml``."""
    entries = tomllib.loads(GROUPS.read_text(encoding="utf-8"))
    by_folder = {}
    for data, of_data in entries["data"].items():
        for threat, of_threat in entries["threat"].items():
            if threat not in of_data:
                continue
            group = Group(
                data=data,
                threat=threat,
                data_title=of_data["title"],
                threat_title=of_threat["title"],
                norm=of_threat["norm"],
                about=f"{of_data['about']}. Against {of_threat['about']}.",
                step=of_data[threat]["step"],
                radii=tuple(map(float, of_data[threat]["radii"])),
            )
            by_folder[group.folder] = group
    return by_folder


def group_of(folder: str | Path) -> Group:
    """The group of a folder below ``cards``; ValueError where there is none."""
    known = groups()
    try:
        return known[Path(folder)]
    except KeyError:
        names = ", ".join(sorted(path.as_posix() for path in known))
        raise ValueError(f"{folder} must be one of {names}") from None


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
) -> dict[str, Any]:
    """The card of a result file, audited; ``stated`` where it has no manifest.

    ``audit`` is what a check of its own gave, for files that ``verify`` can't read.
    """
    file = read(path)
    proof: Mapping[str, Any]
    if audit is not None:
        proof = audit
    elif stated is None:
        proof = _quoted(verify(path), path)
    else:
        proof = _printed(path, stated)
    made = card(file, grid(group, file), verified=proof)
    if stated is not None:
        _state(made, stated, group)
    own: dict[str, Any] = json.loads(json.dumps(made))
    return own


def _quoted(audit: Audit, path: Path) -> dict[str, Any]:
    """What a card says of an audit: its findings without the name of the file."""
    proof = verified(audit, path)
    start = f"{path.name}:"
    quoted = proof["first"][:QUOTED]
    proof["first"] = [f"line {text.removeprefix(start).strip()}" for text in quoted]
    return proof


def _printed(path: Path, stated: Stated) -> dict[str, Any]:
    """What an audit of printed radii gives, and how many findings printing alone
    explains.
    """
    audit = verify_printed(path, **stated._asdict())
    rounded = audit.of_kind().get(Kind.ROUNDED, 0)
    return _quoted(audit, path) | {"rounded": rounded}


def _state(made: dict[str, Any], stated: Stated, group: Group) -> None:
    """Write down what only the paper of a file states."""
    made["procedure"] = {
        "n": stated.n,
        "alpha": stated.alpha,
        "bound": "clopper-pearson",
    }
    made["noise"] |= {"sigma": [stated.sigma, stated.sigma]}
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
    return Stated(levels[0], procedure["n"], procedure["alpha"])


def as_text(made: Mapping[str, Any]) -> str:
    """A card as JSON, a line for each point of its curve."""
    text = json.dumps(made, indent=2, ensure_ascii=False)
    point = r'\{\s*"radius"[^}]*\}'
    return re.sub(point, lambda match: json.dumps(json.loads(match[0])), text) + "\n"


def problems(
    path: Path, cards: Path = CARDS, file: Path | None = None
) -> Iterator[str]:
    """Why an entry can't stand in the table, a sentence for each reason.

    A card is made again from its result file, the audit included: from the one that
    the repository has, or from ``file``.
    """
    try:
        made = read_card(path)
        group = group_of(path.parent.relative_to(cards))
    except ValueError as error:
        yield str(error)
        return
    yield from _of_card(path, made, group)
    file = file or file_of(path, made)
    if file is None:
        return
    try:
        stated = None if manifest_path(file).exists() else stated_of(made)
        again = make_card(file, group, stated=stated)
    except (ValueError, OSError) as error:
        yield f"its result file can't be verified: {error}"
        return
    proof = again["verified"]
    # radii that printing rounded up are shown as such; whatever else fails is refused
    if proof["findings"] > proof.get("rounded", 0):
        yield from (f"verify: {text}" for text in proof["first"])
        if proof["findings"] > len(proof["first"]):
            yield f"verify: {proof['findings']} findings in all"
    yield from differences(made, again)


def _of_card(path: Path, made: Mapping[str, Any], group: Group) -> Iterator[str]:
    """What a card must say, wherever its file is."""
    about = made["about"]
    if not _NAME.fullmatch(path.stem):
        yield "its name must be of small letters, digits, dots and hyphens"
    for name in ("title", "code", "chosen"):
        if not about.get(name):
            yield f"the card's about.{name} is missing: make it with enter.py"
    for name in SAID:
        if len(about.get(name, "")) > LONGEST:
            yield f"the card's about.{name} is longer than {LONGEST} characters"
    if not _is_place(about.get("code", "")):
        yield f"the card's about.code must be a link (https://); got {about['code']!r}"
    if about.get("norm") != group.norm:
        text = f"the card's norm is {about.get('norm')!r}"
        yield f"{text}, that of {group.folder.as_posix()} is {group.norm!r}"
    if made["report"] is not None:
        yield "the card has no certified accuracies: the table is of classes"
        return
    shown = {at["radius"] for at in made["accuracy"]}
    if missing := [radius for radius in group.radii if radius not in shown]:
        yield f"the card lacks the radii {missing}: make it with enter.py"
    if not _falls([at["accuracy"] for at in made["accuracy"]]):
        yield "the card's certified accuracy rises with the radius"


def _is_place(code: str) -> bool:
    """Whether it is a link, or a file of this repository; or nothing."""
    return not code or bool(_LINK.fullmatch(code)) or is_ours(code)


def is_ours(name: str) -> bool:
    """Whether a file of this repository is called so."""
    place = (ROOT / name).resolve()
    return bool(name) and place.is_relative_to(ROOT) and place.is_file()


def _falls(accuracies: Sequence[float]) -> bool:
    return all(first >= second for first, second in pairwise(accuracies))


def differences(made: Mapping[str, Any], again: Mapping[str, Any]) -> Iterator[str]:
    """What a card has otherwise than the one made again from its file."""
    for name in sorted(made.keys() | again.keys()):
        stated, computed = made.get(name), again.get(name)
        if name in ("rsbounds", "name"):
            continue
        if name == "about":
            stated = {k: v for k, v in stated.items() if k not in SAID}
        if name == "notes":  # its writer may add some
            stated = [note for note in stated if note in computed]
        if stated != computed:
            text = f"the card's {name} is {stated!r:.80}, {computed!r:.80} by the file"
            yield text
