"""Coordinates that are hidden, all but some that are left by chance, in l_0.

References
----------
Levine, Feizi, Robustness certificates for sparse adversarial attacks by randomized
ablation, 2020.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count, number
from rsbounds._numerics.domains import DIMENSION, Domain, Domains
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options, Shared
from rsbounds._numerics.rationals import exact_probability
from rsbounds.noises._curve import Curve
from rsbounds.noises._discrete import CHANCE, DiscreteNoise
from rsbounds.noises._estimates import Part
from rsbounds.noises._named import complement, held, spelled
from rsbounds.noises._noise import Bits, as_real
from rsbounds.noises._regions import Regions
from rsbounds.noises._search import misses, powers
from rsbounds.noises._ways import Counts

ANY_LENGTH = 2**31  # with a probability for each coordinate their number is no matter
#: Factors of a quotient of binomial coefficients, of which more take long.
_FACTORS = 2**15


class Mask(DiscreteNoise):
    """All coordinates but some are replaced by one value, which hides them; in l_0.

    Either ``keep_count`` of ``dim`` coordinates are left, each subset of that size
    equally likely, or each is left with a probability, whatever the size of the input.
    Both are exact: see :func:`categorical` for what of torch's samples is void.

    Parameters
    ----------
    dim, keep_count : int
        Numbers of coordinates of an input, and of those that are left: 1 <= keep_count
        < dim.
    keep_probability : float
        In (0, 1), in place of them. It is taken as the rational number that it is.
    hidden : float
        What hidden coordinates show: a whole number for inputs that are (the number of
        the token [MASK]). It may be a value of the alphabet, which the model then can't
        tell from a hidden one; the certificate holds in any case.

    Raises
    ------
    ValueError
        If an argument is out of its domain, or neither or both of ``keep_count`` and
        ``keep_probability`` are given.

    References
    ----------
    Levine, Feizi, Robustness certificates for sparse adversarial attacks by randomized
    ablation, 2020; the theory page on discrete noise.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.mask(50, 5)
    >>> scheme.radius(1.2816, scheme.own_level), scheme.curve.radius(0.9)
    (4.0, 4)
    """

    name = "mask"
    help = "all coordinates but some are hidden, certified in l0"
    domains: ClassVar[Domains] = {
        "keep_count": Domain(1.0, DIMENSION.high, required=False),
        "dim": Domain(1.0, DIMENSION.high, required=False),
        "keep_probability": CHANCE._replace(required=False),
        "hidden": Domain(-math.inf, math.inf, "neither", required=False),
    }
    options = (
        Option("keep_count", "how many coordinates are left", int, None),
        Option("keep_probability", "or: each is left with it", float, None),
        Option("hidden", "what hidden coordinates show (0)", float, 0.0),
    )
    inputs = (
        *options[:2],
        Option(Shared.DIM.name, "number of coordinates, for a keep-count", int, None),
    )
    # of a keep-count the number of coordinates is that of the group, which the splits
    # don't say
    block_parameters = ("keep_probability", "hidden")

    def __init__(
        self,
        dim: int | None = None,
        keep_count: int | None = None,
        *,
        keep_probability: Any = None,
        hidden: float = 0.0,
    ) -> None:
        if (keep_count is None) == (keep_probability is None):
            raise ArgumentError(
                "keep_count",
                "must be given, or keep_probability in its place, and not both",
            )
        self.dim = None
        self.keep_count = None
        self.keep_probability = None
        if keep_count is not None:
            if dim is None:
                raise ArgumentError("dim", "is missing")
            self.dim = count("dim", dim, 1)
            self.keep_count = count("keep_count", keep_count, 1)
            if not self.keep_count < self.dim:
                raise ArgumentError(
                    "keep_count",
                    f"must be less than the {self.dim} coordinates of an input; got "
                    f"{self.keep_count}",
                )
            self.level = float(1 - self.keep_count / self.dim)
        else:
            if dim is not None:
                raise ArgumentError("dim", "goes with keep_count alone")
            self.keep_probability = exact_probability(
                "keep_probability", keep_probability, "neither"
            )
            self.level = complement(self.keep_probability)
        value = number("hidden", hidden)
        self.hidden = int(value) if value == int(value) else value
        if self.keep_probability is None:
            left = f"kept={self.keep_count}"
        else:
            left = f"probability={spelled(self.keep_probability)}"
        self.law = f"mask {left} hidden={self.hidden}"

    @property
    def parameters(self) -> dict[str, Any]:
        if self.keep_probability is None:
            stated: dict[str, Any] = {"dim": self.dim, "keep_count": self.keep_count}
        else:
            chance = held("keep_probability", self.keep_probability)
            stated = {"keep_probability": chance}
        return stated | ({"hidden": self.hidden} if self.hidden else {})

    @classmethod
    def stated(cls, options: Options, dim: int | None) -> dict[str, Any]:
        stated = {
            name: options[name]
            for name in ("keep_count", "keep_probability")
            if options[name] is not None
        }
        hidden = options.get("hidden") or 0.0
        if hidden:
            stated["hidden"] = hidden
        if "keep_count" in stated and dim is not None:
            stated["dim"] = dim
        return stated

    def made_curve(self) -> Curve:
        if self.keep_probability is None:
            return MaskCurve(self.dim, self.keep_count)
        return MaskCurve(ANY_LENGTH, probability=self.keep_probability)

    @property
    def is_part(self) -> bool:
        return self.dim is None

    def takes(self, size: int) -> bool:
        # of fewer coordinates each is left more often
        return self.dim in (None, size)

    def checked(self, x: Any) -> NDArray[Any]:
        given = as_real(x)
        if not self.takes(given.size):
            raise ArgumentError(
                "dim",
                f"must be the size of the input, {given.size}; got {self.dim} (inputs "
                "of several sizes: keep_probability)",
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

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        if self.keep_count is not None:
            left = bits.choose(self.keep_count, size, tuple(x.shape))
        else:
            assert self.keep_probability is not None
            left = bits.happens(self.keep_probability, (size, *x.shape))
        return bits.xp.where(left, x, self.hidden)


class MaskCurve(Curve):
    """Coordinates hidden.

    All but ``kept`` of ``dim``, or each with a probability; r counts changed
    coordinates.

    Nothing need be hidden: ``kept`` may be ``dim``, and the probability 1.
    """

    far = 2**53

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
        return Fraction(*self._hidden(changes))

    def _hidden(self, changes: int) -> tuple[int, int]:
        """That probability as numerator and denominator, not reduced."""
        if self.probability is not None:
            whole = self.probability.denominator
            left = whole - self.probability.numerator
            return left**changes, whole**changes
        # C(dim - r, k)/C(dim, k), the same with r and k exchanged
        few, many = sorted((changes, self.kept or 0))
        return math.perm(max(self.dim - many, 0), few), math.perm(self.dim, few)

    @property
    def alike(self) -> bool:  # type: ignore[override]
        return self.probability is not None and self.dim >= ANY_LENGTH

    def _parts(self, counts: Counts) -> list[Part] | None:
        changes = min(counts[0], self.dim)
        if self.probability is not None:
            whole = self.probability.denominator
            shown = self.probability.numerator
            cells = [(shown, 0), (whole - shown, whole - shown)]
            return [Part.of(cells, whole, changes)]
        if min(changes, self.kept or 0) > _FACTORS:
            return None
        above, below = self._hidden(changes)
        return [Part.of([(below - above, 0), (above, above)], below, 1)]

    def _guess(self, lead: Fraction, end: int) -> int | None:
        # that all changes are hidden must have a probability above 1 - lead
        if not 0 < lead < 1:
            return None
        if self.probability is not None:
            return powers(self.probability, lead, end)
        return misses(self.dim, self.kept or 1, lead)

    def _regions_of(self, counts: Counts) -> Regions:
        above, below = self._hidden(min(counts[0], self.dim))
        return Regions([below - above, above], [0, above], below)
