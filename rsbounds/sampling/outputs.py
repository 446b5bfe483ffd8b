"""Samplers of real outputs and of maps, over functions of NumPy batches."""

import sys
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array
from rsbounds.frameworks import as_function
from rsbounds.sampling.adapters import as_sampler
from rsbounds.sampling.arrays import Scored
from rsbounds.sampling.port import Sampler, require_law

Kind = Literal["values", "map"]
_SHAPES = {"values": "(count,) or (count, outputs)", "map": "(count, classes, *positions)"}


def output_sampler(model: Any, kind: Kind, law: str = "") -> Sampler:
    """What draws the outputs of a model, or the class counts of its positions, under noise.

    A torch module and a function of a NumPy batch get a sampler of Gaussian noise; a sampler of
    your own, called as ``sampler(x, sigma, n, generator)``, returns outputs of shape (n, outputs)
    or counts of shape (positions, classes). ``law`` names the noise, where it is another.
    """
    model = as_function(model, outputs=True)
    ready: Sampler = as_sampler(model)
    if ready is model:
        require_law(ready, law)
        own: Sampler = model
        return own
    if law:
        raise ValueError(
            f"{kind} under noise that is not sigma N(0, I) need a sampler of your own, called as "
            "sampler(x, sigma, n, generator), with the law of the scheme"
        )
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        from rsbounds.sampling.torch_modules import TorchOutputs

        return TorchOutputs(model, kind)
    return ArrayOutputs(model, kind)


def checked_shape(shape: tuple[int, ...], rows: int, kind: Kind, known: Any) -> None:
    """ValueError unless a batch's outputs have the shape of their kind, and always the same."""
    fits = (1 <= len(shape) <= 2) if kind == "values" else (len(shape) >= 3 and shape[1] >= 2)
    if not fits or shape[0] != rows or 0 in shape:
        raise ValueError(
            f"the model must return outputs of shape {_SHAPES[kind]} for a batch of {rows}; got "
            f"shape {shape}"
        )
    if known not in (None, shape[1:]):
        raise ValueError(
            f"the model must always return outputs of one shape; got {known} and then {shape[1:]}"
        )


class ArrayOutputs(Scored):
    """Sampler over a function of float32 batches (count, *shape of x), for values or maps."""

    def __init__(self, model: Callable[[NDArray[np.float32]], Any], kind: Kind) -> None:
        super().__init__(model)
        self.kind = kind
        self._shape: tuple[int, ...] | None = None

    def __call__(self, x: Any, sigma: float, n: int, generator: np.random.Generator) -> Any:
        """Outputs, shape (n, outputs), or counts, shape (positions, classes)."""
        blocks = self.drawn(x, sigma, n, generator)
        if self.kind == "values":
            return np.concatenate([block.reshape(len(block), -1) for block in blocks])
        return sum(map(position_counts, blocks))

    def checked(self, returned: Any, rows: int) -> NDArray[Any]:
        outputs = np.asarray(returned)
        checked_shape(outputs.shape, rows, self.kind, self._shape)
        if outputs.dtype.kind not in "biuf":
            raise ValueError(f"the model must return real numbers; got type {outputs.dtype}")
        self._shape = outputs.shape[1:]
        return outputs


def position_counts(scores: Array) -> NDArray[np.int64]:
    """Class counts of each position over a batch of scores (count, classes, *positions).

    A position whose scores hold a NaN counts for no class in that sample.
    """
    rows, classes = scores.shape[:2]
    flat = scores.reshape(rows, classes, -1)
    chosen = np.where(np.isnan(flat).any(axis=1), classes, flat.argmax(axis=1))
    place = chosen + np.arange(flat.shape[2]) * (classes + 1)
    counts = np.bincount(place.ravel(), minlength=flat.shape[2] * (classes + 1))
    return counts.reshape(-1, classes + 1)[:, :classes].astype(np.int64)
