"""Model, data and engine as the commands take them, and what they make of these."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds import loading
from rsbounds.certify import class_counts
from rsbounds.loading import CorruptInput, Data, Loaded, Preprocess, guarded
from rsbounds.sampling import Sampler, as_sampler

ENGINE = ("device", "autocast", "compile", "sound_noise")


def add_model(parser: Any, *, required: bool) -> None:
    """The model's options."""
    add = parser.add_argument
    add(
        "--model",
        required=required,
        metavar="MODEL",
        help="timm:NAME, torchvision:NAME, hf:ID_OR_DIRECTORY, onnx:FILE, MODULE:CALLABLE or "
        "path/to/file.py:CALLABLE",
    )
    add("--model-args", metavar="K=V,...", help="arguments of its constructor; input_range=(0,255) "
        "for other pixels than 0 ... 1")  # fmt: skip
    add("--checkpoint", metavar="FILE", type=Path, help="weights: safetensors, or torch tensors")
    add("--denoiser", metavar="DENOISER", help="put a denoiser in front: MODULE:CALLABLE, "
        "path/to/file.py:CALLABLE, hf:ID_OR_DIRECTORY")  # fmt: skip
    add("--download", action="store_true", help="fetch weights and data that are not on disk")


def add_data(parser: Any, *, required: bool, help: str = "") -> None:
    """The data's options."""
    add = parser.add_argument
    add(
        "--data",
        required=required,
        metavar="DATA",
        help=f"{help}FILE.npz (x, y), FILE.npy with FILE.labels.npy, imagefolder:DIR, "
        "hf:ID_OR_DIRECTORY[:SPLIT], MODULE:CALLABLE or path/to/file.py:CALLABLE",
    )
    add("--scale", type=float, help="divide stored numbers by this, such as 255")
    add("--resize", type=_size, metavar="N|H,W", help="pictures: the shorter side, or both sides")
    add("--crop", type=_size, metavar="N|H,W", help="pictures: keep this much from the middle")
    add("--channels", type=int, choices=(1, 3), help="pictures: 1 grey, 3 colour")


def add_engine(parser: Any) -> None:
    """The options of the forward passes."""
    add = parser.add_argument
    add("--batch", type=int, default=1000, help="noisy samples in a forward pass of torch (1000)")
    add("--autocast", choices=("bfloat16", "float16"), metavar="TYPE", help="mixed precision: "
        "bfloat16 or float16")  # fmt: skip
    add("--compile", action="store_true", help="torch.compile")


def add_sound_noise(parser: Any) -> None:
    """Whether the noise is drawn exactly."""
    parser.add_argument(
        "--sound-noise",
        action="store_true",
        help="exact noise on the grid of 1/255: certificates hold for the program, not only in "
        "real arithmetic",
    )


def _size(text: str) -> int | tuple[int, int]:
    """A number of pixels, or height and width."""
    try:
        sides = tuple(int(side) for side in text.split(","))
    except ValueError:
        sides = (0,)
    if len(sides) > 2 or min(sides) < 1:
        raise argparse.ArgumentTypeError(f"expected N or H,W, at least 1; got {text!r}")
    return sides if len(sides) == 2 else sides[0]


def load(args: argparse.Namespace) -> Loaded:
    """The model of the command line."""
    own, span = _arguments(args)
    return loading.load_model(
        args.model,
        args=own or None,
        checkpoint=args.checkpoint,
        download=args.download,
        input_range=span,
        preprocess=_preprocess(args),
    )


def denoised(args: argparse.Namespace, models: Sequence[tuple[Loaded, float]]) -> list[Loaded]:
    """Each model with the denoiser of the command line in front, at its noise level."""
    if args.denoiser is None:
        return [loaded for loaded, _ in models]
    from rsbounds.loading.denoiser import denoised, load_denoiser

    parts = load_denoiser(args.denoiser, download=args.download)
    span = _arguments(args)[1] or (0.0, 1.0)
    return [denoised(loaded, parts, sigma, input_range=span) for loaded, sigma in models]


def _arguments(args: argparse.Namespace) -> tuple[dict[str, Any], tuple[float, float] | None]:
    """The arguments of the model's constructor, and the range of its inputs among them."""
    own = loading.parse_arguments(args.model_args) if args.model_args else {}
    span = own.pop("input_range", None)
    if span is None:
        return own, None
    try:
        low, high = map(float, span)
    except (TypeError, ValueError):
        raise ValueError(f"input_range must be (LOW,HIGH); got {span!r}") from None
    return own, (low, high)


def _preprocess(args: argparse.Namespace) -> dict[str, Any]:
    """What pictures go through, as far as the command line says it."""
    crop = (args.crop, args.crop) if isinstance(args.crop, int) else args.crop
    stated = {"resize": args.resize, "crop": crop, "channels": args.channels}
    return {name: value for name, value in stated.items() if value is not None}


def open_data(args: argparse.Namespace, loaded: Loaded | None) -> Data:
    """The data of the command line, as the model wants its images."""
    stated = _preprocess(args)
    preprocess = loaded.preprocess if loaded else Preprocess(**stated) if stated else None
    labels = loaded.labels if loaded else None
    options = {"scale": args.scale, "download": args.download}
    data = loading.open_data(args.data, preprocess=preprocess, labels=labels, **options)
    if stated and "preprocessing" not in data.identity:
        data.close()
        raise ValueError(f"--{next(iter(stated))} is for pictures; --data {args.data} holds arrays")
    return data


def engine(args: argparse.Namespace) -> dict[str, Any]:
    """What rows may depend on."""
    device = (args.device or "cpu").partition(":")[0]
    return {**{key: getattr(args, key) for key in ENGINE}, "device": device}


def sampler(
    args: argparse.Namespace,
    loaded: Loaded,
    data: Data,
    sigma: float,
    of: Callable[..., Sampler] = as_sampler,
) -> Sampler:
    """The sampler, tried on the first input: its classes are checked against the labels.

    ``of(model, **options)`` makes it, such as a scheme's own where the noise has a shape.
    """
    options: dict[str, Any] = {"batch": args.batch, "device": _device(args.device or "cpu")}
    options |= {key: getattr(args, key) for key in ENGINE[1:]}

    def make(**changes: Any) -> Sampler:
        try:
            return of(loaded.model, **options | changes)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(f"--device {args.device} can't be used: {error}") from error

    plain = make(compile=False)
    x = first(data, skip_corrupt=getattr(args, "skip_corrupt", True))
    try:
        counts = class_counts(plain(x, sigma, 16, np.random.default_rng(0)))
    except (Exception, SystemExit) as error:
        guarded(f"--model {args.model}", partial(_again, error))
        raise
    if not counts.sum():
        raise ValueError(f"--model {args.model} must return numbers; got NaN for the first input")
    loading.check_labels(data, len(counts))
    return make() if args.compile else plain


def first(data: Data, *, skip_corrupt: bool) -> Any:
    """The first input; with ``skip_corrupt``, the first that can be decoded."""
    for i in range(len(data) if skip_corrupt else 0):
        with suppress(CorruptInput):
            return data.input(i)
    return data.input(0)


def _again(error: BaseException) -> None:
    raise error


def _device(name: str) -> str:
    """``cuda`` means, for one of several processes on a machine, its own GPU."""
    local = os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID"))
    if name != "cuda" or local is None:
        return name
    if not local.isdecimal():
        raise ValueError(f"LOCAL_RANK or SLURM_LOCALID must be a number >= 0; got {local!r}")
    import torch

    return f"cuda:{int(local) % max(torch.cuda.device_count(), 1)}"
