"""Training under noise: the loop, losses, attacks.

The losses are functions of a module and a batch, for :func:`rsbounds.torch.fit` or any other loop.
Every function here raises ValueError for an argument out of its domain.
"""

from rsbounds.torch.training.fitting import adversarial, augment, fit, pgd, soft_vote
from rsbounds.torch.training.recipes import (
    consistency_loss,
    macer_loss,
    smooth_adversarial,
    smooth_adversarial_loss,
)
from rsbounds.torch.training.stages import passed_on, soft_labels

__all__ = [
    "adversarial",
    "augment",
    "consistency_loss",
    "fit",
    "macer_loss",
    "passed_on",
    "pgd",
    "smooth_adversarial",
    "smooth_adversarial_loss",
    "soft_labels",
    "soft_vote",
]
