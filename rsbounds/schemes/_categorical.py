"""Coordinates that keep their value or take another one, in l_0.

References
----------
Lee, Yuan, Chang, Jaakkola, Tight certificates of adversarial robustness for randomly
smoothed classifiers, 2019.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from rsbounds import discrete
from rsbounds.discrete import Curve
from rsbounds.sampling import noises
from rsbounds.sampling.noises import Noise
from rsbounds.schemes._curves import CHANCE, CurveScheme
from rsbounds.schemes._domains import Domain, Domains
from rsbounds.schemes._options import Option
from rsbounds.schemes._scheme import Scheme

__all__ = ["Categorical", "categorical"]


class Categorical(CurveScheme):
    """Pixels, categories or tokens that change by chance; see :func:`categorical`."""

    name = "categorical"
    domains: ClassVar[Domains] = {"keep": CHANCE, "values": Domain(2.0, 2.0**31)}
    help = "coordinates change to any other value, certified in l0"
    options: ClassVar[tuple[Option, ...]] = (
        Option("keep", "probability that a coordinate keeps its value"),
        Option("values", "size of the alphabet: x is in 0 ... values - 1", int),
    )
    inputs = options

    @classmethod
    def curve_of(cls, parameters: Mapping[str, Any]) -> Curve:
        return discrete.categorical(parameters["keep"], parameters["values"])

    @classmethod
    def noise_of(cls, parameters: Mapping[str, Any]) -> Noise:
        return noises.categorical(parameters["keep"], parameters["values"])

    @classmethod
    def level_of(cls, parameters: Mapping[str, Any]) -> float:
        return complement(parameters["keep"])


def complement(probability: Any) -> float:
    """1 - p of the digits that a number is written with: 0.2 of 0.8."""
    return float(1 - Fraction(repr(float(probability))))


def categorical(keep: float, values: int) -> Scheme:
    """Each coordinate keeps its value, or takes one of the others, all alike; in l_0.

    The radius counts changed coordinates, however many there are and whatever they
    change to.

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
    randomly smoothed classifiers, 2019; :func:`rsbounds.discrete.categorical`.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.categorical(0.2, 256)
    >>> scheme.radius(2.1, scheme.own_level), scheme.norm
    (3.0, 0.0)
    """
    return Categorical.made_of(keep=keep, values=values)
