"""Options of a method on the command line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Options: TypeAlias = Mapping[str, Any]  # values by name


@dataclass(frozen=True)
class Option:
    """One option of the command line, which spells its name as a flag.

    ``default`` is ... where it must be given.
    """

    name: str
    help: str
    type: Callable[[str], Any] = float
    default: Any = ...
    metavar: str | None = None
    nargs: str | None = None


class Given(Protocol):
    """What the command line knows of the inputs, and what it loads for a scheme.

    ``inputs`` is the array ``x`` of an npz file, flattened to (count, dim);
    ``function`` one of an input, for a ``SigmaNetwork`` an object with its ``scheme``
    method; ``noise`` noise of a shape, whose ``scheme(norm, sound=...)`` rests on the
    proof of its kind. Each comes with its description for the manifest.
    """

    dim: int
    shape: tuple[int, ...]  # of an input
    sound: bool  # whether a sound scheme is asked for

    def inputs(self, path: Any) -> tuple[Any, str]: ...
    def function(self, option: str, spec: str) -> tuple[Any, Any]: ...
    def noise(self, option: str, spec: str) -> tuple[Any, Any]: ...


class Shared:
    """Options of several methods."""

    LEVEL = Option("sigma", "noise level at the input")
    NORM = Option("norm", "the p of the l_p norm (2; inf is allowed)", default=2.0)
    DIM = Option("dim", "dimension of the input")
    FLOOR = Option("sigma_min", "lower bound of sigma(x)")
    FUNCTION = Option(
        "sigma_function",
        "CALLABLE() maps a batch to sigma(x)",
        str,
        metavar="MODULE:CALLABLE",
    )
