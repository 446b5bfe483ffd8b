"""The suite of transformations: their law of composition, arrays, tensors, inputs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds.testing._properties import Property, hold, require
from rsbounds.transforms import FiniteGroup, Transform
from rsbounds.transforms.internal import require_transform

#: Two ways to one copy in float64 differ by no more, relative to the largest number.
ROUNDING = 1e-9
SCALES = (0.01, 0.3, 1.0)  # of the parameters that are tried


@dataclass
class GroupCase:
    """A transformation, an input, and parameters or elements to try it with."""

    transform: Any
    x: NDArray[np.float64]

    def parameters(self, count: int, scale: float) -> NDArray[np.float64]:
        """Parameters of a size, >= 0 where it has no others."""
        rng = np.random.default_rng(20_261_126)
        a = scale * rng.standard_normal((count, self.transform.dim))
        return abs(a) if self.transform.one_sided else a

    def at(self, a: NDArray[np.float64], x: Any = None) -> NDArray[np.float64]:
        """Copies by parameters."""
        point = self.x if x is None else x
        return np.asarray(self.transform.apply(point, a, np))

    @property
    def order(self) -> int:
        """How many elements a finite group has."""
        order: int = self.transform.order(self.x.shape)
        return order

    def orbit(self, x: Any, first: int = 0, count: int | None = None) -> Any:
        """Copies by all elements of a finite group, or by so many."""
        number = self.order if count is None else count
        return np.asarray(self.transform.apply(x, first, number, np))


def check_transform(transform: Transform | FiniteGroup, x: Any) -> None:
    """Hold a transformation to what certificates rest on, at one input.

    Parameters
    ----------
    transform : Transform or FiniteGroup
        Of this package or your own.
    x : array_like
        An input that it is for.

    Raises
    ------
    AssertionError
        Naming the transformation, the first property that fails, and the numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.testing import check_transform
    >>> from rsbounds.transforms import TRANSFORMS, Transform, column
    >>> x = np.linspace(0, 1, 48).reshape(3, 4, 4)
    >>> check_transform(TRANSFORMS["blur"], x)
    >>> class Clipped(Transform):
    ...     name, formula = "clipped", "x + a, clipped to [0, 1]"
    ...     def apply(self, x, a, xp):
    ...         return (x + column(a, x)).clip(0, 1)
    >>> check_transform(Clipped(), x)
    Traceback (most recent call last):
    AssertionError: transform 'clipped': Two steps are one of their sum: T_a T_b = ...
    """
    try:
        require_transform(transform)
    except ArgumentError as error:
        raise AssertionError(str(error)) from None
    case = GroupCase(transform, transform.checked(x).astype(np.float64))
    properties = FINITE if isinstance(transform, FiniteGroup) else ONE_PARAMETER
    hold(f"transform {transform.name!r}", case, properties)


def stands_still_at_0(case: GroupCase) -> None:
    """T_0 is the identity."""
    (copy,) = case.at(np.zeros((1, case.transform.dim)))
    require_near(copy, case.x, "T_0 x and x")


def composes(case: GroupCase) -> None:
    """Two steps are one of their sum: T_a T_b = T_(a + b)."""
    for scale in SCALES:
        for other in SCALES:
            a = case.parameters(4, scale)
            b = case.parameters(4, other)[::-1]
            for i in range(4):
                (between,) = case.at(b[i : i + 1])
                (by_steps,) = case.at(a[i : i + 1], between)
                (at_once,) = case.at(a[i : i + 1] + b[i : i + 1])
                where = f"at a = {a[i]}, b = {b[i]}"
                require_near(by_steps, at_once, f"by steps and at once, {where}")


def keeps_to_its_inputs(case: GroupCase) -> None:
    """What it makes of an input is an input that it is for."""
    for scale in SCALES:
        for copy in case.at(case.parameters(4, scale)):
            is_taken(case, copy)


def is_taken(case: GroupCase, copy: NDArray[np.float64]) -> None:
    try:
        case.transform.checked(copy)
    except ValueError as error:
        raise AssertionError(f"a copy is refused: {error}") from None


def takes_each_row_alone(case: GroupCase) -> None:
    """A copy depends on its own parameter, and on no other of the batch."""
    a = case.parameters(5, SCALES[-1])
    together = case.at(a)
    shape = (5, *case.x.shape)
    require(together.shape == shape, f"copies have the shape {together.shape}")
    for i in range(5):
        (alone,) = case.at(a[i : i + 1])
        require_near(together[i], alone, f"row {i} among others and alone")


def is_the_same_in_torch(case: GroupCase) -> None:
    """Tensors give what arrays give, where torch is installed."""
    a = case.parameters(3, SCALES[-1])
    in_torch(case, case.at(a), lambda torch, x: (x, torch.from_numpy(a), torch))


def in_torch(case: GroupCase, expected: Any, arguments: Callable[..., Any]) -> None:
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        return
    x = torch.from_numpy(case.x.copy())
    copies = case.transform.apply(*arguments(torch, x))
    require_near(np.asarray(copies), expected, "a tensor's copies and an array's")


def require_near(first: Any, second: Any, what: str) -> None:
    """AssertionError where two arrays differ by more than rounding."""
    require(
        first.shape == second.shape, f"{what}: shapes {first.shape}, {second.shape}"
    )
    largest = max(abs(first).max(), abs(second).max())
    apart = abs(first - second).max()
    require(apart <= ROUNDING * largest, f"{what} differ by {apart:.2g}")


ONE_PARAMETER: tuple[Property[GroupCase], ...] = (
    stands_still_at_0,
    composes,
    keeps_to_its_inputs,
    takes_each_row_alone,
    is_the_same_in_torch,
)


# --- finite groups


def begins_with_the_identity(case: GroupCase) -> None:
    """Element 0 is the identity."""
    require_near(case.orbit(case.x, 0, 1)[0], case.x, "its copy and x")


def has_one_orbit(case: GroupCase) -> None:
    """The copies of any copy are the copies of the input, each as often."""
    orbit = case.orbit(case.x)
    require(len(orbit) == case.order, f"{len(orbit)} copies of {case.order} elements")
    expected = sorted(copy.tobytes() for copy in orbit)
    for copy in orbit[:: max(1, case.order // 16)]:
        is_taken(case, copy)
        others = sorted(element.tobytes() for element in case.orbit(copy))
        require(others == expected, "a copy has other copies than the input")


def goes_on_in_blocks(case: GroupCase) -> None:
    """Blocks of elements are parts of the orbit, which begins again at its end."""
    orbit = case.orbit(case.x)
    for first in (0, 1, case.order - 1, case.order):
        block = case.orbit(case.x, first, 3)
        places = np.arange(first, first + 3) % case.order
        require((block == orbit[places]).all(), f"the block from {first} is another")


def is_the_same_group_in_torch(case: GroupCase) -> None:
    """Tensors give what arrays give, where torch is installed."""
    in_torch(case, case.orbit(case.x), lambda torch, x: (x, 0, case.order, torch))


FINITE: tuple[Property[GroupCase], ...] = (
    begins_with_the_identity,
    has_one_orbit,
    goes_on_in_blocks,
    is_the_same_group_in_torch,
)
