"""The groups of the public table: what an entry must be to stand in one.

A group is a data set and a threat. It fixes which inputs are certified (how many, of
what shape, their labels, and their hash where the data are public), the norm, the
answer and the transformation. ``groups.toml`` has them.
"""

import hashlib
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rsbounds.results import Results, Row

GROUPS = Path(__file__).resolve().parent / "groups.toml"


class Inputs(NamedTuple):
    """One choice of a data set's inputs: every so-many-th of them, from the first.

    ``labels`` and ``contents`` are hashes, of which the file's must be one; none are
    given where nothing is known. Data sets come in several orders of their classes.
    """

    rows: int
    every: int
    labels: tuple[str, ...]
    contents: tuple[str, ...]

    @property
    def in_words(self) -> str:
        if self.every == 1:
            return f"all {self.rows}"
        return f"every {self.every}th, {self.rows}"


class Group(NamedTuple):
    """A table of its own: the certificates of a data set against a threat."""

    data: str
    threat: str
    data_title: str
    threat_title: str
    about: str
    norm: str
    answers: tuple[str, ...]
    k: int | None
    transformation: str
    shape: tuple[int, ...]
    inputs: tuple[Inputs, ...]
    step: float
    radii: tuple[float, ...]

    @property
    def folder(self) -> Path:
        """Where its cards lie, below ``cards``."""
        return Path(self.data) / self.threat

    @property
    def title(self) -> str:
        return f"{self.data_title}, {self.threat_title}"


def groups() -> dict[Path, Group]:
    """Folder -> group, in the order of ``groups.toml``."""
    return dict(_read(GROUPS.read_text(encoding="utf-8")))


@cache  # each of some 200 cards asks for its group
def _read(text: str) -> Mapping[Path, Group]:
    entries = tomllib.loads(text)
    by_folder = {}
    for data, of_data in entries["data"].items():
        for threat, of_threat in entries["threat"].items():
            if threat in of_data:
                group = _group(data, of_data, threat, of_threat)
                by_folder[group.folder] = group
    return by_folder


def _group(
    data: str, of_data: Mapping[str, Any], threat: str, of_threat: Mapping[str, Any]
) -> Group:
    inputs = [
        Inputs(
            rows=each["rows"],
            every=each["every"],
            labels=tuple(each.get("labels", ())),
            contents=tuple(each.get("contents", ())),
        )
        for each in of_data["inputs"]
    ]
    return Group(
        data=data,
        threat=threat,
        data_title=of_data["title"],
        threat_title=of_threat["title"],
        about=f"{of_data['about']}. Against {of_threat['about']}.",
        norm=of_threat["norm"],
        answers=tuple(of_threat["answers"]),
        k=of_threat.get("k"),
        transformation=of_threat.get("transformation", ""),
        shape=tuple(of_data["shape"]),
        inputs=tuple(inputs),
        step=of_data[threat]["step"],
        radii=tuple(map(float, of_data[threat]["radii"])),
    )


def group_of(folder: str | Path) -> Group:
    """The group of a folder below ``cards``; ValueError where there is none."""
    known = groups()
    try:
        return known[Path(folder)]
    except KeyError:
        names = ", ".join(sorted(path.as_posix() for path in known))
        raise ValueError(f"{str(folder)!r:.60} must be one of {names}") from None


def labels_of(rows: Iterable[Row]) -> str:
    """Hash of the indices and labels of rows."""
    return _hash(f"{row.idx} {row.label}\n" for row in rows)


def contents_of(rows: Iterable[Row]) -> str:
    """Hash of the indices of rows and of their inputs' hashes."""
    return _hash(f"{row.idx} {row.input}\n" for row in rows)


def _hash(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def card_misfits(group: Group, card: Mapping[str, Any]) -> Iterator[str]:
    """Why a card is of another group, as far as it says so itself."""
    many = [each.rows for each in group.inputs]
    if card["inputs"] not in many:
        yield f"the card has {card['inputs']} inputs: {_allowed(group)}"
    if card["missing"]:
        yield f"{card['missing']} inputs of its run have no row"
    answer, about = card["answer"], card["about"]
    if answer["name"] not in group.answers or answer.get("k") != group.k:
        text = f"the answer is {_answer(answer['name'], answer.get('k'))}"
        wanted = " or ".join(_answer(name, group.k) for name in group.answers)
        yield f"{text}, that of {group.folder.as_posix()} is {wanted}"
    if about.get("norm") != group.norm:
        text = f"the card's norm is {about.get('norm')!r:.40}"
        yield f"{text}, that of {group.folder.as_posix()} is {group.norm!r}"
    parameters = card["noise"]["parameters"]
    transformations = [*_transformations(parameters)] or [""]
    for transformation in transformations:
        if transformation != group.transformation:
            text = f"the transformation is {transformation or 'none'!r:.60}"
            yield f"{text}, that of the group is {group.transformation or 'none'!r}"
    yield from _shape_misfits(group, card["data"], parameters)


def _transformations(tree: Any) -> Iterator[Any]:
    """What noise moves by its parameter and not by the numbers, in blocks too."""
    if isinstance(tree, list):
        for each in tree:
            yield from _transformations(each)
    elif isinstance(tree, dict):
        for name, each in tree.items():
            if name == "transform":
                yield each
            else:
                yield from _transformations(each)


def _shape_misfits(
    group: Group, data: Mapping[str, Any], parameters: Mapping[str, Any]
) -> Iterator[str]:
    """Shapes that a card states; channels may come first or last."""
    shape = data.get("shape")
    expected = sorted(axis for axis in group.shape if axis > 1)
    if shape is not None and sorted(axis for axis in shape if axis != 1) != expected:
        text = f"the shape of inputs is {shape!r:.60}"
        yield f"{text}, that of {group.data} is {list(group.shape)}"
    size = math.prod(group.shape)
    if (dim := parameters.get("dim")) is not None and dim != size:
        yield f"dim is {dim!r:.40}, inputs of {group.data} have {size} numbers"


def file_misfits(group: Group, file: Results) -> Iterator[str]:
    """Why a result file is not of a group's inputs: which, their labels, contents."""
    rows = sorted(file.rows, key=lambda row: row.idx)
    indices = [row.idx for row in rows]
    fitting = [
        each
        for each in group.inputs
        if indices == list(range(0, each.rows * each.every, each.every))
    ]
    if not fitting:
        text = f"the file has {len(rows)} inputs{_ends(indices)}"
        yield f"{text}: {_allowed(group)}"
        return
    (inputs,) = fitting
    stated = file.manifest.data if file.manifest else {"shape": None}
    if not inputs.contents and "shape" not in stated:
        yield "the shape of inputs is not stated: certify arrays of one shape"
    if inputs.labels and labels_of(rows) not in inputs.labels:
        yield f"the labels are not those of {group.data_title}"
    if inputs.contents and contents_of(rows) not in inputs.contents:
        yield f"the hashes of inputs are not those of {group.data_title}"


def _ends(indices: Sequence[int]) -> str:
    return f", {indices[0]} to {indices[-1]}" if indices else ""


def _allowed(group: Group) -> str:
    words = " or ".join(each.in_words for each in group.inputs)
    return f"{group.folder.as_posix()} takes {words}"


def _answer(name: str, k: int | None) -> str:
    return f"{name!r:.40}" + (f" of k = {k!r:.20}" if k is not None else "")
