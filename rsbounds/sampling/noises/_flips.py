"""Zeros that become ones and ones that become zeros, with chances of their own."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rationals import exact_probability
from rsbounds.sampling.noises import _edges
from rsbounds.sampling.noises._noise import (
    Noise,
    as_whole,
    happens,
    spelled,
)

__all__ = ["Flips", "flips"]


class Flips(Noise):
    """See :func:`flips`."""

    def __init__(self, add: Any, delete: Any, *, symmetric: bool = False) -> None:
        self.add = exact_probability("add", add)
        self.delete = exact_probability("delete", delete)
        if self.add + self.delete == 1:
            raise ArgumentError(
                "add",
                "and delete must not sum to 1: copies would not depend on the input",
            )
        if not isinstance(symmetric, bool):
            raise ArgumentError("symmetric", f"must be True or False; got {symmetric}")
        self.symmetric = symmetric
        self.law = f"flips add={spelled(self.add)} delete={spelled(self.delete)}"
        if symmetric:
            self.law += " symmetric"

    def checked(self, x: Any) -> Any:
        if _edges.is_sparse(x):
            return _edges.edges(x, symmetric=self.symmetric)
        given = as_whole(x, 1)
        if self.symmetric:
            _edges.require_square(given.shape)
            _edges.require_symmetric((given == given.T).all())
        return given

    def numbers(self, x: Any) -> int:
        if not isinstance(x, _edges.Edges):
            return super().numbers(x)
        zeros = x.coordinates - len(x.ones)
        stored = len(x.ones) + int(zeros * self.add) + len(x.diagonal)
        return x.shape[0] + (2 * stored if x.symmetric else stored)

    def noisy(
        self, x: Any, sigma: float, size: int, generator: np.random.Generator
    ) -> tuple[Any, Any]:
        if isinstance(x, _edges.Edges):
            return _edges.flipped(x, self.add, self.delete, size, generator)
        batch = np.repeat(x[None], size, axis=0)
        upper = _above_diagonal(len(x)) if self.symmetric else np.ones(x.shape, bool)
        zero = (x == 0) & upper
        one = (x == 1) & upper
        batch[:, zero] = happens(self.add, (size, int(zero.sum())), generator)
        batch[:, one] = ~happens(self.delete, (size, int(one.sum())), generator)
        if self.symmetric:
            row, column = np.nonzero(upper)
            batch[:, column, row] = batch[:, row, column]
        return batch, False


def _above_diagonal(nodes: int) -> NDArray[np.bool_]:
    above: NDArray[np.bool_] = np.triu(np.ones((nodes, nodes), np.bool_), 1)
    return above


def flips(add: Any, delete: Any, *, symmetric: bool = False) -> Flips:
    """A zero becomes a one with probability ``add``, a one a zero with ``delete``.

    All coordinates are independent. The probabilities are exact: see
    :func:`categorical`. Inputs are arrays of zeros and ones of any shape, or sparse
    matrices (SciPy's, torch's). Of a sparse matrix as many zeros flip as a binomial
    draw says, at places drawn without replacement, and no dense matrix is ever made;
    the time grows with the ones that are stored and drawn. A function is called with a
    list of matrices in CSR form then. A sample whose binomial draw is ambiguous, with a
    probability below 2^-40, counts for no class.

    Parameters
    ----------
    add, delete : float or Fraction
        In [0, 1], not 1 in sum.
    symmetric : bool
        For adjacency matrices of undirected graphs: the coordinates are the pairs of
        nodes, each drawn once. Inputs are symmetric; their diagonal stays as it is, and
        is no part of what an attack may change.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Bojchevski, Gasteiger and Gunnemann, Efficient robustness certificates for discrete
    data: sparsity-aware randomized smoothing for graphs, images and more, ICML 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from rsbounds.sampling import as_sampler, noises
    >>> def model(graphs):  # whether an edge leaves node 0
    ...     degree = np.array([graph[[0]].sum() for graph in graphs])
    ...     return np.stack([degree > 0, degree == 0], axis=1)
    >>> noise = noises.flips(0.01, 0.5, symmetric=True)
    >>> graph = sparse.csr_array(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    >>> sampler = as_sampler(model, noise=noise)
    >>> counts = sampler(graph, 1.0, 1000, np.random.default_rng(0))
    >>> bool(700 < counts[0] < 800)  # 750 is expected
    True
    """
    return Flips(add, delete, symmetric=symmetric)
