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
from rsbounds.loading.images import INTERPOLATIONS
from rsbounds.sampling import Sampler, as_sampler

ENGINE = ("device", "autocast", "channels_last", "compile", "sound_noise")


def add_model(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """The model's options."""
    add = parser.add_argument_group("model").add_argument
    add(
        "--model",
        required=required,
        metavar="MODEL",
        help="MODULE:CALLABLE, path/to/file.py:CALLABLE, timm:NAME, torchvision:NAME, "
        "hf:ID_OR_DIRECTORY or onnx:FILE",
    )
    add("--model-args", metavar="K=V,...", help="arguments of the model's constructor")
    add("--checkpoint", metavar="FILE", type=Path, help="weights: safetensors, or torch tensors")
    add("--num-classes", type=int, metavar="C", help="number of classes")
    add("--input-range", metavar="LOW,HIGH", help="range the noise lives in (0,1)")
    add(
        "--denoiser",
        metavar="DENOISER",
        help="put a denoiser in front of the model: MODULE:CALLABLE, path/to/file.py:CALLABLE, or "
        "hf:ID_OR_DIRECTORY of diffusers; for fixed noise, at the timestep of its level",
    )
    add("--download", action="store_true", help="fetch weights and data that are not on disk")
    add("--trust-remote-code", action="store_true", help="run code that comes with a hf: model")


def add_data(parser: argparse.ArgumentParser, *, required: bool | None = None) -> None:
    """The data's options; ``required`` None: --data stands elsewhere."""
    add = parser.add_argument_group("data").add_argument
    if required is not None:
        add(
            "--data",
            required=required,
            metavar="DATA",
            help="FILE.npz (x, y), FILE.npy with FILE.labels.npy, imagefolder:DIR, "
            "hf:ID_OR_DIRECTORY[:SPLIT], MODULE:CALLABLE or path/to/file.py:CALLABLE",
        )
    add("--scale", type=float, help="what stored numbers are divided by, such as 255")
    add("--split", help="of a hf: data set")
    add("--resize", type=_size, metavar="N|H,W", help="pictures: the shorter side, or both sides")
    add("--crop", type=_size, metavar="N|H,W", help="pictures: what is kept, from the middle")
    add("--interpolation", choices=INTERPOLATIONS, help="pictures: Pillow's filter for --resize")
    add("--channels", choices=("1", "3"), help="pictures: 1 grey, 3 colour")


def _size(text: str) -> int | tuple[int, int]:
    """A number of pixels, or height and width."""
    try:
        sides = tuple(int(side) for side in text.split(","))
    except ValueError:
        sides = (0,)
    if len(sides) > 2 or min(sides) < 1:
        raise argparse.ArgumentTypeError(f"expected N or H,W, at least 1; got {text!r}")
    return sides if len(sides) == 2 else sides[0]


def _preprocess(args: argparse.Namespace) -> dict[str, Any]:
    """What pictures go through, as far as the command line says it."""
    said = {name: getattr(args, name) for name in ("resize", "crop", "interpolation", "channels")}
    if isinstance(said["crop"], int):
        said["crop"] = (said["crop"], said["crop"])
    if said["channels"] is not None:
        said["channels"] = int(said["channels"])
    return {name: value for name, value in said.items() if value is not None}


def add_engine(parser: argparse.ArgumentParser) -> None:
    """The options of the forward passes."""
    add = parser.add_argument_group("engine").add_argument
    add(
        "--batch",
        type=int,
        default=1000,
        help="noisy samples a torch module is given at once (1000); others get blocks of at "
        "most 4096, of 2^18 numbers",
    )
    add("--device", default=None, help="where a torch model runs: cpu, cuda, cuda:1 (cpu)")
    add("--autocast", choices=("bfloat16", "float16"), help="mixed precision")
    add("--channels-last", action="store_true", help="channels-last memory layout")
    add("--compile", action="store_true", help="torch.compile")
    add(
        "--sound-noise",
        action="store_true",
        help="whole-numbered noise drawn exactly, for inputs on the grid of 1/255, and sigma(x) "
        "with a bound of its rounding: the certificate holds for the program and not only for "
        "real arithmetic",
    )


def load(args: argparse.Namespace) -> Loaded:
    """The model of the command line."""
    return loading.load_model(
        args.model,
        args=loading.parse_arguments(args.model_args) if args.model_args else None,
        checkpoint=args.checkpoint,
        num_classes=args.num_classes,
        download=args.download,
        input_range=_range(args),
        preprocess=_preprocess(args),
        allow_remote_code=args.trust_remote_code,
    )


def _range(args: argparse.Namespace) -> tuple[float, float] | None:
    if args.input_range is None:
        return None
    try:
        low, high = map(float, args.input_range.split(","))
    except ValueError:
        raise ValueError(f"--input-range must be LOW,HIGH; got {args.input_range!r}") from None
    return low, high


def denoised(args: argparse.Namespace, models: Sequence[tuple[Loaded, float]]) -> list[Loaded]:
    """Each model with the denoiser of the command line in front, at its noise level."""
    if args.denoiser is None:
        return [loaded for loaded, _ in models]
    from rsbounds.loading.denoiser import denoised, load_denoiser

    parts = load_denoiser(args.denoiser, download=args.download)
    span = _range(args) or (0.0, 1.0)
    return [denoised(loaded, parts, sigma, input_range=span) for loaded, sigma in models]


def open_data(args: argparse.Namespace, loaded: Loaded | None) -> Data:
    """The data of the command line, as the model wants its images."""
    said = _preprocess(args)
    preprocess = loaded.preprocess if loaded else Preprocess(**said) if said else None
    labels = loaded.labels if loaded else None
    known = {"scale": args.scale, "split": args.split, "download": args.download}
    data = loading.open_data(args.data, preprocess=preprocess, labels=labels, **known)
    if said and "preprocessing" not in data.identity:
        data.close()
        raise ValueError(f"--{next(iter(said))} is for pictures; --data {args.data} holds arrays")
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
    of: Callable[..., Sampler] | None = None,
) -> Sampler:
    """The sampler, tried on the first input: its classes are checked against the labels.

    ``of(model, **options)`` makes it where the noise has a shape.
    """
    options: dict[str, Any] = {"batch": args.batch, "device": _device(args.device or "cpu")}
    options |= {key: getattr(args, key) for key in ENGINE[1:]}
    make = as_sampler if of is None else of
    made = _made(args, make, loaded.model, options | {"compile": False})
    x = first(data, skip_corrupt=getattr(args, "skip_corrupt", True))
    try:
        tried = class_counts(made(x, sigma, 16, np.random.default_rng(0)))
    except (Exception, SystemExit) as error:
        guarded(f"--model {args.model}", partial(_again, error))
        raise
    if not tried.sum():
        raise ValueError(f"--model {args.model} must return numbers; got NaN for the first input")
    loading.check_labels(data, len(tried))
    return _made(args, make, loaded.model, options) if args.compile else made


def first(data: Data, *, skip_corrupt: bool) -> Any:
    """The first input; with ``skip_corrupt``, the first that can be decoded."""
    for i in range(len(data) if skip_corrupt else 0):
        with suppress(CorruptInput):
            return data.input(i)
    return data.input(0)


def _again(error: BaseException) -> None:
    raise error


def _made(
    args: argparse.Namespace, make: Callable[..., Sampler], model: Any, options: dict[str, Any]
) -> Sampler:
    try:
        return make(model, **options)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"--device {args.device} can't be used: {error}") from error


def _device(name: str) -> str:
    """``cuda`` means, for one of several processes on a machine, its own GPU."""
    local = os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID"))
    if name != "cuda" or local is None:
        return name
    if not local.isdecimal():
        raise ValueError(f"LOCAL_RANK or SLURM_LOCALID must be a number >= 0; got {local!r}")
    import torch

    return f"cuda:{int(local) % max(torch.cuda.device_count(), 1)}"
