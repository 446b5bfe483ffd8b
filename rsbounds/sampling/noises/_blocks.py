"""Different noises on disjoint groups of coordinates: edges and features."""

from itertools import pairwise
from typing import Any

import numpy as np

from rsbounds._numerics.checks import as_integers, on_host
from rsbounds._numerics.errors import ArgumentError
from rsbounds.sampling.noises import _edges
from rsbounds.sampling.noises._categorical import Categorical
from rsbounds.sampling.noises._flips import Flips
from rsbounds.sampling.noises._mask import Mask
from rsbounds.sampling.noises._noise import Noise

__all__ = ["Blocks", "blocks"]


class Blocks(Noise):
    """See :func:`blocks`."""

    def __init__(self, *noises: Noise, splits: Any) -> None:
        for noise in noises:
            if not isinstance(noise, Categorical | Flips | Mask):
                raise ArgumentError(
                    "noises", f"must be categorical, flips or masks; got {noise!r}"
                )
        borders = as_integers("splits", splits, 1)
        if borders.ndim != 1 or len(borders) != len(noises) - 1 or not len(borders):
            raise ArgumentError(
                "splits",
                f"must be one column between each two of at least two noises; got "
                f"{splits!r} for {len(noises)}",
            )
        if (np.diff(borders) <= 0).any():
            raise ArgumentError("splits", f"must ascend; got {splits!r}")
        self.noises = noises
        self.splits: tuple[int, ...] = tuple(borders.tolist())
        laws = "; ".join(noise.law for noise in noises)
        self.law = f"blocks [{laws}] splits={','.join(map(str, self.splits))}"

    def checked(self, x: Any) -> Any:
        if _edges.is_sparse(x):
            x = _edges.of_scipy(x).tocsr()
        else:
            x = np.asarray(on_host("x", x))
        width = x.shape[-1] if x.ndim else 0
        if not self.splits[-1] < width:
            raise ArgumentError(
                "x",
                f"must have more than {self.splits[-1]} columns, where the last group "
                f"begins; got {width}",
            )
        ends = pairwise((0, *self.splits, width))
        return [
            noise.checked(x[..., low:high] if x.ndim != 2 else x[:, low:high])
            for noise, (low, high) in zip(self.noises, ends, strict=True)
        ]

    def numbers(self, x: Any) -> int:
        return sum(
            noise.numbers(part) for noise, part in zip(self.noises, x, strict=True)
        )

    def noisy(
        self, x: Any, sigma: float, size: int, generator: np.random.Generator
    ) -> tuple[Any, Any]:
        if isinstance(x[0], _edges.Edges):
            flips = [noise for noise in self.noises if isinstance(noise, Flips)]
            chances = [(noise.add, noise.delete) for noise in flips]
            return _edges.flipped_side_by_side(x, chances, size, generator)
        drawn = [
            noise.noisy(part, sigma, size, generator)
            for noise, part in zip(self.noises, x, strict=True)
        ]
        void = np.zeros(size, np.bool_)
        for _, of_part in drawn:
            void |= of_part
        batches = [batch for batch, _ in drawn]
        return np.concatenate(batches, axis=-1), void


def blocks(*noises: Noise, splits: Any) -> Blocks:
    """A noise of its own for each group of columns, all independent.

    A graph whose nodes have binary features is one matrix, adjacency on the left and
    features on the right; the noise of each side is drawn with its own chances.

    Parameters
    ----------
    *noises : Noise
        Of :func:`categorical`, :func:`flips` or :func:`mask`, at least two.
    splits : sequence of int
        The columns (along the last axis) at which the second and further groups begin,
        ascending, one less than there are noises.

    Raises
    ------
    ValueError
        If the noises are others, or the splits don't go with them.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling import noises
    >>> edges = noises.flips(0.001, 0.8)
    >>> features = noises.flips(0.003, 0.4)
    >>> noise = noises.blocks(edges, features, splits=[2])
    >>> noise.law
    'blocks [flips add=0.001 delete=0.8; flips add=0.003 delete=0.4] splits=2'
    """
    return Blocks(*noises, splits=splits)
