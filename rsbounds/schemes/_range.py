"""Noise levels of which only the range is known.

References
----------
Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent randomized smoothing, 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from rsbounds.certificate import PROVEN_ENVELOPE
from rsbounds.schemes._scheme import (
    DIM_OPTION,
    DIMENSION,
    LEVEL_OPTION,
    POSITIVE,
    SIGMA_FUNCTION,
    Domain,
    Given,
    Option,
    Scheme,
    envelope_radius,
)

_ENDS = (
    Option("--sigma-min", "lower bound of sigma(x)"),
    Option("--sigma-max", "upper bound of sigma(x)"),
)


class Range(Scheme):
    """A noise level between two bounds; see :func:`sigma_range`."""

    name = "range"
    scope = PROVEN_ENVELOPE
    sound = True  # whatever number sigma(x) comes out as is compared with the bounds
    domains: ClassVar[Mapping[str, Domain]] = {
        "sigma_min": POSITIVE,
        "sigma_max": POSITIVE,
        "dim": DIMENSION,
    }
    help = "sigma(x) between two bounds"
    options = (
        Option(
            SIGMA_FUNCTION,
            "CALLABLE() maps a batch to sigma(x)",
            type=str,
            metavar="MODULE:CALLABLE",
        ),
        *_ENDS,
    )
    inputs = (LEVEL_OPTION, *_ENDS, DIM_OPTION)

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        """The two-point radius between the bounds (see :meth:`Scheme.radius`)."""
        from rsbounds import envelope

        low, high = self.parameters["sigma_min"], self.parameters["sigma_max"]
        return envelope_radius(self, envelope.SigmaRange(low, high), z_a, sigma, z_b)

    @classmethod
    def from_options(cls, options: Mapping[str, Any], given: Given) -> Scheme:
        """The scheme of --sigma-function, --sigma-min and --sigma-max."""
        function, description = given.function(SIGMA_FUNCTION, options["sigma_function"])
        scheme = sigma_range(function, options["sigma_min"], options["sigma_max"], given.dim)
        scheme.parameters["sigma_function"] = description
        return scheme

    @classmethod
    def evaluate(
        cls, options: Mapping[str, Any], p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        """``rsbounds radius range``."""
        from rsbounds import envelope

        bounds = envelope.SigmaRange(options["sigma_min"], options["sigma_max"])
        return envelope.radius(p_a, options["sigma"], bounds, options["dim"], p_b, scores=scores)


def sigma_range(
    sigma: Callable[[Any], float],
    sigma_min: float,
    sigma_max: float,
    dim: float,
    *,
    proven: bool = False,
) -> Scheme:
    """Any noise level that lies in [sigma_min, sigma_max].

    Nothing here can check the range beyond the inputs that are certified: the scope says that it
    was asserted, unless ``proven`` says otherwise.

    Parameters
    ----------
    sigma : callable
        ``sigma(x)`` at one input.
    sigma_min, sigma_max : float
        Bounds of ``sigma``, 0 < sigma_min <= sigma_max.
    dim : float
        Dimension of the input, >= 1.
    proven : bool
        That you have a proof of the range for the function that is run, as where it is cut to it:
        results then state the scope "sigma(x) with a proven envelope".

    Returns
    -------
    Scheme

    Raises
    ------
    ValueError
        If a parameter is out of its domain, or when ``sigma(x)`` lies outside the range or ``x``
        has more than ``dim`` coordinates.

    References
    ----------
    Sukenik, Kuvshinov, Günnemann, Theorems 2 and 6; :class:`rsbounds.envelope.SigmaRange`.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.sigma_range(lambda x: 0.5, 0.4999, 0.5001, 784)
    >>> scheme.sigma(None), scheme.scope
    (0.5, 'sigma(x) with an asserted envelope')
    """
    low, high = POSITIVE.one("sigma_min", sigma_min), POSITIVE.one("sigma_max", sigma_max)
    if not low <= high:
        raise ValueError(f"sigma_min must be at most sigma_max = {high}; got {low}")
    parameters = {"sigma_min": low, "sigma_max": high, "dim": dim}
    return Range(parameters, level=sigma, proven=proven)
