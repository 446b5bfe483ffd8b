"""Coordinates that are hidden, all but some, in l_0.

References
----------
Levine, Feizi, Robustness certificates for sparse adversarial attacks by randomized
ablation, 2020.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from rsbounds import discrete
from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds.discrete import Curve
from rsbounds.sampling import noises
from rsbounds.sampling.noises import Noise
from rsbounds.schemes._categorical import complement
from rsbounds.schemes._curves import CHANCE, CurveScheme
from rsbounds.schemes._domains import DIMENSION, Domain, Domains
from rsbounds.schemes._options import Option, Shared
from rsbounds.schemes._scheme import Scheme

__all__ = ["Mask", "mask"]

ANY_LENGTH = 2**31  # with a probability for each coordinate their number is no matter


class Mask(CurveScheme):
    """Pixels, tokens or patches that are hidden; see :func:`mask`."""

    name = "mask"
    domains: ClassVar[Domains] = {
        "keep_count": Domain(1.0, DIMENSION.high, required=False),
        "dim": Domain(1.0, DIMENSION.high, required=False),
        "keep_probability": CHANCE._replace(required=False),
        "hidden": Domain(-math.inf, math.inf, "neither", required=False),
    }
    help = "all coordinates but some are hidden, certified in l0"
    options: ClassVar[tuple[Option, ...]] = (
        Option("keep_count", "how many coordinates are left", int, None),
        Option("keep_probability", "or: each is left with it", float, None),
        Option("hidden", "what hidden coordinates show (0)", float, 0.0),
    )
    inputs: ClassVar[tuple[Option, ...]] = (
        *options[:2],
        Option(Shared.DIM.name, "number of coordinates, for a keep-count", int, None),
    )

    @classmethod
    def stated(cls, options: Mapping[str, Any], dim: int | None) -> dict[str, Any]:
        stated = {
            name: options[name]
            for name in ("keep_count", "keep_probability")
            if options[name] is not None
        }
        hidden = options.get("hidden") or 0.0
        if hidden:
            stated["hidden"] = hidden
        if "keep_count" in stated and dim is not None:
            stated["dim"] = dim
        return stated

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        counted = "keep_count" in parameters
        if counted == ("keep_probability" in parameters):
            raise ArgumentError(
                "parameters.keep_count",
                "must be given, or keep_probability in its place, and not both",
            )
        if counted:
            kept = count("parameters.keep_count", parameters["keep_count"], 1)
            if "dim" not in parameters:
                raise ArgumentError("parameters.dim", "is missing")
            dim = count("parameters.dim", parameters["dim"], 1)
            if not kept < dim:
                raise ArgumentError(
                    "parameters.keep_count",
                    f"must be less than the {dim} coordinates of an input; got {kept}",
                )
        elif "dim" in parameters:
            raise ArgumentError("parameters.dim", "goes with keep_count alone")
        super().check(parameters)

    @classmethod
    def curve_of(cls, parameters: Mapping[str, Any]) -> Curve:
        if "keep_count" in parameters:
            return discrete.mask(parameters["dim"], parameters["keep_count"])
        chance = parameters["keep_probability"]
        return discrete.mask(ANY_LENGTH, probability=chance)

    @classmethod
    def noise_of(cls, parameters: Mapping[str, Any]) -> Noise:
        return noises.mask(
            parameters.get("keep_count"),
            probability=parameters.get("keep_probability"),
            hidden=parameters.get("hidden", 0.0),
        )

    @classmethod
    def level_of(cls, parameters: Mapping[str, Any]) -> float:
        if "keep_count" in parameters:
            return float(1 - parameters["keep_count"] / parameters["dim"])
        return complement(parameters["keep_probability"])

    def takes(self, size: int) -> bool:
        # of fewer coordinates each is left more often
        return bool(size == self.parameters.get("dim", size))

    def sigma(self, x: Any) -> float:
        size = math.prod(np.shape(x))
        if not self.takes(size):
            raise ArgumentError(
                "dim",
                f"must be the size of the input, {size}; got {self.parameters['dim']} "
                "(inputs of several sizes: keep_probability)",
            )
        return super().sigma(x)


def mask(
    dim: int | None = None,
    keep_count: int | None = None,
    *,
    keep_probability: float | None = None,
    hidden: float = 0.0,
) -> Scheme:
    """All coordinates but some are hidden, in l_0.

    Either ``keep_count`` of ``dim`` coordinates are left, all sets of so many alike, or
    each is left with a probability, whatever the size of the input.

    Parameters
    ----------
    dim, keep_count : int
        Numbers of coordinates of an input, and of those that are left: 1 <= keep_count
        < dim.
    keep_probability : float
        In (0, 1), in place of them. It is taken as the rational number that it is.
    hidden : float
        What hidden coordinates show: the number of the token [MASK].

    Raises
    ------
    ValueError
        If an argument is out of its domain, or neither or both of ``keep_count`` and
        ``keep_probability`` are given.

    References
    ----------
    Levine, Feizi, Robustness certificates for sparse adversarial attacks by randomized
    ablation, 2020; :func:`rsbounds.discrete.mask`.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.mask(50, 5)
    >>> scheme.radius(1.2816, scheme.own_level)
    4.0
    """
    return Mask.made_of(
        dim=dim,
        keep_count=keep_count,
        keep_probability=keep_probability,
        hidden=hidden or None,
    )
