"""The function of a model, whatever its framework."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from rsbounds._numerics.checks import flag
from rsbounds.frameworks._estimators import of_estimator
from rsbounds.frameworks._shapes import one_shape
from rsbounds.frameworks._toolbox import is_art, of_art


def as_function(
    model: Any,
    *,
    outputs: bool = False,
    columns: Callable[[Any], Any] | None = None,
) -> Any:
    """The function of a scikit-learn estimator, a Keras model or a jitted JAX function.

    Parameters
    ----------
    model : object
        An estimator votes with what its ``predict`` says (:class:`FromLabels`); one
        without, with the largest of ``predict_proba`` or ``decision_function``. Keras
        models (of another backend than torch) and functions of ``jax.jit`` see batches
        of one shape. Anything else, torch modules too, is returned as it is.
    outputs : bool
        The model's outputs are wanted as they are, not a vote: ``predict`` of a
        regressor.
    columns : callable, optional
        Makes a frame of a batch, of the columns that an estimator, or that of a method
        such as ``estimator.predict_proba``, was fitted on. By default the columns of a
        batch are taken to be these, in their order.

    Raises
    ------
    ValueError
        If an estimator isn't fitted, or has several outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.frameworks import as_function
    >>> class Always:  # what scikit-learn calls a classifier
    ...     classes_ = np.array(["cat", "dog"])
    ...     def predict(self, x):
    ...         return ["dog"] * len(x)
    >>> as_function(Always())(np.zeros((2, 3), np.float32)).tolist()
    [[0, 1], [0, 1]]
    """
    # a model of a framework that is not loaded can't be here
    torch = sys.modules.get("torch")
    keras = sys.modules.get("keras")
    jax = sys.modules.get("jax")
    if isinstance(model, type):
        return model
    outputs = flag("outputs", outputs)
    if outputs and hasattr(model, "of_outputs"):  # a loaded estimator's
        return model.of_outputs()
    if torch is not None and isinstance(model, torch.nn.Module):
        return model
    if keras is not None and isinstance(model, keras.Model):
        return one_shape(model.predict_on_batch)
    if jax is not None and isinstance(model, jax.stages.Wrapped):
        return one_shape(model)
    if is_art(model):
        return of_art(model)
    if not callable(model):
        return of_estimator(model, outputs, columns)
    return model if columns is None else lambda batch: model(columns(batch))
