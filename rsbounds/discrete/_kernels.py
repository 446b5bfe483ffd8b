"""The curves of each noise: the masses of its regions, in whole numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rationals import exact_probability
from rsbounds.discrete._curve import FAR, Curve, staircase
from rsbounds.discrete._regions import Regions, product_of_powers, times

_NO_NOISE = "must not make the noise the same at every input; got"


class Categorical(Curve):
    """Every coordinate kept, or changed to another; see :func:`categorical`."""

    def __init__(self, keep: Any, values: Any) -> None:
        super().__init__()
        self.keep = exact_probability("keep", keep)
        self.values = count("values", values, 2)
        others = self.values - 1
        if self.keep * self.values == 1:
            raise ArgumentError("keep", f"{_NO_NOISE} {keep!r}, 1/values")
        stay, whole_mass = self.keep.numerator, self.keep.denominator
        # a value stays, becomes that of the other input, or one of those neither has
        self._stay = stay * others
        self._move = whole_mass - stay
        self._scale = whole_mass * others
        # the last power that was asked for: thresholds are asked for in turn
        self._power: tuple[int, list[int]] = (0, [1])

    @property
    def parameters(self) -> dict[str, Any]:
        return {"keep": self.keep, "values": self.values}

    def _splits(self, changes: int) -> list[Hashable]:
        return [(changes,)]

    def _counts(self, name: str, r: Any) -> Hashable:
        return _numbers(name, r, 1)

    def _regions_of(self, counts: Any) -> Regions:
        (changes,) = counts
        # by the number of coordinates at x's value, less those at the other input's
        p = self._power_of_step(changes)
        q = p[::-1]
        if self._stay < self._move:
            p, q = q, p
        return Regions(p, q, self._scale**changes)

    def _power_of_step(self, changes: int) -> list[int]:
        """What so many coordinates produce, from one less where that was the last."""
        elsewhere = self._move * (self.values - 2)
        step = [self._stay, elsewhere, self._move]
        number, power = self._power
        if changes == number + 1:
            power = times(power, step)
        elif changes != number:
            power = product_of_powers([(step, changes)])
            power += [0] * (2 * changes + 1 - len(power))
        self._power = (changes, power)
        return power

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_power": (0, [1])}


class Flips(Curve):
    """Bits that appear and disappear, each with its probability; see :func:`flips`."""

    def __init__(self, add: Any, delete: Any) -> None:
        super().__init__()
        self.add = exact_probability("add", add)
        self.delete = exact_probability("delete", delete)
        if self.add + self.delete == 1:
            raise ArgumentError("add", f"{_NO_NOISE} {add!r}, 1 - delete")
        scale = math.lcm(self.add.denominator, self.delete.denominator)
        add_mass = int(self.add * scale)
        delete_mass = int(self.delete * scale)
        self._scale = scale
        # mass of a bit that comes out like the input's, unlike it: where x has 0, 1
        self._zero = [scale - add_mass, add_mass]
        self._one = [scale - delete_mass, delete_mass]

    @property
    def parameters(self) -> dict[str, Any]:
        return {"add": self.add, "delete": self.delete}

    def _splits(self, changes: int) -> list[Hashable]:
        return [(added, changes - added) for added in range(changes + 1)]

    def _counts(self, name: str, r: Any) -> Hashable:
        return _numbers(name, r, 2)

    def _regions_of(self, counts: Any) -> Regions:
        added, deleted = counts
        size = added + deleted + 1
        # by the number of bits that come out unlike x's: at x, and at x' where they
        # are those that come out like x''s
        p = product_of_powers([(self._zero, added), (self._one, deleted)])
        q = product_of_powers([(self._one[::-1], added), (self._zero[::-1], deleted)])
        p += [0] * (size - len(p))
        q += [0] * (size - len(q))
        if self.add + self.delete > 1:
            p, q = p[::-1], q[::-1]
        return Regions(p, q, self._scale ** (added + deleted))

    def _frontier(self, top: Fraction, rest: Fraction | None) -> list[tuple[Any, ...]]:
        return _pairs(self, top, rest)


class Mask(Curve):
    """Coordinates hidden, all but a few; see :func:`mask`."""

    def __init__(self, dim: Any, kept: Any = None, *, probability: Any = None) -> None:
        super().__init__()
        self.dim = count("dim", dim, 1)
        if (kept is None) == (probability is None):
            raise ArgumentError("kept", "must be given, or probability, and not both")
        self.kept = None if kept is None else count("kept", kept, 1)
        if self.kept is not None and not self.kept <= self.dim:
            raise ArgumentError("kept", f"must be at most dim = {dim}; got {kept!r}")
        self.probability = None
        if probability is not None:
            self.probability = exact_probability("probability", probability, "right")
        self.limit = self.dim

    @property
    def parameters(self) -> dict[str, Any]:
        if self.kept is not None:
            return {"dim": self.dim, "kept": self.kept}
        return {"dim": self.dim, "probability": self.probability}

    def hidden(self, changes: int) -> Fraction:
        """The probability that every one of so many coordinates is hidden."""
        if self.probability is not None:
            return (1 - self.probability) ** changes
        kept = self.kept or 0
        # C(dim - r, k)/C(dim, k), the same with r and k exchanged
        few, many = sorted((changes, kept))
        above = math.perm(max(self.dim - many, 0), few)
        return Fraction(above, math.perm(self.dim, few))

    def _splits(self, changes: int) -> list[Hashable]:
        return [(min(changes, self.dim),)]

    def _counts(self, name: str, r: Any) -> Hashable:
        (changes,) = _numbers(name, r, 1)
        return (min(changes, self.dim),)

    def _regions_of(self, counts: Any) -> Regions:
        return _partly_common(self.hidden(counts[0]), self.hidden(counts[0]))


class Deletion(Curve):
    """Elements of a sequence deleted; see :func:`deletion`."""

    def __init__(self, delete: Any) -> None:
        super().__init__()
        self.delete = exact_probability("delete", delete)
        if self.delete == 1:
            raise ArgumentError("delete", "must be in [0, 1); got 1")

    @property
    def parameters(self) -> dict[str, Any]:
        return {"delete": self.delete}

    def _splits(self, changes: int) -> list[Hashable]:
        # a substitution changes both sequences, and counts as one edit: none is worse
        return [(0, 0, changes)]

    def _counts(self, name: str, r: Any) -> Hashable:
        return _numbers(name, r, 3)

    def _regions_of(self, counts: Any) -> Regions:
        inserted, deleted, substituted = counts
        return _partly_common(
            self.delete ** (deleted + substituted),
            self.delete ** (inserted + substituted),
        )


class Blocks(Curve):
    """Several noises on groups of coordinates of their own; see :func:`blocks`."""

    def __init__(self, *curves: Curve) -> None:
        super().__init__()
        for curve in curves:
            if not isinstance(curve, Curve):
                raise ArgumentError("curves", f"must be curves; got {curve!r}")
        if not curves:
            raise ArgumentError("curves", "must be one curve at least; got none")
        self.curves = curves
        limits = [curve.limit for curve in curves]
        if None not in limits:
            self.limit = sum(limit or 0 for limit in limits)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"curves": self.curves}

    def __repr__(self) -> str:
        return f"blocks({', '.join(map(repr, self.curves))})"

    def _splits(self, changes: int) -> list[Hashable]:
        result: list[Hashable] = []
        for parts in _compositions(changes, len(self.curves)):
            kinds = [
                curve._splits(part)
                for curve, part in zip(self.curves, parts, strict=True)
            ]
            result.extend(product(*kinds))
        return list(dict.fromkeys(result))

    def _counts(self, name: str, r: Any) -> Hashable:
        if not isinstance(r, Sequence | np.ndarray) or len(r) != len(self.curves):
            raise ArgumentError(
                name,
                f"must have one entry for each of {len(self.curves)} blocks; got {r!r}",
            )
        return tuple(
            curve._key(name, part) for curve, part in zip(self.curves, r, strict=True)
        )

    def _all_regions(self, key: Hashable) -> list[Regions]:
        if isinstance(key, int):
            return super()._all_regions(key)
        assert isinstance(key, tuple)
        # a number for a block stands for all ways to split it
        kinds = [
            curve._splits(part) if isinstance(part, int) else [part]
            for curve, part in zip(self.curves, key, strict=True)
        ]
        return [self._region(counts) for counts in product(*kinds)]

    def _regions_of(self, counts: Any) -> Regions:
        p, q, scale = [1], [1], 1
        for curve, part in zip(self.curves, counts, strict=True):
            regions = curve._region(part)
            p = [a * b for a in p for b in regions.p]
            q = [a * b for a in q for b in regions.q]
            scale *= regions.scale
        return Regions.unsorted(p, q, scale)

    def _frontier(self, top: Fraction, rest: Fraction | None) -> list[tuple[Any, ...]]:
        if len(self.curves) == 2:
            return _pairs(self, top, rest)
        return super()._frontier(top, rest)


def categorical(keep: Any, values: Any) -> Categorical:
    """Noise that keeps each coordinate, or changes it to one of its other values.

    Each coordinate stays with probability ``keep``, else becomes each of the other
    values - 1 with equal probability, independently. r counts changed coordinates. The
    number of coordinates does not matter.

    Parameters
    ----------
    keep : Fraction, float or int
        In [0, 1], not 1/values. A float is taken as the rational number that it is.
    values : int
        How many values a coordinate has, >= 2.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Lee, Yuan, Chang, Jaakkola, Tight certificates of adversarial robustness for
    randomly smoothed classifiers, 2019. The theory page on discrete noise.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from rsbounds import discrete
    >>> pixels = discrete.categorical(Fraction(1, 5), 256)
    >>> round(pixels.threshold(3), 12), pixels.radius(0.98)
    (0.978988296688, 3)
    """
    return Categorical(keep, values)


def flips(add: Any, delete: Any) -> Flips:
    """Noise on bits: a 0 becomes 1 with probability ``add``, a 1 becomes 0 with
    ``delete``.

    r is a pair: how many ones x' has where x has zeros (added), and how many zeros
    where x has ones (deleted); a number is that many changes whatever their kind.

    Parameters
    ----------
    add, delete : Fraction, float or int
        In [0, 1], their sum not 1. A float is taken as the rational number that it is.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Bojchevski, Klicpera, Günnemann, Efficient robustness certificates for discrete
    data, 2020. The theory page on discrete noise.

    Examples
    --------
    >>> from rsbounds import discrete
    >>> graph = discrete.flips(0.01, 0.6)
    >>> graph.radius(0.9), graph.frontier(0.9)
    (1, [(0, 3), (1, 1)])
    """
    return Flips(add, delete)


def mask(dim: Any, kept: Any = None, *, probability: Any = None) -> Mask:
    """Noise that hides all coordinates but some, which are seen as they are.

    Exactly ``kept`` of ``dim`` coordinates, each set of them equally likely, or each
    with ``probability`` independently. r counts changed coordinates.

    Parameters
    ----------
    dim : int
        Number of coordinates, >= 1: pixels, tokens, patches.
    kept : int
        In 1..dim.
    probability : Fraction, float or int
        In (0, 1]. A float is taken as the rational number that it is.

    Raises
    ------
    ValueError
        If an argument is out of its domain, or not one of ``kept`` and ``probability``
        is given.

    References
    ----------
    Levine, Feizi, Robustness certificates for sparse adversarial attacks by randomized
    ablation, 2020. The theory page on discrete noise.

    Examples
    --------
    >>> from rsbounds import discrete
    >>> discrete.mask(50, 5).radius(0.9)
    4
    """
    return Mask(dim, kept, probability=probability)


def deletion(delete: Any) -> Deletion:
    """Noise that deletes each element of a sequence with probability ``delete``.

    r counts edits (an insertion, a deletion or a substitution of one element), or is a
    triple of their numbers. The bound holds for every sequence; where elements repeat
    it may be below the exact optimum.

    Parameters
    ----------
    delete : Fraction, float or int
        In [0, 1). A float is taken as the rational number that it is.

    Raises
    ------
    ValueError
        If ``delete`` is out of its domain.

    References
    ----------
    Huang, Marchant, Lucas, Bauer, Ohrimenko, Rubinstein, RS-Del: edit distance
    robustness certificates for sequence classifiers via randomized deletion, 2023. The
    theory page on discrete noise.

    Examples
    --------
    >>> from rsbounds import discrete
    >>> discrete.deletion(0.9).radius(0.99)
    6
    """
    return Deletion(delete)


def blocks(*curves: Curve) -> Blocks:
    """Independent noises on disjoint groups of coordinates, such as edges and features.

    r has one entry for each block, each as that block's curve takes it; a number is
    that many changes, in whichever blocks.

    Parameters
    ----------
    curves : curves of this module
        One for each block.

    Raises
    ------
    ValueError
        If there is none, or something that is no curve.

    References
    ----------
    The theory page on discrete noise.

    Examples
    --------
    >>> from rsbounds import discrete
    >>> edges, features = discrete.flips(0.001, 0.8), discrete.flips(0.003, 0.4)
    >>> joint = discrete.blocks(edges, features)
    >>> round(joint.low(0.999, ((1, 0), (3, 4))), 5)
    0.05265
    """
    return Blocks(*curves)


def _pairs(curve: Curve, top: Fraction, rest: Fraction | None) -> list[tuple[Any, ...]]:
    """The frontier of two kinds of changes."""
    if curve._endless(top, rest):
        return [(math.inf, math.inf)]
    # a kind that has no end at p = 1 is searched no further than this
    limits = [FAR if 1 in (top, rest) else None] * 2

    def holds(first: int, second: int) -> bool:
        return curve._holds(top, rest, curve._counts("r", (first, second)))

    return list(staircase(holds, limits))


def _partly_common(at_x: Fraction, at_other: Fraction) -> Regions:
    """What x alone produces, and what both do, of these probabilities at each."""
    scale = math.lcm(at_x.denominator, at_other.denominator)
    common = at_x.numerator * (scale // at_x.denominator)
    left = at_other.numerator * (scale // at_other.denominator)
    return Regions([scale - common, common], [0, left], scale)


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def _numbers(name: str, r: Any, kinds: int) -> tuple[int, ...]:
    if not isinstance(r, Iterable) or len(numbers := list(r)) != kinds:
        raise ArgumentError(
            name, f"must be a whole number, or {kinds} of them; got {r!r}"
        )
    return tuple(count(name, number) for number in numbers)
