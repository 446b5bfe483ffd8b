"""Hugging Face data sets: ``hf:ID_OR_DIRECTORY[:SPLIT]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers
from rsbounds.loading.callables import guarded, reason, shown
from rsbounds.loading.folders import number_classes
from rsbounds.loading.images import Preprocess, decode
from rsbounds.loading.packages import need
from rsbounds.loading.rows import CorruptInput, Data, labels_hash, stored_array

_X = ("image", "img", "pixel_values", "x")
_Y = ("label", "labels", "fine_label", "y")


class HfData(Data):
    """Rows of one split: a column of images or of arrays, and one of labels.

    The columns are found by their names: image, img, pixel_values or x; label, labels,
    fine_label or y. Named labels are numbered as in ``labels``, where all are found there.

    Parameters
    ----------
    place : str
        A directory (of ``save_to_disk``, or one that ``datasets.load_dataset`` reads) or the name
        of a data set in the cache, with ``:SPLIT`` behind it or not.
    split : str, optional
        In place of that.
    preprocess, labels, scale
        As in :func:`rsbounds.loading.open_data`.
    download : bool
        Whether it may be fetched.
    """

    def __init__(
        self,
        place: str,
        split: str | None,
        preprocess: Preprocess | None,
        labels: Sequence[str] | None,
        scale: float | None,
        *,
        download: bool = False,
    ) -> None:
        self.name = f"hf:{shown(place)}"
        if split is None and not Path(place).exists():
            place, _, behind = place.partition(":")
            split = behind or None
        datasets = need("datasets", f"--data {self.name}")
        rows = guarded(f"--data {self.name}", lambda: _open(datasets, place, split, download))
        if isinstance(rows, dict):
            if len(rows) != 1:
                raise ValueError(f"{self.name} has the splits {', '.join(rows)}: say hf:...:SPLIT")
            ((split, rows),) = rows.items()
        x, y = (_column(self.name, rows.column_names, wanted) for wanted in (_X, _Y))
        feature = rows.features[x]
        encoded = isinstance(feature, Mapping) and set(feature) == {"bytes", "path"}  # unnamed
        self._image = encoded or isinstance(feature, datasets.Image)
        super().__init__(255.0 if self._image and scale is None else scale)
        if self._image:
            rows = rows.cast_column(x, datasets.Image(decode=False))
        found = as_integers(f"{self.name}: {y}", np.asarray(rows[y][:]))
        names, rule = getattr(rows.features[y], "names", None), "number"
        if names and labels is not None:
            numbers, rule = number_classes(self.name, names, labels)
            found = np.array([numbers[name] for name in names], dtype=np.int64)[found]
        self.labels = found
        self._rows, self._x, self._preprocess = rows, x, preprocess
        self.identity = {
            "kind": "hf",
            "rows": len(rows),
            "split": split,
            "column": x,
            "labels": labels_hash(found),
            "numbered_by": rule,
            "scale": self._scale,
            "preprocessing": preprocess.description if preprocess else None,
        }

    def __len__(self) -> int:
        return len(self._rows)

    def _read(self, i: int) -> tuple[bytes, NDArray[Any], int]:
        assert self.labels is not None
        label = int(self.labels[i])
        try:
            stored = self._rows[i][self._x]
            if not self._image:
                x = np.asarray(stored)
                x = x.astype(np.float32) if x.dtype == np.float64 else x
                return stored_array(x), x, label
            raw = stored["bytes"] if stored["bytes"] is not None else _bytes(stored["path"])
            return raw, decode(raw, self._preprocess), label
        except Exception as error:
            raise CorruptInput(f"{self.name}: input {i}: {reason(error)}") from error


def _open(datasets: Any, place: str, split: str | None, download: bool) -> Any:
    if Path(place, "dataset_info.json").exists() or Path(place, "dataset_dict.json").exists():
        found = datasets.load_from_disk(place)
        if split is None or not isinstance(found, dict):
            return found
        if split not in found:
            raise ValueError(f"no split {split!r}; it has {', '.join(found)}")
        return found[split]
    if not Path(place).is_dir() and not download:
        config = datasets.config
        offline, config.HF_HUB_OFFLINE = config.HF_HUB_OFFLINE, True
        try:
            return datasets.load_dataset(place, split=split)
        except Exception as error:
            raise ValueError(
                f"not on disk (looked in {config.HF_DATASETS_CACHE}); fetch it with `hf download "
                f"--repo-type dataset {place}`, or let this command do so with --download "
                f"({reason(error)})"
            ) from error
        finally:
            config.HF_HUB_OFFLINE = offline
    return datasets.load_dataset(place, split=split)


def _column(name: str, columns: Sequence[str], wanted: Sequence[str]) -> str:
    for column in wanted:
        if column in columns:
            return column
    raise ValueError(
        f"{name} must have a column {', '.join(wanted[:-1])} or {wanted[-1]}; "
        f"got {', '.join(columns)}"
    )


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
