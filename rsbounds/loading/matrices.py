"""Sparse matrices in CSR form, as ``scipy.sparse.save_npz`` writes them."""

import hashlib
import math
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds._numerics.checks import as_integers
from rsbounds._numerics.text import shown
from rsbounds.loading.archives import stored_arrays
from rsbounds.loading.rows import LARGEST, Data, class_numbers, stored_array

MEMBERS = frozenset({"indices", "indptr", "data", "shape", "format"})


class MatrixData(Data):
    """``FILE.npz`` of a sparse matrix: a graph, or rows of binary features.

    With a label for each row in ``FILE.labels.npy`` each row is an input, a sparse
    matrix (1, columns). Without labels, or with one, the matrix is the only input, and
    its label is that or 0.
    """

    def __init__(self, path: Path, classes: Sequence[Any] | None) -> None:
        name = shown(path)
        self._matrix = _matrix(path, name)
        rows = self._matrix.shape[0]
        labels = np.zeros(1, np.int64)
        beside = path.with_suffix(".labels.npy")
        if beside.is_file():
            with ExitStack() as files:
                (y,) = stored_arrays(beside, files, "y")
                if y.shape not in ((rows,), (1,)):
                    raise ValueError(
                        f"{shown(beside)} must have one label, or one for each of the "
                        f"{rows} rows; got shape {y.shape}"
                    )
                given = y.rows(0, y.shape[0])
            labels = class_numbers(shown(beside), given, classes)
        self._by_rows = len(labels) == rows
        super().__init__(
            name,
            None,
            labels,
            kind="csr",
            shape=list(self._matrix.shape),
            by_rows=self._by_rows,
        )

    def __len__(self) -> int:
        assert self.labels is not None
        return len(self.labels)

    def _read(self, i: int) -> tuple[None, Any, int]:
        assert self.labels is not None
        x = self._matrix[[i]] if self._by_rows else self._matrix
        return None, x, int(self.labels[i])

    def _contents(self) -> str:
        return hashlib.sha256(stored_array(self._matrix)).hexdigest()


def _matrix(path: Path, name: str) -> Any:
    """The matrix of a file: its arrays' headers first, then what they promise."""
    from scipy import sparse

    with ExitStack() as files:
        stored = stored_arrays(path, files, "format", "shape", "indptr")
        form, shape, indptr = stored
        if form.shape != () or form.dtype.kind not in "SU" or form.dtype.itemsize > 64:
            raise ValueError(f"{name}: format must be a name; got {form.dtype}")
        kind = form.rows(0, 1).reshape(-1)[0]
        kind = kind.decode("latin-1") if isinstance(kind, bytes) else str(kind)
        if kind != "csr":
            raise ValueError(
                f"{name} must be a matrix in CSR form (matrix.tocsr()); got "
                f"{shown(kind)!r}"
            )
        if shape.shape != (2,):
            raise ValueError(f"{name}: shape must be two numbers; got {shape.shape}")
        rows, columns = as_integers(f"{name}: shape", shape.rows(0, 2), 1).tolist()
        if indptr.shape != (rows + 1,) or not rows * columns < 2**62:
            raise ValueError(
                f"{name}: indptr must be the begin of each of {rows} rows and the end "
                f"of the last; got shape {indptr.shape}"
            )
        indices, data = stored_arrays(path, files, "indices", "data")
        if len(indices.shape) != 1 or indices.shape != data.shape:
            raise ValueError(
                f"{name}: indices and data must be of one length; got shapes "
                f"{indices.shape} and {data.shape}"
            )
        if data.dtype.kind not in "biuf" or math.prod(data.shape) > LARGEST:
            raise ValueError(
                f"{name}: data must be at most {LARGEST} numbers; got {data.dtype} of "
                f"shape {data.shape}"
            )
        places = as_integers(f"{name}: indptr", indptr.rows(0, rows + 1))
        columns_stored = as_integers(
            f"{name}: indices", indices.rows(0, indices.shape[0])
        )
        values = data.rows(0, data.shape[0])
    ascending = (np.diff(places) >= 0).all()
    if places[0] != 0 or places[-1] != len(values) or not ascending:
        raise ValueError(
            f"{name}: indptr must ascend from 0 to the {len(values)} numbers that are "
            f"stored; got {places[0]} to {places[-1]}"
        )
    if not (columns_stored < columns).all():
        raise ValueError(
            f"{name}: indices must be below the {columns} columns; got "
            f"{columns_stored.max()}"
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{name}: data must be finite")
    matrix = sparse.csr_array((values, columns_stored, places), shape=(rows, columns))
    matrix.sort_indices()
    return matrix
