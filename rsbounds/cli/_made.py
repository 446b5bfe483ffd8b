"""What ``rsbounds certify`` certifies with: model, data and scheme of its command line."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds import loading
from rsbounds.cli import _engine, _options
from rsbounds.composite import Rule
from rsbounds.loading import Data
from rsbounds.schemes import Scheme


def built(
    args: argparse.Namespace, options: dict[str, Any], describe: dict[str, Any]
) -> tuple[Any, Data, Scheme | Rule]:
    """A worker's model, data and scheme: those of the command line."""
    loaded = _engine.load(args)
    if dict(loaded.describe) != describe:
        raise ValueError(
            f"--model {args.model} must be the same wherever it is made; the process that writes "
            f"found {describe}, a worker {dict(loaded.describe)}"
        )
    data = _engine.open_data(args, loaded)
    found = scheme(args, options, data)
    return model(args, loaded, data, found), data, found


def scheme(args: argparse.Namespace, options: dict[str, Any], data: Data) -> Scheme | Rule:
    """The scheme of the method, or the rule."""
    if args.method == "composite":
        return read_rule(args.rule)
    build = _options.BUILT[args.method].build
    assert build is not None
    shape = _engine.first(data, skip_corrupt=args.skip_corrupt).shape
    return build(options, _Given(shape, args.sound_noise))


def model(args: argparse.Namespace, loaded: Any, data: Data, found: Scheme | Rule) -> Any:
    """The sampler of all levels, or a list with the expert of each."""
    if not isinstance(found, Rule):
        return _engine.sampler(
            args, loaded, data, found.sigma(_engine.first(data, skip_corrupt=args.skip_corrupt))
        )
    rule = found
    base = _engine.sampler(args, loaded, data, rule.sigmas[0])
    own = {}
    for text in args.model_for:
        level, _, spec = text.partition("=")
        try:
            sigma = float(level)
        except ValueError:
            sigma = math.nan
        if sigma not in rule.sigmas or not spec:
            levels = ", ".join(map(str, rule.sigmas))
            raise ValueError(
                f"--model-for must be SIGMA=MODEL with SIGMA one of {levels}; got {text!r}"
            )
        expert = _engine.load(argparse.Namespace(**{**vars(args), "model": spec}))
        own[sigma] = _engine.sampler(args, expert, data, sigma)
    return [own.get(sigma, base) for sigma in rule.sigmas] if own else base


def read_rule(path: Path) -> Rule:
    """The decision list of a JSON file."""
    try:
        return Rule.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a rule: {error}") from None


class _Proven:
    """A network by the proof of its own kind, whatever a subclass or the instance puts for it."""

    def __init__(self, network: Any) -> None:
        self._network = network

    def scheme(self, dim: float, *, sound: bool) -> Scheme:
        from rsbounds.torch import SigmaNetwork

        return SigmaNetwork.scheme(self._network, dim, sound=sound)


class _Given:
    """What a method may ask for."""

    def __init__(self, shape: tuple[int, ...], sound: bool) -> None:
        self.dim = math.prod(shape)
        self.sound = sound

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
            return _Proven(function), description

        function.eval().to("cpu")

        def sigma(x: Any) -> Any:
            with torch.inference_mode():
                return function(torch.from_numpy(x[None])).numpy()

        return sigma, description
