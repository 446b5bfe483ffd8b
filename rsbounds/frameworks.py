"""Models of any framework as functions from a NumPy batch to scores.

No framework is imported here.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count, flag
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown

__all__ = ["as_function"]

Function = Callable[[NDArray[np.float32]], Any]
CELLS, ROWS = 2**18, 512  # numbers of one compiled batch, and its rows at most


def as_function(model: Any, *, outputs: bool = False) -> Any:
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
    if _is_art(model):
        return _of_art(model)
    return model if callable(model) else _estimator(model, outputs)


def is_estimator(model: Any) -> bool:
    """Whether an object that can't be called has a method that says its outputs.

    Examples
    --------
    >>> from rsbounds.frameworks import is_estimator
    >>> is_estimator(3)
    False
    """
    methods = ("predict", "predict_proba", "decision_function")
    return any(callable(getattr(model, name, None)) for name in methods)


def is_regressor(model: Any) -> bool:
    """Whether scikit-learn takes an object for a regressor, whose outputs are values.

    Examples
    --------
    >>> from rsbounds.frameworks import is_regressor
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


def labels_of(model: Any) -> list[Any] | None:
    """The labels of a model's classes in their order, where they aren't 0, 1, 2, ...

    Examples
    --------
    >>> from rsbounds.frameworks import FromLabels, labels_of
    >>> labels_of(FromLabels(lambda batch: ["yes"] * len(batch), ["no", "yes"]))
    ['no', 'yes']
    """
    model = getattr(model, "classifier", model)  # of a sampler
    if isinstance(model, FromLabels):
        labels = model.labels
    else:
        # ART's classifier of scikit-learn has its estimator in ``model``
        estimator = getattr(model, "model", None) if _is_art(model) else model
        classes = None if callable(model) else getattr(estimator, "classes_", None)
        labels = classes.tolist() if isinstance(classes, np.ndarray) else []
    return None if labels == list(range(len(labels))) else labels


def require_columns(model: Any, data: Any) -> None:
    """Raise ArgumentError for a frame whose columns an estimator was not fitted on.

    Their order counts: frames are read by position.

    Examples
    --------
    >>> from rsbounds.frameworks import require_columns
    >>> require_columns(lambda batch: batch, [[0.5, 1.0]])  # nothing has names
    """
    fitted = getattr(model, "feature_names_in_", None)
    x = data[0] if isinstance(data, tuple) and data else data
    given = getattr(x, "columns", None)
    if fitted is None or given is None:
        return
    given, fitted = list(given), list(fitted)
    if given != fitted:
        raise ArgumentError(
            "data",
            "must have the columns that the model was fitted on, in their order, "
            f"{shown(str(fitted)):.80}; got {shown(str(given)):.80}",
        )


class FromLabels:
    """Scores of a function that returns labels: 1 in the label's column, 0 elsewhere.

    Parameters
    ----------
    function : callable
        Takes a float32 array (count, *shape of x), returns a label for each row.
    classes : int or sequence
        How many, where the labels are 0 ... classes - 1; or the labels, numbers or
        text: the place of a label among them is its class.

    Raises
    ------
    ValueError
        If there are fewer than two classes, or one twice; when called, if what is
        returned isn't a label for each row, or is none of these.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import certify
    >>> from rsbounds.frameworks import FromLabels
    >>> from rsbounds.schemes import gaussian
    >>> def direction(batch):
    ...     return np.where(batch[:, 0] > 0, "up", "down")
    >>> model = FromLabels(direction, ["down", "up"])
    >>> result = certify(model, [0.5, 0.0], gaussian(0.5), n=10_000)
    >>> model.labels[result.predict], 0.45 < result.radius < 0.5  # the truth is 0.5
    ('up', True)
    """

    def __init__(self, function: Function, classes: int | Sequence[Any]) -> None:
        if isinstance(classes, int | np.integer):
            classes = range(count("classes", classes, 2))
        labels = np.asarray(classes)
        self.function = function
        self.labels = labels.tolist()
        self._place: dict[Any, int] = {}
        if labels.ndim == 1:
            self._place = {label: i for i, label in enumerate(self.labels)}
        if len(self._place) < 2 or len(self._place) != len(self.labels):
            raise ArgumentError(
                "classes",
                "must be at least two labels, each once, or how many they are; got "
                f"{shown(str(classes))!r:.80}",
            )

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Scores (count, classes) of a batch (count, *shape of x)."""
        returned = np.asarray(self.function(batch))
        if returned.shape not in ((len(batch),), (len(batch), 1)):
            raise ValueError(
                f"the model must return a label for each of {len(batch)} rows; got "
                f"shape {returned.shape}"
            )
        values, inverse = np.unique(returned.ravel(), return_inverse=True)
        for value in values.tolist():
            if value not in self._place:
                known = shown(", ".join(map(repr, self.labels[:9])))
                raise ValueError(
                    f"the model must return labels of {known}; got {value!r:.40}"
                )
        places = np.array([self._place[value] for value in values.tolist()])
        scores = np.zeros((len(batch), len(self.labels)), np.uint8)
        scores[np.arange(len(batch)), places[inverse.ravel()]] = 1
        return scores


def one_shape(function: Function) -> Function:
    """Give one shape for each input to a function that is compiled for each shape.

    Batches are cut in pieces of as many rows as about 2^18 numbers make, 16 to 512; the
    last one is filled up with zeros.
    """

    def in_one_shape(batch: NDArray[np.float32]) -> NDArray[Any]:
        rows = min(max(CELLS // max(batch[:1].size, 1), 16), ROWS)
        return in_pieces(lambda piece: _numbers(function(piece)), batch, rows)

    return in_one_shape


def in_pieces(function: Function, batch: NDArray[Any], rows: int) -> NDArray[Any]:
    """Call a function of batches of exactly ``rows`` rows on any number of rows."""
    filler = np.zeros((-len(batch) % rows, *batch.shape[1:]), batch.dtype)
    filled = np.concatenate([batch, filler])
    returned = [function(part) for part in np.split(filled, len(filled) // rows)]
    for part in returned:
        if np.shape(part)[:1] != (rows,):
            raise ValueError(
                f"the model must return {rows} rows for {rows}; got {np.shape(part)}"
            )
    return np.concatenate(returned)[: len(batch)]


def _numbers(returned: Any) -> NDArray[Any]:
    """An array of any device in a type of NumPy's: bfloat16 is none."""
    array = np.asarray(returned)
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def _estimator(model: Any, outputs: bool) -> Any:
    """The function of what has scikit-learn's methods; anything else as it is."""
    name = type(model).__name__
    classes = getattr(model, "classes_", None)
    outputs = flag("outputs", outputs)
    if outputs and hasattr(model, "predict"):
        return _flat(model.predict)
    if hasattr(model, "predict") and classes is not None:
        if isinstance(classes, list) or np.ndim(classes) != 1:
            raise ValueError(
                f"the model must have one output; got a {name} with several"
            )
        return FromLabels(_flat(model.predict), classes)
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
        return _flat(model.predict_proba)
    if hasattr(model, "decision_function"):
        return lambda batch: _two_columns(_flat(model.decision_function)(batch))
    return model


def _is_art(model: Any) -> bool:
    """Whether a model is a classifier of the Adversarial Robustness Toolbox."""
    art = sys.modules.get("art.estimators.classification.classifier")
    return art is not None and isinstance(model, art.ClassifierMixin)


def _of_art(model: Any) -> Function:
    """Scores by ART's ``predict``, which turns dropout off by itself."""
    if hasattr(model, "certify"):
        raise ValueError(
            "the model must be the classifier that is smoothed; got "
            f"{type(model).__name__}, which is smoothed already: give the classifier "
            "it was made of"
        )
    return lambda batch: model.predict(batch, batch_size=max(len(batch), 1))


def _flat(method: Function) -> Function:
    """A method that takes tables, for inputs of any shape.

    An estimator that was fitted on a frame is given frames: a ``ColumnTransformer``
    finds its columns by their names, and scikit-learn warns about arrays.
    """

    def of_tables(batch: NDArray[np.float32]) -> Any:
        table = batch.reshape(len(batch), -1)
        names = getattr(getattr(method, "__self__", None), "feature_names_in_", None)
        if names is None or len(names) != table.shape[1]:
            return method(table)
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            return method(table)
        return method(pandas.DataFrame(table, columns=list(names), copy=False))

    return of_tables


def _two_columns(scores: Any) -> NDArray[Any]:
    scores = np.asarray(scores)
    return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores


def __dir__() -> list[str]:
    return sorted(__all__)
