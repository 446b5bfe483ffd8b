"""Noise with a level on every axis: fixed, or following the input within proven bounds.

Both are isotropic in the coordinates divided by a fixed shape; ``inner`` is the radius of the
l_p ball inside the ellipsoid of all delta with |delta/shape| <= 1 (:func:`inner_radius`).

References
----------
Hong, Hong, Certified adversarial robustness via anisotropic randomized smoothing.
Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent randomized smoothing, 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rsbounds._numerics.rounding import EPS, product, round_down, round_up
from rsbounds.certificate import FIXED_NOISE, PROVEN_MAPS
from rsbounds.schemes._scheme import (
    DIMENSION,
    NORM,
    NORM_OPTION,
    NOT_NEGATIVE,
    POSITIVE,
    Given,
    Method,
    Option,
    Scheme,
)


def inner_radius(shape: Any, norm: float) -> float:
    """The largest l_p ball in the ellipsoid \\|delta/shape\\| <= 1, rounded down.

    Parameters
    ----------
    shape : array_like, shape (d,)
        The semi-axes, > 0.
    norm : float
        The p of the l_p norm, in [1, inf].

    Returns
    -------
    float

    Examples
    --------
    >>> from rsbounds.schemes import inner_radius
    >>> 0.999999999 < inner_radius([1.0, 2.0], 2) <= 1.0
    True
    """
    from rsbounds import anisotropic as theory

    return float(theory.radius(1.0, shape, norm=norm, scores=True))


def _fixed(
    score: float, sigma: float, score_b: float | None = None, *, inner: float, norm: float = 2.0
) -> float:
    from rsbounds import gaussian as theory

    return _stretched(theory.radius(score, sigma, score_b, scores=True), inner)


def _following(
    score: float,
    sigma: float,
    score_b: float | None = None,
    *,
    lip: float,
    mean_lip: float,
    sigma_min: float,
    dim: float,
    inner: float,
    norm: float = 2.0,
    slack: float = 0.0,
    shift: float = 0.0,
) -> float:
    from rsbounds import envelope

    bounds: Any = envelope.LipschitzSigma(lip, sigma_min)
    known: dict[str, Any] = {"mean_lip": mean_lip, "scores": True}
    bounds = envelope.Widened(bounds, slack) if slack else bounds
    reach = envelope.radius(score, sigma, bounds, dim, score_b, **known)
    if shift:  # the centres may be further apart by that than (1 + mean_lip) reach
        reach = np.maximum(round_down(reach - round_up(shift / (1 + mean_lip), EPS), EPS), 0.0)
    return _stretched(reach, inner)


def _stretched(reach: Any, inner: float) -> float:
    return float(round_down(product(reach, inner), 2 * EPS))


def _build(name: str, options: Mapping[str, Any], given: Given) -> Scheme:
    noise, description = given.noise("--noise", options["noise"])
    scheme: Scheme = noise.scheme(options["norm"], sound=given.sound)
    if scheme.method != name:
        raise ValueError(f"--noise {options['noise']} is one of --method {scheme.method}")
    return replace(scheme, parameters={**scheme.parameters, "noise": description})


def _evaluate(options: Mapping[str, Any], p_a: float, p_b: float | None, scores: bool) -> Any:
    from rsbounds import anisotropic as theory

    return theory.radius(p_a, options["sigma"], p_b, norm=options["norm"], scores=scores)


_NOISE = Option(
    "--noise",
    "CALLABLE() returns the noise: NoiseMaps or FixedNoise (anisotropic), CertifiedGenerator "
    "(generator)",
    type=str,
    metavar="MODULE:CALLABLE",
)

ANISOTROPIC = Method(
    name="anisotropic",
    scope=FIXED_NOISE,
    radius=_fixed,
    parameters={"norm": NORM, "inner": POSITIVE},
    help="a noise level for each coordinate",
    options=(_NOISE, NORM_OPTION),
    build=partial(_build, "anisotropic"),
    inputs=(Option("--sigma", "noise level of each coordinate", nargs="+"), NORM_OPTION),
    evaluate=_evaluate,
    sound=True,
)
GENERATOR = Method(
    name="generator",
    scope=PROVEN_MAPS,
    radius=_following,
    parameters={
        "norm": NORM,
        "inner": POSITIVE,
        "lip": NOT_NEGATIVE,
        "mean_lip": NOT_NEGATIVE,
        "sigma_min": POSITIVE,
        "dim": DIMENSION,
        "slack": NOT_NEGATIVE,
        "shift": NOT_NEGATIVE,
    },
    help="mean and level on every axis by maps with proven bounds",
    options=(_NOISE, NORM_OPTION),
    build=partial(_build, "generator"),
)
