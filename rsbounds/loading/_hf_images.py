"""A Hugging Face image processor taken apart: before noise resizing, inside the model the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from rsbounds.loading.callables import guarded
from rsbounds.loading.images import Preprocess
from rsbounds.loading.packages import need

_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # Pillow's numbers
_AGREE = 0.02  # of the range of pixels, on average: two resizers differ by about 0.002


def processor(
    where: str, name: str, settings: dict[str, Any]
) -> tuple[Any, Any, Preprocess | None]:
    """Mean, standard deviation and the rest of a model's processor; nothing if it has none.

    Resizing and cropping are carried out by Pillow. A test picture goes through both: a
    processor that does anything else (turns channels round, pads, normalises twice) is refused.
    """
    auto = need("transformers", where).AutoImageProcessor
    file = need("transformers.utils", where).cached_file(
        name,
        "preprocessor_config.json",
        local_files_only=settings["local_files_only"],
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
    if file is None:
        return 0.0, 1.0, None
    where = f"{where}: its image processor"
    theirs = guarded(where, lambda: auto.from_pretrained(name, **settings))
    options = theirs.to_dict()
    preprocess = _preprocess(where, options)
    mean, std = 0.0, 1.0
    if options.get("do_normalize"):
        mean, std = options["image_mean"], options["image_std"]
    # a picture of smooth colours, wider than high
    image = need("PIL.Image", where)
    pixels = np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    picture = image.fromarray(pixels).resize((513, 384), image.Resampling.BICUBIC)
    seen = guarded(where, lambda: theirs(picture, return_tensors="pt")["pixel_values"][0].numpy())
    centre, spread = (np.reshape(v, (-1, 1, 1)) for v in (mean, std))
    ours = (preprocess(picture) / 255 - centre) / spread
    if seen.shape != ours.shape or not np.abs((seen - ours) * spread).mean() < _AGREE:
        raise ValueError(
            f"{where}, {type(theirs).__name__}, does more than resize, crop and normalise, so "
            "that noise can't be put in front of it; give the images ready-made, as an npz file"
        )
    return mean, std, preprocess


def _preprocess(where: str, options: dict[str, Any]) -> Preprocess:
    """A processor's resizing and cropping."""
    resize = _side(where, options["size"]) if options.get("do_resize") else None
    crop = _side(where, options["crop_size"]) if options.get("do_center_crop") else None
    crop = (crop, crop) if isinstance(crop, int) else crop
    if isinstance(resize, int) and options.get("crop_pct"):  # ConvNeXt crops below 384 alone
        crop = (resize, resize)
        resize = int(resize / options["crop_pct"]) if resize < 384 else crop
    resample = options.get("resample")
    interpolation = _FILTERS[2 if resample is None else int(resample)]
    return Preprocess(resize, crop, interpolation, rounding="down")


def _side(where: str, size: Any) -> int | tuple[int, int]:
    if isinstance(size, int):
        return size
    if {"height", "width"} <= set(size):
        return int(size["height"]), int(size["width"])
    if set(size) == {"shortest_edge"}:
        return int(size["shortest_edge"])
    raise ValueError(f"{where} has the size {dict(size)}, which is not supported")
