"""Training under noise: the loop, losses, attacks."""

from rsbounds.torch.training.fitting import adversarial, augment, evaluating, fit, pgd, soft_vote
from rsbounds.torch.training.recipes import (
    consistency_loss,
    macer_loss,
    smooth_adversarial,
    smooth_adversarial_loss,
)
from rsbounds.torch.training.stages import passed_on, reject_labels, soft_labels

__all__ = [
    "adversarial",
    "augment",
    "consistency_loss",
    "evaluating",
    "fit",
    "macer_loss",
    "passed_on",
    "pgd",
    "reject_labels",
    "smooth_adversarial",
    "smooth_adversarial_loss",
    "soft_labels",
    "soft_vote",
]
