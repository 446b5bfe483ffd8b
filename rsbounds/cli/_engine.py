"""Model, data and engine as the commands take them, and what they make of these."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from rsbounds import loading
from rsbounds.cli._options import whole
from rsbounds.loading import CorruptInput, Data, Loaded, Preprocess
from rsbounds.sampling import Sampler, as_sampler

_PRECISION = ("autocast", "compile", "sound_noise")


def add_model(parser: Any, *, required: bool) -> None:
    """Add the model's options."""
    add = parser.add_argument
    text = "timm:NAME, torchvision:NAME, hf:ID_OR_DIRECTORY, onnx:FILE, sklearn:FILE, "
    text += "MODULE:CALLABLE or path/to/file.py:CALLABLE"
    add("--model", required=required, metavar="MODEL", help=text)
    text = "arguments of its constructor; input_range=(0,255) for other pixels than 0 ... 1"
    add("--model-args", metavar="K=V,...", help=text)
    add("--checkpoint", metavar="FILE", type=Path, help="weights: safetensors, or torch tensors")
    text = "put a denoiser in front: MODULE:CALLABLE, path/to/file.py:CALLABLE, hf:ID_OR_DIRECTORY"
    add("--denoiser", metavar="DENOISER", help=text)
    add("--download", action="store_true", help="fetch weights and data that are not on disk")


def add_data(parser: Any, *, required: bool, help: str = "") -> None:
    """Add the data's options."""
    add = parser.add_argument
    text = f"{help}FILE.npz (x, y), FILE.npy with FILE.labels.npy, imagefolder:DIR, "
    text += "hf:ID_OR_DIRECTORY[:SPLIT], MODULE:CALLABLE or path/to/file.py:CALLABLE"
    add("--data", required=required, metavar="DATA", help=text)
    add("--scale", type=float, help="divide stored numbers by this, such as 255")
    add("--resize", type=_size, metavar="N|H,W", help="pictures: the shorter side, or both sides")
    add("--crop", type=_size, metavar="N|H,W", help="pictures: keep this much from the middle")
    add("--channels", type=int, choices=(1, 3), help="pictures: 1 grey, 3 colour")


def add_engine(parser: Any) -> None:
    """Add the options of the forward passes."""
    add, types = parser.add_argument, {"choices": ("bfloat16", "float16"), "metavar": "TYPE"}
    text = "noisy samples in a forward pass of torch (1000)"
    add("--batch", type=partial(whole, 1), default=1000, help=text)
    add("--autocast", **types, help="mixed precision: bfloat16 or float16")
    add("--compile", action="store_true", help="torch.compile")


def add_sound_noise(parser: Any) -> None:
    """Add the option of noise that is drawn exactly."""
    text = "exact noise on the grid of 1/255: certificates hold for the program, not only in real "
    parser.add_argument("--sound-noise", action="store_true", help=f"{text}arithmetic")


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
    options = {"args": own or None, "checkpoint": args.checkpoint, "download": args.download}
    options |= {"input_range": span, "preprocess": _preprocess(args)}
    folder = os.getcwd()
    try:
        return loading.load_model(args.model, **options)
    finally:
        os.chdir(folder)  # which the model's code may have changed


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
    if (span := own.pop("input_range", None)) is None:
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


def open_data(
    args: argparse.Namespace, loaded: Loaded | None, labels: Sequence[Any] | None = None
) -> Data:
    """The data of the command line, as the model wants its images and names its classes."""
    stated = _preprocess(args)
    preprocess = loaded.preprocess if loaded else Preprocess(**stated) if stated else None
    labels = loaded.labels if loaded else labels
    options = {"scale": args.scale, "download": args.download}
    data = loading.open_data(args.data, preprocess=preprocess, labels=labels, **options)
    if stated and "preprocessing" not in data.identity:
        data.close()
        raise ValueError(f"--{next(iter(stated))} is for pictures; --data {args.data} holds arrays")
    return data


def engine(args: argparse.Namespace) -> dict[str, Any]:
    """What rows may depend on."""
    return {"device": args.device.partition(":")[0]} | {k: getattr(args, k) for k in _PRECISION}


def sampler(
    args: argparse.Namespace, loaded: Loaded, of: Callable[..., Sampler] = as_sampler
) -> Sampler:
    """The sampler that ``of(model, **options)`` makes: a scheme's own for noise of a shape."""
    options = {key: getattr(args, key) for key in ("batch", *_PRECISION)}
    try:
        return of(loaded.model, device=_device(args.device or "cpu"), **options)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"--device {args.device} can't be used: {error}") from error


def first(data: Data) -> Any:
    """The first input that can be decoded."""
    for i in range(len(data)):
        with suppress(CorruptInput):
            return data.input(i)
    return data.input(0)


def _device(name: str) -> str:
    """``cuda`` means, for one of several processes on a machine, its own GPU."""
    local = os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID"))
    if name != "cuda" or local is None:
        return name
    if not local.isdecimal():
        raise ValueError(f"LOCAL_RANK or SLURM_LOCALID must be a number >= 0; got {local!r}")
    import torch

    return f"cuda:{int(local) % max(torch.cuda.device_count(), 1)}"
