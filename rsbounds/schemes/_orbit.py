"""A finite group of transformations, gone through whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from rsbounds._numerics.checks import as_integers
from rsbounds._numerics.domains import Domain, Domains
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds.certificate import ORBIT, WHOLE_GROUP
from rsbounds.noises import checked_scores
from rsbounds.sampling.transformed import OrbitNoise
from rsbounds.schemes._scheme import Given, Scheme
from rsbounds.transforms import TRANSFORMS, FiniteGroup, named

__all__ = ["Orbit", "orbit"]

_MOST = 2**20  # elements, all of which are evaluated for each input


def _group(name: Any) -> FiniteGroup:
    """The finite group of a name; ArgumentError("transform", ...) for anything else."""
    group = named(name) if isinstance(name, str) else name
    if not isinstance(group, FiniteGroup) or not isinstance(name, str):
        others = [n for n in TRANSFORMS if isinstance(TRANSFORMS[n], FiniteGroup)]
        raise ArgumentError(
            "transform",
            f"must be a finite group, {', '.join(others)}; got {name!r:.60} (one with "
            "a parameter goes beside the method of its noise, such as gaussian)",
        )
    return group


def _named_group(text: str) -> str:
    """What the command line names; refused early where it is no finite group."""
    _group(text)
    return text


class Orbit(Scheme):
    """All copies of an input by the elements of a finite group; see :func:`orbit`.

    Attributes
    ----------
    group : FiniteGroup
        The group.
    """

    name = "orbit"
    scope = ORBIT
    sound = True  # there is no noise
    help = "all of a finite group evaluated: any shift, quarter turn or mirror image"
    domains: ClassVar[Domains] = {"elements": Domain(1.0, _MOST)}
    options = (Option("transform", "shift, quarter-turns or mirror", _named_group),)
    group: FiniteGroup
    noise: OrbitNoise

    def __init__(self, parameters: Mapping[str, Any], **options: Any) -> None:
        super().__init__(parameters, **options)
        if self.parameters:  # a class of methods is made of none
            self.group = _group(self.parameters.get("transform"))
            elements = int(self.parameters["elements"])
            self.norm = f"{WHOLE_GROUP}{self.group.name}"
            self.outcomes = elements
            self.noise = OrbitNoise(self.group, elements)
            self.law = self.noise.law

    @property
    def drawn(self) -> OrbitNoise:
        return self.noise

    @property
    def own_level(self) -> float:
        return self.noise.level

    def sigma(self, x: Any) -> float:
        return self.own_level

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        """Infinite where the class leads: at every element the votes are the same."""
        self.fixed_level(sigma)
        first, given = checked_scores(z_a, z_b)
        second = -first if given is None else given
        if math.isnan(first) or math.isnan(second):
            return math.nan
        return math.inf if first > second else 0.0

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        super().check(parameters)
        if parameters["elements"] != int(parameters["elements"]):
            raise ArgumentError(
                "parameters.elements",
                f"must be a whole number; got {parameters['elements']!r}",
            )
        try:
            _group(parameters.get("transform"))
        except ArgumentError as error:
            raise ArgumentError(f"parameters.{error.name}", error.problem) from None

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        return orbit(options["transform"], given.shape)


def orbit(transform: str, shape: tuple[int, ...]) -> Orbit:
    """Certify against every element of a finite group, by going through all of them.

    The smoothed classifier votes over all copies T x of an input. The copies of T x are
    those of x, so its answer is the same for every T: nothing is left to chance, alpha
    is not spent, and there is no radius but the whole group (``inf`` in rows, whose
    norm is ``"any shift"``). Give the bound "exact" and n = ``scheme.outcomes``: one
    evaluation an element, 784 for the shifts of 28 x 28 pixels.

    Parameters
    ----------
    transform : {"shift", "quarter-turns", "mirror"}
        A finite group of :data:`rsbounds.transforms.TRANSFORMS`.
    shape : tuple of int
        Of one input: (rows, columns) or (channels, rows, columns).

    Raises
    ------
    ValueError
        If it is no finite group, or not for inputs of this shape.

    Notes
    -----
    The class needs no majority: where the runner-up has a bound of its own it must
    have more votes than every other class together with the copies that have none.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import certify
    >>> from rsbounds.schemes import orbit
    >>> scheme = orbit("quarter-turns", (8, 8))
    >>> def darker_half(batch):
    ...     top, bottom = batch[:, :4].sum((1, 2)), batch[:, 4:].sum((1, 2))
    ...     return np.stack([bottom, top], axis=1)
    >>> x = np.tile(np.linspace(0, 1, 8, dtype=np.float32), (8, 1)) ** 2
    >>> certify(darker_half, x, scheme, n=scheme.outcomes, bound="exact").counts
    (3, 1)
    """
    group = _group(transform)
    sizes = as_integers("shape", shape, 1)
    order = group.order(tuple(np.ravel(sizes).tolist()))
    if not 1 <= order <= _MOST:
        raise ArgumentError(
            "shape", f"must give at most {_MOST} elements; got {order} for {shape}"
        )
    return Orbit({"transform": group.name, "elements": order})
