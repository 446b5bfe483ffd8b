"""Sequences that lose elements by chance, in edit distance.

References
----------
Huang et al., RS-Del: edit distance robustness certificates for sequence classifiers via
randomized deletion, 2023.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count
from rsbounds._numerics.domains import Domains
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option
from rsbounds._numerics.rationals import exact_probability
from rsbounds.certificate import EDIT
from rsbounds.noises._curve import Curve
from rsbounds.noises._discrete import CHANCE, DiscreteNoise
from rsbounds.noises._estimates import Part
from rsbounds.noises._named import held, spelled
from rsbounds.noises._noise import Bits, as_whole
from rsbounds.noises._regions import Regions
from rsbounds.noises._search import powers
from rsbounds.noises._ways import Counts


class Deletion(DiscreteNoise):
    """Each element of a sequence is deleted with one probability, in edit distance.

    The radius counts edits: insertions, deletions and substitutions of one element. The
    elements that are left close up. A function is called with a list of int64 arrays of
    different lengths, some perhaps empty. The probability is exact: see
    :func:`categorical` for what of torch's samples is void.

    Parameters
    ----------
    delete : float
        In (0, 1). It is taken as the rational number that it is.
    padding : int
        What a torch module sees behind the end of a sequence that has become shorter:
        its batches are as long as the input. The certificate is one for a function of
        sequences, so the module must not see how many there are: by the
        ``attention_mask`` that it is called with, or because this number stands for
        nothing else.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Huang et al., RS-Del: edit distance robustness certificates for sequence classifiers
    via randomized deletion, 2023; the theory page on discrete noise.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import schemes
    >>> scheme = schemes.deletion(0.9)
    >>> scheme.radius(2.3264, 0.9), scheme.norm
    (6.0, 'edit')
    >>> def model(sequences):  # whether at least half are left
    ...     return np.array([[len(s) >= 5, len(s) < 5] for s in sequences], float)
    >>> sampler = schemes.deletion(0.1).sampler(model)
    >>> sampler(np.arange(10), 0.1, 100, np.random.default_rng(0)).tolist()
    [100, 0]
    """

    name = "deletion"
    help = "elements of sequences are deleted, certified in edits"
    norm = EDIT
    domains: ClassVar[Domains] = {"delete": CHANCE}
    options = (
        Option("delete", "probability that an element is deleted (or a 1 becomes 0)"),
    )
    inputs = options
    padding: int

    def __init__(self, delete: Any, *, padding: int = 0) -> None:
        self.delete = exact_probability("delete", delete, "neither")
        self.padding = count("padding", padding)
        self.level = float(self.delete)
        self.law = f"deletion delete={spelled(self.delete)}"

    @property
    def parameters(self) -> dict[str, Any]:
        # the padding is the model's: no radius depends on it
        return {"delete": held("delete", self.delete)}

    def made_curve(self) -> Curve:
        return DeletionCurve(self.delete)

    def checked(self, x: Any) -> NDArray[np.int64]:
        if np.ndim(x) != 1:
            raise ArgumentError(
                "x", f"must be one sequence of whole numbers; got shape {np.shape(x)}"
            )
        return as_whole(x).astype(np.int64)

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        return bits.sequences(x, ~bits.happens(self.delete, (size, *x.shape)))

    def presented(self, batch: Any) -> list[NDArray[np.int64]]:
        """A list of sequences, each as long as what is left of it."""
        return list(batch)


class DeletionCurve(Curve):
    """Elements of a sequence deleted.

    r counts edits, or has a number of each kind: insertions, deletions, substitutions.

    The bound holds for every sequence; where elements repeat it may be below the exact
    optimum. ``delete`` may be 0 too.
    """

    kinds = 3
    far = 2**53

    def __init__(self, delete: Any) -> None:
        super().__init__()
        self.delete = exact_probability("delete", delete)
        if self.delete == 1:
            raise ArgumentError("delete", "must be in [0, 1); got 1")

    @property
    def parameters(self) -> dict[str, Any]:
        return {"delete": self.delete}

    @property
    def _worst(self) -> Counts:
        # a substitution changes both sequences, and counts as one edit: none is worse
        return (2,)

    def _parts(self, counts: Counts) -> list[Part]:
        inserted, deleted, substituted = counts
        gone, whole = self.delete.numerator, self.delete.denominator
        left = whole - gone
        # what is left of an element of x alone, of x' alone, and of either
        return [
            Part.of([(whole, gone)], whole, inserted),
            Part.of([(left, 0), (gone, whole)], whole, deleted),
            Part.of([(left, 0), (gone, gone)], whole, substituted),
        ]

    def _guess(self, lead: Fraction, end: int) -> int | None:
        # so many edits leave an element of each pair with this probability
        return powers(1 - self.delete, lead, end) if 0 < lead < 1 else None

    def _regions_of(self, counts: Counts) -> Regions:
        inserted, deleted, substituted = counts
        gone, whole = self.delete.numerator, self.delete.denominator
        most = max(inserted, deleted) + substituted
        scale = whole**most
        common = gone ** (deleted + substituted) * whole ** max(inserted - deleted, 0)
        shifted = gone ** (inserted + substituted) * whole ** max(deleted - inserted, 0)
        return Regions([scale - common, common], [0, shifted], scale)
