"""A folder of images for each class."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds.loading.callables import shown
from rsbounds.loading.images import Preprocess, decode
from rsbounds.loading.packages import need
from rsbounds.loading.rows import CorruptInput, Data, labels_hash

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".gif")
LARGEST_FILE = 2**28  # bytes of one encoded image


class FolderData(Data):
    """Images below DIR/CLASS/, in the order of their paths.

    A class's number is its folder's name, where all names are whole numbers; else its place in
    ``labels``, where all names are found there; else its place in the order of the names.

    Parameters
    ----------
    root : path
        DIR.
    preprocess : Preprocess, optional
        What images go through.
    labels : sequence of str, optional
        Names of the model's classes in their order.
    scale : float, optional
        What pixels are divided by; 255 by default.
    """

    def __init__(
        self,
        root: Path,
        preprocess: Preprocess | None,
        labels: Sequence[str] | None,
        scale: float | None,
    ) -> None:
        super().__init__(255.0 if scale is None else scale)
        self.name = f"imagefolder:{shown(root)}"
        classes = sorted(e.name for e in os.scandir(root) if e.is_dir() and e.name[0] != ".")
        numbers, rule = number_classes(self.name, classes, labels)
        files: list[Path] = []
        y: list[int] = []
        for folder in classes:
            found = sorted(_images(root / folder))
            files += found
            y += [numbers[folder]] * len(found)
        if not files:
            raise ValueError(
                f"{self.name} must hold a folder of images for each class, DIR/CLASS/*.jpg; "
                f"got {len(classes)} folders and no image in them"
            )
        self._files, self._preprocess = files, preprocess
        self.labels = np.array(y, dtype=np.int64)
        names = "\n".join(f.relative_to(root).as_posix() for f in files)
        self.identity = {
            "kind": "imagefolder",
            "rows": len(files),
            "names": hashlib.sha256(os.fsencode(names)).hexdigest(),
            "labels": labels_hash(self.labels),
            "numbered_by": rule,
            "scale": self._scale,
            "preprocessing": preprocess.description if preprocess else None,
            "pillow": need("PIL", "an image").__version__,
        }

    def __len__(self) -> int:
        return len(self._files)

    def _read(self, i: int) -> tuple[bytes, NDArray[Any], int]:
        assert self.labels is not None
        path = self._files[i]
        try:
            if (size := path.stat().st_size) > LARGEST_FILE:
                raise ValueError(f"a file of {size} bytes; at most {LARGEST_FILE} are read")
            raw = path.read_bytes()
            return raw, decode(raw, self._preprocess), int(self.labels[i])
        except (ValueError, OSError) as error:
            raise CorruptInput(f"{shown(path)}: {error}") from error


def number_classes(
    name: str, classes: Sequence[str], labels: Sequence[str] | None
) -> tuple[dict[str, int], str]:
    """Class name -> number, and by which rule: "number", "name" or "order"."""
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
    found = []
    for directory, _, names in os.walk(folder):
        found += [Path(directory, n) for n in names if n.lower().endswith(ENDINGS) and n[0] != "."]
    return found
