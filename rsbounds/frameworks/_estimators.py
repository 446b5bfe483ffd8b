"""What has scikit-learn's methods as a function of batches."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import flag
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown
from rsbounds.frameworks._labels import FromLabels
from rsbounds.frameworks._shapes import Function


def is_estimator(model: Any) -> bool:
    """Whether an object that can't be called has a method that says its outputs.

    Examples
    --------
    >>> from rsbounds.frameworks.internal import is_estimator
    >>> is_estimator(3)
    False
    """
    methods = ("predict", "predict_proba", "decision_function")
    return any(callable(getattr(model, name, None)) for name in methods)


def is_regressor(model: Any) -> bool:
    """Whether scikit-learn takes an object for a regressor, whose outputs are values.

    Examples
    --------
    >>> from rsbounds.frameworks.internal import is_regressor
    >>> is_regressor(lambda batch: batch)
    False
    """
    base = sys.modules.get("sklearn.base")
    if base is None or callable(model) or hasattr(model, "classes_"):
        return False
    try:
        return bool(base.is_regressor(model))
    except Exception:  # another package's object, without scikit-learn's tags
        return False


def input_names(model: Any) -> list[Any] | None:
    """Names of the columns that an estimator, or that of a method, was fitted on.

    None where it was fitted on arrays, or can't say.

    Examples
    --------
    >>> from rsbounds.frameworks.internal import input_names
    >>> input_names(lambda batch: batch) is None
    True
    """
    estimator = getattr(model, "__self__", model)
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else list(names)


def require_columns(model: Any, data: Any) -> None:
    """Raise ArgumentError for a frame whose columns an estimator was not fitted on.

    Their order counts: frames are read by position.

    Examples
    --------
    >>> from rsbounds.frameworks.internal import require_columns
    >>> require_columns(lambda batch: batch, [[0.5, 1.0]])  # nothing has names
    """
    fitted = input_names(model)
    x = data[0] if isinstance(data, tuple) and data else data
    columns = getattr(x, "columns", None)
    if fitted is None or columns is None:
        return
    columns = list(columns)
    if columns != fitted:
        raise ArgumentError(
            "data",
            "must have the columns that the model was fitted on, in their order, "
            f"{shown(str(fitted)):.80}; got {shown(str(columns)):.80}",
        )


def of_estimator(model: Any, outputs: bool, columns: Function | None = None) -> Any:
    """The function of what has scikit-learn's methods; anything else as it is.

    ``columns`` makes a frame of a batch.
    """
    name = type(model).__name__
    classes = getattr(model, "classes_", None)
    outputs = flag("outputs", outputs)
    if outputs and hasattr(model, "predict"):
        return _flat(model.predict, columns)
    if hasattr(model, "predict") and classes is not None:
        if isinstance(classes, list) or np.ndim(classes) != 1:
            raise ValueError(
                f"the model must have one output; got a {name} with several"
            )
        return FromLabels(_flat(model.predict, columns), classes)
    if is_regressor(model):
        raise ValueError(
            f"the model must be a classifier; got a {name}, a regressor: its outputs "
            "are certified by rsbounds.answers.Values(scheme, radii)"
        )
    if hasattr(model, "predict"):
        raise ValueError(
            f"the model must be a fitted classifier; got a {name} without classes_: "
            "fit it, or name them as "
            "rsbounds.frameworks.FromLabels(model.predict, classes)"
        )
    if hasattr(model, "predict_proba"):
        return _flat(model.predict_proba, columns)
    if hasattr(model, "decision_function"):
        decide = _flat(model.decision_function, columns)
        return lambda batch: _two_columns(decide(batch))
    return model


def _flat(method: Function, columns: Function | None) -> Function:
    """A method that takes tables, for inputs of any shape.

    An estimator that was fitted on a frame is given frames: a ``ColumnTransformer``
    finds its columns by their names, and scikit-learn warns about arrays. They are
    those of ``columns``, where it is known which column is which.
    """
    if columns is not None:
        return lambda batch: method(columns(batch))

    def of_tables(batch: NDArray[Any]) -> Any:
        table = batch.reshape(len(batch), -1)
        estimator = getattr(method, "__self__", None)
        wanted = getattr(estimator, "n_features_in_", table.shape[1])
        if table.shape[1] != wanted:
            raise ArgumentError(
                "x",
                f"has {table.shape[1]} numbers, and the {type(estimator).__name__} was "
                f"fitted on {wanted} columns",
            )
        names = getattr(estimator, "feature_names_in_", None)
        if names is None or len(names) != table.shape[1]:
            return method(table)
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            return method(table)
        return method(pandas.DataFrame(table, columns=list(names), copy=False))

    return of_tables


def _two_columns(returned: Any) -> NDArray[Any]:
    scores: NDArray[Any] = np.asarray(returned)
    if scores.ndim == 1 or scores.shape[1:] == (1,):
        return np.stack([-scores.ravel(), scores.ravel()], axis=1)
    return scores
