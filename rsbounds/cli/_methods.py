"""Methods of the command line: their options, and the schemes that these make."""

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rsbounds import loading
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import file_hash
from rsbounds.cli._flags import flag as flag
from rsbounds.composite import Rule
from rsbounds.confidence import BOUNDS
from rsbounds.confidence.counts import MAX_N
from rsbounds.schemes import LAWS, METHODS, TRANSFORM_OPTION, Option, Scheme

#: The method of a run that names none.
DEFAULT = next(iter(METHODS))

#: Bounds whose rows a file can hold and ``verify`` can check.
#: Those of other packages are loaded when they are named.
COUNTED = tuple(
    name
    for name in BOUNDS
    if not BOUNDS.is_own(name) or BOUNDS[name].evidence != "scores"
)


_ARGUMENTS = Option("method_args", "arguments of CALLABLE", str, None, "K=V,...")


def add(parser: Any, option: Option, *, required: bool = False, **changes: Any) -> None:
    """Add a method's option to a parser; ``changes`` are argparse's own settings."""
    settings = {
        "type": converter(option.type),
        "help": option.help,
        "metavar": option.metavar,
        "nargs": option.nargs,
        "default": None if option.default is ... else option.default,
        "required": required,
    }
    try:
        parser.add_argument(flag(option.name), **settings | changes)
    except argparse.ArgumentError:
        # an entry of another package asks for what certify itself asks for
        raise ValueError(
            f"the option {flag(option.name)} ({option.help}) is there already: its "
            "method or answer must name it otherwise"
        ) from None


def converter(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Wrap ``kind`` so that argparse prints the messages of its errors.

    Of other ValueErrors it says the name of the function and not the message.
    """
    if isinstance(kind, type):  # "invalid float value" is argparse's to say
        return kind

    def convert(text: str) -> Any:
        try:
            return kind(text)
        except ArgumentError as error:  # argparse says the option
            raise argparse.ArgumentTypeError(error.problem) from None
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def of_method(name: str) -> tuple[Option, ...]:
    """Return the options of one method.

    ValueError with near matches if there is none of that name.
    """
    if is_code(name):
        return (_ARGUMENTS,)
    if name in LAWS:  # whose noise may move a parameter
        return *METHODS[name].options, TRANSFORM_OPTION
    if name in METHODS:
        return METHODS[name].options
    raise loading.unknown("method", name, list(METHODS))


def of_all() -> list[Option]:
    """The options of this package's methods, one of each flag."""
    options = {own.name: own for own in (_ARGUMENTS, TRANSFORM_OPTION)}
    for name in filter(METHODS.is_own, METHODS):  # others' code runs when it is named
        options |= {option.name: option for option in METHODS[name].options}
    return list(options.values())


def of_whole_numbers(name: str | None) -> bool:
    """Whether inputs of a method may be whole numbers."""
    return name is not None and name in METHODS and METHODS[name].of_whole_numbers


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
    from rsbounds.audit import trust  # which not every command needs

    given = Given(shape, args.sound_noise)
    made: Scheme | Rule
    if is_code(args.method):
        made = trust.by_code(args.method, args.method_args, shape, given.sound)
    else:
        _require_fixed(args, METHODS[args.method])
        made = trust.by_name(args.method, vars(args), given)
        if args.method in LAWS and args.transform is not None:
            made = trust.moving(made, args.transform)
    if isinstance(made, Rule):
        return made
    if args.sound_noise and not made.sound:
        raise ValueError(
            "--sound-noise needs a scheme whose radius allows for the rounding of "
            f"sigma(x); that of --method {args.method} does not"
        )
    _require_fixed(args, type(made))
    return made


def _require_fixed(args: argparse.Namespace, method: type[Scheme]) -> None:
    """ValueError for a denoiser in front of noise that is not x + sigma N(0, I)."""
    fixed = "sigma" in method.domains and not method.law
    if args.denoiser is not None and not fixed:
        raise ValueError(
            "--denoiser has one timestep, that of a fixed noise level: it goes with "
            f"--method gaussian, or with --rule; got {method.name}"
        )


class Given:
    """What a method may ask for (:class:`rsbounds.schemes.Given`)."""

    def __init__(self, shape: tuple[int, ...], sound: bool) -> None:
        self.dim = math.prod(shape)
        self.shape = shape
        self.sound = sound

    def inputs(self, path: Any) -> tuple[Any, str]:
        anchors = loading.inputs(path).astype(np.float64)
        anchors = anchors.reshape(len(anchors), -1)
        if anchors.shape[1] != self.dim:
            expected = f"{self.dim} numbers an input, as --data"
            raise ValueError(f"{path}: x must have {expected}; got {anchors.shape[1]}")
        return anchors, file_hash(path)

    def function(self, option: str, spec: str) -> tuple[Any, Any]:
        from rsbounds.audit import trust

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
                return function(torch.from_numpy(x[None])).numpy()

        return sigma, description

    def noise(self, option: str, spec: str) -> tuple[Any, Any]:
        from rsbounds.audit import trust

        made = loading.call(option, spec)
        shaped = trust.noise_of(made)
        if shaped is None:
            expected = "NoiseMaps, FixedNoise or a CertifiedGenerator"
            raise ArgumentError(
                option, f"{spec} must return {expected}; got {type(made).__name__}"
            )
        return shaped, loading.fingerprint(spec, made)
