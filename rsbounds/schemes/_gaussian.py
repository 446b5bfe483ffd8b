"""One fixed Gaussian noise for every input.

References
----------
Cohen, Rosenfeld, Kolter, Certified adversarial robustness via randomized smoothing, 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rsbounds.certificate import FIXED_NOISE, THIS_INPUT
from rsbounds.schemes._scheme import (
    DIMENSION,
    NORM,
    NORM_OPTION,
    POSITIVE,
    Given,
    Method,
    Option,
    Scheme,
    check_size,
)


def gaussian(sigma: float, *, norm: float = 2.0, dim: float | None = None) -> Scheme:
    """One fixed Gaussian noise for every input (Cohen et al. 2019, Theorem 1).

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, > 0, in the input's unit.
    norm : float
        The p of the l_p norm that measures the radius, in [1, inf].
    dim : float, optional
        Dimension of the input, >= 1; needed where ``norm`` is above 2.

    Returns
    -------
    Scheme

    Raises
    ------
    ValueError
        If ``sigma`` isn't a positive finite number, or ``norm`` and ``dim`` don't go together;
        with ``dim``, when ``x`` has more coordinates.

    References
    ----------
    Cohen, Rosenfeld, Kolter 2019, Theorem 1.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> float(schemes.gaussian(0.5).radius(2.0, 0.5)) <= 1.0
    True
    """
    level = POSITIVE.one("sigma", sigma)
    parameters: dict[str, Any] = {"sigma": level}
    if norm != 2.0:
        parameters |= {"norm": float(norm)} | ({} if dim is None else {"dim": float(dim)})
    scheme = METHOD.scheme(
        partial(_constant, level, parameters.get("dim")), parameters, float(norm)
    )
    scheme.radius(1.0, level)  # refuses a norm without its dimension
    return scheme


def this_input(sigma: float) -> Scheme:
    """Gaussian smoothing of one level, with the scope of a level chosen for one input.

    Parameters
    ----------
    sigma : float
        As in :func:`gaussian`.

    Returns
    -------
    Scheme

    Examples
    --------
    >>> from rsbounds.schemes import this_input
    >>> this_input(0.5).scope
    'fixed noise at this input only'
    """
    return replace(gaussian(sigma), scope=THIS_INPUT)


def _constant(level: float, dim: float | None, x: Any) -> float:
    if dim is not None:
        check_size(x, dim)
    return level


def _radius(
    score: float,
    sigma: float,
    score_b: float | None = None,
    *,
    norm: float = 2.0,
    dim: float | None = None,
) -> float:
    from rsbounds import gaussian as theory

    return float(theory.radius(score, sigma, score_b, norm=norm, dim=dim, scores=True))


def _build(options: Mapping[str, Any], given: Given) -> Scheme:
    return gaussian(options["sigma"], norm=options["norm"], dim=given.dim)


def _evaluate(options: Mapping[str, Any], p_a: float, p_b: float | None, scores: bool) -> Any:
    from rsbounds import gaussian as theory

    known = {"norm": options["norm"], "dim": options["dim"]}
    return theory.radius(p_a, options["sigma"], p_b, scores=scores, **known)


METHOD = Method(
    name="gaussian",
    scope=FIXED_NOISE,
    radius=_radius,
    parameters={"sigma": POSITIVE, "norm": NORM, "dim": DIMENSION},
    help="one fixed noise level",
    options=(Option("--sigma", "noise level; for semi-elastic its base level"), NORM_OPTION),
    build=_build,
    inputs=(
        Option("--sigma", "noise level"),
        NORM_OPTION,
        Option("--dim", "dimension of the input; needed where the norm is above 2", default=None),
    ),
    evaluate=_evaluate,
    sound=True,
)
