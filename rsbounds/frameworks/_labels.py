"""Models that return labels: their scores, and the names of their classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_array, count, on_host
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown
from rsbounds.frameworks._shapes import Function
from rsbounds.frameworks._toolbox import is_art


class FromLabels:
    """Scores of a function that returns labels: 1 in the label's column, 0 elsewhere.

    Parameters
    ----------
    function : callable
        Takes an array (count, *shape of x), returns a label for each row.
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
        labels = as_array("classes", classes)
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

    def __call__(self, batch: NDArray[Any]) -> NDArray[np.uint8]:
        """Scores (count, classes) of a batch (count, *shape of x)."""
        returned = np.asarray(on_host("labels", self.function(batch)))
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


def labels_of(model: Any) -> list[Any] | None:
    """The labels of a model's classes in their order, where they aren't 0, 1, 2, ...

    Examples
    --------
    >>> from rsbounds.frameworks import FromLabels
    >>> from rsbounds.frameworks.internal import labels_of
    >>> labels_of(FromLabels(lambda batch: ["yes"] * len(batch), ["no", "yes"]))
    ['no', 'yes']
    """
    model = getattr(model, "classifier", model)  # of a sampler
    if isinstance(model, FromLabels):
        labels = model.labels
    else:
        # ART's classifier of scikit-learn has its estimator in ``model``
        estimator = getattr(model, "model", None) if is_art(model) else model
        classes = None if callable(model) else getattr(estimator, "classes_", None)
        labels = classes.tolist() if isinstance(classes, np.ndarray) else []
    are_numbers = not any(isinstance(label, bool) for label in labels)
    return None if labels == list(range(len(labels))) and are_numbers else labels
