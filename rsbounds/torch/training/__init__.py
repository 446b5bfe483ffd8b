"""Losses for training under noise, for :func:`rsbounds.torch.fit` or any other loop.

Each is a function of a module and a batch and raises ValueError for an argument out of
its domain.
"""

from rsbounds.torch.training.cascades import Stage, cascade
from rsbounds.torch.training.recipes import (
    consistency_loss,
    macer_loss,
    passed_on,
    smooth_adversarial,
    smooth_adversarial_loss,
    soft_labels,
)

__all__ = [
    "Stage",
    "cascade",
    "consistency_loss",
    "macer_loss",
    "passed_on",
    "smooth_adversarial",
    "smooth_adversarial_loss",
    "soft_labels",
]
