"""How many samples a device holds at once, and what is done when memory runs out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import torch

# the allocators, cuDNN and cuBLAS each have words of their own
_NO_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "ALLOC_FAILED",
    "not enough memory",
)


class Failure(NamedTuple):
    """Memory ran out: the first line of the error, the blocks held, whether drawn."""

    message: str
    blocks: int
    drawn: bool


@dataclass
class Memory:
    """What is held at once on a device.

    Attributes
    ----------
    device : torch.device
        Where the samples are.
    batch : int
        Samples held at once; of whole blocks, and at least one.
    rows : int or None
        Rows of one forward pass at most; None: a whole block.
    parts : int
        Forward passes of a block, where memory ran out with fewer.
    """

    device: torch.device
    batch: int
    rows: int | None
    parts: int = 1

    def blocks(self, size: int) -> int:
        """How many blocks of so many samples are held at once."""
        return max(self.batch // size, 1)

    def passes(self, size: int) -> int:
        """The number of forward passes for a block of so many samples."""
        return max(self.parts, -(-size // (self.rows or size)))

    def halve(self, size: int, failure: Failure) -> None:
        """Hold less at once, or MemoryError where nothing less can be held."""
        if failure.blocks > 1:
            self.batch = failure.blocks * size // 2
            now = f"holding {self.batch} samples at once"
        elif failure.drawn and self.parts < size:
            self.parts = min(2 * self.passes(size), size)
            now = f"running the model on {-(-size // self.parts)} samples at once"
        else:
            what = "one sample" if failure.drawn else f"the noise of {size} samples"
            raise MemoryError(f"{what} doesn't fit on {self.device}: {failure.message}")
        torch.cuda.empty_cache()
        message = f"out of memory ({failure.message}); {now}"
        # at the caller of the sampler
        warnings.warn(message, RuntimeWarning, stacklevel=4)


def memory_failure(error: RuntimeError) -> str:
    """The first line of an error of memory; any other error is raised again."""
    if is_of_memory(error):
        return str(error).partition("\n")[0]
    raise error


def is_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out."""
    message = str(error)
    ran_out = isinstance(error, torch.OutOfMemoryError)
    return ran_out or any(words in message for words in _NO_MEMORY)
