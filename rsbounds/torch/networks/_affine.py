"""Bounds of dense layers and of batch normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks._matrices import spectral_norm, weight
from rsbounds.torch.networks._trust import name


def dense(module: Any) -> float:
    """The norm of the weights."""
    return spectral_norm(weight(module))


def batch_norm(module: Any) -> float:
    """In eval mode: the largest |weight|/sqrt(running variance + eps)."""
    if module.running_var is None or module.running_mean is None:
        raise ValueError("batch normalisation without running statistics has no proven bound")
    variance = module.running_var.detach().cpu().double().numpy()
    if not ((variance >= 0) & (variance < np.inf)).all():
        raise ValueError(f"the running variance of {name(module)} must be finite and >= 0")
    if not ((variance + module.eps > 0) & (variance + module.eps < np.inf)).all():
        raise ValueError(f"eps of {name(module)} must be > 0; got {module.eps}")
    # torch multiplies by the weight where there is one, whatever ``affine`` says
    scale = 1.0 if module.weight is None else np.abs(weight(module))
    return float(np.max(scale / np.sqrt(variance + module.eps))) * (1 + 4 * EPS)
