"""Flips of a sparse matrix on a device: the law of :mod:`rsbounds.sampling.noises`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from rsbounds.sampling.noises import Edges, Flips
from rsbounds.sampling.noises._edges import flipped_keys


class TorchEdges(NamedTuple):
    """A matrix by its ones, and the device that its copies go to."""

    edges: Edges
    device: torch.device
    dtype: torch.dtype

    @classmethod
    def of(cls, edges: Edges, device: torch.device) -> TorchEdges:
        dtype = torch.float32 if edges.dtype == np.float32 else torch.int64
        return cls(edges, device, dtype)

    @property
    def shape(self) -> tuple[int, int]:
        return self.edges.shape


def flipped(
    noise: Flips, x: TorchEdges, size: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """A sparse tensor (size, rows, columns) of copies, and which are void.

    Ones and zeros to flip are few: the processor draws them, and their places alone go
    to the device.
    """
    rows, columns = x.shape
    # 64 bits of the block's generator: what follows is a function of its seed
    bits = torch.empty(1, dtype=torch.int64, device=generator.device)
    seed = int(bits.random_(generator=generator))
    numpy_generator = np.random.Generator(np.random.PCG64(seed))
    keys, void = flipped_keys(x.edges, noise.add, noise.delete, size, numpy_generator)
    flat = torch.from_numpy(keys).to(x.device)
    row = flat // columns
    indices = torch.stack([row // rows, row % rows, flat % columns])
    batch = torch.sparse_coo_tensor(
        indices,
        torch.ones(len(flat), dtype=x.dtype, device=x.device),
        (size, rows, columns),
        is_coalesced=True,  # the places ascend, copy by copy
        check_invariants=False,
    )
    return batch, torch.from_numpy(void).to(x.device)


def row_of(batch: torch.Tensor, place: int) -> torch.Tensor:
    """One copy, safe from what a model does to the batch."""
    return batch[place].clone()


def repeated(row: torch.Tensor, rows: int) -> torch.Tensor:
    """So many copies of a row."""
    if row.is_sparse:
        stacked: torch.Tensor = torch.stack([row] * rows).coalesce()
        return stacked
    return row[None].expand(rows, *row.shape).contiguous()


def split(batch: torch.Tensor, parts: int) -> Any:
    """A batch in so many parts of nearly the same size."""
    if not batch.is_sparse:
        return batch.tensor_split(parts)
    if parts == 1:
        return [batch]
    places = torch.arange(len(batch), device=batch.device).tensor_split(parts)
    return [batch.index_select(0, place).coalesce() for place in places]
