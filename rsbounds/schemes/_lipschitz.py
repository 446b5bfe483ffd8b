"""Noise levels given by a Lipschitz function with a positive floor."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rsbounds._numerics.answered import By
from rsbounds._numerics.domains import DIMENSION, NOT_NEGATIVE, POSITIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options, Shared
from rsbounds._numerics.parameters import Parameter, Usual
from rsbounds.envelope import LipschitzSigma
from rsbounds.schemes._enveloped import EnvelopeScheme
from rsbounds.schemes._given import Given
from rsbounds.schemes._on_grid import rounding_of_levels
from rsbounds.schemes._scheme import Scheme

__all__ = ["Lipschitz", "lipschitz"]

_CONSTANT = Option("lip", "upper bound of the Lipschitz constant of sigma(x)")


class Lipschitz(EnvelopeScheme):
    """A Lipschitz noise level with a floor; see :func:`lipschitz`."""

    name = "lipschitz"
    envelope, bounds = LipschitzSigma, ("lip", "sigma_min")
    help = "Lipschitz sigma(x) with a floor"
    declared = (
        replace(
            Usual.FUNCTION,
            option=replace(
                Shared.FUNCTION,
                help=f"{Shared.FUNCTION.help}; a SigmaNetwork proves its own bounds",
            ),
        ),
        Usual.LEVEL,
        Parameter(
            "lip",
            "Lipschitz constant of sigma(x)",
            NOT_NEGATIVE,
            By.NOISE,
            option=replace(_CONSTANT, default=None),
            input=_CONSTANT,
        ),
        Parameter(
            "sigma_min",
            "lower bound of sigma(x)",
            POSITIVE,
            By.NOISE,
            option=replace(Shared.FLOOR, default=None),
            input=Shared.FLOOR,
        ),
        Usual.DIM,
        Usual.SLACK,
    )

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        function, description = given.function(
            "sigma_function", options["sigma_function"]
        )
        proves = hasattr(function, "scheme")  # a network with a proven constant
        for bound in cls.bounds:
            if proves and options[bound] is not None:
                raise ArgumentError(
                    bound,
                    "has no meaning where sigma_function proves its own bounds, as a "
                    "SigmaNetwork does",
                )
            if not proves and options[bound] is None:
                raise ArgumentError(
                    bound,
                    "must be given where sigma_function proves no bounds of its own",
                )
        if proves:
            scheme: Scheme = function.scheme(given.shape)
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
        For a scheme on the grid of 1/255, as :meth:`Scheme.on_grid` makes others: a
        proven bound of the error of ``sigma(x)`` as computed, in the input's unit,
        where ``x`` is a point of the grid in [0, 1] as whole numbers over 255 in
        float64. ``sigma`` is given that array, and the radius is smaller by what the
        error may do (the parameter ``slack``).
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
        parameters |= rounding_of_levels(rounding, floor)
    return Lipschitz(parameters, level=sigma, proven=proven)
