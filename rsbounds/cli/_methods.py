"""Methods of the command line: their options, and the schemes that these make.

A proof belongs to a kind of this package's (never to a method called ``scheme``):
SigmaNetwork, CertifiedGenerator, NoiseMaps, FixedNoise and KNNSigma, no subclass of
them. A :class:`Scheme` of one of this package's methods is taken at its parameters,
whose bounds are asserted; one of another method is another package's, and rows say so.
"""

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Callable
from copy import copy
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rsbounds import loading
from rsbounds._numerics.errors import ArgumentError
from rsbounds.certificate import ANOTHERS, THIS_INPUT
from rsbounds.cli._flags import flag as flag
from rsbounds.composite import Rule
from rsbounds.confidence import BOUNDS
from rsbounds.confidence.counts import MAX_N
from rsbounds.procedure import Procedure
from rsbounds.schemes import METHODS, Option, Scheme, gaussian, semielastic
from rsbounds.schemes._domains import NORM
from rsbounds.semielastic import KNNSigma

#: Bounds whose rows a file can hold and ``verify`` can check.
COUNTED = tuple(b.name for b in BOUNDS.values() if b.evidence == "counts")

procedure = Procedure  # until the commands make it themselves

_ARGUMENTS = Option("--method-args", "arguments of CALLABLE", str, None, "K=V,...")
_KINDS = "a Scheme, a Rule, a SigmaNetwork, a CertifiedGenerator, NoiseMaps, FixedNoise or a KNNSigma"
_AS_ITSELF = {
    "anisotropic": "noise itself",
    "generator": "noise itself",
    "composite": "Rule",
}


def add(parser: Any, option: Option, *, required: bool = False, **changes: Any) -> None:
    """Add a method's option to a parser; ``changes`` are argparse's own settings."""
    settings = {
        "type": _converter(option.type),
        "help": option.help,
        "metavar": option.metavar,
        "nargs": option.nargs,
        "default": None if option.default is ... else option.default,
        "required": required,
    }
    parser.add_argument(option.flag, **settings | changes)


def _converter(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """``kind`` as argparse takes it: of other ValueErrors it says the name of the
    function and not the message.
    """
    if isinstance(kind, type):  # "invalid float value" is argparse's to say
        return kind

    def convert(text: str) -> Any:
        try:
            return kind(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def of_method(name: str) -> tuple[Option, ...]:
    """The options of one method; ValueError with near matches if there is none of that
    name.
    """
    if is_code(name):
        return (_ARGUMENTS,)
    if name in METHODS:
        return METHODS[name].options
    raise loading.unknown("method", name, list(METHODS))


def of_all() -> list[Option]:
    """The options of all methods, one of each flag."""
    every = [option for scheme in METHODS.values() for option in scheme.options]
    return list({o.flag: o for o in (*every, _ARGUMENTS)}.values())


def is_code(name: str | None) -> bool:
    """Whether a method is given by MODULE:CALLABLE."""
    return ":" in (name or "")


def numbers(
    text: str, kind: Any = float, low: int = 0, most: float = math.inf
) -> tuple[Any, ...]:
    """Numbers that are at least ``low``, separated by commas."""
    try:
        values = tuple(map(kind, text.split(",")))
    except ValueError:
        values = ()
    if not 0 < len(values) <= most or not all(value >= low for value in values):
        several = "numbers" if most == math.inf else f"at most {most} numbers"
        several += f" >= {low} separated by commas"
        raise argparse.ArgumentTypeError(f"expected {several}; got {text!r}")
    return values


def whole(low: int, text: str) -> int:
    """A whole number, also as 1e5, that is at least ``low``."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (low <= value <= MAX_N and value == int(value)):
        expected = f"a whole number from {low} to {MAX_N}"
        raise argparse.ArgumentTypeError(f"expected {expected}; got {text!r}")
    return int(value)


def scheme(args: argparse.Namespace, shape: tuple[int, ...]) -> Scheme | Rule:
    """The scheme of the method, or the rule, for inputs of this shape."""
    if args.method == "composite":
        return read_rule(args.rule)
    given = Given(shape, args.sound_noise)
    made: Scheme | Rule
    if is_code(args.method):
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
    _require_fixed(args, made.name)
    return made


def _require_fixed(args: argparse.Namespace, name: str) -> None:
    if args.denoiser is not None and name != "gaussian":
        raise ValueError(
            "--denoiser has one timestep, that of a fixed noise level: it goes with --method "
            f"gaussian or composite; got {args.method}"
        )


def read_rule(path: Path) -> Rule:
    try:
        return Rule.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a rule: {error}") from None


def by_code(spec: str, arguments: str | None, dim: int, sound: bool) -> Scheme | Rule:
    """The scheme that ``--method MODULE:CALLABLE`` with its ``--method-args`` certifies
    by.

    It is for inputs of ``dim`` numbers; ``sound`` asks for a scheme that is, where its
    kind has one. ValueError if it is of no kind that certifies, or can't stand in a
    manifest.
    """
    what, own = f"--method {spec}", loading.parse_arguments(arguments or "")
    made = loading.call("method", spec, **own)
    if isinstance(made, Rule):
        return made
    scheme = (
        _stated(what, made, dim)
        if isinstance(made, Scheme)
        else _proven(made, dim, sound)
    )
    if scheme is None:
        raise ValueError(f"{what} must return {_KINDS}; got {type(made).__name__}")
    code = {**loading.fingerprint(spec, made), "args": own}
    try:
        scheme.parameters = json.loads(json.dumps({**scheme.parameters, "code": code}))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"{what}: its parameters can't stand in a manifest: {error}"
        ) from None
    return scheme


def _noise(made: Any) -> Any:
    """Noise of a shape whose ``scheme(norm)`` is that of its own kind; None for
    anything else.
    """
    if "torch" not in sys.modules:
        return None
    from rsbounds.torch import CertifiedGenerator, FixedNoise, NoiseMaps

    if type(made) in (CertifiedGenerator, NoiseMaps):
        return type(made).noise(made)
    return made if type(made) is FixedNoise else None


def _proven(made: Any, dim: int, sound: bool) -> Scheme | None:
    """The scheme of an object that proves its bounds; None for anything else."""
    if type(made) is KNNSigma:
        neighbours = semielastic(made, dim, sound=sound)
        anchors = hashlib.sha256(made._anchors.points.tobytes()).hexdigest()
        own = {
            "sigma": made.sigma_base,
            "k": made.k,
            "shift": made.shift,
            "anchors": anchors,
        }
        neighbours.parameters |= own
        return neighbours
    if "torch" not in sys.modules:
        return None
    from rsbounds.torch import NoiseGenerator, SigmaNetwork

    if type(made) is SigmaNetwork:
        return SigmaNetwork.scheme(made, dim, sound=sound)
    if isinstance(made, NoiseGenerator):
        raise ValueError(
            "a NoiseGenerator chooses its noise anew at every input and certifies none: a "
            "CertifiedGenerator does"
        )
    shaped = _noise(made)
    return None if shaped is None else shaped.scheme(sound=sound)


def _stated(what: str, made: Scheme, dim: int) -> Scheme:
    """A scheme as it was stated: of a method of ours, or of another's."""
    if not (isinstance(made.name, str) and made.name.isprintable() and made.name):
        raise ValueError(f"{what}: the method must be a name; got {made.name!r}")
    if made.name not in METHODS:
        another = copy(made)
        another.norm, another.scope = NORM.one(f"{what}: norm", made.norm), ANOTHERS
        return another
    if made.name in _AS_ITSELF:
        raise ValueError(
            f"{what} must return the {_AS_ITSELF[made.name]}, not its scheme"
        )
    # Only the parameters are taken, and sigma(x) checked against them: the radius is
    # the method's.
    try:
        scheme = METHODS[made.name].from_parameters(made.parameters, level=made.sigma)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    own = scheme.parameters
    if not (size := own.get("dim", dim)) >= dim:
        raise ValueError(f"{what}: dim must be at least {dim}, as --data; got {size}")
    if made.name == "gaussian":
        scheme = gaussian(own["sigma"], norm=own.get("norm", 2.0), dim=dim)
    if made.scope == THIS_INPUT:
        scheme.scope = THIS_INPUT
    return scheme


class Given:
    """What a method may ask for (:class:`rsbounds.schemes.Given`)."""

    def __init__(self, shape: tuple[int, ...], sound: bool) -> None:
        self.dim, self.sound = math.prod(shape), sound

    def inputs(self, path: Any) -> tuple[Any, str]:
        anchors = loading.inputs(path).astype(np.float64)
        anchors = anchors.reshape(len(anchors), -1)
        if anchors.shape[1] != self.dim:
            expected = f"{self.dim} numbers an input, as --data"
            raise ValueError(f"{path}: x must have {expected}; got {anchors.shape[1]}")
        return anchors, loading.file_hash(path)

    def function(self, option: str, spec: str) -> tuple[Any, Any]:
        function = loading.build(option, spec)
        description = loading.fingerprint(spec, function)
        if not loading.is_torch(function):
            return (lambda x: np.asarray(function(x[None]))), description
        import torch

        from rsbounds.torch import SigmaNetwork

        if isinstance(function, SigmaNetwork):
            # the proof of its own kind, whatever a subclass or the instance puts for it
            return SimpleNamespace(
                scheme=partial(SigmaNetwork.scheme, function)
            ), description
        function.eval().to("cpu")

        def sigma(x: Any) -> Any:
            with torch.inference_mode():
                return function(torch.from_numpy(x[None])).numpy()

        return sigma, description

    def noise(self, option: str, spec: str) -> tuple[Any, Any]:
        made = loading.call(option, spec)
        if (shaped := _noise(made)) is None:
            expected = "NoiseMaps, FixedNoise or a CertifiedGenerator"
            raise ArgumentError(
                option, f"{spec} must return {expected}; got {type(made).__name__}"
            )
        return shaped, loading.fingerprint(spec, made)
