"""Train noise levels by certified radii: those of a sigma network, or of one input."""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from rsbounds._numerics.checks import count, number
from rsbounds.sampling.torch_modes import evaluating
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


def data_dependent_sigma(
    model: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    sigma: float,
    *,
    steps: int = 100,
    samples: int = 8,
    rate: float = 1e-3,
    seed: int = 0,
) -> float:
    """A noise level for one input by gradient ascent of its radius.

    The radius is sigma/2 (Phi^-1(p_A) - Phi^-1(p_B)) with the two largest mean class
    probabilities of ``samples`` noisy copies, drawn anew in each step. A level
    optimised at x says nothing of the level at x + delta, so a certificate with it
    holds for the noise of that input alone: :func:`rsbounds.schemes.this_input`.

    Parameters
    ----------
    model : callable
        Maps a batch to class scores.
    x : Tensor
        One input.
    sigma : float
        The level to start from, > 0; the result is at least a thousandth of it.
    steps, samples, rate, seed
        Number of steps and of noisy copies, >= 1; step of sigma along the gradient, >
        0; seed of the noise.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Alfarra, Bibi, Torr, Ghanem, Data dependent randomized smoothing; Sukenik,
    Kuvshinov, Günnemann, Algorithm 1.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import data_dependent_sigma
    >>> data_dependent_sigma(torch.nn.Linear(2, 2), torch.ones(2), 0.5, steps=3) > 0
    True
    """
    start = number("sigma", sigma, 0, closed="neither")
    steps = count("steps", steps, 1)
    samples = count("samples", samples, 1)
    rate = number("rate", rate, 0, closed="neither")
    level = torch.tensor(start, requires_grad=True, device="cpu")
    generator = torch.Generator("cpu").manual_seed(seed)
    with evaluating(model):
        for _ in range(steps):
            noise = torch.randn(
                samples, *x.shape, generator=generator, device="cpu"
            ).to(x.device)
            scores = wide(model(x + level.to(x.device) * noise).softmax(1).mean(0))
            top = torch.special.ndtri(scores.clamp(1e-6, 1 - 1e-6).topk(2).values).cpu()
            (slope,) = torch.autograd.grad(level / 2 * (top[0] - top[1]), level)
            moved = (level.detach() + rate * slope).clamp(min=1e-3 * start)
            level = moved.requires_grad_()
    return level.item()
