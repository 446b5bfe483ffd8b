"""A finite group of transformations, gone through whole."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.answered import By
from rsbounds._numerics.checks import as_integers, count
from rsbounds._numerics.domains import Domain
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds._numerics.parameters import Parameter, Type
from rsbounds.certificate import ORBIT, Norm
from rsbounds.noises import Bits
from rsbounds.noises.internal import checked_scores
from rsbounds.schemes._drawn import DrawnScheme
from rsbounds.schemes._given import Given
from rsbounds.schemes._scheme import Scheme
from rsbounds.transforms import TRANSFORMS, FiniteGroup
from rsbounds.transforms.internal import named

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


class Orbit(DrawnScheme):
    """All copies of an input by the elements of a finite group; see :func:`orbit`.

    Attributes
    ----------
    group : FiniteGroup
        The group.
    """

    name = "orbit"
    bound = "exact"
    by_chance = False
    scope = ORBIT
    help = "all of a finite group evaluated: any shift, quarter turn or mirror image"
    declared = (
        Parameter(
            "elements", "elements of a finite group", Domain(1.0, _MOST), By.NOISE
        ),
        Parameter(
            "transform",
            "the finite group",
            answered_by=By.RERUN,
            option=Option("transform", "shift, quarter-turns or mirror", _named_group),
            type=Type.ANY,
        ),
    )
    group: FiniteGroup
    level = 1.0
    outcomes: int

    def read(self) -> None:
        self.group = _group(self.parameters.get("transform"))
        elements = count("elements", self.parameters["elements"], 1)
        self.norm = Norm(moved=self.group.name, whole_group=True).spelled
        self.outcomes = elements
        self.law = f"all of {self.group.name}, {elements} elements"

    def checked(self, x: Any) -> NDArray[Any]:
        point = self.group.checked(x)
        order = self.group.order(point.shape)
        if order != self.outcomes:
            raise ArgumentError(
                "x",
                f"must have {self.outcomes} copies by {self.group.name}; one of shape "
                f"{point.shape} has {order}",
            )
        return point

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        raise NotImplementedError("all elements are gone through")

    def copies(self, x: Any, sigma: float, first: int, size: int, bits: Bits) -> Any:
        return bits.like(self.group.apply(x, first, size, bits.xp), x)

    def radius_of_scores(self, z_a: float, z_b: float | None = None) -> float:
        """Infinite where the class leads: at every element the votes are the same."""
        first, other = checked_scores(z_a, z_b)
        second = -first if other is None else other
        if math.isnan(first) or math.isnan(second):
            return math.nan
        return math.inf if first > second else 0.0

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
