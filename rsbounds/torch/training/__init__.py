"""Training under noise: the loop, losses, attacks."""

from rsbounds.torch.training.fitting import adversarial, augment, evaluating, fit, pgd, soft_vote

__all__ = ["adversarial", "augment", "evaluating", "fit", "pgd", "soft_vote"]
