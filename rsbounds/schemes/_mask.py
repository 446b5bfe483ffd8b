"""Coordinates that are hidden, all but some that are left by chance, in l_0.

References
----------
Levine, Feizi, Robustness certificates for sparse adversarial attacks by randomized
ablation, 2020.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.answered import By
from rsbounds._numerics.checks import Array, count, shape_of
from rsbounds._numerics.domains import DIMENSION, Domain
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds._numerics.parameters import Parameter
from rsbounds._numerics.rationals import (
    as_double,
    complement,
    double_probability,
    exact_probability,
    spelled,
)
from rsbounds.discrete import Curve
from rsbounds.discrete.internal import (
    Cells,
    Counts,
    PairedLaw,
    Questions,
    kept_law,
    log_of_rest,
    misses,
    powers,
)
from rsbounds.noises import Bits
from rsbounds.noises.internal import as_hideable, hidden_number
from rsbounds.schemes._discrete import CHANCE, DiscreteScheme

__all__ = ["Mask", "mask"]

#: Whole numbers up to it are doubles.
_COUNTED = 2**53
ANY_LENGTH = 2**31  # with a probability for each coordinate their number is no matter
#: Of noise that hides numbers.
HIDDEN = Parameter(
    "hidden",
    "what hidden coordinates show",
    Domain(-math.inf, math.inf, "neither", required=False),
    By.RERUN,
    option=Option("hidden", "what hidden coordinates show (0)", float, None),
)


class Mask(DiscreteScheme):
    """Hidden coordinates, in l_0; see :func:`mask`."""

    name = "mask"
    help = "all coordinates but some are hidden, certified in l0"
    self_inverse = True
    declared = (
        Parameter.asked(
            "coordinates that are left",
            Domain(1.0, DIMENSION.high, required=False),
            Option("keep_count", "how many coordinates are left", int, None),
            By.RERUN,
        ),
        Parameter.asked(
            "chance that one is left",
            CHANCE._replace(required=False),
            Option("keep_probability", "or: each is left with it", float, None),
            By.RERUN,
        ),
        HIDDEN,
        Parameter(
            "dim",
            "numbers of an input",
            Domain(1.0, DIMENSION.high, required=False),
            By.DATA,
            input=Option("dim", "number of coordinates, for a keep-count", int, None),
        ),
    )
    # of a keep-count the number of coordinates is that of the group, which the splits
    # don't say
    block_parameters = ("keep_probability", "hidden")

    def read(self) -> None:
        parameters = self.parameters
        dim, keep_count = parameters.get("dim"), parameters.get("keep_count")
        chance = parameters.get("keep_probability")
        if (keep_count is None) == (chance is None):
            raise ArgumentError(
                "keep_count",
                "must be given, or keep_probability in its place, and not both",
            )
        self.dim: int | None = None
        self.keep_count: int | None = None
        self.keep_probability: Fraction | None = None
        if keep_count is not None:
            self._read_count(dim, keep_count)
        else:
            if dim is not None:
                raise ArgumentError("dim", "goes with keep_count alone")
            self.keep_probability = exact_probability(
                "keep_probability", chance, "neither"
            )
            self.level = complement(self.keep_probability)
        self._read_hidden(parameters.get("hidden", 0.0))

    def _read_count(self, dim: Any, keep_count: Any) -> None:
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

    def _read_hidden(self, hidden: Any) -> None:
        self.hidden = hidden_number(hidden)
        if self.keep_probability is None:
            left = f"kept={self.keep_count}"
        else:
            left = f"probability={spelled(self.keep_probability)}"
        self.law = f"mask {left} hidden={self.hidden}"

    @classmethod
    def parameters_of(cls, options: Options, dim: int | None) -> dict[str, Any]:
        parameters = {
            name: options[name]
            for name in ("keep_count", "keep_probability")
            if options[name] is not None
        }
        hidden = options.get("hidden") or 0.0
        if hidden:
            parameters["hidden"] = hidden
        if "keep_count" in parameters and dim is not None:
            parameters["dim"] = dim
        return parameters

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

    def check_size(self, x: Any) -> None:
        size = math.prod(shape_of("x", x))
        if not self.takes(size):
            raise ArgumentError(
                "dim",
                f"must be the size of the input, {size}; got {self.dim} (inputs of "
                "several sizes: keep_probability)",
            )

    def checked(self, x: Any) -> NDArray[Any]:
        array = as_hideable(x, self.hidden)
        self.check_size(array)
        return array

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        if self.keep_count is not None:
            left = bits.choose(self.keep_count, size, tuple(x.shape))
        else:
            assert self.keep_probability is not None
            left = bits.happens(self.keep_probability, (size, *x.shape))
        return bits.xp.where(left, x, self.hidden)


def mask(
    dim: int | None = None,
    keep_count: int | None = None,
    *,
    keep_probability: float | None = None,
    hidden: float = 0.0,
) -> Mask:
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
    parameters: dict[str, Any] = {}
    if dim is not None:
        parameters["dim"] = count("dim", dim, 1)
    if keep_count is not None:
        parameters["keep_count"] = count("keep_count", keep_count, 1)
    if keep_probability is not None:
        parameters["keep_probability"] = double_probability(
            "keep_probability", keep_probability, "neither"
        )
    scheme = Mask({**parameters, "hidden": as_double("hidden", hidden)})
    shown = {"hidden": scheme.hidden} if scheme.hidden else {}
    scheme.parameters = {**parameters, **shown}
    return scheme


class MaskCurve(Curve):
    """Coordinates hidden.

    All but ``keep_count`` of ``dim``, or each with a probability; r counts changed
    coordinates.

    Nothing need be hidden: ``keep_count`` may be ``dim``, and the probability 1.
    """

    far = 2**53
    most = 2**53

    def __init__(
        self, dim: Any, keep_count: Any = None, *, probability: Any = None
    ) -> None:
        super().__init__()
        self.dim = count("dim", dim, 1)
        if (keep_count is None) == (probability is None):
            raise ArgumentError(
                "keep_count", "must be given, or probability, and not both"
            )
        self.keep_count = (
            None if keep_count is None else count("keep_count", keep_count, 1)
        )
        if self.keep_count is not None and not self.keep_count <= self.dim:
            raise ArgumentError(
                "keep_count", f"must be at most dim = {dim}; got {keep_count!r}"
            )
        if self.keep_count is not None and not self.dim <= _COUNTED:
            raise ArgumentError("dim", f"must be at most 2^53; got {dim!r}")
        self.probability = None
        if probability is not None:
            self.probability = exact_probability("probability", probability, "right")
            self._log_left = log_of_rest(self.probability)
        self.limit = self.dim

    @property
    def parameters(self) -> dict[str, Any]:
        if self.keep_count is not None:
            return {"dim": self.dim, "keep_count": self.keep_count}
        return {"dim": self.dim, "probability": self.probability}

    @property
    def alike(self) -> bool:  # type: ignore[override]
        return self.probability is not None and self.dim >= ANY_LENGTH

    def cells(self, kind: int) -> Cells:
        shown = self.probability
        if shown is None:
            shown = Fraction(self.keep_count or 0, self.dim)
        return Cells([(shown, Fraction(0)), (1 - shown, 1 - shown)])

    def law(self, counts: Counts) -> PairedLaw:
        log = self._log_hidden(min(counts[0], self.dim))
        return kept_law(log, log)

    def size(self, counts: Counts) -> int:
        # factors of a quotient of binomial coefficients, of which more take long
        return 2 if self.keep_count is None else min(counts[0], self.keep_count)

    def guesses(self, questions: Questions) -> Array:
        # that all changes are hidden must have a probability above 1 - lead
        if self.probability is not None:
            return powers(self._log_left, questions.lead)
        return misses(self.dim, self.keep_count or 1, questions.lead)

    def _log_hidden(self, changes: int) -> float:
        """The logarithm of the probability that all of so many are hidden."""
        if self.probability is not None:
            return changes * self._log_left if changes else 0.0
        # C(dim - r, k)/C(dim, k), the same with r and k exchanged
        few, many = sorted((changes, self.keep_count or 0))
        rest = self.dim - many
        if few > rest:
            return -math.inf
        places = np.arange(few, dtype=np.float64)
        whole = self.dim - places
        # the logarithm of the smaller one of a share and its rest has the digits
        if 2 * many <= self.dim - few:
            return float(np.log1p(-many / whole).sum())
        return float(np.log((rest - places) / whole).sum())
