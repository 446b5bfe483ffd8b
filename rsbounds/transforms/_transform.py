"""What a transformation with a parameter is, and what a finite group of them is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises.internal import floating

#: What two ways to the same copy may differ by, relative to the largest number.
_APART = 1e-5
#: The logarithm of the largest factor: it and its inverse have all digits of float32.
LARGEST_LOG = 87.0


class Transform(ABC):
    r"""A group of transformations of inputs: T_a T_b = T_(a + b), for all real a and b.

    The equation must hold for every input that :meth:`checked` lets pass, but for
    rounding: noise in the parameter certifies nothing without it. So nothing may be
    clipped, interpolated or cut off. Certificates of a transformation of your own state
    that this was asserted; :func:`rsbounds.testing.check_transform` tries it.

    Attributes
    ----------
    name : str
        The name of the parameter, in lower case.
    formula : str
        What T_a does to x, and the unit of a.
    inputs : str
        Which inputs it is for.
    dim : int
        How many numbers a has.
    one_sided : bool
        Whether T_a is defined for a >= 0 alone.
    reach : float
        Up to this \|a\| a copy is T_a x but for roundings, in float32 as in float64: no
        factor overflows, or loses digits by being too small. Levels whose noise may
        draw more are refused. Of a transformation of your own it is infinite unless it
        says so, and what the farthest draw makes of an input is looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.testing import check_transform
    >>> from rsbounds.transforms import Transform, column
    >>> class Warmth(Transform):
    ...     name = "warmth"
    ...     formula = "the first channel times e^a, the last one times e^(-a)"
    ...     def apply(self, x, a, xp):
    ...         signs = column(xp.asarray([1.0, 0.0, -1.0]), x[0])
    ...         return xp.exp(column(a, x) * signs) * x
    >>> check_transform(Warmth(), np.full((3, 8, 8), 0.5))
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    inputs: ClassVar[str] = "finite numbers"
    dim: ClassVar[int] = 1
    one_sided: ClassVar[bool] = False
    reach: ClassVar[float] = math.inf

    def checked(self, x: Any) -> NDArray[Any]:
        """One input in its own type; ArgumentError("x", ...) where the group ends."""
        return floating(x)

    @abstractmethod
    def apply(self, x: Any, a: Any, xp: Any) -> Any:
        """The copies T_a x of one input, one for each row of a.

        Parameters
        ----------
        x : array or Tensor
            One input, in the type of ``a``.
        a : array or Tensor, shape (count, dim)
            The parameters.
        xp : module
            The namespace of both: numpy or torch.

        Returns
        -------
        array or Tensor, shape (count, *shape of x)
        """

    def __repr__(self) -> str:
        return f"<transform {self.name}: {self.formula}>"


class FiniteGroup(ABC):
    """A finite group of transformations of inputs, gone through whole.

    Attributes
    ----------
    name, formula, inputs : str
        As of a :class:`Transform`.
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    inputs: ClassVar[str] = "finite numbers"

    @abstractmethod
    def order(self, shape: tuple[int, ...]) -> int:
        """How many elements it has for inputs of a shape; ArgumentError("shape")."""

    @abstractmethod
    def apply(self, x: Any, first: int, count: int, xp: Any) -> Any:
        """Copies of one input by the elements of number ``first`` and following.

        Element 0 is the identity. Beyond the last one they begin again.
        """

    def checked(self, x: Any) -> NDArray[Any]:
        """One input in its own type; ArgumentError("x", ...) of another shape."""
        point = floating(x)
        try:
            self.order(point.shape)
        except ArgumentError as error:
            raise ArgumentError("x", error.problem) from None
        return point

    def __repr__(self) -> str:
        return f"<finite group {self.name}: {self.formula}>"


def column(values: Any, x: Any) -> Any:
    """Numbers along a new first axis, so that they broadcast with an input.

    Parameters
    ----------
    values : ndarray or Tensor, shape (size, 1)
        One for each copy.
    x : ndarray or Tensor
        The input.

    Returns
    -------
    ndarray or Tensor, shape (size, 1, ..., 1)
        With as many further axes as ``x`` has.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.transforms import column
    >>> column(np.array([[1.0], [2.0]]), np.zeros((3, 4, 4))).shape
    (2, 1, 1, 1)
    """
    return values.reshape(-1, *(1,) * x.ndim)


def constant(values: NDArray[np.float64], like: Any, xp: Any) -> Any:
    """An array of the namespace, in the type and the place of another."""
    if isinstance(like, np.ndarray):
        return values.astype(like.dtype, copy=False)
    return xp.asarray(values, dtype=like.dtype, device=like.device)


def require_pictures(shape: tuple[int, ...], name: str = "x") -> None:
    """ArgumentError unless a shape is (rows, columns) or (channels, rows, columns)."""
    channels_last = len(shape) == 3 and shape[2] <= 4 < shape[0]
    if len(shape) not in (2, 3) or channels_last:
        raise ArgumentError(
            name,
            "must be a picture of shape (rows, columns) or (channels, rows, columns); "
            f"got shape {shape}",
        )


def applied(transform: Transform, x: Any, a: Any, xp: Any) -> Any:
    """The copies T_a x; ArgumentError for what is no batch of copies of x."""
    copies = transform.apply(x, a, xp)
    shape = (len(a), *x.shape)
    if not isinstance(copies, type(a)) or tuple(copies.shape) != shape:
        got = getattr(copies, "shape", None)
        of_shape = "" if got is None else f" of shape {tuple(got)}"
        raise ArgumentError(
            "transform",
            f"must return a {type(a).__name__} of shape {shape} from apply; "
            f"{transform.name!r} returned {type(copies).__name__}{of_shape}",
        )
    return copies


def largest_level(transform: Any, farthest: float) -> float:
    """The largest level whose draws, of so many levels at most, are within the reach.

    In three digits, as errors print it.
    """
    level = float(transform.reach) / farthest
    return level if level == math.inf else three_digits(level, math.floor)


def three_digits(value: float, rounded: Callable[[float], int]) -> float:
    """A positive number in three digits, by ``math.floor`` or ``math.ceil``."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{rounded(value / step) * step:.3g}")


def require_finite(transform: Transform, x: NDArray[Any], farthest: float) -> None:
    """ArgumentError where the farthest draw makes numbers that aren't finite."""
    ends = (farthest,) if transform.one_sided else (farthest, -farthest)
    for end in ends:
        a = np.full((1, transform.dim), end, x.dtype)
        with np.errstate(all="ignore"):
            copies = applied(transform, x, a, np)
        if not np.isfinite(copies).all():
            raise ArgumentError(
                "transform",
                f"must make finite numbers of every draw, in {x.dtype}; "
                f"{transform.name!r} does not at a = {end:g}: take a smaller level, or "
                "state its reach",
            )


def require_composition(transform: Transform, x: NDArray[Any], scale: float) -> None:
    """ArgumentError where T_a T_b x and T_(a + b) x are seen to differ.

    Tried at one input, for a and b of a scale and its double; what passes is not
    proved.
    """
    point = np.asarray(x, dtype=np.float64)
    steps = [1.0, 2.0] if transform.one_sided else [1.0, -2.0, 2.0]
    for first in steps:
        for second in (0.0, 1.0):
            a = np.full((1, transform.dim), first * scale)
            b = np.full((1, transform.dim), second * scale)
            try:
                between = applied(transform, point, b, np)[0]
                by_steps = applied(transform, between, a, np)[0]
                at_once = applied(transform, point, a + b, np)[0]
            except ArgumentError:
                raise
            except Exception as error:  # of whatever kind: it is another's code
                problem = f"failed: {type(error).__name__}: {error}"
                raise ArgumentError("transform", problem) from error
            largest = max(abs(at_once).max(), abs(between).max(), abs(point).max())
            apart = abs(by_steps - at_once).max()
            if not apart <= _APART * largest:
                raise ArgumentError(
                    "transform",
                    f"must compose as T_a T_b = T_(a + b); {transform.name!r} differs "
                    f"by {apart:.2g} at a = {first * scale:g}, b = {second * scale:g} "
                    "(nothing may be clipped or interpolated)",
                )
