"""Coordinates that keep their value or take another one, in l_0.

References
----------
Lee, Yuan, Chang, Jaakkola, Tight certificates of adversarial robustness for randomly
smoothed classifiers, 2019.
"""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import NDArray

from rsbounds._numerics.checks import count
from rsbounds._numerics.domains import Domain, Domains
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option
from rsbounds._numerics.rationals import exact_probability
from rsbounds.noises._curve import NO_NOISE, Curve
from rsbounds.noises._discrete import CHANCE, DiscreteNoise
from rsbounds.noises._estimates import Part
from rsbounds.noises._named import complement, held, spelled
from rsbounds.noises._noise import Bits, as_whole
from rsbounds.noises._regions import Regions, product_of_powers, times
from rsbounds.noises._ways import Counts


class Categorical(DiscreteNoise):
    """Each coordinate keeps its value, or takes one of the others, all alike; in l_0.

    The radius counts changed coordinates, however many there are and whatever they
    change to. The probabilities are exactly ``keep`` and (1 - keep)/(values - 1).
    NumPy's samples have no other law than that. torch's have it but for void ones: 63
    bits leave a coordinate undecided with a probability below values/2^63, and then the
    sample counts for no class, and against the selected one: fewer than one in 10^11
    for 3 million coordinates of 10 values, or 150,528 of 255.

    Parameters
    ----------
    keep : float
        In (0, 1), not 1/values. It is taken as the rational number that it is.
    values : int
        Size of the alphabet, >= 2: inputs are whole numbers from 0 to values - 1.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Lee, Yuan, Chang, Jaakkola, Tight certificates of adversarial robustness for
    randomly smoothed classifiers, 2019; the theory page on discrete noise.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import schemes
    >>> scheme = schemes.categorical(0.2, 256)
    >>> scheme.radius(2.1, scheme.own_level), scheme.norm
    (3.0, 0.0)
    >>> scheme = schemes.categorical(0.8, 256)
    >>> model = lambda batch: np.stack([batch[:, 0] == 7, batch[:, 0] != 7], axis=1)
    >>> sampler = scheme.sampler(model)
    >>> counts = sampler(np.array([7, 200]), 0.2, 1000, np.random.default_rng(0))
    >>> bool(780 < counts[0] < 820)  # 800 is expected, the standard deviation 13
    True
    """

    name = "categorical"
    help = "coordinates change to any other value, certified in l0"
    domains: ClassVar[Domains] = {"keep": CHANCE, "values": Domain(2.0, 2.0**31)}
    options = (
        Option("keep", "probability that a coordinate keeps its value"),
        Option("values", "size of the alphabet: x is in 0 ... values - 1", int),
    )
    inputs = options
    block_parameters = ("keep", "values")

    def __init__(self, keep: Any, values: int) -> None:
        self.keep = exact_probability("keep", keep, "neither")
        self.values = count("values", values, 2)
        if self.keep * self.values == 1:
            raise ArgumentError("keep", f"{NO_NOISE} {keep!r}, 1/values")
        self.level = complement(self.keep)
        self.law = f"categorical keep={spelled(self.keep)} values={self.values}"

    @property
    def parameters(self) -> dict[str, Any]:
        return {"keep": held("keep", self.keep), "values": self.values}

    def made_curve(self) -> Curve:
        return CategoricalCurve(self.keep, self.values)

    def checked(self, x: Any) -> NDArray[Any]:
        return as_whole(x, self.values - 1)

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        def another(x: Any, other: Any) -> Any:
            # values from x on move up by one
            return other + (other >= x)

        return bits.kept_or_changed(x, self.keep, self.values - 1, another, size)


class CategoricalCurve(Curve):
    """Every coordinate kept, or changed to another; r counts changed coordinates.

    ``keep`` may be 0 and 1 too.
    """

    def __init__(self, keep: Any, values: Any) -> None:
        super().__init__()
        self.keep = exact_probability("keep", keep)
        self.values = count("values", values, 2)
        others = self.values - 1
        if self.keep * self.values == 1:
            raise ArgumentError("keep", f"{NO_NOISE} {keep!r}, 1/values")
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

    @property
    def far(self) -> int:  # type: ignore[override]
        # without other values regions are those of a binomial law
        return 2**17 if self.values == 2 else super().far

    def _parts(self, counts: Counts) -> list[Part]:
        elsewhere = self._move * (self.values - 2)
        stay, move = self._stay, self._move
        cells = [(stay, move), (elsewhere, elsewhere), (move, stay)]
        return [Part.of(cells, self._scale, counts[0])]

    def _regions_of(self, counts: Counts) -> Regions:
        (changes,) = counts
        # by the number of coordinates at x's value, less those at the other input's
        mass = self._power_of_step(changes)
        shifted_mass = mass[::-1]
        if self._stay < self._move:
            mass, shifted_mass = shifted_mass, mass
        return Regions(mass, shifted_mass, self._scale**changes)

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
