"""Noise levels given by a Lipschitz function with a positive floor.

References
----------
Bergstrom, Sager, Anderson, Lipschitz standard deviation networks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rsbounds._numerics.checks import choice, real
from rsbounds.certificate import PROVEN_ENVELOPE
from rsbounds.sampling import grid_noise
from rsbounds.schemes._scheme import (
    DIMENSION,
    NOT_NEGATIVE,
    POSITIVE,
    Domain,
    Given,
    Method,
    Option,
    Scheme,
    check_size,
    level_slack,
    widened_radius,
)


def lipschitz(
    sigma: Callable[[Any], float],
    lip: float,
    sigma_min: float,
    dim: float,
    *,
    method: str = "exact",
    p_min: float | None = None,
    classes: int | None = None,
    rounding: float | None = None,
    proven: bool = False,
) -> Scheme:
    """Noise level given by a Lipschitz function with a positive floor.

    Nothing here can check ``lip`` and ``sigma_min``: the scope says that they were asserted,
    unless ``proven`` says otherwise. A network that proves its own is a
    :class:`rsbounds.torch.SigmaNetwork`.

    Parameters
    ----------
    sigma : callable
        ``sigma(x)`` at one input.
    lip : float
        An upper bound of the l2 Lipschitz constant of ``sigma``, >= 0.
    sigma_min : float
        A lower bound of ``sigma``, > 0.
    dim : float
        Dimension of the input, >= 1.
    method : {"exact", "integrated", "paper"}
        Which radius: see :func:`rsbounds.lipschitz.radius`.
    p_min, classes : float, int
        For method "paper" alone: the bound of the scores, and the number of classes. It
        certifies the class scores after Remark 2's normalisation, which keeps their order.
    rounding : float, optional
        For sound noise and method "exact": a proven bound of the error of ``sigma(x)`` as
        computed, in the input's unit, where ``x`` is a point of the grid of 1/255 in [0, 1] as
        whole numbers over 255 in float64. ``sigma`` is given that array, and the radius is
        smaller by what the error may do (the parameter ``slack``).
    proven : bool
        That you have a proof of ``lip`` and ``sigma_min`` for the function that is run, as for a
        closed form: results then state the scope "sigma(x) with a proven envelope".

    Returns
    -------
    Scheme

    Raises
    ------
    ValueError
        If a parameter is out of its domain, or when ``sigma(x)`` falls below ``sigma_min``,
        ``x`` has more than ``dim`` coordinates or, with ``rounding``, is off the grid.

    References
    ----------
    Bergstrom, Sager, Anderson, Lipschitz standard deviation networks, Theorem 3; the exact
    two-point radius of :func:`rsbounds.lipschitz.radius`.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.lipschitz(lambda x: 0.5, 0.1, 0.25, 784)
    >>> scheme.sigma(None), scheme.scope
    (0.5, 'sigma(x) with an asserted envelope')
    """
    floor = POSITIVE.one("sigma_min", sigma_min)
    parameters: dict[str, Any] = {
        "lip": float(real("lip", lip, 0, nan=False)),
        "sigma_min": floor,
        "dim": dim,
    }
    if (p_min is None) == (method == "paper") or (classes is None) == (method == "paper"):
        raise ValueError("p_min and classes are for method 'paper' alone, which needs both")
    if method == "paper":
        parameters |= {"p_min": p_min, "classes": classes}
    choice("method", method, tuple(METHODS))
    if rounding is not None:
        if method != "exact":
            raise ValueError(f"rounding is for method 'exact' alone; got method {method!r}")
        parameters["slack"] = level_slack(rounding, floor)
    sound = rounding is not None
    level = partial(_level, sigma, floor, dim, sound)
    return METHODS[method].scheme(level, parameters, proven=proven)


def _level(sigma: Callable[[Any], float], floor: float, dim: float, sound: bool, x: Any) -> float:
    check_size(x, dim)
    value = POSITIVE.one("sigma(x)", sigma(grid_noise.points(x) if sound else x))
    if value < floor:
        raise ValueError(f"sigma(x) must be >= sigma_min = {floor}; got {value}")
    return value


def _radius(
    method: str,
    score: float,
    sigma: float,
    score_b: float | None = None,
    *,
    classes: int | None = None,
    lip: float,
    sigma_min: float,
    dim: float,
    p_min: float | None = None,
    slack: float = 0.0,
) -> float:
    if slack:
        from rsbounds.envelope import LipschitzSigma

        return widened_radius(score, sigma, score_b, LipschitzSigma(lip, sigma_min), dim, slack)
    from rsbounds import lipschitz as theory

    known = {"lip": lip, "sigma_min": sigma_min, "dim": dim, "method": method, "p_min": p_min}
    found = theory.radius_of_scores(score, sigma, score_b=score_b, classes=classes, **known)
    return float(found)


def _build(options: Mapping[str, Any], given: Given) -> Scheme:
    function, description = given.function("--sigma-function", options["sigma_function"])
    lip, floor = options["lip"], options["sigma_min"]
    if hasattr(function, "scheme"):  # a network that proves its own constant
        for name in ("lip", "sigma_min"):
            if options[name] is not None:
                raise ValueError(
                    f"--{name.replace('_', '-')} has no meaning where --sigma-function proves its "
                    "own bounds, as a SigmaNetwork does"
                )
        scheme: Scheme = function.scheme(given.dim, sound=given.sound)
    elif given.sound:
        raise ValueError(
            "--sound-noise needs a bound of the rounding of sigma(x), which no callable has: make "
            "--sigma-function a SigmaNetwork"
        )
    else:
        for name in ("lip", "sigma_min"):
            if options[name] is None:
                raise ValueError(f"--method lipschitz needs --{name.replace('_', '-')}")
        scheme = lipschitz(function, lip, floor, given.dim)
    return replace(scheme, parameters={**scheme.parameters, "sigma_function": description})


def _evaluate(options: Mapping[str, Any], p_a: float, p_b: float | None, scores: bool) -> Any:
    from rsbounds import lipschitz as theory

    known = {name: options[name] for name in ("lip", "sigma_min", "dim", "p_min")}
    method = options["variant"]
    return theory.radius(p_a, options["sigma"], p_b=p_b, scores=scores, method=method, **known)


_LIP = Option("--lip", "upper bound of the Lipschitz constant of sigma(x)", default=None)
_FLOOR = Option("--sigma-min", "lower bound of sigma(x)", default=None)
_PARAMETERS = {"lip": NOT_NEGATIVE, "sigma_min": POSITIVE, "dim": DIMENSION}

EXACT = Method(
    name="lipschitz",
    scope=PROVEN_ENVELOPE,
    radius=partial(_radius, "exact"),
    parameters={**_PARAMETERS, "slack": NOT_NEGATIVE},
    help="Lipschitz sigma(x) with a floor",
    options=(
        Option(
            "--sigma-function",
            "CALLABLE() maps a batch to sigma(x); a SigmaNetwork proves its own bounds",
            type=str,
            metavar="MODULE:CALLABLE",
        ),
        _LIP,
        _FLOOR,
    ),
    build=_build,
    inputs=(
        Option("--sigma", "noise level at the input"),
        replace(_LIP, default=...),
        replace(_FLOOR, default=...),
        Option("--dim", "dimension of the input"),
        Option(
            "--variant",
            "which of the three radii (exact)",
            type=str,
            default="exact",
            choices=("exact", "integrated", "paper"),
        ),
        Option("--p-min", "floor of the scores, for --variant paper", default=None),
    ),
    evaluate=_evaluate,
)
INTEGRATED = Method(
    name="lipschitz-integrated",
    scope=PROVEN_ENVELOPE,
    radius=partial(_radius, "integrated"),
    parameters=_PARAMETERS,
)
PAPER = Method(
    name="lipschitz-paper",
    scope=PROVEN_ENVELOPE,
    radius=partial(_radius, "paper"),
    parameters={
        **_PARAMETERS,
        "p_min": Domain(0.0, 0.5, "neither"),
        "classes": Domain(2, 1e9),
    },
)
METHODS = {"exact": EXACT, "integrated": INTEGRATED, "paper": PAPER}
