"""Zeros that become ones and ones that become zeros, each with its chance, in l_0.

References
----------
Bojchevski, Gasteiger, Günnemann, Efficient robustness certificates for discrete data,
2020.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rsbounds._numerics.answered import By
from rsbounds._numerics.domains import Domain
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options, as_switch
from rsbounds._numerics.parameters import Parameter, Type
from rsbounds._numerics.rationals import double_probability, exact_probability, spelled
from rsbounds.discrete import Curve
from rsbounds.discrete.internal import (
    NO_NOISE,
    Cells,
    Counts,
    Edges,
    PairedLaw,
    Places,
    edges,
    flipped_keys,
    is_sparse,
    law_of,
    require_square,
    require_symmetric,
)
from rsbounds.noises import Bits
from rsbounds.noises.internal import as_whole
from rsbounds.schemes._discrete import FrontierScheme

__all__ = ["Flips", "flips"]

FLIP = Domain(0.0, 1.0, "left")
_ADD = Option("add", "probability that a 0 becomes 1")
_DELETE = Option("delete", "probability that a 1 becomes 0 (or an element is deleted)")


class Flips(FrontierScheme):
    """Zeros and ones that flip, in l_0; see :func:`flips`."""

    name = "flips"
    help = "zeros and ones flip: graphs, binary features, certified in l0"
    self_inverse = True
    alphabet = 2
    frontier_kinds = ("additions", "deletions")
    declared = (
        Parameter.asked("chance that a 0 becomes 1", FLIP, _ADD, By.RERUN),
        Parameter.asked("chance that a 1 becomes 0", FLIP, _DELETE, By.RERUN),
        Parameter(
            "symmetric",
            "whether pairs are drawn once",
            answered_by=By.RERUN,
            option=Option(
                "symmetric",
                "on: x are adjacency matrices of undirected graphs, a pair is drawn "
                "once",
                as_switch,
                default=False,
                metavar="on|off",
            ),
            type=Type.FLAG,
        ),
    )
    block_parameters = ("add", "delete", "symmetric")

    def read(self) -> None:
        add, delete = (self.parameters[name] for name in ("add", "delete"))
        symmetric = self.parameters.get("symmetric", False)
        self.add = exact_probability("add", add, "left")
        self.delete = exact_probability("delete", delete, "left")
        if self.add + self.delete == 1:
            raise ArgumentError("add", f"{NO_NOISE} {add!r}, 1 - delete")
        if not self.add + self.delete < 1:
            raise ArgumentError(
                "add",
                "must be below 1 - delete: copies must depend on the input; got "
                f"{add} and delete = {delete}",
            )
        if not self.add + self.delete > 0:
            raise ArgumentError("add", "must leave the noise some chance")
        if not isinstance(symmetric, bool):
            raise ArgumentError("symmetric", f"must be True or False; got {symmetric}")
        self.symmetric = symmetric
        self.level = float(max(self.add, self.delete))
        self.law = f"flips add={spelled(self.add)} delete={spelled(self.delete)}"
        if symmetric:
            self.law += " symmetric"

    @classmethod
    def parameters_of(cls, options: Options, dim: int | None) -> dict[str, Any]:
        parameters = {name: options[name] for name in ("add", "delete")}
        return parameters | ({"symmetric": True} if options.get("symmetric") else {})

    def made_curve(self) -> Curve:
        return FlipsCurve(self.add, self.delete)

    def checked(self, x: Any) -> Any:
        if is_sparse(x):
            return edges(x, symmetric=self.symmetric)
        array = as_whole(x, 1)
        if self.symmetric:
            require_square(array.shape)
            require_symmetric((array == array.T).all())
        return array

    def numbers(self, x: Any) -> int:
        return x.stored(self.add) if isinstance(x, Edges) else int(x.size)

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        if isinstance(x, Edges):
            return bits.matrices(self.flipped_keys(x, size, bits), x, size)
        if not self.symmetric:
            return self._flipped(x, size, bits)
        row, column = (bits.array(i) for i in np.triu_indices(len(x), 1))
        pairs_drawn = self._flipped(x[row, column], size, bits)
        batch = bits.xp.tile(x, (size, 1, 1))
        batch[:, row, column] = pairs_drawn
        batch[:, column, row] = pairs_drawn
        return batch

    def _flipped(self, x: Any, size: int, bits: Bits) -> Any:
        is_one = x == 1
        changed = bits.happens_where(is_one, self.delete, self.add, size)
        return bits.like(is_one ^ changed, x)

    def flipped_keys(self, x: Edges, size: int, bits: Bits) -> Places:
        """The keys of the ones of so many copies of a sparse matrix."""
        keys, void = flipped_keys(x, self.add, self.delete, size, bits.on_host())
        bits.discard(void)
        return keys


def flips(add: float, delete: float, *, symmetric: bool = False) -> Flips:
    """A 0 becomes 1 with probability ``add``, a 1 becomes 0 with ``delete``; in l_0.

    The radius counts changed coordinates of either kind; the column ``frontier`` has
    the pairs (added, deleted) that are certified. All coordinates are independent, and
    the probabilities exact: see :func:`categorical` for what of torch's samples is
    void.

    Inputs are arrays of zeros and ones of any shape, or sparse matrices (SciPy's,
    torch's). Of a sparse matrix as many zeros flip as a binomial draw says, at places
    drawn without replacement, and no dense matrix is ever made; the time grows with the
    ones that are stored and drawn. A function is called with a list of matrices in CSR
    form then. A sample whose binomial draw is ambiguous, with a probability below
    2^-40, counts for no class.

    Parameters
    ----------
    add, delete : float
        In [0, 1), below 1 in sum and not both 0. They are taken as the rational numbers
        that they are.
    symmetric : bool
        Inputs are adjacency matrices of undirected graphs: a pair of nodes is one
        coordinate, drawn once. They are symmetric; their diagonal stays as it is, and
        is no part of what an attack may change.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Bojchevski, Gasteiger, Günnemann, Efficient robustness certificates for discrete
    data, 2020; the theory page on discrete noise.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from rsbounds import schemes
    >>> from rsbounds.sampling import as_sampler
    >>> scheme = schemes.flips(0.01, 0.6)
    >>> scheme.radius(1.2816, 0.6), scheme.further(1.2816, -1.2816)
    (1.0, {'frontier': '0,3;1,1'})
    >>> def model(graphs):  # whether an edge leaves node 0
    ...     degree = np.array([graph[[0]].sum() for graph in graphs])
    ...     return np.stack([degree > 0, degree == 0], axis=1)
    >>> scheme = schemes.flips(0.01, 0.5, symmetric=True)
    >>> sampler = as_sampler(model, scheme)
    >>> graph = sparse.csr_array(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    >>> counts = sampler(graph, 0.5, 1000, np.random.default_rng(0))
    >>> bool(700 < counts[0] < 800)  # 750 is expected
    True
    """
    parameters: dict[str, Any] = {
        "add": double_probability("add", add, "left"),
        "delete": double_probability("delete", delete, "left"),
    }
    if symmetric is not False:
        parameters["symmetric"] = symmetric
    return Flips(parameters)


class FlipsCurve(Curve):
    """Bits that appear and disappear, each with its probability.

    r is a pair: how many ones x' has where x has zeros (added), and how many zeros
    where x has ones (deleted); a number is that many changes whatever their kind.
    ``add`` and ``delete`` are in [0, 1], their sum not 1.
    """

    kinds = 2
    most = 2**17
    in_pairs = True

    def __init__(self, add: Any, delete: Any) -> None:
        super().__init__()
        self.add = exact_probability("add", add)
        self.delete = exact_probability("delete", delete)
        if self.add + self.delete == 1:
            raise ArgumentError("add", f"{NO_NOISE} {add!r}, 1 - delete")
        # a bit that comes out like the input's, and unlike it: where x has 0, 1
        zero, one = (1 - self.add, self.add), (1 - self.delete, self.delete)
        added = Cells(zip(zero, one[::-1], strict=True))
        deleted = Cells(zip(one, zero[::-1], strict=True))
        self._changed = added, deleted

    @property
    def parameters(self) -> dict[str, Any]:
        return {"add": self.add, "delete": self.delete}

    @property
    def far(self) -> int:  # type: ignore[override]
        # where one kind is the worse, or both are alike, there is one way
        return self.most if len(self.worst) == 1 else 1024

    def cells(self, kind: int) -> Cells:
        return self._changed[kind]

    def law(self, counts: Counts) -> PairedLaw:
        added, deleted = map(law_of, self._changed, counts)
        if self._changed[0].is_lattice:
            # the ratio depends on how many bits come out unlike x's, of both kinds
            return added.along(deleted)
        return added.beside(deleted)

    def size(self, counts: Counts) -> int:
        return sum(counts) + 1
