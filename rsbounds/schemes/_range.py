"""Noise levels of which only the range is known.

References
----------
Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent randomized smoothing, 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rsbounds.certificate import PROVEN_ENVELOPE
from rsbounds.schemes._scheme import (
    DIMENSION,
    POSITIVE,
    Given,
    Method,
    Option,
    Scheme,
    check_size,
)


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
    return METHOD.scheme(partial(_level, sigma, low, high, dim), parameters, proven=proven)


def _level(sigma: Callable[[Any], float], low: float, high: float, dim: float, x: Any) -> float:
    check_size(x, dim)
    value = POSITIVE.one("sigma(x)", sigma(x))
    if not low <= value <= high:
        raise ValueError(f"sigma(x) must be in [{low}, {high}]; got {value}")
    return value


def _radius(
    score: float,
    sigma: float,
    score_b: float | None = None,
    *,
    sigma_min: float,
    sigma_max: float,
    dim: float,
) -> float:
    from rsbounds import envelope

    bounds = envelope.SigmaRange(sigma_min, sigma_max)
    return float(envelope.radius(score, sigma, bounds, dim, score_b, scores=True))


def _build(options: Mapping[str, Any], given: Given) -> Scheme:
    function, description = given.function("--sigma-function", options["sigma_function"])
    scheme = sigma_range(function, options["sigma_min"], options["sigma_max"], given.dim)
    parameters = {**scheme.parameters, "sigma_function": description}
    return replace(scheme, parameters=parameters)


def _evaluate(options: Mapping[str, Any], p_a: float, p_b: float | None, scores: bool) -> Any:
    from rsbounds import envelope

    bounds = envelope.SigmaRange(options["sigma_min"], options["sigma_max"])
    return envelope.radius(p_a, options["sigma"], bounds, options["dim"], p_b, scores=scores)


_ENDS = (
    Option("--sigma-min", "lower bound of sigma(x)"),
    Option("--sigma-max", "upper bound of sigma(x)"),
)

METHOD = Method(
    name="range",
    scope=PROVEN_ENVELOPE,
    radius=_radius,
    parameters={"sigma_min": POSITIVE, "sigma_max": POSITIVE, "dim": DIMENSION},
    help="sigma(x) between two bounds",
    options=(
        Option(
            "--sigma-function",
            "CALLABLE() maps a batch to sigma(x)",
            type=str,
            metavar="MODULE:CALLABLE",
        ),
        *_ENDS,
    ),
    build=_build,
    inputs=(
        Option("--sigma", "noise level at the input"),
        *_ENDS,
        Option("--dim", "dimension of the input"),
    ),
    evaluate=_evaluate,
    sound=True,  # whatever number sigma(x) comes out as is compared with the bounds
)
