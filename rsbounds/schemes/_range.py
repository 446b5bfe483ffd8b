"""Noise levels of which only the range is known."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from rsbounds._numerics.answered import By
from rsbounds._numerics.domains import DIMENSION, POSITIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options, Shared
from rsbounds._numerics.parameters import Parameter, Usual
from rsbounds.envelope import SigmaRange
from rsbounds.schemes._enveloped import EnvelopeScheme
from rsbounds.schemes._given import Given
from rsbounds.schemes._scheme import Scheme

__all__ = ["Range", "sigma_range"]

_CEILING = Option("sigma_max", "upper bound of sigma(x)")


class Range(EnvelopeScheme):
    """A noise level between two bounds; see :func:`sigma_range`."""

    name = "range"
    envelope, bounds = SigmaRange, ("sigma_min", "sigma_max")
    help = "sigma(x) between two bounds"
    declared = (
        Usual.FUNCTION,
        Usual.LEVEL,
        Parameter(
            "sigma_min",
            "lower bound of sigma(x)",
            POSITIVE,
            By.NOISE,
            option=Shared.FLOOR,
            input=Shared.FLOOR,
        ),
        Parameter(
            "sigma_max",
            "upper bound of sigma(x)",
            POSITIVE,
            By.NOISE,
            option=_CEILING,
            input=_CEILING,
        ),
        Usual.DIM,
    )

    def _allowed(self) -> Mapping[str, float]:
        return {}  # whatever number sigma(x) comes out as is compared with the bounds

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        function, description = given.function(
            "sigma_function", options["sigma_function"]
        )
        scheme = sigma_range(
            function, options["sigma_min"], options["sigma_max"], given.dim
        )
        scheme.parameters["sigma_function"] = description
        return scheme


def sigma_range(
    sigma: Callable[[Any], float],
    sigma_min: float,
    sigma_max: float,
    dim: float,
    *,
    proven: bool = False,
) -> Scheme:
    """Any noise level that lies in [sigma_min, sigma_max].

    Parameters
    ----------
    sigma, dim, proven
        As in :func:`lipschitz`; the range of a function that is cut to it is proven.
    sigma_min, sigma_max : float
        Bounds of ``sigma``, 0 < sigma_min <= sigma_max.

    Raises
    ------
    ValueError
        As in :func:`lipschitz`, and when ``sigma(x)`` lies above ``sigma_max``.

    References
    ----------
    Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent randomized
    smoothing, 2022, Theorems 2 and 6; :class:`rsbounds.envelope.SigmaRange`.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.sigma_range(lambda x: 0.5, 0.4999, 0.5001, 784)
    >>> scheme.sigma(None), scheme.scope
    (0.5, 'sigma(x) with an asserted envelope')
    """
    low = POSITIVE.one("sigma_min", sigma_min, towards=-math.inf)
    high = POSITIVE.one("sigma_max", sigma_max, towards=math.inf)
    if not low <= high:
        raise ArgumentError(
            "sigma_min", f"must be at most sigma_max = {high}; got {low}"
        )
    DIMENSION.one("dim", dim)
    parameters = {"sigma_min": low, "sigma_max": high, "dim": dim}
    return Range(parameters, level=sigma, proven=proven)
