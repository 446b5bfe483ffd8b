"""What a noise is, the random bits that it is drawn from, and inputs that it takes.

Gaussian noise, which is drawn unless another is asked for, stands beside it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_array as any_array
from rsbounds._numerics.checks import as_floats, check, number, on_host
from rsbounds._numerics.errors import ArgumentError

_MOST = 2**24  # whole numbers up to here are numbers of float32
_TINY = float(np.finfo(np.float32).tiny)
_LARGEST = float(np.finfo(np.float32).max)


#: What numbers become, changed in the ways of those numbers.
Change = Callable[[Any, Any], Any]


class Bits(Protocol):
    """Random bits that copies of one block are drawn from, and the arrays made of them.

    NumPy's streams supply them, torch's and the operating system. Every probability is
    exact: an event is decided by whole numbers, and where the bits of a draw decide
    nothing, its copy is void. Arrays of shape ``(size, ...)`` hold one entry for each
    copy.

    Attributes
    ----------
    xp : module
        The namespace of the arrays, numpy or torch: where both have a function of one
        name, draws use it.
    void : array of bool, shape (size,)
        Which copies the draws so far have left undecided: they count for no class.
    """

    xp: Any

    @property
    def void(self) -> Any: ...

    def discard(self, void: Any) -> None:
        """Count these copies as void too; ``void`` is a NumPy array (size,)."""

    def happens(self, chance: Fraction, shape: tuple[int, ...]) -> Any:
        """Independent events of exactly this probability, in an array of bool."""

    def happens_where(
        self, condition: Any, chance: Fraction, otherwise: Fraction, size: int
    ) -> Any:
        """Independent events at each place of each copy.

        Of probability ``chance`` where the condition holds, of ``otherwise`` elsewhere.
        """

    def kept_or_changed(
        self, x: Any, keep: Fraction, ways: int, changed: Change, size: int
    ) -> Any:
        """Copies of x, each number of which stays with probability ``keep``.

        Else it is changed in one of so many ways, all alike: ``changed(x, way)`` is
        what it becomes.
        """

    def below(self, end: int, shape: tuple[int, ...]) -> Any:
        """Independent whole numbers in [0, end), all alike; end at most 2^63."""

    def choose(self, kept: int, size: int, shape: tuple[int, ...]) -> Any:
        """In each copy of this shape ``kept`` places, each subset equally likely."""

    def uniform(self, shape: tuple[int, ...]) -> Any:
        """Floating-point numbers, uniform on [0, 1)."""

    def normal(self, shape: tuple[int, ...]) -> Any:
        """Independent standard normal numbers."""

    def on_host(self) -> Bits:
        """Bits of NumPy arrays that follow from these: for what is drawn there."""

    def array(self, values: NDArray[Any]) -> Any:
        """A NumPy array as one of the namespace."""

    def like(self, batch: Any, x: Any) -> Any:
        """An array in the type of the input."""

    def single(self, batch: Any) -> Any:
        """An array rounded to float32."""

    def sequences(self, x: Any, left: Any) -> Any:
        """Copies of a sequence with the elements that are left of it in each."""

    def matrices(self, keys: NDArray[np.int64], like: Any, size: int) -> Any:
        """Copies of a sparse matrix with the ones of these keys; see ``Edges``."""


class Noise(ABC):
    """A law of noisy copies of one input.

    Attributes
    ----------
    law : str
        Names the law with its parameters. A sampler has the law of its noise, and a
        scheme that of its radii: nothing is certified unless they agree.
    level : float or None
        The ``sigma`` that a sampler of it is called with, and that rows state. None:
        any.
    whole : bool
        Whether inputs may be whole numbers. Copies are then whole numbers too, int64;
        copies of an input in floating point are float32.
    outcomes : int or None
        How many outcomes it has, where a sampler goes through all of them, each once;
        None where copies are drawn by chance.
    sound : bool
        Whether it is Gaussian noise on a grid, which whole numbers decide.
    of_bits : bool
        Whether the :class:`Bits` that it is handed decide its copies alone, and no
        normal numbers among them: the bits may then be the operating system's.
    padding : int or None
        What a torch module sees behind the end of a copy, where copies are sequences of
        different lengths; None where all have one shape.
    """

    law: str
    level: float | None
    whole: ClassVar[bool] = True
    outcomes: int | None = None
    sound: bool = False
    of_bits: bool = False
    padding: int | None = None

    @abstractmethod
    def checked(self, x: Any) -> Any:
        """One input in the form that copies are drawn from; ArgumentError("x", ...)."""

    @abstractmethod
    def noisy(self, x: Any, sigma: float, size: int, bits: Any) -> Any:
        """``size`` copies of a checked input; ``bits.void`` says which are void."""

    def all_outcomes(self, x: Any, first: int, size: int, bits: Bits) -> Any:
        """Copies number ``first`` and following, where all outcomes are gone through.

        Beyond the last one they begin again.
        """
        raise NotImplementedError(f"{type(self).__name__} draws by chance")

    def added_to(self, columns: int) -> Sequence[int]:
        """The first columns, of so many, whose numbers it moves a little."""
        return range(0 if self.whole else columns)

    def numbers(self, x: Any) -> int:
        """How many numbers one copy holds, which blocks are measured by."""
        return int(x.size)

    def check_model(self, model: Any) -> None:
        """ArgumentError for a model that such copies can't be shown to."""
        # it would take three channels of a picture for what two queries answered
        if getattr(model, "query_levels", None) is not None:
            raise ArgumentError(
                "model",
                "must not be a rsbounds.torch.Adaptive, whose method is two-queries, "
                f"for {self!r}",
            )

    def presented(self, batch: Any) -> Any:
        """What a function of NumPy batches is called with."""
        return batch

    def __repr__(self) -> str:
        return f"<noise {self.law or 'gaussian'}>"


def as_array(x: Any) -> NDArray[Any]:
    """One input as an array of real numbers, at least one, all finite."""
    if hasattr(x, "tocsr"):
        raise ArgumentError(
            "x", "must be an array: this noise does not take sparse matrices"
        )
    given = any_array("x", on_host("x", x))
    if given.dtype.kind not in "biuf" or not given.size:
        raise ArgumentError(
            "x",
            f"must be numbers, at least one; got {given.dtype} of shape {given.shape}",
        )
    if given.dtype.kind == "f":
        check("x", given, np.isfinite(given), "finite")
    return given


def as_whole(x: Any, high: int | None = None, low: int = 0) -> NDArray[Any]:
    """One input of whole numbers, in the type of its copies.

    int64, or float32 where it came in floating point. ArgumentError for any that aren't
    whole or lie outside of [low, high].
    """
    given = as_array(x)
    floating = given.dtype.kind == "f"
    top = min(2**62 if high is None else high, _MOST if floating else 2**62)
    good = (low <= given) & (given <= top)
    if floating:
        good &= given == np.floor(given)
    check("x", given, good, f"whole numbers in [{low}, {top}]")
    return given.astype(np.float32 if floating else np.int64)


def as_real(x: Any) -> NDArray[Any]:
    """One input of any finite numbers, in the type of its copies."""
    given = as_array(x)
    if given.dtype.kind in "biu":
        return as_whole(given, low=-(2**62))
    with np.errstate(over="ignore"):
        narrow = given.astype(np.float32)
    check("x", given, np.isfinite(narrow), "within the range of float32")
    return narrow


def single(x: Any) -> NDArray[np.float32]:
    """One input in float32, in which noise is added.

    ValueError for whole numbers, of which nobody knows the scale (0 ... 255 under noise
    of 0.25 is a trap), NaN, infinity, and numbers beyond float32.
    """
    given = x if type(x) is np.ndarray else any_array("x", on_host("x", x))
    if given.dtype.kind != "f":
        raise ValueError(
            "x must be floating point (pixels in 0 ... 255: divided by 255, or as "
            "floats if the noise level is in their unit); got "
            f"{given.dtype} of shape {given.shape}"
        )
    if given.dtype != np.float32 or not np.isfinite(given).all():
        given = as_floats("x", given, -_LARGEST, _LARGEST, nan=False)
    return given.astype(np.float32, copy=False)


def noise_level(sigma: float, name: str = "sigma") -> float:
    """``sigma`` itself; ValueError where float32 holds no noise of this level."""
    if type(sigma) is float and _TINY <= sigma <= _LARGEST:
        return sigma  # quickly: it is asked of every block
    level = number(name, sigma)
    if not _TINY <= level <= _LARGEST:
        ends = f"[{_TINY:.2g}, {_LARGEST:.2g}]"
        raise ArgumentError(name, f"must be in {ends} to draw noise; got {sigma}")
    return level


def is_single(sigma: float) -> bool:
    """Whether a level is one of float32's numbers; any other is multiplied in float64.

    Rounded to float32 a level that follows the input would jump, which no envelope
    allows.
    """
    return float(np.float32(sigma)) == sigma


class Gaussian(Noise):
    """x + sigma Z: the level is exact, each number is rounded to float32 at last."""

    law = ""
    level = None
    whole = False

    checked = staticmethod(single)

    def noisy(self, x: Any, sigma: float, size: int, bits: Any) -> NDArray[np.float32]:
        """Copies as NumPy's generators draw them; torch's are drawn by its own."""
        level = noise_level(sigma)
        drawn = bits.generator.standard_normal((size, *x.shape), dtype=np.float32)
        batch: NDArray[Any] = drawn if is_single(level) else drawn.astype(np.float64)
        batch *= batch.dtype.type(level)
        batch += x
        return batch.astype(np.float32, copy=False)
