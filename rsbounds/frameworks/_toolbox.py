"""Classifiers of the Adversarial Robustness Toolbox."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from rsbounds.frameworks._shapes import Function


def is_art(model: Any) -> bool:
    """Whether a model is a classifier of the Adversarial Robustness Toolbox."""
    art = sys.modules.get("art.estimators.classification.classifier")
    return art is not None and isinstance(model, art.ClassifierMixin)


def of_art(model: Any) -> Function:
    """Scores by ART's ``predict``, which turns dropout off by itself."""
    if hasattr(model, "certify"):
        raise ValueError(
            "the model must be the classifier that is smoothed; got "
            f"{type(model).__name__}, which is smoothed already: give the classifier "
            "it was made of"
        )
    dtype = importlib.import_module("art.config").ART_NUMPY_DTYPE
    return lambda batch: model.predict(
        batch.astype(dtype, copy=False), batch_size=max(len(batch), 1)
    )
