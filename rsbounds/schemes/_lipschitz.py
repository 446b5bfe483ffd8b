"""Noise levels given by a Lipschitz function with a positive floor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from rsbounds._numerics.checks import as_floats
from rsbounds.schemes._scheme import (
    DIM_OPTION,
    DIMENSION,
    LEVEL_OPTION,
    NOT_NEGATIVE,
    POSITIVE,
    SLACK,
    Domains,
    EnvelopeScheme,
    Given,
    Option,
    Options,
    Scheme,
    level_slack,
)

if TYPE_CHECKING:
    from rsbounds.envelope import Envelope

_LIP = Option("--lip", "upper bound of the Lipschitz constant of sigma(x)", default=None)
_FLOOR = Option("--sigma-min", "lower bound of sigma(x)", default=None)


class Lipschitz(EnvelopeScheme):
    """A Lipschitz noise level with a floor; see :func:`lipschitz`."""

    name = "lipschitz"
    domains: ClassVar[Domains] = {
        "lip": NOT_NEGATIVE,
        "sigma_min": POSITIVE,
        "dim": DIMENSION,
        "slack": SLACK,
    }
    help = "Lipschitz sigma(x) with a floor"
    options = (
        Option(
            "--sigma-function",
            "CALLABLE() maps a batch to sigma(x); a SigmaNetwork proves its own bounds",
            type=str,
            metavar="MODULE:CALLABLE",
        ),
        _LIP,
        _FLOOR,
    )
    inputs = (
        LEVEL_OPTION,
        replace(_LIP, default=...),
        replace(_FLOOR, default=...),
        DIM_OPTION,
        Option(
            "--variant",
            "which of the three radii (exact)",
            type=str,
            default="exact",
            choices=("exact", "integrated", "paper"),
        ),
        Option("--p-min", "floor of the scores, for --variant paper", default=None),
    )

    @classmethod
    def envelope(cls, parameters: Mapping[str, Any]) -> Envelope:
        from rsbounds.envelope import LipschitzSigma

        return LipschitzSigma(parameters["lip"], parameters["sigma_min"])

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        function, description = given.function("--sigma-function", options["sigma_function"])
        bounds = {"--lip": options["lip"], "--sigma-min": options["sigma_min"]}
        scheme: Scheme
        if hasattr(function, "scheme"):  # a network that proves its own constant
            for flag, value in bounds.items():
                if value is not None:
                    raise ValueError(
                        f"{flag} has no meaning where --sigma-function proves its own bounds, as "
                        "a SigmaNetwork does"
                    )
            scheme = function.scheme(given.dim, sound=given.sound)
        elif given.sound:
            raise ValueError(
                "--sound-noise needs a bound of the rounding of sigma(x), which no callable has: "
                "make --sigma-function a SigmaNetwork"
            )
        else:
            for flag, value in bounds.items():
                if value is None:
                    raise ValueError(f"--method lipschitz needs {flag}")
            scheme = lipschitz(function, options["lip"], options["sigma_min"], given.dim)
        scheme.parameters["sigma_function"] = description
        return scheme

    @classmethod
    def evaluate(cls, options: Options, p_a: float, p_b: float | None, scores: bool) -> Any:
        if "variant" not in options:  # the radius of result rows
            return super().evaluate(options, p_a, p_b, scores)
        from rsbounds.lipschitz import radius

        own = {name: options[name] for name in ("lip", "sigma_min", "dim", "p_min")}
        own["method"] = options["variant"]
        return radius(p_a, options["sigma"], p_b=p_b, scores=scores, **own)


def lipschitz(
    sigma: Callable[[Any], float],
    lip: float,
    sigma_min: float,
    dim: float,
    *,
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
    rounding : float, optional
        For sound noise: a proven bound of the error of ``sigma(x)`` as computed, in the input's
        unit, where ``x`` is a point of the grid of 1/255 in [0, 1] as whole numbers over 255 in
        float64. ``sigma`` is given that array, and the radius is smaller by what the error may
        do (the parameter ``slack``).
    proven : bool
        That you have a proof of ``lip`` and ``sigma_min`` for the function that is run, as for a
        closed form: results then state the scope "sigma(x) with a proven envelope".

    Raises
    ------
    ValueError
        If a parameter is out of its domain, or when ``sigma(x)`` falls below ``sigma_min``,
        ``x`` has more than ``dim`` coordinates or, with ``rounding``, is off the grid.

    References
    ----------
    The two-point radius of :func:`rsbounds.lipschitz.radius`, for the noise level of Bergstrom,
    Sager, Anderson, Lipschitz standard deviation networks.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.lipschitz(lambda x: 0.5, 0.1, 0.25, 784)
    >>> scheme.sigma(None), scheme.scope
    (0.5, 'sigma(x) with an asserted envelope')
    """
    floor = POSITIVE.one("sigma_min", sigma_min)
    lip = float(as_floats("lip", lip, 0, nan=False))
    parameters: dict[str, Any] = {"lip": lip, "sigma_min": floor, "dim": dim}
    if rounding is not None:
        parameters["slack"] = level_slack(rounding, floor)
    return Lipschitz(parameters, level=sigma, proven=proven)
