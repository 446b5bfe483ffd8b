"""Sequences that lose elements by chance, in edit distance.

References
----------
Huang et al., RS-Del: edit distance robustness certificates for sequence classifiers via
randomized deletion, 2023.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.answered import By
from rsbounds._numerics.checks import Array, count
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option
from rsbounds._numerics.parameters import Parameter
from rsbounds._numerics.rationals import double_probability, exact_probability, spelled
from rsbounds.certificate import EDITS
from rsbounds.discrete import Curve
from rsbounds.discrete.internal import (
    Cells,
    Counts,
    PairedLaw,
    Questions,
    kept_law,
    log_of_rest,
    powers,
)
from rsbounds.noises import Bits
from rsbounds.noises.internal import as_whole
from rsbounds.schemes._discrete import CHANCE, DiscreteScheme

__all__ = ["Deletion", "deletion"]


class Deletion(DiscreteScheme):
    """Deleted elements of sequences, in edit distance; see :func:`deletion`."""

    name = "deletion"
    help = "elements of sequences are deleted, certified in edits"
    norm = EDITS.spelled
    self_inverse = True
    declared = (
        Parameter.asked(
            "chance that an element is deleted",
            CHANCE,
            Option(
                "delete", "probability that an element is deleted (or a 1 becomes 0)"
            ),
            By.RERUN,
        ),
    )
    padding: int = 0  # the model's, which no radius depends on

    def read(self) -> None:
        self.delete = exact_probability("delete", self.parameters["delete"], "neither")
        self.level = float(self.delete)
        self.law = f"deletion delete={spelled(self.delete)}"

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


def deletion(delete: float, *, padding: int = 0) -> Deletion:
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
    >>> from rsbounds.sampling import as_sampler
    >>> scheme = schemes.deletion(0.9)
    >>> scheme.radius(2.3264, 0.9), scheme.norm
    (6.0, 'edit')
    >>> def model(sequences):  # whether at least half are left
    ...     return np.array([[len(s) >= 5, len(s) < 5] for s in sequences], float)
    >>> sampler = as_sampler(model, schemes.deletion(0.1))
    >>> sampler(np.arange(10), 0.1, 100, np.random.default_rng(0)).tolist()
    [100, 0]
    """
    chance = double_probability("delete", delete, "neither")
    scheme = Deletion({"delete": chance})
    scheme.padding = count("padding", padding)
    return scheme


class DeletionCurve(Curve):
    """Elements of a sequence deleted.

    r counts edits, or has a number of each kind: insertions, deletions, substitutions.

    The bound holds for every sequence; where elements repeat it may be below the exact
    optimum. ``delete`` may be 0 too.
    """

    kinds = 3
    far = 2**53
    most = 2**53

    def __init__(self, delete: Any) -> None:
        super().__init__()
        self.delete = exact_probability("delete", delete)
        if self.delete == 1:
            raise ArgumentError("delete", "must be in [0, 1); got 1")
        self._log_gone = log_of_rest(1 - self.delete)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"delete": self.delete}

    @property
    def worst(self) -> Counts:
        # a substitution changes both sequences, and counts as one edit: none is worse
        return (2,)

    def cells(self, kind: int) -> Cells:
        # what is left of an element of x' alone, of x alone, and of either
        left, gone = 1 - self.delete, self.delete
        inserted = [(Fraction(1), gone)]
        deleted = [(left, Fraction(0)), (gone, Fraction(1))]
        substituted = [(left, Fraction(0)), (gone, gone)]
        return Cells((inserted, deleted, substituted)[kind])

    def law(self, counts: Counts) -> PairedLaw:
        inserted, deleted, substituted = counts
        of_x, of_other = deleted + substituted, inserted + substituted
        log_kept, log_kept_shifted = (
            number * self._log_gone if number else 0.0 for number in (of_x, of_other)
        )
        return kept_law(log_kept, log_kept_shifted)

    def size(self, counts: Counts) -> int:
        return 2

    def guesses(self, questions: Questions) -> Array:
        # so many edits leave an element of each pair with this probability
        return powers(self._log_gone, questions.lead)
