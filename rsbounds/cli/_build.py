"""What ``rsbounds certify`` certifies with: model, data and scheme of its command line."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rsbounds import loading
from rsbounds.answers import TopK
from rsbounds.cli import _engine, _options, _user_scheme
from rsbounds.composite import Rule
from rsbounds.loading import Data, Loaded
from rsbounds.schemes import METHODS, Scheme


@dataclass
class Parts:
    """Data and scheme, and the classifier that is smoothed at each noise level."""

    data: Data
    scheme: Scheme | Rule
    stages: list[Loaded]
    describe: dict[str, Any]  # what the manifest says of the model


def parts(args: argparse.Namespace) -> Parts:
    """What the command line names, loaded."""
    loaded = _engine.load(args)
    data = _engine.open_data(args, loaded)
    try:
        if not len(data):
            raise ValueError(f"{args.data}: the data must have at least one input; got none")
        made = scheme(args, data)
        stages = classifiers(args, loaded, made)
        return Parts(data, made, stages, described(args, loaded, stages))
    except BaseException:
        data.close()
        raise


def asked(args: argparse.Namespace, scheme: Scheme | Rule) -> Any:
    """What is asked of each input: a class, or whether its label is among the best ``--top-k``."""
    if args.top_k is None:
        return scheme
    if isinstance(scheme, Rule):
        raise ValueError("--top-k needs one noise level, the same everywhere; got a rule")
    return TopK(scheme, args.top_k)


def built(args: argparse.Namespace, describe: dict[str, Any]) -> tuple[Any, Data, Any]:
    """A worker's model, data and scheme: those of the command line."""
    own = parts(args)
    if own.describe != describe:
        raise ValueError(
            f"--model {args.model} must be the same wherever it is made; the process that writes "
            f"made {describe}, a worker {own.describe}"
        )
    return model(args, own.stages, own.scheme), own.data, asked(args, own.scheme)


def model(args: argparse.Namespace, stages: list[Loaded], scheme: Scheme | Rule) -> Any:
    """The sampler of all levels, or a list with that of each."""
    if not isinstance(scheme, Rule):
        return _engine.sampler(args, stages[0], scheme.sampler)
    experts = {id(stage.model): stage for stage in stages}
    made = {key: _engine.sampler(args, stage) for key, stage in experts.items()}
    samplers = [made[id(stage.model)] for stage in stages]
    return samplers if len(made) > 1 else samplers[0]


def scheme(args: argparse.Namespace, data: Data) -> Scheme | Rule:
    """The scheme of the method, or the rule."""
    if args.method == "composite":
        return read_rule(args.rule)
    given = Given(_engine.first(data).shape, args.sound_noise)
    made: Scheme | Rule
    if _options.is_code(args.method):
        made = by_code(args.method, args.method_args, given.dim, given.sound)
    else:
        _require_fixed(args, args.method)
        made = METHODS[args.method].from_options(vars(args), given)
    if isinstance(made, Rule):
        return made
    if args.sound_noise and not made.sound:
        raise ValueError(
            "--sound-noise needs a scheme whose radius allows for the rounding of sigma(x); that "
            f"of --method {args.method} does not"
        )
    if args.model_for:
        raise ValueError("--model-for goes with --method composite")
    _require_fixed(args, made.name)
    return made


def _require_fixed(args: argparse.Namespace, name: str) -> None:
    if args.denoiser is not None and name != "gaussian":
        raise ValueError(
            "--denoiser has one timestep, that of a fixed noise level: it goes with --method "
            f"gaussian or composite; got {args.method}"
        )


def by_code(spec: str, arguments: str | None, dim: int, sound: bool) -> Scheme | Rule:
    """What ``--method MODULE:CALLABLE`` with its ``--method-args`` returns."""
    own = loading.parse_arguments(arguments) if arguments else {}
    made = loading.call("--method", spec, **own)
    code: dict[str, Any] = {**loading.fingerprint(spec, made), "args": own}
    return _user_scheme.scheme(f"--method {spec}", made, code, dim, sound)


def classifiers(args: argparse.Namespace, loaded: Loaded, made: Scheme | Rule) -> list[Loaded]:
    """What is smoothed at each noise level: the model or an expert, behind the denoiser."""
    if not isinstance(made, Rule):
        sigma = made.parameters["sigma"] if args.denoiser is not None else 1.0
        return _engine.denoised(args, [(loaded, sigma)])
    levels, experts = {str(sigma): sigma for sigma in made.sigmas}, {}
    for text in args.model_for:
        level, _, spec = text.partition("=")
        try:
            sigma = levels[str(float(level))]
        except (KeyError, ValueError):
            sigma, spec = 0.0, ""
        if not spec:
            raise ValueError(
                f"--model-for must be SIGMA=MODEL with SIGMA one of {', '.join(levels)}; "
                f"got {text!r}"
            )
        experts[sigma] = _engine.load(argparse.Namespace(**{**vars(args), "model": spec}))
    return _engine.denoised(args, [(experts.get(s, loaded), s) for s in made.sigmas])


def described(args: argparse.Namespace, loaded: Loaded, stages: list[Loaded]) -> dict[str, Any]:
    """What the manifest says of the model."""
    entries, each = dict(loaded.describe), [stage.describe for stage in stages]
    if args.model_for:
        entries["for"] = args.model_for
        # the probe, which is of the first level alone, would not tell another expert
        entries["experts"] = [stage["parameters"] or stage["source"] for stage in each]
    if args.denoiser is not None:
        denoisers = [stage["denoiser"] for stage in each]
        entries["denoiser"] = denoisers if len(each) > 1 else denoisers[0]
    return entries


def read_rule(path: Path) -> Rule:
    """The decision list of a JSON file."""
    try:
        return Rule.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a rule: {error}") from None


class Given:
    """What a method may ask for (:class:`rsbounds.schemes.Given`)."""

    def __init__(self, shape: tuple[int, ...], sound: bool) -> None:
        self.dim, self.sound = math.prod(shape), sound

    def inputs(self, path: Any) -> tuple[Any, str]:
        """The array x of an npz file, flattened, and the file's hash."""
        anchors = loading.inputs(path).astype(np.float64)
        anchors = anchors.reshape(len(anchors), -1)
        if anchors.shape[1] != self.dim:
            raise ValueError(
                f"{path}: x must have {self.dim} numbers an input, as --data; "
                f"got {anchors.shape[1]}"
            )
        return anchors, loading.file_hash(path)

    def function(self, option: str, spec: str) -> tuple[Any, Any]:
        """A function of one input from a torch module or a callable on a NumPy batch."""
        function = loading.build(option, spec)
        description = loading.fingerprint(spec, function)
        if not loading.is_torch(function):
            return (lambda x: np.asarray(function(x[None]))), description
        import torch

        from rsbounds.torch import SigmaNetwork

        if isinstance(function, SigmaNetwork):
            # the proof of its own kind, whatever a subclass or the instance puts for it
            return SimpleNamespace(scheme=partial(SigmaNetwork.scheme, function)), description
        function.eval().to("cpu")

        def sigma(x: Any) -> Any:
            with torch.inference_mode():
                return function(torch.from_numpy(x[None])).numpy()

        return sigma, description

    def noise(self, option: str, spec: str) -> tuple[Any, Any]:
        """Noise of a shape, by the proof of its own kind."""
        made = loading.call(option, spec)
        if (shaped := _user_scheme.noise(made)) is None:
            raise ValueError(
                f"{option} {spec} must return NoiseMaps, FixedNoise or a CertifiedGenerator; "
                f"got {type(made).__name__}"
            )
        return shaped, loading.fingerprint(spec, made)
