"""What a sampler needs of NumPy or torch: copies of an input, a model, arrays.

The rules stand in :mod:`rsbounds.sampling.sampler`, once. Here is what they ask of each
framework: :class:`Backend` draws blocks of noisy copies and runs the model;
:class:`Arrays` are functions of what the model returns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from rsbounds._numerics.checks import Array
from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises import Noise
from rsbounds.sampling.system_bits import Randomness

#: Runs the model on a batch in another way: says which ("": it can't) and the scores.
OtherSetting = Callable[[Any], tuple[str, Array]]
#: Is handed blocks of copies, and which of all these copies are void.
Read = Callable[[Sequence[Any], Any], None]


class Seen(NamedTuple):
    """A row of a batch of so many, and what the model returned for it."""

    row: Any
    outputs: Any
    rows: int


@dataclass
class SamplerCall:
    """One call of a sampler, and how far it is."""

    x: Any
    sigma: float
    n: int
    size: int  # of a block
    blocks: int  # as many as hold all samples; the last one may hold more
    generator: Randomness
    done: int = 0  # blocks whose outputs were read
    total: Any = None  # what was read
    first: Seen | None = None  # of the first block


@lru_cache(maxsize=64)
def block_size(n: int, dim: int, cells: int = 2**18, rows: int = 2**12) -> int:
    """Samples in one block of noise, which is also the batch of every forward pass.

    About ``cells`` numbers (a size that fits a processor's cache), between 16 and
    ``rows`` samples, and evened out so that the last block is nearly as full as the
    others.

    Examples
    --------
    >>> from rsbounds.sampling.port import block_size
    >>> block_size(100, 784), block_size(100_000, 784), block_size(100_000, 150_528)
    (100, 334, 16)
    >>> block_size(100_000, 784, 2**25, 2**16)  # on a GPU
    33334
    """
    if dim < 1:
        raise ValueError("x must have at least one number; got an empty input")
    if n < 1:
        raise ArgumentError("n", f"must be >= 1; got {n}")
    blocks = -(-n // min(max(cells // dim, 16), rows))
    return -(-n // blocks)


class Arrays(Protocol):
    """Functions of arrays, which NumPy and torch spell differently."""

    isnan: Any
    isfinite: Any
    where: Any
    as_array: Any
    is_real: Any
    eps: Any
    copied: Any
    as_floats: Any
    floating: Any
    joined: Any
    largest: Any
    two_largest: Any
    wide: Any
    beside: Any
    steps: Any
    counts: Any
    on_demand: Any


class Backend(ABC):
    """A model, and noisy copies as it takes them.

    Attributes
    ----------
    noise : Noise
        The law of the copies.
    arrays : Arrays
        Functions of what the model returns.
    queues : bool
        Whether a device is at work on samples after the call that asked for them.
    """

    queues: bool = False
    noise: Noise
    arrays: Arrays

    #: Samples in a block, for n copies of so many numbers.
    block_size: Callable[[int, int], int] = staticmethod(block_size)

    @abstractmethod
    def run(self, call: SamplerCall, read: Read) -> None:
        """Prepare the model, draw the blocks of a call in order, have each read."""

    @abstractmethod
    def forward(self, batch: Any) -> Any:
        """What the model returns for a batch, as it is; it may change the batch."""

    def as_written(self, block: Any) -> Any:
        """What the model as it was given returns for a block, which stays as it is.

        None where it runs as it was given in any case.
        """
        return None

    def eps(self, outputs: Any) -> float:
        """The relative rounding error of what the model returned."""
        eps: float = self.arrays.eps(outputs)
        return eps

    @property
    def subject(self) -> Any:
        """The model itself, for messages."""
        return None

    def is_of_memory(self, error: BaseException) -> bool:
        """Whether an error of a forward pass says that memory ran out."""
        return False

    def parts(self, block: Any) -> Iterable[Any]:
        """A block in the batches of its forward passes."""
        return (block,)

    @abstractmethod
    def copied(self, block: Any) -> Any:
        """A copy of a block, safe from what the model does to it."""

    def pieces(self, block: Any, rows: int) -> Iterable[Any]:
        """Copies of so many rows of a block each, of those that are left at last."""
        for start in range(0, len(block), rows):
            yield self.copied(block[start : start + rows])

    @abstractmethod
    def row_of(self, batch: Any, place: int) -> Any:
        """A copy of one row, safe from what the model does to the batch."""

    @abstractmethod
    def repeated(self, row: Any, rows: int) -> Any:
        """A batch of so many copies of a row."""

    def without_padding(self, row: Any) -> Any:
        """A row without the padding behind it; None where rows have none."""
        return None

    @abstractmethod
    def other_settings(self) -> Sequence[OtherSetting]:
        """Ways to run the model whose scores differ by rounding alone."""


#: What is said of outputs that are whole numbers beyond 2^53, or of a longer type.
NOT_HELD = (
    "the model must return numbers that float64 holds, whole ones below 2^53: round "
    "them first"
)


def kind_of(returned: Any) -> str:
    """What a model returned in place of an array, and its entries if it has names."""
    name = type(returned).__name__
    if isinstance(returned, tuple | list):
        return f"{name} of {len(returned)}: return the scores alone"
    if name == "ndarray":
        return f"{name}: return a tensor, torch.from_numpy(scores)"
    if not isinstance(returned, Mapping):
        return name
    return f"{name} of {', '.join(map(repr, returned))}: return one of these"
