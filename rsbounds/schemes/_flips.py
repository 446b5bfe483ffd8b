"""Bits that appear and disappear, each with a probability of its own, in l_0.

References
----------
Bojchevski, Gasteiger, Günnemann, Efficient robustness certificates for discrete data,
2020.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from rsbounds import discrete
from rsbounds._numerics.errors import ArgumentError
from rsbounds.discrete import Curve
from rsbounds.sampling import noises
from rsbounds.sampling.noises import Noise
from rsbounds.schemes._curves import FrontierScheme
from rsbounds.schemes._domains import Domain, Domains
from rsbounds.schemes._options import Option
from rsbounds.schemes._scheme import Scheme

__all__ = ["Flips", "flips"]

FLIP = Domain(0.0, 1.0, "left")


def as_switch(text: str) -> bool:
    """``on`` or ``off``."""
    if text not in ("on", "off"):
        raise ValueError(f"expected on or off; got {text!r}")
    return text == "on"


class Flips(FrontierScheme):
    """Edges or binary features that flip by chance; see :func:`flips`."""

    name = "flips"
    domains: ClassVar[Domains] = {"add": FLIP, "delete": FLIP}
    help = "zeros and ones flip: graphs, binary features, certified in l0"
    options: ClassVar[tuple[Option, ...]] = (
        Option("add", "probability that a 0 becomes 1"),
        Option("delete", "probability that a 1 becomes 0 (or an element is deleted)"),
        Option(
            "symmetric",
            "on: x are adjacency matrices of undirected graphs, a pair is drawn once",
            as_switch,
            default=False,
            metavar="on|off",
        ),
    )
    inputs = options[:2]

    @classmethod
    def stated(cls, options: Mapping[str, Any], dim: int | None) -> dict[str, Any]:
        stated = {name: options[name] for name in ("add", "delete")}
        if options.get("symmetric"):
            stated["symmetric"] = True
        return stated

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        super().check(parameters)
        if not parameters["add"] + parameters["delete"] < 1:
            raise ArgumentError(
                "parameters.add",
                "must be below 1 - delete: copies must depend on the input; got "
                f"{parameters['add']} and delete = {parameters['delete']}",
            )

    @classmethod
    def curve_of(cls, parameters: Mapping[str, Any]) -> Curve:
        return discrete.flips(parameters["add"], parameters["delete"])

    @classmethod
    def noise_of(cls, parameters: Mapping[str, Any]) -> Noise:
        symmetric = parameters.get("symmetric", False)
        return noises.flips(
            parameters["add"], parameters["delete"], symmetric=symmetric
        )

    @classmethod
    def level_of(cls, parameters: Mapping[str, Any]) -> float:
        return float(max(parameters["add"], parameters["delete"]))


def flips(add: float, delete: float, *, symmetric: bool = False) -> Scheme:
    """A 0 becomes 1 with probability ``add``, a 1 becomes 0 with ``delete``; in l_0.

    The radius counts changed coordinates of either kind; the column ``frontier`` has
    the pairs (added, deleted) that are certified.

    Parameters
    ----------
    add, delete : float
        In [0, 1), below 1 in sum and not both 0. They are taken as the rational numbers
        that they are.
    symmetric : bool
        Inputs are adjacency matrices of undirected graphs: a pair of nodes is one
        coordinate.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Bojchevski, Gasteiger, Günnemann, Efficient robustness certificates for discrete
    data, 2020; :func:`rsbounds.discrete.flips`.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.flips(0.01, 0.6)
    >>> scheme.radius(1.2816, 0.6), scheme.further(1.2816, -1.2816)
    (1.0, {'frontier': '0,3;1,1'})
    """
    return Flips.made_of(add=add, delete=delete, symmetric=symmetric or None)
