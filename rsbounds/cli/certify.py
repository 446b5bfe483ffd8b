"""``rsbounds certify``: certify a model on a data set, row by row, into a file that resumes."""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds import __version__, schemes
from rsbounds import loading as _load
from rsbounds._numerics.checks import real, whole
from rsbounds.certify import certify, certify_radius
from rsbounds.cli._progress import progress
from rsbounds.confidence.counts import MAX_N
from rsbounds.results._records import Row, Writer
from rsbounds.sampling import ArraySampler, Sampler, noise_level, votes
from rsbounds.sampling.grid_noise import on_grid

# options of each method: name -> default, where ... means that it must be given
_METHODS: dict[str, dict[str, Any]] = {
    "gaussian": {"sigma": ...},
    "semi-elastic": {"sigma": ..., "anchors": ..., "rate": ..., "k": 20, "shift": "mean"},
    "lipschitz": {"sigma_function": ..., "lip": ..., "sigma_min": ...},
}
_OWN = ("sigma", "anchors", "rate", "k", "shift", "sigma_function", "lip", "sigma_min")

_TORCH_ONLY = ("autocast", "channels_last", "compile", "sound_noise")


def add_parser(subparsers: Any) -> None:
    """Add the ``certify`` command."""
    parser = subparsers.add_parser(
        "certify",
        help="certify a model on a data set",
        description="Certify every input of an npz file (x: inputs, y: labels) and append a row "
        "for each to a TSV, with a JSON manifest beside it. Run again, it goes on where it was "
        "stopped. The rows don't depend on --batch, --shard or interruptions.",
    )
    add = parser.add_argument
    add("--model", required=True, metavar="MODULE:CALLABLE")
    add("--data", required=True, metavar="FILE.npz", type=Path)
    add("--out", required=True, metavar="FILE.tsv", type=Path)
    add("--method", choices=tuple(_METHODS), default="gaussian")
    add("--sigma", type=float, help="noise level; for semi-elastic its base level")
    add("--n0", type=int, default=100, help="samples to choose the class (100)")
    add("--n", type=int, default=100_000, help="samples to bound its probability (100000)")
    add("--alpha", type=float, default=0.001, help="probability of error (0.001)")
    add(
        "--target-radius",
        type=float,
        metavar="R",
        help="certify R or nothing, and stop sampling an input when that is decided",
    )
    add("--seed", type=int, default=0)
    add("--skip", type=int, default=1, help="certify every so many inputs (1)")
    add("--max", type=int, default=-1, help="certify inputs below this index (-1: all)")
    add("--shard", metavar="i/N", help="take every N-th of these inputs, from the i-th (from 0)")
    engine = parser.add_argument_group("engine")
    add = engine.add_argument
    add("--batch", type=int, default=1000, help="noisy samples held in memory at once (1000)")
    add("--device", default="cpu", help="where a torch model runs: cpu, cuda, cuda:1 (cpu)")
    add("--autocast", choices=("bfloat16", "float16"), help="mixed precision")
    add("--channels-last", action="store_true", help="channels-last memory layout")
    add("--compile", action="store_true", help="torch.compile")
    add(
        "--sound-noise",
        action="store_true",
        help="whole-numbered noise drawn exactly, for inputs on the grid of 1/255: the "
        "certificate holds for the program and not only for real arithmetic",
    )
    own = parser.add_argument_group("semi-elastic and lipschitz")
    add = own.add_argument
    add("--anchors", metavar="FILE.npz", type=Path, help="x: inputs whose distance sets sigma(x)")
    add("--rate", type=float, help="rate of log sigma(x)")
    add("--k", type=int, help="number of nearest anchors (20)")
    add(
        "--shift",
        type=_shift,
        help="mean distance at which sigma(x) is --sigma: a number, or mean (the default) or "
        "min for that of the anchors themselves",
    )
    add("--sigma-function", metavar="MODULE:CALLABLE", help="CALLABLE() maps a batch to sigma(x)")
    add("--lip", type=float, help="proven upper bound of the Lipschitz constant of sigma(x)")
    add("--sigma-min", type=float, help="proven lower bound of sigma(x)")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Certify what isn't certified yet."""
    _check(args)
    x, y = _load.labelled_inputs(args.data)
    if args.sound_noise:
        on_grid(x)
    indices = list(range(len(x) if args.max < 0 else min(args.max, len(x))))[:: args.skip]
    rank, size, origin = _load.share(args.shard)
    scheme, parameters = _scheme(args, x[0].size)
    model = _load.build("--model", args.model)
    sampler, classes = _sampler(args, model, x[:1])
    if y.max() >= classes:
        raise ValueError(
            f"{args.data}: y must be below the model's number of classes, {classes}; got {y.max()}"
        )
    out = args.out
    if origin not in ("--shard", "default") and size > 1:
        out = out.with_name(f"{out.stem}.{rank}-of-{size}{out.suffix}")
        print(f"rsbounds certify: {origin} share {rank}/{size}, writing {out}", file=sys.stderr)
    manifest = {
        "model": _load.fingerprint(args.model, model),
        "data": {"sha256": _load.file_hash(args.data), "skip": args.skip, "max": args.max},
        "method": scheme.method,
        "scope": scheme.scope,
        "parameters": parameters,
        **{key: getattr(args, key) for key in ("n0", "n", "alpha", "seed", "target_radius")},
        "engine": {
            "device": args.device.partition(":")[0],
            **{key: getattr(args, key) for key in _TORCH_ONLY},
        },
        "shard": f"{rank}/{size}",
        "versions": _versions(),
        "run": {"data": str(args.data), "batch": args.batch, "started": time.strftime("%F %T%z")},
    }
    numbers: dict[str, Any] = {key: manifest[key] for key in ("n0", "n", "alpha", "seed")}
    procedure: Any = certify
    if args.target_radius is not None:
        procedure = partial(certify_radius, target=args.target_radius)
    with Writer(out, manifest) as writer:
        done = {row.idx for row in writer.rows}
        todo = [i for i in indices[rank::size] if i not in done]
        for i in progress(todo, "input", len(done)):
            start = time.perf_counter()
            one = partial(procedure, sampler, x[i], scheme, **numbers, index=i)
            found = _load.guarded(f"input {i}", one)
            writer.append(Row.of(i, int(y[i]), found, time.perf_counter() - start))
    print(f"{out}: {len(done) + len(todo)} rows, {len(todo)} of them new")
    return 0


def _check(args: argparse.Namespace) -> None:
    for name in ("n0", "n", "batch", "skip"):
        whole(f"--{name}", getattr(args, name), 1)
    whole("--seed", args.seed, 0)
    whole("--max", args.max, -1)
    real("--alpha", args.alpha, 0, 1, closed="neither", nan=False)
    if args.target_radius is not None:
        real("--alpha with --target-radius", args.alpha, 0, 0.5, closed="right", nan=False)
    if args.n > MAX_N:
        raise ValueError(f"--n must be at most {MAX_N}; got {args.n}")
    options = _METHODS[args.method]
    for name in _OWN:
        given, default = getattr(args, name), options.get(name)
        flag = f"--{name.replace('_', '-')}"
        if given is None and default is ...:
            raise ValueError(f"--method {args.method} needs {flag}")
        if given is not None and name not in options:
            raise ValueError(f"{flag} has no meaning for --method {args.method}")
        if given is None:
            setattr(args, name, default)
    if args.sound_noise and args.method != "gaussian":
        raise ValueError(f"--sound-noise needs --method gaussian; got {args.method}")
    for name in ("sigma", "target_radius"):
        if getattr(args, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            real(flag, getattr(args, name), 0, closed="neither", nan=False)
    if args.method == "gaussian":
        noise_level(args.sigma)


def _shift(text: str) -> str | float:
    try:
        return text if text in ("mean", "min") else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, mean or min; got {text!r}") from None


def _scheme(args: argparse.Namespace, dim: int) -> tuple[schemes.Scheme, dict[str, Any]]:
    """The scheme, and its parameters for the manifest."""
    if args.method == "gaussian":
        scheme = schemes.gaussian(args.sigma)
        return scheme, dict(scheme.parameters)
    if args.method == "semi-elastic":
        from rsbounds.semielastic import KNNSigma

        anchors = _load.inputs(args.anchors).astype(np.float64)
        anchors = anchors.reshape(len(anchors), -1)
        if anchors.shape[1] != dim:
            raise ValueError(
                f"{args.anchors}: x must have {dim} numbers an input, as --data; "
                f"got {anchors.shape[1]}"
            )
        knn = KNNSigma(anchors, args.sigma, args.rate, args.k, args.shift)
        scheme = schemes.semielastic(knn, dim)
        own = {"sigma": args.sigma, "k": args.k, "shift": knn.shift}
        return scheme, {**scheme.parameters, **own, "anchors": _load.file_hash(args.anchors)}
    function = _load.build("--sigma-function", args.sigma_function)
    scheme = schemes.lipschitz(_sigma(function), args.lip, args.sigma_min, dim)
    own = {"sigma_function": _load.fingerprint(args.sigma_function, function)}
    return scheme, {**scheme.parameters, **own}


def _sigma(function: Any) -> Any:
    """sigma(x) at one input, from a torch module or a callable on a NumPy batch."""
    if not _load.is_torch(function):
        return lambda x: np.asarray(function(x[None]))
    import torch

    function.eval().to("cpu")

    def sigma(x: Any) -> Any:
        with torch.inference_mode():
            return function(torch.from_numpy(x[None])).numpy()

    return sigma


def _sampler(args: argparse.Namespace, model: Any, x: Any) -> tuple[Sampler, int]:
    """The sampler, tried on the first input, and the number of classes."""
    if _load.is_torch(model):
        return _torch_sampler(args, model, x)
    for option in _TORCH_ONLY:
        if getattr(args, option):
            flag = f"--{option.replace('_', '-')}"
            raise ValueError(f"{flag} needs a torch module; --model {args.model} is none")
    scores = np.asarray(_load.guarded(f"--model {args.model}", lambda: model(x)))
    classes = len(votes(scores, 1, 1))
    _require_numbers(args.model, bool(np.isnan(scores).any()))
    return ArraySampler(model), classes


def _torch_sampler(args: argparse.Namespace, model: Any, x: Any) -> tuple[Sampler, int]:
    import torch

    from rsbounds.torch import TorchSampler

    options: dict[str, Any] = {
        "batch": args.batch,
        "autocast": args.autocast,
        "channels_last": args.channels_last,
        "sound_noise": args.sound_noise,
    }
    try:
        options["device"] = _device(args.device)
        sampler = TorchSampler(model, **options)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"--device {args.device} can't be used: {reason}") from error
    with torch.inference_mode():
        first = torch.from_numpy(x).to(sampler.device)
        returned = _load.guarded(f"--model {args.model}", lambda: sampler.forward(first))
        scores = sampler.scores(returned, first)
    _require_numbers(args.model, bool(scores.isnan().any()))
    if args.compile:
        sampler = TorchSampler(model, compile=True, **options)
    return sampler, scores.shape[1]


def _device(name: str) -> str:
    """``cuda`` means, for one of several processes on a machine, its own GPU."""
    import torch

    local = os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID"))
    if name == "cuda" and local is not None:
        if not local.isdecimal():
            raise ValueError(f"LOCAL_RANK or SLURM_LOCALID must be a number >= 0; got {local!r}")
        return f"cuda:{int(local) % max(torch.cuda.device_count(), 1)}"
    return name


def _require_numbers(model: str, nan: bool) -> None:
    if nan:
        raise ValueError(f"--model {model} must return numbers; got NaN for the first input")


def _versions() -> dict[str, str]:
    versions = {"rsbounds": __version__}
    for name in ("numpy", "scipy", "torch"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
