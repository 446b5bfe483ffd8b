"""Sparse matrices in CSR form, as ``scipy.sparse.save_npz`` writes them."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rsbounds._numerics.checks import as_integers
from rsbounds._numerics.text import shown
from rsbounds.loading.archives import Stored, stored_arrays
from rsbounds.loading.rows import LARGEST, Data, class_numbers

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
                stored = y.all()
            labels = class_numbers(shown(beside), stored, classes)
        self._by_rows = len(labels) == rows
        super().__init__(
            name,
            None,
            labels,
            kind="csr",
            by_rows=self._by_rows,
        )

    def __len__(self) -> int:
        assert self.labels is not None
        return len(self.labels)

    def _read(self, i: int) -> tuple[Any, int]:
        assert self.labels is not None
        x = self._matrix[[i]] if self._by_rows else self._matrix
        return x, int(self.labels[i])


class _MatrixParts(NamedTuple):
    """Where the arrays of a matrix are stored, and its shape."""

    shape: tuple[int, int]
    starts: Stored
    indices: Stored
    data: Stored


def _matrix(path: Path, name: str) -> Any:
    """The matrix of a file, once its headers and then its numbers are checked."""
    from scipy import sparse

    with ExitStack() as files:
        parts = _parts(path, name, files)
        starts = as_integers(f"{name}: indptr", parts.starts.all())
        columns = as_integers(f"{name}: indices", parts.indices.all())
        data = parts.data.all()
    ascending = (np.diff(starts) >= 0).all()
    if starts[0] != 0 or starts[-1] != len(data) or not ascending:
        raise ValueError(
            f"{name}: indptr must ascend from 0 to the {len(data)} numbers that are "
            f"stored; got {starts[0]} to {starts[-1]}"
        )
    if not (columns < parts.shape[1]).all():
        raise ValueError(
            f"{name}: indices must be below the {parts.shape[1]} columns; got "
            f"{columns.max()}"
        )
    if not np.isfinite(data).all():
        raise ValueError(f"{name}: data must be finite")
    matrix = sparse.csr_array((data, columns, starts), shape=parts.shape)
    matrix.sort_indices()
    return matrix


def _parts(path: Path, name: str, files: ExitStack) -> _MatrixParts:
    """The arrays of a matrix, as their headers promise them: nothing long is read."""
    form, shape, starts = stored_arrays(path, files, "format", "shape", "indptr")
    _require_rows_first(name, form)
    if shape.shape != (2,):
        raise ValueError(f"{name}: shape must be two numbers; got {shape.shape}")
    rows, columns = as_integers(f"{name}: shape", shape.all(), 1).tolist()
    if starts.shape != (rows + 1,) or not rows * columns < 2**62:
        raise ValueError(
            f"{name}: indptr must be the begin of each of {rows} rows and the end of "
            f"the last; got shape {starts.shape}"
        )
    indices, data = stored_arrays(path, files, "indices", "data")
    if len(indices.shape) != 1 or indices.shape != data.shape:
        raise ValueError(
            f"{name}: indices and data must be of one length; got shapes "
            f"{indices.shape} and {data.shape}"
        )
    if data.dtype.kind not in "biuf" or not data.shape[0] <= LARGEST:
        raise ValueError(
            f"{name}: data must be at most {LARGEST} numbers; got {data.dtype} of "
            f"shape {data.shape}"
        )
    return _MatrixParts((rows, columns), starts, indices, data)


def _require_rows_first(name: str, form: Stored) -> None:
    """ValueError unless a matrix says that it is stored row by row."""
    if form.shape != () or form.dtype.kind not in "SU" or form.dtype.itemsize > 64:
        raise ValueError(f"{name}: format must be a name; got {form.dtype}")
    (kind,) = form.all().tolist()
    kind = kind.decode("latin-1") if isinstance(kind, bytes) else kind
    if kind != "csr":
        raise ValueError(
            f"{name} must be a matrix in CSR form (matrix.tocsr()); got {shown(kind)!r}"
        )
