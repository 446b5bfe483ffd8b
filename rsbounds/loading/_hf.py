"""Hugging Face classifiers and data sets, ``hf:ID_OR_DIRECTORY``.

Data may name a split: ``hf:ID_OR_DIRECTORY:SPLIT``.
"""

from __future__ import annotations

import importlib.metadata
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers
from rsbounds._numerics.text import shown
from rsbounds.loading._loaded import Loaded, Request
from rsbounds.loading.callables import guarded, reason
from rsbounds.loading.images import Preprocess, decode, number_classes, read_image
from rsbounds.loading.packages import need
from rsbounds.loading.rows import INPUTS, LABELS, CorruptInput, Data, column_of
from rsbounds.loading.texts import Tokenizer

# in the order of Pillow's numbers
_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
_AGREE = 0.02  # of the range of pixels, on average: two resizers differ by about 0.002


def hf(request: Request) -> Loaded:
    """The classifier of that directory, or of that name in the cache.

    ``args`` go to ``from_pretrained``. Only weights that run nothing are read.
    """
    name = request.name
    where = request.where
    transformers = need("transformers", where)
    place = located(where, name, "config.json", download=request.download)
    trusted = request.args.pop("trust_remote_code", False) is True
    settings = {
        "local_files_only": not reachable(where, download=request.download),
        "trust_remote_code": trusted,
    }
    config_file = guarded(where, lambda: json.loads(place.read_text()))
    if "auto_map" in config_file and not trusted:
        raise ValueError(
            f"{where} runs code of its own, which trust_remote_code=True among the "
            "model's arguments allows"
        )
    is_text = _is_text(config_file)
    enclosing: dict[str, Any] = {
        name: request.args.pop(name)
        for name in ("prefix", "suffix")
        if is_text and name in request.args
    }
    auto = transformers.AutoModelForImageClassification
    if is_text:
        auto = transformers.AutoModelForSequenceClassification

    def model() -> Any:
        if request.checkpoint is None:
            args = {k: v for k, v in request.args.items() if k != "num_classes"}
            return auto.from_pretrained(name, **settings, **args)
        config = transformers.AutoConfig.from_pretrained(name, **settings)
        return auto.from_config(config, trust_remote_code=trusted)

    built = guarded(where, model)
    names = built.config.id2label
    labels = guarded(where, lambda: [str(names[i]) for i in range(len(names))])
    request.require_classes(len(labels))
    version = importlib.metadata.version("transformers")
    describe: dict[str, Any] = {
        "architecture": type(built).__name__,
        "transformers": version,
    }
    if is_text:
        from rsbounds.loading._text import TextClassifier

        tokenizer = _tokenizer(where, name, settings)
        if tokenizer is not None:
            enclosing = {
                "prefix": tokenizer.prefix,
                "suffix": tokenizer.suffix,
                **enclosing,
            }
            describe["tokenizer"] = tokenizer.describe()
        tokens = TextClassifier(built, **enclosing)
        return Loaded(tokens, labels=labels, describe=describe, tokenizer=tokenizer)
    mean, std, preprocess = _processor(where, name, settings)
    return Loaded(
        built,
        mean=mean,
        std=std,
        preprocess=preprocess,
        labels=labels,
        describe=describe,
    )


def reachable(where: str, *, download: bool) -> bool:
    """Whether files may be fetched from the hub, and it answers."""
    return download and online(need("huggingface_hub", where).constants.ENDPOINT)


def _is_text(config: Any) -> bool:
    """Whether a configuration is one of a text classifier."""
    names = config.get("architectures") if isinstance(config, Mapping) else None
    if not isinstance(names, list) or not names:
        return False
    return str(names[0]).endswith("ForSequenceClassification")


def located(where: str, name: str, *files: str, download: bool) -> Path:
    """First of the files that exists: in a directory, the cache or the hub.

    The hub is asked only with ``download``.
    """
    directory = Path(name)
    if directory.is_dir():
        for file in files:
            if (directory / file).is_file():
                return directory / file
        raise ValueError(f"{where}: the directory holds no {files[0]}")
    hub = need("huggingface_hub", where)
    cache = f"{files[0]} of {shown(name)} is not on disk (looked in "
    cache += f"{shown(hub.constants.HF_HUB_CACHE)})"
    # the cache first, whichever of the files it has; the hub only where that is allowed
    for offline in (True, False) if download else (True,):
        if not offline:
            _require_online(f"{where}: {cache}", hub.constants.ENDPOINT)
        for file in files:
            try:
                return Path(hub.hf_hub_download(name, file, local_files_only=offline))
            except Exception as error:  # offline, no such name, no access
                failure = error
    advice = f"; fetch it with `hf download {shown(name)}`, or let download=True do so"
    if download:
        advice = ", and could not be fetched"
    raise ValueError(f"{where}: {cache}{advice} ({reason(failure)})") from failure


def _require_online(what: str, endpoint: str) -> None:
    """Raise ValueError where the hub cannot be reached.

    Its library would try for a minute.
    """
    if not online(endpoint):
        raise ValueError(f"{what}, and {shown(endpoint)} cannot be reached from here")


def online(endpoint: str) -> bool:
    """Whether an address answers, with anything, within five seconds."""
    question = urllib.request.Request(endpoint, method="HEAD")
    try:
        urllib.request.urlopen(question, timeout=5).close()
    except urllib.error.HTTPError:
        return True  # its answer is that it refuses
    except urllib.error.URLError as error:
        # certificates are the business of the hub's library, which may know others
        return isinstance(error.reason, ssl.SSLError)
    except OSError:
        return False
    return True


def _holds(where: str, name: str, file: str, settings: dict[str, Any]) -> bool:
    """Whether a model has a file of this name."""
    found = need("transformers.utils", where).cached_file(
        name,
        file,
        local_files_only=settings["local_files_only"],
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
    return found is not None


def _tokenizer(where: str, name: str, settings: dict[str, Any]) -> Tokenizer | None:
    """The tokenizer that comes with a text classifier, if one does."""
    if not _holds(where, name, "tokenizer_config.json", settings):
        return None
    return Tokenizer.load(name, **settings)


def _processor(
    where: str, name: str, settings: dict[str, Any]
) -> tuple[Any, Any, Preprocess | None]:
    """Mean, standard deviation and preprocessing of a model's processor, if it has one.

    Resizing and cropping are carried out by Pillow. A test picture goes through both: a
    processor that does anything else (turns channels round, pads, normalises twice) is
    refused.
    """
    auto = need("transformers", where).AutoImageProcessor
    if not _holds(where, name, "preprocessor_config.json", settings):
        return 0.0, 1.0, None
    where = f"{where}: its image processor"
    theirs = guarded(where, lambda: auto.from_pretrained(name, **settings))
    options = theirs.to_dict()
    preprocess = _preprocess(where, options)
    mean: Any = 0.0
    std: Any = 1.0
    if options.get("do_normalize"):
        mean = options["image_mean"]
        std = options["image_std"]
    # a picture of smooth colours, wider than high: resizers differ least on such
    image = need("PIL.Image", where)
    pixels = np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    picture = image.fromarray(pixels).resize((513, 384), image.Resampling.BICUBIC)
    seen = guarded(
        where, lambda: theirs(picture, return_tensors="pt")["pixel_values"][0].numpy()
    )
    centre = np.reshape(mean, (-1, 1, 1))
    spread = np.reshape(std, (-1, 1, 1))
    ours = (preprocess(picture) / 255 - centre) / spread
    if seen.shape != ours.shape or not np.abs((seen - ours) * spread).mean() < _AGREE:
        raise ValueError(
            f"{where}, {type(theirs).__name__}, does more than resize, crop and "
            "normalise, so that noise can't be put in front of it; give the images "
            "ready-made, as an npz file"
        )
    return mean, std, preprocess


def _preprocess(where: str, options: dict[str, Any]) -> Preprocess:
    resize = _side(where, options["size"]) if options.get("do_resize") else None
    crop = _side(where, options["crop_size"]) if options.get("do_center_crop") else None
    crop = (crop, crop) if isinstance(crop, int) else crop
    share = options.get("crop_pct")
    if isinstance(resize, int) and share:
        # ConvNeXt resizes to more than it keeps below 384 pixels alone
        crop = (resize, resize)
        resize = int(resize / share) if resize < 384 else crop
    resample = options.get("resample")
    interpolation = "bilinear" if resample is None else _FILTERS[int(resample)]
    return Preprocess(resize, crop, interpolation, rounding="down")


def _side(where: str, size: Any) -> int | tuple[int, int]:
    if isinstance(size, int):
        return size
    if {"height", "width"} <= set(size):
        return int(size["height"]), int(size["width"])
    if set(size) == {"shortest_edge"}:
        return int(size["shortest_edge"])
    raise ValueError(f"{where} has the size {dict(size)}, which is not supported")


def _type_of_numbers(feature: Any) -> np.dtype[Any] | None:
    """The type that a column's numbers are stored in; rows come as lists of Python's.

    None where it names no type of NumPy's.
    """
    while hasattr(feature, "feature") or isinstance(feature, list):
        feature = feature[0] if isinstance(feature, list) else feature.feature
    try:
        dtype: np.dtype[Any] = np.dtype(feature.dtype)
    except (AttributeError, TypeError):
        return None
    return dtype


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
        whole: bool = False,
        download: bool = False,
    ) -> None:
        name = f"hf:{shown(place)}"
        split = None
        if not Path(place).exists():
            place, _, behind = place.partition(":")
            split = behind or None
        datasets = need("datasets", name)
        rows = _open(name, datasets, place, split, download=download)
        if isinstance(rows, dict):
            if len(rows) != 1:
                raise ValueError(
                    f"{name} has the splits {shown(', '.join(rows))}: say hf:...:SPLIT"
                )
            ((split, rows),) = rows.items()
        x = column_of(name, rows.column_names, INPUTS)
        y = column_of(name, rows.column_names, LABELS)
        feature = rows.features[x]
        # an image's bytes and path, in files that don't name the column's type
        unnamed = isinstance(feature, Mapping) and set(feature) == {"bytes", "path"}
        self._image = unnamed or isinstance(feature, datasets.Image)
        if self._image:
            rows = rows.cast_column(x, datasets.Image(decode=False))
        numbers, rule = _numbers(f"{name}: {y}", rows, y, labels)
        self._dtype = None if self._image else _type_of_numbers(feature)
        self._rows = rows
        self._x = x
        self._preprocess = preprocess
        hub = need("huggingface_hub.constants", name).HF_HUB_CACHE
        folders = (place, datasets.config.HF_DATASETS_CACHE, hub)
        self._folders = [Path(folder).resolve() for folder in folders]
        super().__init__(
            name,
            255.0 if self._image and scale is None else scale,
            numbers,
            whole=whole,
            kind="hf",
            split=split,
            column=x,
            numbered_by=rule,
            preprocessing=preprocess and preprocess.description,
        )

    def __len__(self) -> int:
        return len(self._rows)

    def _read(self, i: int) -> tuple[NDArray[Any], int]:
        try:
            stored = self._rows[i][self._x]
            if not self._image:
                return np.asarray(stored, self._dtype), self.label(i)
            raw = stored["bytes"]
            if raw is None:
                raw = read_image(self._inside(Path(stored["path"])))
            return decode(raw, self._preprocess), self.label(i)
        except Exception as error:
            raise CorruptInput(f"{self.name}: input {i}: {reason(error)}") from error

    def _inside(self, path: Path) -> Path:
        """The file that a row names, checked to lie inside the data.

        A row may name any file.
        """
        path = path.resolve()
        if not any(path.is_relative_to(folder) for folder in self._folders):
            raise ValueError(
                f"it names {path}, a file outside of the data's folder and cache"
            )
        return path


def _numbers(
    what: str, rows: Any, column: str, labels: Sequence[str] | None
) -> tuple[NDArray[np.int64], str]:
    """The class of each row, and by which rule named labels are numbered."""
    numbers = as_integers(what, np.asarray(rows[column][:]))
    names = getattr(rows.features[column], "names", None)
    if not names or labels is None:
        return numbers, "number"
    places, rule = number_classes(what, names, labels)
    table = np.array([places[name] for name in names], dtype=np.int64)
    return guarded(what, lambda: table[numbers]), rule


def _open(
    name: str, datasets: Any, place: str, split: str | None, *, download: bool
) -> Any:
    """The rows of a split, or of several by name where none is said."""
    saved = ("dataset_info.json", "dataset_dict.json")  # by save_to_disk
    if any(Path(place, file).exists() for file in saved):
        rows = guarded(name, lambda: datasets.load_from_disk(place))
        if split is None or not isinstance(rows, dict):
            return rows
        if split not in rows:
            raise ValueError(f"{name}: no split {split!r}; it has {', '.join(rows)}")
        return rows[split]
    here = Path(place).is_dir()
    fetched = not here and reachable(name, download=download)
    config = datasets.config
    offline = config.HF_HUB_OFFLINE
    try:
        config.HF_HUB_OFFLINE = offline or not (here or fetched)
        return guarded(name, lambda: datasets.load_dataset(place, split=split))
    except ValueError as error:
        if here or fetched:
            raise
        missing = f"{name}: not on disk (looked in {config.HF_DATASETS_CACHE})"
        if download:
            raise ValueError(
                f"{missing}, and the hub cannot be reached from here"
            ) from error
        raise ValueError(
            f"{missing}; fetch it with `hf download --repo-type dataset {place}`, or "
            f"let download=True do so ({reason(error.__cause__ or error)})"
        ) from error
    finally:
        config.HF_HUB_OFFLINE = offline
