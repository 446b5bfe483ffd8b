"""What is asked of a model under noise: votes, scores, values, or maps of classes.

A question checks what the model returns for a batch, and gathers it block by block. It
knows arrays by :class:`rsbounds.sampling.port.Arrays` alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from rsbounds._numerics.checks import on_host
from rsbounds.confidence import ScoreHistogram
from rsbounds.sampling.margins import leads
from rsbounds.sampling.port import Arrays

#: Of outputs that are not scores of classes.
Kind = Literal["values", "maps"]
_SUM = 1 - 2.0**-48  # scores of more classes than 2^20 aside, their sum is at most 1


class Question(ABC):
    """What a sampler's calls return, of what the model returns for each batch."""

    kind: str
    _shape: tuple[int, ...] | None = None  # of each row, once it is known
    _type: Any = None  # of the numbers that were returned last

    def checked(self, returned: Any, rows: int, arrays: Arrays) -> Any:
        """What was returned for so many rows, as an array; ValueError for others.

        Rows must always be of one shape.
        """
        try:
            outputs = arrays.as_array(returned)
        except ValueError as error:
            hint = _of_entries(returned, rows)
            raise ValueError(f"{self._expected(rows)}; got {error}{hint}") from None
        shape = tuple(outputs.shape)
        if shape[0] == rows and (shape[1:], outputs.dtype) == (self._shape, self._type):
            return outputs
        if shape[0] != rows or 0 in shape or not self._fits(shape):
            raise ValueError(
                f"{self._expected(rows)}; got shape {shape}{self._hint(outputs)}"
            )
        if not arrays.is_real(outputs):
            raise ValueError(
                f"{self._expected(rows)}, real numbers; got type {outputs.dtype}"
            )
        if self._shape not in (None, shape[1:]):
            raise ValueError(self._changed(shape[1:]))
        self._shape = shape[1:]
        self._type = outputs.dtype
        return outputs

    @abstractmethod
    def added(
        self, total: Any, outputs: Any, void: Any, margin: float | None, arrays: Arrays
    ) -> Any:
        """What was gathered, and the outputs of further samples, some of them void."""

    @abstractmethod
    def _expected(self, rows: int) -> str: ...

    @abstractmethod
    def _fits(self, shape: tuple[int, ...]) -> bool: ...

    def _hint(self, outputs: Any) -> str:
        """What outputs of a wrong shape may be, and what to return in their place."""
        return ""

    def _changed(self, shape: tuple[int, ...]) -> str:
        return (
            f"the model must always return outputs of one shape; got {self._shape} and "
            f"then {shape}"
        )


class _Scored(Question):
    """Scores of classes, shape (count, classes)."""

    def __init__(self, num_classes: int | None = None) -> None:
        self.num_classes = num_classes

    def _expected(self, rows: int) -> str:
        return (
            f"the model must return scores of shape ({rows}, "
            f"{self.num_classes or 'classes'}), at least two classes, for a batch of "
            f"{rows}"
        )

    def _fits(self, shape: tuple[int, ...]) -> bool:
        return (
            len(shape) == 2 and shape[1] >= 2 and self.num_classes in (None, shape[1])
        )

    def _hint(self, outputs: Any) -> str:
        shape = tuple(outputs.shape)
        if len(shape) > 2:
            return (
                " (a class at each position? ask for maps; x is one input, not a batch)"
            )
        if 0 in shape or shape[1:] not in ((), (1,)):
            return ""
        return f" ({_about_one_number(on_host('outputs', outputs), shape)})"

    def _changed(self, shape: tuple[int, ...]) -> str:
        assert self._shape is not None
        return (
            "the model must always return scores of as many classes; got "
            f"{self._shape[0]} and then {shape[0]}"
        )


def _about_one_number(outputs: Any, shape: tuple[int, ...]) -> str:
    """What one number for each input may be, and which two scores say the same."""
    values = np.asarray(outputs)
    if len(shape) == 1 and _are_labels(values):
        return (
            "labels? scores have a column for each class: give "
            "rsbounds.frameworks.FromLabels(predict, classes)"
        )
    logit = "a logit z: return the columns 0 and z"
    if ((values >= 0) & (values <= 1)).all():
        return (
            "a probability p of the second class: return the columns 1 - p and p; "
            f"{logit}, which decide at 0"
        )
    return logit


def _are_labels(values: Any) -> bool:
    if values.dtype.kind in "USO":
        return True
    return bool(np.array_equal(values, np.floor(values.real)))


def _of_entries(returned: Any, rows: int) -> str:
    """Which entries of what was returned may be scores, by their shapes."""
    if isinstance(returned, Mapping):
        entries = list(returned.items())
    elif isinstance(returned, tuple | list):
        entries = list(enumerate(returned))
    else:
        return ""
    fitting = [
        f"[{name!r}]"
        for name, entry in entries
        if len(shape := tuple(getattr(entry, "shape", ()))) == 2 and shape[0] == rows
    ]
    return f"; of the right shape is {' and '.join(fitting)}" if fitting else ""


class _Counted(Question):
    """Counts of classes over scores (count, classes), or (count, classes, *positions).

    A void sample counts for none, and one whose scores hold a NaN, or whose largest
    score doesn't lead the second by more than the margin, for none at that position.
    """

    def added(
        self, total: Any, outputs: Any, void: Any, margin: float | None, arrays: Arrays
    ) -> Any:
        rows, classes = outputs.shape[:2]
        positions = len(outputs.shape) > 2
        scores = outputs.reshape(rows, classes, -1) if positions else outputs
        largest, label = arrays.largest(scores)  # NaN where one of them is
        nobody = (void[:, None] if positions else void) | arrays.isnan(largest)
        if margin is not None:
            nobody = nobody | ~leads(scores, margin, arrays)
        kinds = classes + 1  # the last of them is none
        label = arrays.where(nobody, classes, label)
        if positions:
            label = label + arrays.steps(scores.shape[2], kinds, label)
            counts = arrays.counts(label, scores.shape[2] * kinds)
            counts = counts.reshape(-1, kinds)[:, :classes]
        else:
            counts = arrays.counts(label, kinds)[:classes]
        return counts if total is None else total + counts


class VoteQuestion(_Counted, _Scored):
    """How many samples fall on each class, whole numbers of shape (classes,)."""

    kind = "votes"


class ScoreQuestion(_Scored):
    """A histogram of each class's scores in [0, 1]."""

    kind = "scores"

    def added(
        self, total: Any, outputs: Any, void: Any, margin: float | None, arrays: Arrays
    ) -> Any:
        scores = arrays.as_floats(outputs)
        scores[arrays.as_floats(void) > 0] = np.nan
        nothing = np.isnan(scores).any(axis=1, keepdims=True)
        valid = np.where(nothing, 0.0, scores)
        valid = valid * (_SUM / np.maximum(valid.sum(axis=1, keepdims=True), 1.0))
        total = total or tuple(ScoreHistogram() for _ in range(valid.shape[1]))
        for histogram, column in zip(total, valid.T, strict=True):
            histogram.add(column)
        return total


class ValueQuestion(Question):
    """The outputs of each sample, shape (n, outputs); NaN where it is void."""

    kind = "values"

    def added(
        self, total: Any, outputs: Any, void: Any, margin: float | None, arrays: Arrays
    ) -> Any:
        rows = arrays.floating(outputs.reshape(len(outputs), -1))
        blocks = [] if total is None else total
        # a copy: the model may write over its outputs
        blocks.append(arrays.where(void[:, None], np.nan, rows))
        return blocks

    def _expected(self, rows: int) -> str:
        return (
            "the model must return outputs of shape (count,) or (count, outputs) for a "
            f"batch of {rows}"
        )

    def _fits(self, shape: tuple[int, ...]) -> bool:
        return len(shape) <= 2


class Above(ValueQuestion):
    """How many samples' one output is at most a number, and above it: two counts.

    Compared in float64, whatever the type of the outputs, which may not hold the
    number. A void sample, and one whose output is NaN, counts for neither.
    """

    def __init__(self, number: float) -> None:
        self.number = number

    def added(
        self, total: Any, outputs: Any, void: Any, margin: float | None, arrays: Arrays
    ) -> Any:
        wide, exact = arrays.wide(outputs.reshape(-1, 1))
        output = wide[:, 0]
        unknown = arrays.isnan(output)
        if exact is not None:  # rounded to the number, it may lie on either side
            unknown = unknown | ~exact & (output == self.number)
        kind = arrays.where(unknown, 2, (output > self.number) * 1)
        kind = arrays.where(void, 2, arrays.beside(kind, outputs))
        counts = arrays.counts(kind, 3)[:2]
        return counts if total is None else total + counts

    def _expected(self, rows: int) -> str:
        return (
            "the model must return one output of shape (count,) or (count, 1) for a "
            f"batch of {rows}"
        )

    def _fits(self, shape: tuple[int, ...]) -> bool:
        return shape[1:] in ((), (1,))


class MapQuestion(_Counted):
    """How many samples chose each class at each position, (positions, classes)."""

    kind = "maps"

    def _expected(self, rows: int) -> str:
        return (
            "the model must return outputs of shape (count, classes, *positions) for a "
            f"batch of {rows}"
        )

    def _fits(self, shape: tuple[int, ...]) -> bool:
        return len(shape) >= 3 and shape[1] >= 2


def question_of(kind: Kind) -> Question:
    """The question that asks for outputs of a kind."""
    return ValueQuestion() if kind == "values" else MapQuestion()
