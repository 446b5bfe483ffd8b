"""Two queries of an input, the second of which the first one chooses, in l_inf.

References
----------
Lyu et al., Adaptive randomized smoothing: certified adversarial robustness for
multi-step defences, 2024. Dong, Roth, Su, Gaussian differential privacy, 2019.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds import gaussian
from rsbounds._numerics.checks import check
from rsbounds._numerics.domains import DIMENSION, POSITIVE, Domain
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds._numerics.parameters import Parameter, Usual
from rsbounds._numerics.rationals import as_double
from rsbounds._numerics.rounding import EPS, round_down
from rsbounds.certificate import TWO_QUERIES
from rsbounds.gaussian.internal import transport
from rsbounds.noises import Bits
from rsbounds.noises.internal import checked_scores, floating, noise_level
from rsbounds.schemes._drawn import DrawnScheme

__all__ = ["TwoQueries", "two_queries"]

#: The part of the information that the first query gives.
SHARE = Domain(0.0, 1.0, closed="neither")

_SHARE = Option(
    "share", "part of 1/sigma^2 that the first query takes (0.5)", default=0.5
)
_NORM = Option("norm", "inf alone: in l2 nothing is gained", default=math.inf)


class TwoQueries(DrawnScheme):
    """Two noisy queries of an input, in l_inf; see :func:`two_queries`."""

    name = "two-queries"
    help = "a noisy look, then one at what it chose (rsbounds.torch.Adaptive), in linf"
    norm = math.inf
    self_inverse = True
    scope = TWO_QUERIES
    declared = (
        Parameter(
            "sigma",
            option=Option(
                "sigma", "level that both queries amount to; several give a file each"
            ),
            input=Option("sigma", "level that both queries amount to"),
        ),
        Parameter("share", option=_SHARE, input=_SHARE),
        Parameter("norm", option=_NORM, input=_NORM),
        Parameter("sigma_1", "noise level of the first query", POSITIVE),
        Parameter("sigma_2", "noise level of the second query", POSITIVE),
        Usual.DIM,
    )

    def read(self) -> None:
        sigma_1, sigma_2, dim = (
            self.parameters[name] for name in ("sigma_1", "sigma_2", "dim")
        )
        self.sigma_1 = POSITIVE.one("sigma_1", sigma_1)
        self.sigma_2 = POSITIVE.one("sigma_2", sigma_2)
        self.dim = DIMENSION.one("dim", dim)
        self.level = combined(self.sigma_1, self.sigma_2)
        if not self.level > 0:
            raise ArgumentError(
                "sigma_1",
                f"and sigma_2 must not be so small; got {sigma_1} and {sigma_2}",
            )
        self.law = f"two queries sigma_1={self.sigma_1!r} sigma_2={self.sigma_2!r}"

    @classmethod
    def parameters_of(cls, options: Options, dim: int | None) -> dict[str, Any]:
        if options["norm"] != math.inf:
            raise ArgumentError(
                "norm",
                "must be inf: in another norm the second query moves by the largest "
                "weight times the change, and gains nothing over method gaussian; got "
                f"{options['norm']:g}",
            )
        first, second = query_levels(options["sigma"], options["share"])
        return {"sigma_1": first, "sigma_2": second, "dim": dim}

    def check_model(self, model: Any) -> None:
        asked = getattr(model, "query_levels", None)
        if asked != (self.sigma_1, self.sigma_2):
            got = type(model).__name__
            if asked is not None:
                got = f"one of {asked[0]:g} and {asked[1]:g} (its sigma and share)"
            raise ArgumentError(
                "model",
                "must be a rsbounds.torch.Adaptive, which asks the second query, of "
                f"the levels {self.sigma_1:g} and {self.sigma_2:g}; got {got}",
            )

    def checked(self, x: Any) -> NDArray[np.float32]:
        """One input in float32.

        The model may run in float32, and is shown the input itself for its second
        query: rounded there, the second answer would be about another input.
        """
        point = floating(x)
        narrow = point.astype(np.float32)
        check("x", point, point == narrow, "numbers of float32: round them first")
        return narrow

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        """The first query, the input, and standard noise for the second query."""
        copies = bits.normal((size, 3, *x.shape))
        copies[:, 0] *= noise_level(self.sigma_1)
        copies[:, 0] += x
        copies[:, 1] = x
        return bits.like(copies, x)

    def numbers(self, x: Any) -> int:
        return 3 * super().numbers(x)

    def radius_of_scores(self, z_a: float, z_b: float | None = None) -> float:
        first, second = checked_scores(z_a, z_b)
        return float(
            gaussian.radius(
                first, self.level, second, norm=math.inf, dim=self.dim, scores=True
            )
        )

    def radius_of_probabilities(self, p_a: Any, p_b: Any = None) -> Any:
        return gaussian.radius(p_a, self.level, p_b, norm=math.inf, dim=self.dim)

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        self.fixed_level(sigma)
        return transport(z, radius, self.level, norm=math.inf, dim=self.dim)


def two_queries(sigma_1: float, sigma_2: float, dim: float) -> TwoQueries:
    """A noisy look at the input, then a second one at what the first one chose.

    The first query is y = x + sigma_1 N(0, I). A mask w(y) of it, a number for each of
    the input's d, weighs the second: w x + sigma_2 |w|/sqrt(d) N(0, I). The model sees
    both answers and nothing else. Where the mask is small elsewhere, what it keeps is
    seen with less noise than a single query of the same certificate would have.

    Parameters
    ----------
    sigma_1, sigma_2 : float
        Levels of the two queries, > 0, in the input's unit.
    dim : float
        Numbers of an input, >= 1.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    Notes
    -----
    Where no number of x moves by more than r, the first query moves by r sqrt(d) at
    most, and the second by |w delta| <= r |w|, whatever w is: in units of their own
    levels r sqrt(d)/sigma_1 and r sqrt(d)/sigma_2. Gaussian queries compose by the
    squares of these, also where the second depends on the first one's answer, so that
    the pair can tell the two inputs apart no better than one query of level sigma,
    1/sigma^2 = 1/sigma_1^2 + 1/sigma_2^2. Rows state this sigma. In l_2 the second
    query moves by max|w| r, and nothing is gained.

    References
    ----------
    Lyu et al., Adaptive randomized smoothing, 2024. Dong, Roth, Su, Gaussian
    differential privacy, 2019, Corollary 3.3. The theory page on two queries.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.two_queries(0.6, 0.8, dim=4)
    >>> round(scheme.own_level, 12), round(scheme.radius(1.0, scheme.own_level), 12)
    (0.48, 0.24)
    """
    return TwoQueries(
        {
            "sigma_1": POSITIVE.one("sigma_1", as_double("sigma_1", sigma_1)),
            "sigma_2": POSITIVE.one("sigma_2", as_double("sigma_2", sigma_2)),
            "dim": DIMENSION.one("dim", as_double("dim", dim)),
        }
    )


def query_levels(sigma: float, share: float) -> tuple[float, float]:
    """Return the levels of two queries that amount to one of sigma.

    ``share`` is the first one's part of 1/sigma^2.
    """
    level = POSITIVE.one("sigma", sigma)
    part = SHARE.one("share", share)
    return level / math.sqrt(part), level / math.sqrt(1 - part)


def combined(sigma_1: float, sigma_2: float) -> float:
    """The level 1/sqrt(1/sigma_1^2 + 1/sigma_2^2) of both queries, rounded down."""
    less, more = sorted((sigma_1, sigma_2))
    ratio = less / more
    # quotient, square, sum, root and quotient: less than 4 roundings of the result
    return float(round_down(less / math.sqrt(1 + ratio * ratio), 8 * EPS))
