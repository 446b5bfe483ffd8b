"""Zeros that become ones and ones that become zeros, each with its chance, in l_0.

References
----------
Bojchevski, Gasteiger, Günnemann, Efficient robustness certificates for discrete data,
2020.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from rsbounds._numerics.domains import Domain, Domains
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options, as_switch
from rsbounds._numerics.rationals import exact_probability
from rsbounds.noises import _edges
from rsbounds.noises._curve import NO_NOISE, Curve
from rsbounds.noises._discrete import FrontierNoise
from rsbounds.noises._estimates import Part
from rsbounds.noises._named import held, spelled
from rsbounds.noises._noise import Bits, as_whole
from rsbounds.noises._questions import Question
from rsbounds.noises._regions import Regions, product_of_powers
from rsbounds.noises._ways import Counts

FLIP = Domain(0.0, 1.0, "left")


class Flips(FrontierNoise):
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
    >>> scheme = schemes.flips(0.01, 0.6)
    >>> scheme.radius(1.2816, 0.6), scheme.further(1.2816, -1.2816)
    (1.0, {'frontier': '0,3;1,1'})
    >>> def model(graphs):  # whether an edge leaves node 0
    ...     degree = np.array([graph[[0]].sum() for graph in graphs])
    ...     return np.stack([degree > 0, degree == 0], axis=1)
    >>> sampler = schemes.flips(0.01, 0.5, symmetric=True).sampler(model)
    >>> graph = sparse.csr_array(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    >>> counts = sampler(graph, 0.5, 1000, np.random.default_rng(0))
    >>> bool(700 < counts[0] < 800)  # 750 is expected
    True
    """

    name = "flips"
    help = "zeros and ones flip: graphs, binary features, certified in l0"
    domains: ClassVar[Domains] = {"add": FLIP, "delete": FLIP}
    options = (
        Option("add", "probability that a 0 becomes 1"),
        Option("delete", "probability that a 1 becomes 0 (or an element is deleted)"),
        Option(
            "symmetric",
            "on: x are adjacency matrices of undirected graphs, a pair is drawn once",
            as_switch,
            default=False,
            metavar="on|off",
        ),
    )
    inputs = options[:2]
    block_parameters = ("add", "delete", "symmetric")

    def __init__(self, add: Any, delete: Any, *, symmetric: bool = False) -> None:
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

    @property
    def parameters(self) -> dict[str, Any]:
        stated = {"add": held("add", self.add), "delete": held("delete", self.delete)}
        return stated | ({"symmetric": True} if self.symmetric else {})

    @classmethod
    def stated(cls, options: Options, dim: int | None) -> dict[str, Any]:
        stated = {name: options[name] for name in ("add", "delete")}
        return stated | ({"symmetric": True} if options.get("symmetric") else {})

    def made_curve(self) -> Curve:
        return FlipsCurve(self.add, self.delete)

    def checked(self, x: Any) -> Any:
        if _edges.is_sparse(x):
            return _edges.edges(x, symmetric=self.symmetric)
        given = as_whole(x, 1)
        if self.symmetric:
            _edges.require_square(given.shape)
            _edges.require_symmetric((given == given.T).all())
        return given

    def numbers(self, x: Any) -> int:
        return x.stored(self.add) if isinstance(x, _edges.Edges) else int(x.size)

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        if isinstance(x, _edges.Edges):
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
        one = x == 1
        changed = bits.happens_where(one, self.delete, self.add, size)
        return bits.like(one ^ changed, x)

    def flipped_keys(self, x: _edges.Edges, size: int, bits: Bits) -> _edges.Places:
        """The keys of the ones of so many copies of a sparse matrix."""
        keys, void = _edges.flipped_keys(x, self.add, self.delete, size, bits.on_host())
        bits.discard(void)
        return keys


class FlipsCurve(Curve):
    """Bits that appear and disappear, each with its probability.

    r is a pair: how many ones x' has where x has zeros (added), and how many zeros
    where x has ones (deleted); a number is that many changes whatever their kind.
    ``add`` and ``delete`` are in [0, 1], their sum not 1.
    """

    kinds = 2

    def __init__(self, add: Any, delete: Any) -> None:
        super().__init__()
        self.add = exact_probability("add", add)
        self.delete = exact_probability("delete", delete)
        if self.add + self.delete == 1:
            raise ArgumentError("add", f"{NO_NOISE} {add!r}, 1 - delete")
        scale = math.lcm(self.add.denominator, self.delete.denominator)
        add_mass = int(self.add * scale)
        delete_mass = int(self.delete * scale)
        self._scale = scale
        # mass of a bit that comes out like the input's, unlike it: where x has 0, 1
        self._zero = [scale - add_mass, add_mass]
        self._one = [scale - delete_mass, delete_mass]

    @property
    def parameters(self) -> dict[str, Any]:
        return {"add": self.add, "delete": self.delete}

    @property
    def far(self) -> int:  # type: ignore[override]
        # where one kind is the worse, or both are alike, there is one way
        return 2**17 if len(self._worst) == 1 else 1024

    def _parts(self, counts: Counts) -> list[Part]:
        # masses of a bit that comes out like x's, and unlike it, as in _regions_of
        added = list(zip(self._zero, self._one[::-1], strict=True))
        deleted = list(zip(self._one, self._zero[::-1], strict=True))
        return [
            Part.of(added, self._scale, counts[0]),
            Part.of(deleted, self._scale, counts[1]),
        ]

    def _regions_of(self, counts: Counts) -> Regions:
        added, deleted = counts
        size = added + deleted + 1
        # by the number of bits that come out unlike x's: at x, and at x' where they
        # are those that come out like x''s
        mass = product_of_powers([(self._zero, added), (self._one, deleted)])
        shifted_mass = product_of_powers(
            [(self._one[::-1], added), (self._zero[::-1], deleted)]
        )
        mass += [0] * (size - len(mass))
        shifted_mass += [0] * (size - len(shifted_mass))
        if self.add + self.delete > 1:
            mass, shifted_mass = mass[::-1], shifted_mass[::-1]
        return Regions(mass, shifted_mass, self._scale ** (added + deleted))

    def _frontier(self, question: Question) -> list[tuple[Any, ...]]:
        return self._pairs(question)
