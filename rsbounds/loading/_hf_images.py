"""A Hugging Face image processor taken apart: before noise resizing, inside the model the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rsbounds.loading.callables import guarded
from rsbounds.loading.images import Preprocess
from rsbounds.loading.packages import need

_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # Pillow's numbers
_AGREE = 0.02  # of the range of pixels, on average: two resizers differ by about 0.002


@dataclass(frozen=True)
class Images:
    """What a processor does, in our terms."""

    preprocess: Preprocess | None = None
    mean: Any = 0.0
    std: Any = 1.0


def processor(where: str, name: str, settings: dict[str, Any]) -> Images:
    """The processor of a model, or nothing where the model comes without one.

    Resizing and cropping are carried out by Pillow. A test picture goes through both: a
    processor that does anything else (turns channels round, pads, normalises twice) is refused.
    """
    auto = need("transformers", where).AutoImageProcessor
    if not _has_one(name, settings):
        return Images()
    theirs = guarded(
        f"{where}: its image processor", lambda: auto.from_pretrained(name, **settings)
    )
    found = theirs.to_dict()
    preprocess = _preprocess(where, found)
    mean, std = 0.0, 1.0
    if found.get("do_normalize"):
        mean, std = found["image_mean"], found["image_std"]
    image = _picture()
    got = np.asarray(
        guarded(
            f"{where}: its image processor",
            lambda: theirs(image, return_tensors="pt")["pixel_values"][0].numpy(),
        )
    )
    centre, spread = (np.reshape(v, (-1, 1, 1)) for v in (mean, std))
    ours = (preprocess(image) / 255 - centre) / spread
    if got.shape != ours.shape or not np.abs((got - ours) * spread).mean() < _AGREE:
        raise ValueError(
            f"{where}: its image processor, {type(theirs).__name__}, does more than resize, crop "
            "and normalise, so that noise can't be put in front of it; give the images ready-made, "
            "as an npz file"
        )
    return Images(preprocess, mean, std)


def _has_one(name: str, settings: dict[str, Any]) -> bool:
    hub = need("transformers.utils", name)
    keys = {key: settings[key] for key in ("local_files_only",)}
    found = hub.cached_file(
        name,
        "preprocessor_config.json",
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
        **keys,
    )
    return found is not None


def _preprocess(where: str, settings: dict[str, Any]) -> Preprocess:
    """A processor's resizing and cropping."""
    resize: int | tuple[int, int] | None = None
    crop: tuple[int, int] | None = None
    if settings.get("do_resize"):
        resize = _side(where, settings["size"])
    if settings.get("do_center_crop"):
        side = _side(where, settings["crop_size"])
        crop = side if isinstance(side, tuple) else (side, side)
    if isinstance(resize, int) and settings.get("crop_pct"):  # ConvNeXt crops below 384 alone
        crop = (resize, resize)
        resize = int(resize / settings["crop_pct"]) if resize < 384 else crop
    resample = settings.get("resample")
    interpolation = _FILTERS[2 if resample is None else int(resample)]
    return Preprocess(resize, crop, interpolation, rounding="down")


def _side(where: str, size: Any) -> int | tuple[int, int]:
    if isinstance(size, int):
        return size
    if {"height", "width"} <= set(size):
        return int(size["height"]), int(size["width"])
    if set(size) == {"shortest_edge"}:
        return int(size["shortest_edge"])
    raise ValueError(f"{where}: its image processor's size {dict(size)} is not understood")


def _picture() -> Any:
    """A picture of smooth colours, wider than high, the same every time."""
    image = need("PIL.Image", "an image processor")
    pixels = np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    return image.fromarray(pixels).resize((513, 384), image.Resampling.BICUBIC)
