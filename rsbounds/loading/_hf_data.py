"""Hugging Face data sets: ``hf:ID_OR_DIRECTORY[:SPLIT]``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers
from rsbounds._numerics.text import shown
from rsbounds.loading.callables import guarded, reason
from rsbounds.loading.images import Preprocess, decode, facts, number_classes, read_image
from rsbounds.loading.packages import need
from rsbounds.loading.rows import CorruptInput, Data

_X = ("image", "img", "pixel_values", "x")
_Y = ("label", "labels", "fine_label", "y")


class HfData(Data):
    """Rows of one split: a column of images or of arrays, and one of labels.

    Named labels are numbered as in ``labels``, where all are there.
    """

    def __init__(
        self,
        place: str,
        preprocess: Preprocess | None,
        labels: Sequence[str] | None,
        scale: float | None,
        *,
        download: bool = False,
    ) -> None:
        name = f"hf:{shown(place)}"
        split = None
        if not Path(place).exists():
            place, _, behind = place.partition(":")
            split = behind or None
        datasets = need("datasets", f"--data {name}")
        rows = guarded(f"--data {name}", lambda: _open(datasets, place, split, download))
        if isinstance(rows, dict):
            if len(rows) != 1:
                raise ValueError(
                    f"{name} has the splits {shown(', '.join(rows))}: say hf:...:SPLIT"
                )
            ((split, rows),) = rows.items()
        x, y = (_column(name, rows.column_names, wanted) for wanted in (_X, _Y))
        feature = rows.features[x]
        encoded = isinstance(feature, Mapping) and set(feature) == {"bytes", "path"}  # unnamed
        self._image = encoded or isinstance(feature, datasets.Image)
        if self._image:
            rows = rows.cast_column(x, datasets.Image(decode=False))
        numbers = as_integers(f"{name}: {y}", np.asarray(rows[y][:]))
        names, rule = getattr(rows.features[y], "names", None), "number"
        if names and labels is not None:
            order, rule = number_classes(name, names, labels)
            table = np.array([order[name] for name in names], dtype=np.int64)
            numbers = guarded(f"{name}: {y}", lambda: table[numbers])
        self._rows, self._x, self._preprocess = rows, x, preprocess
        caches = (
            datasets.config.HF_DATASETS_CACHE,
            need("huggingface_hub.constants", name).HF_HUB_CACHE,
        )
        self._folders = [Path(folder).resolve() for folder in (place, *caches)]
        scale = 255.0 if self._image and scale is None else scale
        stated = {"kind": "hf", "split": split, "column": x, "numbered_by": rule}
        super().__init__(name, scale, numbers, **stated, **facts(preprocess))

    def __len__(self) -> int:
        return len(self._rows)

    def _read(self, i: int) -> tuple[bytes | None, NDArray[Any], int]:
        try:
            stored = self._rows[i][self._x]
            if not self._image:
                x = np.asarray(stored)
                x = x.astype(np.float32) if x.dtype == np.float64 else x
                return None, x, self.label(i)
            raw = stored["bytes"]
            if raw is None:
                raw = read_image(self._inside(Path(stored["path"])))
            return raw, decode(raw, self._preprocess), self.label(i)
        except Exception as error:
            raise CorruptInput(f"{self.name}: input {i}: {reason(error)}") from error

    def _inside(self, path: Path) -> Path:
        """The file that a row names, if it belongs to the data: a row may name any file."""
        path = path.resolve()
        if not any(path.is_relative_to(folder) for folder in self._folders):
            raise ValueError(f"it names {path}, a file outside of the data's folder and cache")
        return path


def _open(datasets: Any, place: str, split: str | None, download: bool) -> Any:
    if Path(place, "dataset_info.json").exists() or Path(place, "dataset_dict.json").exists():
        rows = datasets.load_from_disk(place)
        if split is None or not isinstance(rows, dict):
            return rows
        if split not in rows:
            raise ValueError(f"no split {split!r}; it has {', '.join(rows)}")
        return rows[split]
    config = datasets.config
    offline = config.HF_HUB_OFFLINE
    here = Path(place).is_dir()
    try:
        config.HF_HUB_OFFLINE = offline or not (here or download)
        return datasets.load_dataset(place, split=split)
    except Exception as error:
        if here or download:
            raise
        raise ValueError(
            f"not on disk (looked in {config.HF_DATASETS_CACHE}); fetch it with `hf download "
            f"--repo-type dataset {place}`, or let this command do so with --download "
            f"({reason(error)})"
        ) from error
    finally:
        config.HF_HUB_OFFLINE = offline


def _column(name: str, columns: Sequence[str], wanted: Sequence[str]) -> str:
    for column in wanted:
        if column in columns:
            return column
    raise ValueError(
        f"{name} must have a column {', '.join(wanted[:-1])} or {wanted[-1]}; "
        f"got {shown(', '.join(columns))}"
    )
