"""The field's losses for smoothed classifiers, and for the levels of noise that follow the input.

Plain Gaussian augmentation is ``cross_entropy(model(augment(x, sigma)), y)``. Each loss returns a
tensor of one number.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from rsbounds._numerics.checks import as_floats, count
from rsbounds.torch import radius
from rsbounds.torch.networks._layers import CONVOLUTIONS
from rsbounds.torch.networks.sigma import SigmaNetwork
from rsbounds.torch.training.fitting import evaluating, levels, pgd, soft_vote

Model = Callable[[torch.Tensor], torch.Tensor]
Level = float | torch.Tensor

_CLAMP = 1e-7  # a few samples do not tell scores nearer to 0 or 1 apart


def macer_loss(
    model: Model,
    x: torch.Tensor,
    y: torch.Tensor,
    sigma: Level,
    *,
    samples: int = 16,
    weight: float = 12.0,
    beta: float = 16.0,
    gamma: float = 8.0,
) -> torch.Tensor:
    """MACER: the smoothed classifier's cross-entropy, and a hinge on its radius where it is right.

    The mean over the batch of -log p_y + weight sigma/2 max(gamma - (z_A - z_B), 0) 1[right],
    where p is the mean softmax under noise, and z are the normal scores of the two largest mean
    softmax values of ``beta`` times the model's scores.

    Parameters
    ----------
    model : callable
        Maps a batch to class scores (before softmax).
    x, y : Tensor
        A batch of inputs and its labels.
    sigma : float or Tensor, shape (n,)
        Noise level, > 0.
    samples : int
        Noisy copies of each input, >= 1.
    weight, beta, gamma : float
        lambda, the inverse temperature and the hinge's place, >= 0, > 0, > 0; the defaults are
        the paper's for sigma = .25 on CIFAR-10.

    References
    ----------
    Zhai et al., MACER: attack-free and scalable robust training via maximizing certified
    radius, ICLR 2020.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import macer_loss
    >>> x, y = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    >>> macer_loss(torch.nn.Linear(3, 2), x, y, 0.5).shape
    torch.Size([])
    """
    as_floats("weight", weight, 0, nan=False)
    as_floats("beta", beta, 0, closed="neither", nan=False)
    as_floats("gamma", gamma, 0, closed="neither", nan=False)
    scores, level = _scores(model, x, _noise(x, sigma, samples)), levels(x, sigma)
    accuracy = -(scores.softmax(-1).mean(1).gather(1, y[:, None]) + _CLAMP).log().mean()
    top, place = (beta * scores).softmax(-1).mean(1).double().topk(2)
    top = top.clamp(_CLAMP, 1 - _CLAMP)
    radii = radius.gaussian(top[:, 0], level, p_b=top[:, 1])
    hinge = (gamma * level / 2 - radii).clamp(min=0.0) * (place[:, 0] == y)
    return accuracy + weight * hinge.mean().to(accuracy)


def consistency_loss(
    model: Model,
    x: torch.Tensor,
    y: torch.Tensor,
    sigma: Level,
    *,
    samples: int = 2,
    weight: float = 10.0,
    entropy: float = 0.5,
) -> torch.Tensor:
    """Cross-entropy of noisy copies, and how far each copy's prediction is from their mean.

    mean_i CE(F_i, y) + weight mean_i KL(F || F_i) + entropy H(F), where F is the mean of the
    copies' softmax F_i.

    Parameters
    ----------
    model, x, y, sigma
        As in :func:`macer_loss`.
    samples : int
        Noisy copies of each input, >= 2.
    weight, entropy : float
        lambda and eta, >= 0; the paper takes lambda 10 or 20 and eta .5.

    References
    ----------
    Jeong, Shin, Consistency regularization for certified robustness of smoothed classifiers,
    NeurIPS 2020.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import consistency_loss
    >>> x, y = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    >>> consistency_loss(torch.nn.Linear(3, 2), x, y, 0.5).shape
    torch.Size([])
    """
    count("samples", samples, 2)
    as_floats("weight", weight, 0, nan=False), as_floats("entropy", entropy, 0, nan=False)
    log = _scores(model, x, _noise(x, sigma, samples)).log_softmax(-1)
    mean = log.exp().mean(1)
    log_mean = (mean + 1e-20).log()
    accuracy = -log.gather(-1, y[:, None, None].expand(-1, samples, 1)).mean()
    apart = (mean[:, None] * (log_mean[:, None] - log)).sum(-1).mean()
    spread = -(mean * log_mean).sum(-1).mean()
    return accuracy + weight * apart + entropy * spread


def smooth_adversarial_loss(
    model: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    sigma: Level,
    radius: Level,
    *,
    samples: int = 2,
    steps: int = 10,
) -> torch.Tensor:
    """SmoothAdv: cross-entropy at inputs that an attack on the **smoothed** classifier has moved.

    The attack is :func:`rsbounds.torch.pgd` on - log of the mean softmax of the true class over the
    same noisy copies in every step, the model in eval mode; the loss is that of these copies at the
    moved inputs. The paper raises ``radius`` from 0 over the first ten epochs and uses radii of .25
    to 1 at sigma of .12 to 1.

    Parameters
    ----------
    model, x, y, sigma, samples
        As in :func:`macer_loss`.
    radius : float or Tensor, shape (n,)
        How far inputs may move in l2, >= 0.
    steps : int
        Steps of the attack, >= 1.

    References
    ----------
    Salman et al., Provably robust deep learning via adversarially trained smoothed classifiers,
    NeurIPS 2019: SmoothAdv-PGD, Algorithm 1.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import smooth_adversarial_loss
    >>> x, y = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    >>> smooth_adversarial_loss(torch.nn.Linear(3, 2), x, y, 0.5, 0.25).shape
    torch.Size([])
    """
    noise, steps = _noise(x, sigma, samples), count("steps", steps, 1)

    def harm(point: torch.Tensor) -> torch.Tensor:
        mean = _scores(model, point, noise).softmax(-1).mean(1)
        right: torch.Tensor = mean.gather(1, y[:, None])[:, 0]
        return -(right + 1e-20).log()

    with evaluating(model):
        moved = pgd(harm, x, radius, steps=steps, step=min(1.0, 2 / steps))
    scores = _scores(model, moved, noise).flatten(0, 1)
    loss: torch.Tensor = cross_entropy(scores, y.repeat_interleave(samples))
    return loss


def average_radius_loss(
    model: Model,
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
    """Minus the average certified radius of soft votes, plus ``penalty`` times sum \\|W\\|.

    The score of the true class is its mean probability under noise of the network's level; the
    radius is :func:`rsbounds.torch.radius.lipschitz`, so the gradient reaches the model and the
    network. If ``lip`` is a number, the radius takes it as constant and the penalty pushes it
    down; if it is a tensor made of the network's weights, training sees what it costs.

    Parameters
    ----------
    model, x, y, samples
        As in :func:`rsbounds.torch.training.macer_loss`.
    network : SigmaNetwork
    lip : float or Tensor
        A Lipschitz bound of the network: ``network.lip``, computed now and then, or a tensor such
        as the size of the last weight where the layers before it are kept 1-Lipschitz.
    dim : float
        Dimension of the input.
    penalty : float
        Weight, >= 0, of the sum of the spectral norms of the network's weights (kernels flattened).
    largest : float
        Normal score, > 0, beyond which nothing is gained: the samples of a certificate show at
        most that of (alpha/2)^(1/n), 3.2 for n = 10,000 and alpha = .001.

    References
    ----------
    The training objective of Bergstrom, Sager, Anderson, Lipschitz standard deviation networks.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import SigmaNetwork, average_radius_loss
    >>> model, network = torch.nn.Linear(3, 2), SigmaNetwork(torch.nn.Linear(3, 1), 0.25)
    >>> x, y = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    >>> average_radius_loss(model, network, x, y, lip=network.lip, dim=3).shape
    torch.Size([])
    """
    as_floats("penalty", penalty, 0, nan=False)
    as_floats("largest", largest, 0, closed="neither", nan=False)
    sigma = network(x)
    p = soft_vote(model, x, sigma, samples).gather(1, y[:, None])[:, 0]
    z = torch.special.ndtri(p.double().clamp(1e-12, 1 - 1e-12)).clamp(max=largest)
    radii = radius.lipschitz(z, sigma, lip=lip, sigma_min=network.sigma_min, dim=dim, scores=True)
    layers = [m for m in network.modules() if isinstance(m, (nn.Linear, *CONVOLUTIONS))]
    norms = (torch.linalg.matrix_norm(layer.weight.flatten(1), 2) for layer in layers)
    return penalty * sum(norms, torch.zeros(())) - radii.mean()


def data_dependent_sigma(
    model: Model,
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
    probabilities of ``samples`` noisy copies, drawn anew in each step. A level optimised at x says
    nothing of the level at x + delta, so a certificate with it holds for the noise of that input
    alone: :func:`rsbounds.schemes.this_input`.

    Parameters
    ----------
    model, samples
        As in :func:`rsbounds.torch.training.macer_loss`.
    x : Tensor
        One input.
    sigma : float
        The level to start from, > 0; the result is at least a thousandth of it.
    steps, rate, seed
        Number of steps, >= 1; step of sigma along the gradient, > 0; seed of the noise.

    References
    ----------
    Alfarra, Bibi, Torr, Ghanem, Data dependent randomized smoothing; Sukenik, Kuvshinov,
    Günnemann, Algorithm 1.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import data_dependent_sigma
    >>> data_dependent_sigma(torch.nn.Linear(2, 2), torch.ones(2), 0.5, steps=3) > 0
    True
    """
    start = float(as_floats("sigma", sigma, 0, closed="neither", nan=False))
    count("samples", samples, 1), as_floats("rate", rate, 0, closed="neither", nan=False)
    level = torch.tensor(start, requires_grad=True)
    generator = torch.Generator().manual_seed(seed)
    with evaluating(model):
        for _ in range(count("steps", steps, 1)):
            noise = torch.randn(samples, *x.shape, generator=generator).to(x.device)
            scores = model(x + level.to(x.device) * noise).softmax(1).mean(0).double()
            top = torch.special.ndtri(scores.clamp(1e-6, 1 - 1e-6).topk(2).values).cpu()
            (slope,) = torch.autograd.grad(level / 2 * (top[0] - top[1]), level)
            level = (level.detach() + rate * slope).clamp(min=1e-3 * start).requires_grad_()
    return level.item()


def _noise(x: torch.Tensor, sigma: Level, samples: int) -> torch.Tensor:
    """Scaled noise, shape (n, samples, ...)."""
    level = levels(x, sigma)
    if not (level > 0).all():
        raise ValueError(f"sigma must be > 0; got {level.min().item()}")
    copies = count("samples", samples, 1)
    noise = torch.randn(len(x), copies, *x.shape[1:], dtype=x.dtype, device=x.device)
    scaled: torch.Tensor = level.reshape(-1, *[1] * x.ndim) * noise
    return scaled


def _scores(model: Model, x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """Scores of noisy copies, shape (n, samples, classes)."""
    return model((x[:, None] + noise).flatten(0, 1)).reshape(*noise.shape[:2], -1)
