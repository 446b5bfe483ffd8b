"""Rows of a table beside a model that names its classes, or its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown
from rsbounds.frameworks.internal import input_names
from rsbounds.loading._loaded import Loaded
from rsbounds.loading.models import ArrayClassifier
from rsbounds.loading.packages import need
from rsbounds.loading.rows import Data, class_numbers
from rsbounds.loading.tables import Table


class TableData(Data):
    """The rows of a table, for certification.

    ``labels`` are the model's classes in their order, by which the table's are
    numbered.
    """

    step = (
        "say like='train.csv', the training rows, or name the classes in their order: "
        "rsbounds.loading.Loaded(model, labels=[...])"
    )

    def __init__(
        self, table: Table, name: str, labels: Sequence[Any] | None = None
    ) -> None:
        self.table = table
        rule: dict[str, Any] = (
            {} if table.missing is None else {"missing": table.missing}
        )
        numbers = _class_numbers(table, labels)
        super().__init__(shown(name), None, numbers, kind="table", **rule)
        self.categories = dict(enumerate(table.categories, start=len(table.numbers)))
        if _are_names(table) and not labels:
            self.ordered_classes = len(table.classes)

    def __len__(self) -> int:
        return len(self.table.x)

    def _read(self, i: int) -> tuple[NDArray[Any], int]:
        return self.table.x[i], self.label(i)


def _are_names(table: Table) -> bool:
    """Whether a table's classes are text, whose order alone numbers them."""
    return all(isinstance(name, str) for name in table.classes)


def _class_numbers(table: Table, labels: Sequence[Any] | None) -> NDArray[np.int64]:
    """The classes of a table's rows as places among a model's, where it names them."""
    if not labels:
        return table.y
    if not _are_names(table):
        return class_numbers("data", table.y, labels)
    # a file has text in place of True and False
    names = np.array(table.classes)[table.y]
    return class_numbers("data", names, [str(label) for label in labels])


def by_name(loaded: Loaded, table: Table) -> Loaded:
    """A model that names its columns, given those of a table by their names.

    They are in the table's units, as those were that the model was fitted on. Another
    model is given rows as they are.
    """
    names = None
    if isinstance(loaded.model, ArrayClassifier):
        names = input_names(loaded.model.model)
    if names is None:
        return loaded
    columns = [*table.numbers, *table.categories]
    if set(names) != set(columns):
        raise ArgumentError(
            "data",
            "must have the columns that the model was fitted on, "
            f"{shown(str(names)):.200}; got {shown(str(columns)):.200}: take out or "
            "rename those that differ",
        )
    pandas = need("pandas", "a model fitted on a frame")
    model = loaded.model.of_columns(
        lambda batch: pandas.DataFrame(table.columns(batch))[names]
    )
    return replace(loaded, model=model)
