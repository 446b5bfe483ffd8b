"""A network as the list of operations that it computes: what is bounded is what runs.

The list is made by :func:`rsbounds.torch.networks.freeze.freeze`. It holds numbers and
names of operations alone, so it needs no code of the network's author, and nothing that
happens to the network later changes it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

import torch

__all__ = ["DOUBLE", "Graph", "Step", "Value"]

DOUBLE: dict[str, Any] = {"dtype": torch.float64, "device": "cpu"}


class Value(NamedTuple):
    """The input (0) or the result of a step (counted from 1)."""

    number: int


@dataclass(frozen=True)
class Step:
    """One operation.

    ``arguments`` holds constants, a :class:`Value` for each tensor that depends on the
    input, and lists of both; ``part`` says which of several results is meant, and
    ``place`` the line of the author's code that asked for it.
    """

    operation: str
    arguments: dict[str, Any]
    part: int | None
    shape: tuple[int, ...]
    place: str

    def __str__(self) -> str:
        return f"{self.operation} ({self.place})"


@dataclass(frozen=True)
class Graph:
    """A network's operations at one input, in float64 on the CPU.

    Each row of a batch is computed alone: its result doesn't depend on the others, to
    the last bit.

    Parameters
    ----------
    name : str
        How messages call the network.
    shape : tuple of int
        Shape of one input.
    steps : tuple of Step
    result : Value or Tensor
        A tensor where the network doesn't depend on its input.
    """

    name: str
    shape: tuple[int, ...]
    steps: tuple[Step, ...]
    result: Value | torch.Tensor

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """The results (n, ...) of a batch (n, *shape), each row by itself."""
        rows = torch.as_tensor(x, **DOUBLE)
        rows = rows.reshape(len(rows), *self.shape)
        if not len(rows):
            return torch.empty((0, *self.result_shape[1:]), **DOUBLE)
        with torch.autocast("cpu", enabled=False):
            # copies: where in memory a row begins, and the order in which its numbers
            # lie there, may change the order of its sums
            form = torch.contiguous_format
            alone = [row.clone(memory_format=form) for row in torch.split(rows, 1)]
            return torch.cat([self._row(row) for row in alone])

    def _row(self, x: torch.Tensor) -> torch.Tensor:
        if isinstance(self.result, torch.Tensor):
            return self.result
        return self.between(Value(0), self.result, x)

    def between(self, start: Value, end: Value, x: torch.Tensor) -> torch.Tensor:
        """Compute the tensor ``end`` where ``start`` is ``x``.

        It must depend on nothing else that depends on the input.
        """
        tensors = {start: x}
        for index in self.needed(start, end):
            step = self.steps[index - 1]
            tensors[Value(index)] = run(step, tensors)
        return tensors[end]

    def needed(self, start: Value, end: Value) -> list[int]:
        """The steps between two values, in their order."""
        wanted = {end.number}
        for index in range(end.number, start.number, -1):
            if index in wanted:
                used = values(self.steps[index - 1].arguments)
                wanted.update(value.number for value in used)
        return sorted(index for index in wanted if index > start.number)

    def shape_of(self, value: Value) -> tuple[int, ...]:
        """The shape of a value, with the batch's axis of length 1."""
        return self.steps[value.number - 1].shape if value.number else (1, *self.shape)

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of what is computed of one input, in a batch of one."""
        if isinstance(self.result, torch.Tensor):
            return tuple(self.result.shape)
        return self.shape_of(self.result)

    def digest(self) -> str:
        """A name for what is computed, the same in every process."""
        hashed = sha256(repr(self.shape).encode())
        for step in self.steps:
            hashed.update(repr((step.operation, step.part, step.shape)).encode())
            _hash(hashed, step.arguments)
        _hash(hashed, self.result)
        return hashed.hexdigest()


def values(part: Any) -> list[Value]:
    """The values in a step's arguments, in their order."""
    if isinstance(part, Value):
        return [part]
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, list | tuple):
        return [value for item in part for value in values(item)]
    return []


def run(step: Step, tensors: dict[Value, torch.Tensor]) -> torch.Tensor:
    """The result of a step."""
    arguments = {key: _filled(item, tensors) for key, item in step.arguments.items()}
    result = operation(step.operation)(**arguments)
    return result if step.part is None else result[step.part]  # type: ignore[no-any-return]


def _filled(part: Any, tensors: dict[Value, torch.Tensor]) -> Any:
    if isinstance(part, Value):
        return tensors[part]
    if isinstance(part, list):
        return [_filled(item, tensors) for item in part]
    return part


@cache
def operation(name: str) -> Callable[..., Any]:
    """The operation of torch of that name, such as ``aten.relu.default``."""
    library, packet, overload = name.split(".")
    if library != "aten":
        raise ValueError(f"no record of the operation {name}")
    found: Callable[..., Any] = getattr(getattr(torch.ops.aten, packet), overload)
    return found


def _hash(hashed: Any, part: Any) -> None:
    if isinstance(part, dict):
        for key, item in part.items():
            hashed.update(key.encode())
            _hash(hashed, item)
    elif isinstance(part, list) and not isinstance(part, Value):
        hashed.update(b"[")
        for item in part:
            _hash(hashed, item)
        hashed.update(b"]")
    elif isinstance(part, torch.Tensor):
        hashed.update(repr((part.dtype, tuple(part.shape))).encode())
        hashed.update(part.contiguous().numpy().tobytes())
    else:
        hashed.update(repr(part).encode())
