"""Rows of the laws of each kind of changes, by which many ways are looked at at once.

A way to make changes of several kinds has a region for each combination of theirs. To
decide whether events stay likely these need not be made: ``ways.hpp`` bounds what is
left from the rows of the kinds, and answers where its bounds are far from the edge.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array
from rsbounds.discrete._cells import Cells
from rsbounds.discrete._laws import UNIT, law_of
from rsbounds.discrete._questions import Questions
from rsbounds.discrete._ways import Ways
from rsbounds_ext.kernels import ways_hold

NO, YES, UNSURE = 0, 1, 2
#: How far bounds are from the edge where they decide. It is above what rows, their sums
#: and regions are off by, so that regions give the same answer.
MARGIN = 1e-9
#: What rows may be off by, relative; more would be no matter of rounding.
_ERROR = 2e-11
#: Regions of less at x' are left out, which lowers what is left.
_LEAST = 1e-20


class KindRows:
    """The laws of changes of one kind, each made when it is asked for.

    Attributes
    ----------
    made : dict
        By their number, arrays of five rows: the logarithms of likelihood ratios, which
        rise, masses at x and x', partial sums of those at x' from the first on and of
        those at x from the last on. Each has an entry more than there are regions.
    error : float
        Of masses and their sums, relative.
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self.made: dict[int, Array] = {}
        self.error = 0.0

    def make(self, changes: int) -> Array:
        """The row of so many changes, kept."""
        law = law_of(self._cells, changes)
        present = (law.mass > 0) & (law.shifted_mass > _LEAST)
        mass, shifted = law.mass[present], law.shifted_mass[present]
        ratio = shifted / mass
        order = np.argsort(ratio, kind="stable")
        row = np.zeros((5, len(order) + 1))
        row[0, :-1] = np.log(ratio[order])
        row[1, :-1] = mass[order]
        row[2, :-1] = shifted[order]
        row[3, 1:] = np.cumsum(row[2, :-1])
        row[4, :-1] = np.cumsum(row[1, -2::-1])[::-1]
        self.error = max(self.error, law.error + 8 * (len(order) + 8) * UNIT)
        self.made[changes] = row
        return row


def decided(
    rows: Sequence[KindRows], questions: Questions, ways: Ways, failed: Array
) -> NDArray[np.int8]:
    """``YES`` or ``NO`` for each question where that is clear, and else ``UNSURE``.

    Parameters
    ----------
    rows : sequence of KindRows
        Of each kind.
    questions, ways
        Whether the answer to each question is yes for all of these ways.
    failed : ndarray
        For each kind, its share of the changes in the way that failed last: similar
        ways are looked at first. It is written.
    """
    answers = np.full(questions.size, UNSURE, np.int8)
    laws = tuple((row.made, row.make) for row in rows)
    rest = None if questions.rest is None else np.ascontiguousarray(questions.rest.q)
    as_counts = (
        np.array(numbers, np.int64)
        for numbers in (
            ways.fixed,
            [total for total, _ in ways.groups],
            [len(kinds) for _, kinds in ways.groups],
            [kind for _, kinds in ways.groups for kind in kinds],
        )
    )
    top = np.ascontiguousarray(questions.top.q)
    ways_hold(laws, tuple(as_counts), top, rest, MARGIN, failed, answers)
    if not sum(row.error for row in rows) <= _ERROR:
        answers[:] = UNSURE
    return answers
