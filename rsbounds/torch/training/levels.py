"""Train the noise levels of a sigma network by certified radii."""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from rsbounds._numerics.checks import number
from rsbounds.sampling.torch_noise import wide
from rsbounds.torch import radius
from rsbounds.torch.networks.sigma import SigmaNetwork
from rsbounds.torch.training.perturbed import soft_vote


def average_radius_loss(
    model: Callable[[torch.Tensor], torch.Tensor],
    network: SigmaNetwork,
    x: torch.Tensor,
    y: torch.Tensor,
    *,
    lip: float | torch.Tensor,
    dim: float,
    samples: int = 8,
    penalty: float = 0.0,
    largest: float = 8.0,
) -> torch.Tensor:
    """Minus the average certified radius of soft votes, plus a penalty on weights.

    The score of the true class is its mean probability under noise of the network's
    level; the radius is :func:`rsbounds.torch.radius.lipschitz`, so the gradient
    reaches the model and the network. If ``lip`` is a number, the radius takes it as
    constant and the penalty pushes it down; if it is a tensor made of the network's
    weights, training sees what it costs.

    Parameters
    ----------
    model, x, y
        As in :func:`rsbounds.torch.training.macer_loss`.
    network : SigmaNetwork
    lip : float or Tensor
        A Lipschitz bound of the network: that of ``network.scheme(shape)``, computed
        now and then, or a
        tensor such as the size of the last weight where the layers before it are kept
        1-Lipschitz.
    dim : float
        Dimension of the input.
    samples, penalty
        Noisy copies of each input, >= 1, and the weight, >= 0, of the sum of the
        spectral norms of the network's weights (kernels flattened).
    largest : float
        Normal score, > 0, beyond which nothing is gained: the samples of a certificate
        show at most that of (alpha/2)^(1/n), 3.2 for n = 10,000 and alpha = .001.

    References
    ----------
    The training objective of Bergstrom, Sager, Anderson, Lipschitz standard deviation
    networks.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import SigmaNetwork, average_radius_loss
    >>> model = torch.nn.Linear(3, 2)
    >>> network = SigmaNetwork(torch.nn.Linear(3, 1), 0.25)
    >>> x, y = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    >>> average_radius_loss(model, network, x, y, lip=0.5, dim=3).shape
    torch.Size([])
    """
    penalty = number("penalty", penalty, 0)
    largest = number("largest", largest, 0, closed="neither")
    sigma = network(x)
    p = soft_vote(model, x, sigma, samples).gather(1, y[:, None])[:, 0]
    z = torch.special.ndtri(wide(p).clamp(1e-12, 1 - 1e-12)).clamp(max=largest)
    radii = radius.lipschitz(
        z, sigma, lip=lip, sigma_min=network.sigma_min, dim=dim, scores=True
    )
    return penalty * norm_penalty(network.modules()) - radii.mean()


def norm_penalty(modules: Iterable[nn.Module]) -> torch.Tensor:
    """Sum of the spectral norms of the weights (kernels flattened), differentiable."""
    kinds = nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d
    weights = [module.weight for module in modules if isinstance(module, kinds)]
    norms = [torch.linalg.matrix_norm(weight.flatten(1), 2) for weight in weights]
    return torch.stack(norms).sum() if norms else torch.zeros(())
