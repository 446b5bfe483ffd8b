"""Noise levels given by a Lipschitz function with a positive floor."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from rsbounds._numerics.domains import DIMENSION, NOT_NEGATIVE, POSITIVE, SLACK, Domains
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options, Shared
from rsbounds.envelope import LipschitzSigma
from rsbounds.schemes._scheme import EnvelopeScheme, Given, Scheme, level_slack

__all__ = ["Lipschitz", "lipschitz"]

_BOUNDS = (
    Option("lip", "upper bound of the Lipschitz constant of sigma(x)"),
    Shared.FLOOR,
)


class Lipschitz(EnvelopeScheme):
    """A Lipschitz noise level with a floor; see :func:`lipschitz`."""

    name = "lipschitz"
    domains: ClassVar[Domains] = {
        "lip": NOT_NEGATIVE,
        "sigma_min": POSITIVE,
        "dim": DIMENSION,
        "slack": SLACK,
    }
    envelope, bounds = LipschitzSigma, ("lip", "sigma_min")
    help = "Lipschitz sigma(x) with a floor"
    options = (
        replace(
            Shared.FUNCTION,
            help=f"{Shared.FUNCTION.help}; a SigmaNetwork proves its own bounds",
        ),
        *(replace(bound, default=None) for bound in _BOUNDS),
    )
    inputs = (Shared.LEVEL, *_BOUNDS, Shared.DIM)

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        function, description = given.function(
            "sigma_function", options["sigma_function"]
        )
        proves = hasattr(function, "scheme")  # a network with a proven constant
        if given.sound and not proves:
            raise ArgumentError(
                "sound_noise",
                "needs a bound of the rounding of sigma(x), which no callable has: let "
                "sigma_function be a SigmaNetwork",
            )
        for bound in _BOUNDS:
            if proves and options[bound.name] is not None:
                raise ArgumentError(
                    bound.name,
                    "has no meaning where sigma_function proves its own bounds, as a "
                    "SigmaNetwork does",
                )
            if not proves and options[bound.name] is None:
                raise ArgumentError(
                    bound.name,
                    "must be given where sigma_function proves no bounds of its own",
                )
        if proves:
            scheme: Scheme = function.scheme(given.shape, sound=given.sound)
        else:
            scheme = lipschitz(
                function, options["lip"], options["sigma_min"], given.dim
            )
        scheme.parameters["sigma_function"] = description
        return scheme


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

    A network that proves its own bounds is a :class:`rsbounds.torch.SigmaNetwork`.

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
        For sound noise: a proven bound of the error of ``sigma(x)`` as computed, in the
        input's unit, where ``x`` is a point of the grid of 1/255 in [0, 1] as whole
        numbers over 255 in float64. ``sigma`` is given that array, and the radius is
        smaller by what the error may do (the parameter ``slack``).
    proven : bool
        That you have a proof of the bounds for the function that is run, as for a
        closed form. Nothing here can check them: otherwise results state that they were
        asserted.

    Raises
    ------
    ValueError
        If a parameter is out of its domain, or when ``sigma(x)`` falls below
        ``sigma_min``, ``x`` has more than ``dim`` coordinates or, with ``rounding``, is
        off the grid.

    References
    ----------
    The two-point radius of :func:`rsbounds.lipschitz.radius`, for the noise level of
    Bergstrom, Sager, Anderson, Lipschitz standard deviation networks.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.lipschitz(lambda x: 0.5, 0.1, 0.25, 784)
    >>> scheme.sigma(None), scheme.scope
    (0.5, 'sigma(x) with an asserted envelope')
    """
    lip = NOT_NEGATIVE.one("lip", lip, towards=math.inf)
    floor = POSITIVE.one("sigma_min", sigma_min, towards=-math.inf)
    DIMENSION.one("dim", dim)
    parameters: dict[str, Any] = {"lip": lip, "sigma_min": floor, "dim": dim}
    if rounding is not None:
        parameters["slack"] = level_slack(rounding, floor)
    return Lipschitz(parameters, level=sigma, proven=proven)
