"""Argument checks: the one home of domain, dtype and shape errors.

Every check is an acceptance check: a value passes because it lies in the domain, so a
NaN can only pass where it is let through on purpose (NaN in, NaN out).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds_ext.kernels import natural, within

Array: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.float64] | np.float64

_NUMBERS = frozenset({np.float64, np.int64, float, int})
_FLOATS = (float, np.float64)
_DROP = "leave them out"
_YES, _NO = np.True_, np.False_
#: The least double: not above 0 where the processor takes denormals for 0.
LEAST = 2.0**-1074
_TINY = 2.0**-1022  # the smallest number of full precision


def as_floats(
    name: str,
    value: ArrayLike,
    low: float = -np.inf,
    high: float = np.inf,
    **options: Any,
) -> Array:
    """``value`` as a float64 array whose elements lie in the interval, or ValueError.

    ``closed`` is "both", "left", "right" or "neither"; ``nan=False`` refuses NaN too.
    Numbers of more digits than float64 has (long double, int64) are rounded to the
    nearest, or to the side of ``towards``, -inf or inf; ``exact=True`` refuses them:
    neither side is safe. Where the processor takes denormals for 0 they go to the side
    of ``towards`` too.
    """
    return np.asarray(operand(name, value, low, high, **options))


def operand(
    name: str,
    value: ArrayLike,
    low: float = -np.inf,
    high: float = np.inf,
    *,
    closed: str = "both",
    nan: bool = True,
    towards: float | None = None,
    exact: bool = False,
) -> Array:
    """Check as :func:`as_floats` does, but keep a plain number one np.float64.

    For calls that must be quick.

    It has an array's methods, but can't be assigned to or be an ``out``.
    """
    number: Any = within(value, low, high, closed)
    if number is not None:
        # asked here, as plain numbers must be quick; it may change while we run
        return number if towards is None or LEAST > 0 else _seen(number, towards)
    _refuse_mask(name, value, "fill them, with NaN for instance" if nan else _DROP)
    try:
        numbers = np.asarray(value)
        if numbers.dtype.kind not in "fiu" and not _are(numbers, (int, *_FLOATS)):
            raise TypeError
        with np.errstate(over="ignore", under="ignore"):
            array = numbers.astype(np.float64, copy=False)
    except RuntimeError:  # PyTorch's of a tensor with a gradient
        raise ArgumentError(
            name, f"must be plain numbers, detached; got {_short(value)}"
        ) from None
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(
            name, f"must be real numbers; got {_short(value)}"
        ) from None
    good: NDArray[np.bool_] = np.asarray(True)
    if numbers.dtype.itemsize >= 8 and numbers.dtype != np.float64:
        # objects, which are Python's numbers, compare exactly
        wide = numbers if numbers.dtype == object else numbers.astype(np.longdouble)
        good = _inside(wide, low, high, closed, nan)
        if exact and not (is_exact := ~good | (array == wide) | (wide != wide)).all():
            bad = _bad(numbers, ~np.asarray(is_exact))
            raise ArgumentError(
                name, f"must be float64 numbers, as no rounding is safe; got {bad}"
            )
        if towards is not None:
            beyond = array > wide if towards < 0 else array < wide
            with np.errstate(over="ignore", under="ignore"):
                array = np.where(beyond, np.nextafter(array, towards), array)
    good = np.asarray(good & _inside(array, low, high, closed, nan))
    if not good.all():
        left = "[" if closed in ("both", "left") else "("
        right = "]" if closed in ("both", "right") else ")"
        interval = f"{left}{low:g}, {high:g}{right}"
        raise ArgumentError(name, f"must be in {interval}; got {_bad(numbers, ~good)}")
    return array if towards is None or LEAST > 0 else _seen(array, towards)


def _seen(value: Array, towards: float) -> Array:
    """``value`` where denormals are taken for 0, with those moved to one side."""
    numbers = np.asarray(value)
    # by their bits, as comparisons take them for 0
    bits = numbers.view(np.int64)
    size = bits & np.int64(2**63 - 1)
    is_denormal = (size > 0) & (size < 2**52)
    upward = towards > 0
    moved = np.where((bits > 0) == upward, _TINY if upward else -_TINY, 0.0)
    seen: Array = np.where(is_denormal, moved, numbers)[()]
    return seen


def on_host(name: str, value: Any) -> Any:
    """Copy a tensor to a NumPy array, exactly; return anything else as it is.

    The copy is off the tensor's device and without its gradient.

    For points, which nothing is differentiated by. Types that NumPy lacks become
    float32. ArgumentError for masked numbers, under which others are hidden.
    """
    if not hasattr(value, "detach"):
        _refuse_mask(name, value, _DROP)
        return value
    try:
        tensor = value.detach().cpu()
        narrow = tensor.is_floating_point() and tensor.element_size() < 4
        return (tensor.float() if narrow else tensor).numpy()
    except (TypeError, RuntimeError):  # no data ("meta"), sparse
        raise ArgumentError(
            name, f"must be real numbers; got {_short(value)}"
        ) from None


def as_integers(name: str, value: ArrayLike, low: int = 0) -> NDArray[np.int64]:
    """Return ``value`` as int64, or raise ValueError unless every element >= low.

    One int becomes an np.int64.
    """
    number: Any = natural(value, low)
    if number is not None:
        return number  # type: ignore[no-any-return]
    if type(value) is not np.ndarray:
        _refuse_mask(name, value, _DROP)
    try:
        numbers = np.asarray(value)
    except ValueError:
        raise ArgumentError(
            name, f"must have rows of one length; got {_short(value)}"
        ) from None
    whole = numbers.dtype.kind in "iu" or _are_whole(numbers) or _are(numbers, (int,))
    if not whole:
        raise ArgumentError(name, f"must be whole numbers; got {_short(value)}")
    if numbers.dtype in (np.uint64, object):
        _refuse_where(name, numbers, numbers >= 2**63, "must be < 2^63")
    # compared as int64: in a narrow type `low` itself may overflow
    array = numbers if numbers.dtype == object else numbers.astype(np.int64)
    _refuse_where(name, numbers, array < low, f"must be >= {low}")
    return np.asarray(array, dtype=np.int64)


def _refuse_where(name: str, numbers: NDArray[Any], bad: Any, expected: str) -> None:
    found = np.asarray(bad, dtype=bool)
    if found.any():
        raise ArgumentError(name, f"{expected}; got {_bad(numbers, found)}")


def _are(array: NDArray[Any], kinds: tuple[type, ...]) -> bool:
    """Whether it is what NumPy makes of integers beyond 64 bits and such numbers."""
    if array.dtype != object or not all(type(entry) in kinds for entry in array.flat):
        return False
    return any(type(entry) is int and abs(entry) >= 2**63 for entry in array.flat)


def _are_whole(array: NDArray[Any]) -> bool:
    """Whether all elements are floats of whole numbers within int64."""
    if array.dtype.kind != "f":
        return False
    wide = array.astype(np.longdouble)
    return bool(np.all((wide == np.floor(wide)) & (np.abs(wide) < 2.0**63)))


def count(name: str, value: ArrayLike, low: int = 0) -> int:
    """``value`` as one whole number >= low, or ValueError."""
    whole: Any = natural(value, low)
    if whole is not None:
        return int(whole)
    array = as_integers(name, value, low)
    if array.ndim:
        raise ArgumentError(name, f"must be one whole number; got shape {array.shape}")
    return int(array)


def number(
    name: str,
    value: ArrayLike,
    low: float = -np.inf,
    high: float = np.inf,
    *,
    closed: str = "both",
    towards: float | None = None,
    finite: bool = True,
    nan: bool = False,
) -> float:
    """Return ``value`` as one number in the interval, or raise ValueError.

    ``finite=False`` lets it be an infinite end of the interval. It is rounded as
    `as_floats` does.
    """
    # where all numbers are inside a NaN is refused as not finite
    passes = nan or (finite and high - low == np.inf)
    array = operand(name, value, low, high, closed=closed, nan=passes, towards=towards)
    if array.ndim or (finite and not np.isfinite(array)):
        element = value[()] if isinstance(value, np.ndarray) else value
        expected = "one finite number" if finite else "one number"
        raise ArgumentError(name, f"must be {expected}; got {_short(element)}")
    return float(array)


def flag(name: str, value: Any) -> bool:
    """``value`` if it is True or False, or ValueError: a text says neither."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(name, f"must be True or False; got {_short(value)}")
    return bool(value)


def instance(name: str, value: Any, kinds: Any, expected: str) -> None:
    """ValueError unless ``value`` is of one of the types, which ``expected`` names."""
    if not isinstance(value, kinds):
        raise ArgumentError(name, f"must be {expected}; got {_short(value)}")


def strings(name: str, value: Any) -> tuple[str, ...]:
    """``value`` as a tuple of texts, or ValueError; one text is none."""
    several = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    texts = tuple(value) if several else (None,)
    if not all(isinstance(text, str) for text in texts):
        raise ArgumentError(name, f"must be a sequence of texts; got {_short(value)}")
    return texts


def shape_of(name: str, value: Any) -> tuple[int, ...]:
    """The shape of an array, a tensor, a sparse matrix or lists, or ValueError."""
    try:
        return np.shape(value)
    except ValueError:
        raise ArgumentError(
            name, f"must have rows of one length; got {_short(value)}"
        ) from None


def as_array(name: str, value: Any) -> NDArray[Any]:
    """``value`` as an array of any type, or ValueError: its rows have one length."""
    try:
        return np.asarray(value)
    except ValueError:
        raise ArgumentError(
            name, f"must have rows of one length; got {_short(value)}"
        ) from None


def choice(name: str, value: Any, options: tuple[str, ...]) -> str:
    """``value`` if it is one of ``options``, or ValueError."""
    if not isinstance(value, str) or value not in options:
        expected = ", ".join(repr(o) for o in options)
        raise ArgumentError(name, f"must be one of {expected}; got {value!r}")
    return value


def are_numbers(values: Iterable[Any]) -> bool:
    """Return whether no value is an array, or has to be made one.

    Plain numbers broadcast, whatever they are.
    """
    return _NUMBERS.issuperset(map(type, values))


def every(good: Any) -> bool:
    """np.all, quick for the answer about plain numbers."""
    return good is _YES or (good is not _NO and bool(np.all(good)))


def either(condition: Any, yes: Any, no: Any) -> Any:
    """np.where, quick for plain numbers."""
    if condition is _YES:
        return yes
    return no if condition is _NO else np.where(condition, yes, no)


def check(name: str, value: Any, good: Any, expected: str) -> None:
    """ValueError unless ``good`` holds for every element of ``value``."""
    if not every(good):
        good = np.asarray(good)
        bad = _bad(np.broadcast_to(value, good.shape), ~good)
        raise ArgumentError(name, f"must be {expected}; got {bad}")


def broadcast(**arrays: Any) -> list[Array]:
    """The named arrays, broadcast together; ValueError with their shapes."""
    values = list(arrays.values())
    if are_numbers(values) or all(np.ndim(value) == 0 for value in values):
        return values
    try:
        return list(np.broadcast_arrays(*values))
    except ValueError:
        shapes = ", ".join(f"{k} {np.shape(v)}" for k, v in arrays.items())
        raise ValueError(f"shapes must broadcast together; got {shapes}") from None


def _inside(
    array: NDArray[Any], low: float, high: float, closed: str, nan: bool
) -> NDArray[np.bool_]:
    if nan and closed == "both" and low == -np.inf and high == np.inf:
        return np.asarray(True)  # whatever they are
    above = array >= low if closed in ("both", "left") else array > low
    below = array <= high if closed in ("both", "right") else array < high
    good: NDArray[np.bool_] = np.asarray(above & below, dtype=bool)
    return good | np.asarray(array != array, dtype=bool) if nan else good


def _refuse_mask(name: str, value: Any, advice: str) -> None:
    if np.ma.is_masked(value) or _has_missing(value):
        raise ArgumentError(name, f"must hold no masked or missing values; {advice}")


def _has_missing(value: Any) -> bool:
    """Whether a column of pandas lacks values."""
    return getattr(value, "hasnans", False) is True and value.dtype.kind in "iu"


def _bad(array: NDArray[Any], bad: NDArray[np.bool_]) -> str:
    first = _cut(str(array[bad].flat[0]))
    if array.ndim == 0:
        return first
    return f"{int(bad.sum())} of {array.size} values outside, the first {first}"


def _short(value: Any) -> str:
    return f"{type(value).__name__} {_cut(repr(value))}"


def _cut(text: str) -> str:
    """In one line, of at most 60 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."


def shard_of(name: str, text: Any) -> tuple[int, int]:
    """The i and N of ``i/N``, 0 <= i < N, or ValueError."""
    pair = re.fullmatch(r"([0-9]{1,18})/([0-9]{1,18})", str(text))
    if not pair or not int(pair[1]) < int(pair[2]):
        raise ArgumentError(name, f"must be i/N with 0 <= i < N; got {text!r}")
    return int(pair[1]), int(pair[2])
