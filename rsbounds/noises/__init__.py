"""Noises: each in a file of its own, from its parameters to its draw.

A file says everything about one noise: the parameters and where they lie, the options
of the command line, the inputs that it is for, its exact law, how an event's
probability can move when the input does, and how copies are drawn. The draw is written
once, over few primitives of random bits (:class:`Bits`) that NumPy's and torch's
streams supply. :mod:`rsbounds.schemes` makes a method of each noise, under its name.

Examples
--------
>>> from fractions import Fraction
>>> from rsbounds.noises.categorical import Categorical
>>> noise = Categorical(Fraction(1, 5), 256)  # exact, which no result file can hold
>>> noise, noise.curve.radius(0.98)
(<noise categorical keep=1/5 values=256>, 3)
"""

from rsbounds.noises._curve import Curve
from rsbounds.noises._discrete import DiscreteNoise
from rsbounds.noises._edges import Edges as Edges
from rsbounds.noises._named import AddedNoise as AddedNoise
from rsbounds.noises._named import NamedNoise
from rsbounds.noises._named import held as held
from rsbounds.noises._noise import Bits, Noise
from rsbounds.noises._noise import Gaussian as Gaussian
from rsbounds.noises._noise import is_single as is_single
from rsbounds.noises._noise import noise_level as noise_level
from rsbounds.noises._noise import single as single
from rsbounds.noises._scores import checked_scores as checked_scores

__all__ = ["Bits", "Curve", "DiscreteNoise", "NamedNoise", "Noise"]


def __dir__() -> list[str]:
    return sorted(__all__)
