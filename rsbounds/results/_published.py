"""Result files that papers published in formats of their own: index and radius."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rsbounds.certificate import ABSTAIN
from rsbounds.results._row import Row
from rsbounds.results._text import number, whole_number

NOTE = "index and radius alone: an input with a radius counts as right"
_NORMS = {"radius_l1": 1.0, "radius_l2": 2.0, "radius_linf": np.inf}


def published(path: Path, content: bytes) -> tuple[list[Row], str] | None:
    """Rows of a file in one of these formats, and a note; None for any other file.

    Lines "index radius ..." with or without the header ``idx radius``; or ``radius_l1.npy``, also
    of l2 and linf, with ``labels.npy`` and ``preds.npy`` beside it.
    """
    try:
        if path.suffix == ".npy":
            return list(_arrays(path)), ""
        lines = [line.split() for line in content.decode("utf-8-sig").splitlines() if line.strip()]
        lines = lines[1:] if lines[0] == ["idx", "radius"] else lines
        return [_row(whole_number(line[0]), 0, 0, number(line[1])) for line in lines], NOTE
    except (ValueError, IndexError):
        return None


def _arrays(path: Path) -> Iterator[Row]:
    radii, labels, preds = (
        np.load(place, allow_pickle=False)
        for place in (path, path.with_name("labels.npy"), path.with_name("preds.npy"))
    )
    tops, norm = preds.argmax(axis=1), _NORMS[path.stem]
    if not radii.shape == labels.shape == tops.shape:
        raise ValueError("one label and one prediction a radius")
    for index, (label, top, radius) in enumerate(zip(labels, tops, radii, strict=True)):
        yield _row(index, int(label), int(top), max(float(radius), 0.0), norm)


def _row(index: int, label: int, top: int, radius: float, norm: float = 2.0) -> Row:
    if not radius >= 0:
        raise ValueError("a radius >= 0")
    predict = top if radius else ABSTAIN
    return Row(index, label, predict, radius, predict == label, norm=norm)
