"""What a noise is, and the random bits that it is drawn from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises._inputs import floating

#: What numbers become, changed in the ways of those numbers.
Change = Callable[[Any, Any], Any]


class Bits(Protocol):
    """Random bits that copies of one block are drawn from, and the arrays made of them.

    NumPy's streams supply them, torch's and the operating system. Every probability is
    exact: an event is decided by whole numbers, and where the bits of a draw decide
    nothing, its copy is void. Arrays of shape ``(size, ...)`` hold one entry for each
    copy.

    Attributes
    ----------
    xp : module
        The namespace of the arrays, numpy or torch: where both have a function of one
        name, draws use it.
    void : array of bool, shape (size,)
        Which copies the draws so far have left undecided: they count for no class.
    """

    xp: Any

    @property
    def void(self) -> Any: ...

    def discard(self, void: Any) -> None:
        """Count these copies as void too; ``void`` is a NumPy array (size,)."""

    def happens(self, chance: Fraction, shape: tuple[int, ...]) -> Any:
        """Independent events of exactly this probability, in an array of bool."""

    def happens_where(
        self, condition: Any, chance: Fraction, otherwise: Fraction, size: int
    ) -> Any:
        """Independent events at each place of each copy.

        Of probability ``chance`` where the condition holds, of ``otherwise`` elsewhere.
        """

    def kept_or_changed(
        self, x: Any, keep: Fraction, ways: int, changed: Change, size: int
    ) -> Any:
        """Copies of x, each number of which stays with probability ``keep``.

        Else it is changed in one of so many ways, all alike: ``changed(x, way)`` is
        what it becomes.
        """

    def below(self, end: int, shape: tuple[int, ...]) -> Any:
        """Independent whole numbers in [0, end), all alike; end at most 2^63."""

    def choose(self, kept: int, size: int, shape: tuple[int, ...]) -> Any:
        """In each copy of this shape ``kept`` places, each subset equally likely."""

    def uniform(self, shape: tuple[int, ...]) -> Any:
        """Floating-point numbers, uniform on [0, 1)."""

    def normal(self, shape: tuple[int, ...]) -> Any:
        """Independent standard normal numbers."""

    def on_host(self) -> Bits:
        """Bits of NumPy arrays that follow from these: for what is drawn there."""

    def array(self, values: NDArray[Any]) -> Any:
        """A NumPy array as one of the namespace."""

    def like(self, batch: Any, x: Any) -> Any:
        """An array rounded to the type of the input."""

    def sequences(self, x: Any, left: Any) -> Any:
        """Copies of a sequence with the elements that are left of it in each."""

    def matrices(self, keys: NDArray[np.int64], like: Any, size: int) -> Any:
        """Copies of a sparse matrix with the ones of these keys; see ``Edges``."""


class Noise(ABC):
    """A law of noisy copies of one input.

    Attributes
    ----------
    law : str
        Names the law with its parameters. A sampler has the law of its noise, and a
        scheme that of its radii: nothing is certified unless they agree.
    level : float or None
        The ``sigma`` that a sampler of it is called with, and that rows state. None:
        any.
    of_whole_numbers : bool
        Whether inputs may be whole numbers. Copies are then whole numbers too, int64;
        copies of an input in floating point are of its type, float32 or float64.
    alphabet : int
        How many whole numbers a copy may show whatever the input has, from 0 on; 0
        where it shows none but the input's, or one that hides them.
    outcomes : int or None
        How many outcomes it has, where a sampler goes through all of them, each once;
        None where copies are drawn by chance.
    choosing : int or None
        How many of these outcomes, the first ones, choose the class, all of which must
        agree; None where the class of most samples is chosen.
    by_chance : bool
        Whether copies are drawn by chance, and no outcomes gone through.
    grid : int or None
        Of noise that whole numbers decide, rounded to a grid: inputs and copies are
        whole numbers over this. None of any other.
    of_bits : bool
        Whether the :class:`Bits` that it is handed decide its copies alone, and no
        normal numbers among them: the bits may then be the operating system's.
    padding : int or None
        What a torch module sees behind the end of a copy, where copies are sequences of
        different lengths; None where all have one shape.
    """

    law: str
    level: float | None
    of_whole_numbers: ClassVar[bool] = True
    alphabet: int = 0
    outcomes: int | None = None
    choosing: int | None = None
    by_chance: ClassVar[bool] = True
    grid: int | None = None
    of_bits: bool = False
    padding: int | None = None

    @abstractmethod
    def checked(self, x: Any) -> Any:
        """One input in the form that copies are drawn from; ArgumentError("x", ...)."""

    @abstractmethod
    def noisy(self, x: Any, sigma: float, size: int, bits: Any) -> Any:
        """``size`` copies of a checked input; ``bits.void`` says which are void."""

    def copies(self, x: Any, sigma: float, first: int, size: int, bits: Any) -> Any:
        """Copies number ``first`` and following: drawn by chance, or in turn.

        Where all outcomes are gone through they begin again beyond the last one.
        """
        return self.noisy(x, sigma, size, bits)

    def rounded(self, levels: int) -> Noise:
        """This noise rounded to the grid of 1/levels, drawn as whole numbers.

        ArgumentError for noise that isn't Gaussian.
        """
        raise ArgumentError("grid", f"is for Gaussian noise; got {self!r}")

    def added_to(self, columns: int) -> Sequence[int]:
        """The first columns, of so many, whose numbers it moves a little."""
        return range(0 if self.of_whole_numbers else columns)

    @property
    def full_law(self) -> str:
        """What a noise that is made of it calls its law."""
        return self.law

    def numbers(self, x: Any) -> int:
        """How many numbers one copy holds, which blocks are measured by."""
        return int(x.size)

    def check_model(self, model: Any) -> None:
        """ArgumentError for a model that such copies can't be shown to."""
        # it would take three channels of a picture for what two queries answered
        if getattr(model, "query_levels", None) is not None:
            raise ArgumentError(
                "model",
                "must not be a rsbounds.torch.Adaptive, whose method is two-queries, "
                f"for {self!r}",
            )

    def presented(self, batch: Any) -> Any:
        """What a function of NumPy batches is called with."""
        return batch

    def __repr__(self) -> str:
        return f"<noise {self.law}>"


class AddedNoise(Noise):
    """Noise that is added to real numbers, independent on every coordinate.

    Attributes
    ----------
    farthest : float
        No draw is larger, in levels, whatever the bits are.
    """

    of_whole_numbers = False
    farthest: ClassVar[float]

    def checked(self, x: Any) -> NDArray[Any]:
        return floating(x)

    @abstractmethod
    def offsets(self, shape: tuple[int, ...], bits: Bits) -> Any:
        """Independent numbers of the law, in the type of the uniform ones."""

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        # of its own level: ``sigma`` may be that of several groups of columns together
        batch = self.offsets((size, *x.shape), bits)
        batch += x
        return bits.like(batch, x)
