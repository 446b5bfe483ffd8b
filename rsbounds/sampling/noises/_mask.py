"""Coordinates that are hidden, all but some that are left by chance."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count, number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rationals import exact_probability
from rsbounds.sampling.noises._noise import (
    Noise,
    as_real,
    happens,
    spelled,
)

__all__ = ["Mask", "mask"]


class Mask(Noise):
    """See :func:`mask`."""

    def __init__(
        self,
        kept: int | None = None,
        *,
        probability_kept: Fraction | None = None,
        hidden: float = 0,
    ) -> None:
        self.kept = kept
        self.probability = probability_kept
        self.hidden = hidden
        if kept is None:
            assert probability_kept is not None
            self.law = f"mask probability={spelled(probability_kept)} hidden={hidden}"
        else:
            self.law = f"mask kept={kept} hidden={hidden}"

    def checked(self, x: Any) -> NDArray[Any]:
        given = as_real(x)
        if self.kept is not None and self.kept > given.size:
            raise ArgumentError(
                "kept",
                f"must be at most the length of the input, {given.size}; got "
                f"{self.kept}",
            )
        if given.dtype.kind == "i":
            if self.hidden != int(self.hidden) or not abs(self.hidden) < 2**62:
                raise ArgumentError(
                    "hidden",
                    "must be a whole number as the inputs are, below 2^62; got "
                    f"{self.hidden:g}",
                )
        elif not abs(self.hidden) <= float(np.finfo(np.float32).max):
            raise ArgumentError(
                "hidden", f"must be within the range of float32; got {self.hidden:g}"
            )
        return given

    def noisy(
        self, x: Any, sigma: float, size: int, generator: np.random.Generator
    ) -> tuple[Any, Any]:
        shape = (size, x.size)
        if self.kept is None:
            assert self.probability is not None
            left = happens(self.probability, shape, generator)
        else:
            left = subsets(self.kept, shape, generator)
        hidden = x.dtype.type(self.hidden)
        return np.where(left.reshape(size, *x.shape), x, hidden), False


def subsets(
    kept: int, shape: tuple[int, int], generator: np.random.Generator
) -> NDArray[np.bool_]:
    """In each row ``kept`` places, all sets of so many places alike.

    The places of the smallest of as many keys. A row where a key outside equals the
    largest inside is drawn again: whether that happens does not depend on the order of
    the keys, so that what is left is uniform, without rounding.
    """
    places = shape[1]
    if kept == places:
        return np.ones(shape, np.bool_)
    keys = generator.integers(0, 2**32, size=shape, dtype=np.uint32)
    largest = np.partition(keys, kept - 1, axis=1)[:, kept - 1, None]
    chosen: NDArray[np.bool_] = keys <= largest
    again = np.flatnonzero(chosen.sum(axis=1) != kept)
    if len(again):
        chosen[again] = subsets(kept, (len(again), places), generator)
    return chosen


def mask(
    kept: int | None = None, *, probability: Any = None, hidden: float = 0
) -> Mask:
    """All coordinates but some are replaced by one value, which hides them.

    Either ``kept`` coordinates are left, all sets of so many alike, or each is left
    with a probability, independently. Both are exact: see :func:`categorical` for what
    a float means, and what of torch's samples is void.

    Parameters
    ----------
    kept : int
        How many coordinates are left, >= 1 and at most the length of the input.
    probability : float or Fraction
        In (0, 1), in place of ``kept``.
    hidden : float
        What hidden coordinates show: a whole number for inputs that are (the number of
        the token [MASK]). It may be a value of the alphabet, which the model then can't
        tell from a hidden one; the certificate holds in any case.

    Raises
    ------
    ValueError
        Unless exactly one of ``kept`` and ``probability`` is given, in its domain.

    References
    ----------
    Levine and Feizi, Robustness certificates for sparse adversarial attacks by
    randomized ablation, AAAI 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling import noises
    >>> noise = noises.mask(2, hidden=-1)
    >>> x = noise.checked([5, 6, 7, 8])
    >>> copies, _ = noise.noisy(x, 1.0, 100, np.random.default_rng(0))
    >>> set((copies >= 0).sum(axis=1).tolist())
    {2}
    """
    value = number("hidden", hidden)
    value = int(value) if value == int(value) else value
    if (kept is None) == (probability is None):
        raise ArgumentError(
            "kept", "must be given, or probability in its place, and not both"
        )
    if kept is None:
        chance = exact_probability("probability", probability, "neither")
        return Mask(probability_kept=chance, hidden=value)
    return Mask(count("kept", kept, 1), hidden=value)
