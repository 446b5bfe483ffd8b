"""Noise levels whose logarithm is Lipschitz: the distance to the nearest anchors."""

import copy
import math
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds import envelope as theory
from rsbounds._numerics.answered import By
from rsbounds._numerics.checks import on_host
from rsbounds._numerics.domains import DIMENSION, NOT_NEGATIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options, Shared
from rsbounds._numerics.parameters import Parameter, Type, Usual
from rsbounds.schemes._enveloped import EnvelopeScheme
from rsbounds.schemes._given import Given
from rsbounds.schemes._on_grid import allowance
from rsbounds.schemes._scheme import Scheme
from rsbounds.semielastic import KNNSigma

__all__ = ["SemiElasticScheme", "semielastic"]


def _level(knn: KNNSigma, x: Any) -> Any:
    return knn.sigma(np.asarray(on_host("x", x)).reshape(1, -1))


def _rounding(knn: KNNSigma) -> dict[str, float]:
    return allowance(knn.rounding())


def _shift(text: str) -> str | float:
    if text in ("mean", "min"):
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"expected a number, mean or min; got {text!r}") from None


def _warn_of_cost(rate: float, sigma: float, dim: float) -> None:
    """Warn where the radius is less than about .71 of that of fixed noise.

    It is nearly Cohen's over sqrt(1 + 2 dim (rate sigma)^2): an estimate that certifies
    nothing.
    """
    cost = math.sqrt(2 * dim) * rate * sigma
    if cost > 1:
        warnings.warn(
            f"sqrt(2 dim) rate sigma is {cost:.3g}, above 1: expect about "
            f"{1 / math.hypot(1, cost):.2f} of the radius of fixed noise at this "
            f"level; a rate below {rate / cost:.2g} costs less",
            RuntimeWarning,
            stacklevel=3,
        )


_RATE = Option("rate", "rate of log sigma(x)")


class SemiElasticScheme(EnvelopeScheme):
    """A noise level whose logarithm has a bounded rate; see :func:`semielastic`."""

    name = "semi-elastic"
    envelope, bounds = theory.SemiElastic, ("rate",)
    help = "log sigma(x) with a bounded rate"
    declared = (
        Parameter(
            "sigma",
            "the base of the levels",
            answered_by=By.NOISE,
            option=Option("sigma", "base level"),
            input=Shared.LEVEL,
        ),
        Parameter(
            "anchors",
            "hash of the anchors",
            answered_by=By.NOISE,
            option=Option(
                "anchors",
                "x: inputs whose distance sets sigma(x)",
                type=Path,
                metavar="FILE.npz",
            ),
            type=Type.HASH,
        ),
        Parameter(
            "rate",
            "rate of log sigma(x)",
            NOT_NEGATIVE,
            By.NOISE,
            option=_RATE,
            input=_RATE,
        ),
        Parameter(
            "k",
            "number of nearest anchors",
            answered_by=By.NOISE,
            option=Option("k", "number of nearest anchors (20)", type=int, default=20),
            type=Type.COUNT,
        ),
        Parameter(
            "shift",
            "the distance of the base level",
            answered_by=By.NOISE,
            option=Option(
                "shift",
                "mean distance at which sigma(x) is the base level: a number, or mean "
                "(the default) or min for that of the anchors themselves",
                type=_shift,
                default="mean",
            ),
        ),
        Usual.DIM,
        Usual.SLACK,
    )

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        anchors, digest = given.inputs(options["anchors"])
        knn = KNNSigma(
            anchors,
            sigma_base=options["sigma"],
            rate=options["rate"],
            k=options["k"],
            shift=options["shift"],
        )
        _warn_of_cost(options["rate"], options["sigma"], given.dim)
        scheme = semielastic(knn, given.dim)
        scheme.parameters |= {
            "sigma": options["sigma"],
            "k": options["k"],
            "shift": knn.shift,
            "anchors": digest,
        }
        return scheme


def semielastic(knn: KNNSigma, dim: float) -> Scheme:
    """Noise level from the distance to the nearest anchors, certified by its rate.

    Parameters
    ----------
    knn : KNNSigma
        The noise level as a function of the input
        (:class:`rsbounds.semielastic.KNNSigma`), as it is now. Its rate is proven; that
        of a subclass, or of anything else with ``rate`` and ``sigma``, the scope says
        to be asserted.
    dim : float
        Dimension of the input, >= 1.

    Raises
    ------
    ValueError
        When ``x`` has more than ``dim`` coordinates; on a grid, when it is off that or
        outside [0, 1].

    References
    ----------
    Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent randomized
    smoothing, eq. (1) and Theorem 7; the theory page on sound noise.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import schemes, semielastic
    >>> knn = semielastic.KNNSigma(np.zeros((3, 4)), 0.5, 0.01, 1, 0.0)
    >>> schemes.semielastic(knn, 4).scope
    'sigma(x) with a proven envelope'
    """
    if not (hasattr(knn, "rate") and callable(getattr(knn, "sigma", None))):
        raise ArgumentError(
            "knn",
            "must be a rsbounds.semielastic.KNNSigma, or have a rate and a method "
            f"sigma; got {type(knn).__name__}",
        )
    knn = copy.copy(knn)  # a rate that is set later is not the one certified
    proven = type(knn) is KNNSigma and not any(map(callable, vars(knn).values()))
    DIMENSION.one("dim", dim)
    parameters = {"rate": NOT_NEGATIVE.one("rate", knn.rate), "dim": dim}
    return SemiElasticScheme(
        parameters,
        level=partial(_level, knn),
        proven=proven,
        rounding=partial(_rounding, knn),
    )
