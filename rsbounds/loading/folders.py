"""A folder of images for each class."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.text import shown
from rsbounds.loading.images import Preprocess, decode, facts, read_image
from rsbounds.loading.packages import need
from rsbounds.loading.rows import CorruptInput, Data

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".gif")


class FolderData(Data):
    """Images below DIR/CLASS/, in the order of their paths."""

    def __init__(
        self,
        root: Path,
        preprocess: Preprocess | None,
        labels: Sequence[str] | None,
        scale: float | None,
    ) -> None:
        name = f"imagefolder:{shown(root)}"
        classes = sorted(e.name for e in os.scandir(root) if e.is_dir() and e.name[0] != ".")
        numbers, rule = number_classes(name, classes, labels)
        images = {folder: sorted(_images(root / folder)) for folder in classes}
        self._files = [file for folder in classes for file in images[folder]]
        if not self._files:
            raise ValueError(
                f"{name} must hold a folder of images for each class, DIR/CLASS/*.jpg; "
                f"got {len(classes)} folders and no image in them"
            )
        self._preprocess = preprocess
        places = "\n".join(f.relative_to(root).as_posix() for f in self._files)
        super().__init__(
            name,
            255.0 if scale is None else scale,
            np.repeat([numbers[c] for c in classes], [len(images[c]) for c in classes]),
            kind="imagefolder",
            names=hashlib.sha256(os.fsencode(places)).hexdigest(),
            numbered_by=rule,
            pillow=need("PIL", "an image").__version__,
            **facts(preprocess),
        )

    def __len__(self) -> int:
        return len(self._files)

    def _read(self, i: int) -> tuple[bytes, NDArray[Any], int]:
        path = self._files[i]
        try:
            raw = read_image(path)
            return raw, decode(raw, self._preprocess), self.label(i)
        except (ValueError, OSError) as error:
            raise CorruptInput(f"{shown(path)}: {error}") from error


def number_classes(
    name: str, classes: Sequence[str], labels: Sequence[str] | None
) -> tuple[dict[str, int], str]:
    """Class name -> number, and by which rule: "number", "name" or "order".

    The number is the class's name, where all names are whole numbers; else its place in
    ``labels``, where all names are there; else its place in the order of the names.
    """
    if classes and all(c.isascii() and c.isdecimal() and len(c) < 10 for c in classes):
        return {c: int(c) for c in classes}, "number"
    if labels is not None and set(classes) <= set(labels):
        return {c: list(labels).index(c) for c in classes}, "name"
    if labels is not None and len(labels) != len(classes):
        raise ValueError(
            f"{name} has {len(classes)} classes and the model {len(labels)}: name each folder by "
            "its class's number (0, 1, ...) or by the model's name for it"
        )
    return {c: i for i, c in enumerate(sorted(classes))}, "order"


def _images(folder: Path) -> list[Path]:
    return [
        Path(directory, name)
        for directory, _, names in os.walk(folder)
        for name in names
        if name.lower().endswith(ENDINGS) and name[0] != "."
    ]
