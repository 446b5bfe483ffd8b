"""PyTorch adapter: sampling under noise, the field's ``Smooth``, learned smoothing."""

from rsbounds.sampling.torch_sampler import TorchSampler
from rsbounds.torch import radius
from rsbounds.torch.adaptive import Adaptive
from rsbounds.torch.networks.biased import locally_biased, value_and_grad
from rsbounds.torch.networks.combine import Concatenation, GroupSort, Residual, Scale
from rsbounds.torch.networks.dense import DenseMaps
from rsbounds.torch.networks.lipschitz_bound import (
    gradient_lipschitz_upper_bound,
    lipschitz_upper_bound,
)
from rsbounds.torch.networks.shaped import (
    CertifiedGenerator,
    CertifiedNoise,
    FixedNoise,
    NoiseGenerator,
    NoiseMaps,
    generator_loss,
)
from rsbounds.torch.networks.sigma import SigmaNetwork
from rsbounds.torch.smooth import LogVotes, Smooth
from rsbounds.torch.training.fitting import fit
from rsbounds.torch.training.levels import average_radius_loss
from rsbounds.torch.training.perturbed import augment, pgd, soft_vote

__all__ = [
    "Adaptive",
    "CertifiedGenerator",
    "CertifiedNoise",
    "Concatenation",
    "DenseMaps",
    "FixedNoise",
    "GroupSort",
    "LogVotes",
    "NoiseGenerator",
    "NoiseMaps",
    "Residual",
    "Scale",
    "SigmaNetwork",
    "Smooth",
    "TorchSampler",
    "augment",
    "average_radius_loss",
    "fit",
    "generator_loss",
    "gradient_lipschitz_upper_bound",
    "lipschitz_upper_bound",
    "locally_biased",
    "pgd",
    "radius",
    "soft_vote",
    "value_and_grad",
]


def __dir__() -> list[str]:
    return sorted(__all__)
