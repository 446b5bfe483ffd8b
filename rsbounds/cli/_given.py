"""The scheme that a command line asks for, made of its files and code."""

import argparse
import math
from typing import Any

import numpy as np

from rsbounds import trust
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import file_hash
from rsbounds.cli import _grid, _methods
from rsbounds.composite import Rule
from rsbounds.loading import internal as loading
from rsbounds.schemes import METHODS, Scheme
from rsbounds.schemes.internal import LAWS


def scheme(args: argparse.Namespace, shape: tuple[int, ...]) -> Scheme | Rule:
    """The scheme of the method, or the rule, for inputs of this shape."""
    by_options = GivenByOptions(shape)
    made: Scheme | Rule
    if _methods.is_code(args.method):
        made = trust.by_code(args.method, args.method_args, shape)
    else:
        _require_fixed(args, METHODS[args.method])
        made = trust.by_name(args.method, vars(args), by_options)
        if args.method in LAWS and args.transform is not None:
            made = trust.moving(made, args.transform)
    if isinstance(made, Rule):
        return made
    _require_fixed(args, type(made))
    return _grid.drawn(args, made)


def _require_fixed(args: argparse.Namespace, method: type[Scheme]) -> None:
    """ValueError for a denoiser in front of noise that is not x + sigma N(0, I)."""
    fixed = "sigma" in method.domains and not method.law
    if args.denoiser is not None and not fixed:
        raise ValueError(
            "--denoiser has one timestep, that of a fixed noise level: it goes with "
            f"--method gaussian, or with --rule; got {method.name}"
        )


class GivenByOptions:
    """What a method may ask for (:class:`rsbounds.schemes.GivenByOptions`)."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.dim = math.prod(shape)
        self.shape = shape

    def inputs(self, path: Any) -> tuple[Any, str]:
        anchors = loading.inputs(path)
        anchors = anchors.reshape(len(anchors), -1)
        if anchors.shape[1] != self.dim:
            expected = f"{self.dim} numbers an input, as --data"
            raise ValueError(f"{path}: x must have {expected}; got {anchors.shape[1]}")
        return anchors, file_hash(path)

    def function(self, option: str, spec: str) -> tuple[Any, Any]:
        function = loading.build(option, spec)
        description = loading.fingerprint(spec, function)
        if not loading.is_torch(function):
            return (lambda x: np.asarray(function(x[None]))), description
        network = trust.network_of(function)
        if network is not None:
            return network, description
        import torch

        function.eval().to("cpu")

        def sigma(x: Any) -> Any:
            with torch.inference_mode():
                # rounded to another type, a level would jump where the input does
                rows = torch.from_numpy(x[None])
                return function.to(rows.dtype)(rows).numpy()

        return sigma, description

    def noise(self, option: str, spec: str) -> tuple[Any, Any]:
        made = loading.call(option, spec)
        shaped = trust.noise_of(made)
        if shaped is None:
            expected = "NoiseMaps, FixedNoise or a CertifiedGenerator"
            raise ArgumentError(
                option, f"{spec} must return {expected}; got {type(made).__name__}"
            )
        return shaped, loading.fingerprint(spec, made)
