"""The field's losses for smoothed classifiers; what a cascade's stages pass on.

MACER, consistency, SmoothAdv.

Plain Gaussian augmentation is ``cross_entropy(model(augment(x, sigma)), y)``. Each loss
returns a tensor of one number.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from rsbounds._numerics.checks import as_floats, count, number
from rsbounds.sampling.torch_modes import evaluating
from rsbounds.torch import radius
from rsbounds.torch.training.perturbed import (
    augment,
    checked_levels,
    exactly,
    levels,
    pgd,
)

__all__ = [
    "consistency_loss",
    "macer_loss",
    "passed_on",
    "smooth_adversarial",
    "smooth_adversarial_loss",
    "soft_labels",
]

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
    """MACER: the smoothed classifier's cross-entropy, and a hinge on its radius.

    The mean over the batch of -log p_y + weight sigma/2 max(gamma - (z_A - z_B), 0)
    1[right], where p is the mean softmax under noise, and z are the normal scores of
    the two largest mean softmax values of ``beta`` times the model's scores.

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
        lambda, the inverse temperature and the hinge's place, >= 0, > 0, > 0; the
        defaults are the paper's for sigma = .25 on CIFAR-10.

    References
    ----------
    Zhai et al., MACER: attack-free and scalable robust training via maximizing
    certified radius, ICLR 2020.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import macer_loss
    >>> x, y = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    >>> macer_loss(torch.nn.Linear(3, 2), x, y, 0.5).shape
    torch.Size([])
    """
    weight = number("weight", weight, 0)
    beta = number("beta", beta, 0, closed="neither")
    gamma = number("gamma", gamma, 0, closed="neither")
    scores = _scores(model, x, _noise(x, sigma, samples))
    level = levels(x, sigma)
    accuracy = -(scores.softmax(-1).mean(1).gather(1, y[:, None]) + _CLAMP).log().mean()
    top, place = exactly((beta * scores).softmax(-1).mean(1)).topk(2)
    radii = _radii(top.clamp(_CLAMP, 1 - _CLAMP), level)
    hinge = (gamma * level / 2 - radii).clamp(min=0.0) * (place[:, 0] == y)
    return accuracy + weight * hinge.mean().to(accuracy)


def _radii(top: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
    """sigma/2 times the difference of the scores of two probabilities."""
    if top.device.type == "cpu":
        return radius.gaussian(top[:, 0], level, p_b=top[:, 1])
    # the certified radius checks its arguments and calls a compiled kernel, and would
    # wait for the device at every step
    z = torch.special.ndtri(top)
    radii: torch.Tensor = level * (z[:, 0] - z[:, 1]) / 2
    return radii


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
    """Cross-entropy of noisy copies, and how far their predictions are apart.

    mean_i CE(F_i, y) + weight mean_i KL(F || F_i) + entropy H(F), where F is the mean
    of the copies' softmax F_i.

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
    Jeong, Shin, Consistency regularization for certified robustness of smoothed
    classifiers, NeurIPS 2020.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import consistency_loss
    >>> x, y = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    >>> consistency_loss(torch.nn.Linear(3, 2), x, y, 0.5).shape
    torch.Size([])
    """
    samples = count("samples", samples, 2)
    weight = number("weight", weight, 0)
    entropy = number("entropy", entropy, 0)
    log = _scores(model, x, _noise(x, sigma, samples)).log_softmax(-1)
    mean = log.exp().mean(1)
    log_mean = (mean + 1e-20).log()
    accuracy = -log.gather(-1, y[:, None, None].expand(-1, samples, 1)).mean()
    apart = (mean[:, None] * (log_mean[:, None] - log)).sum(-1).mean()
    spread = -(mean * log_mean).sum(-1).mean()
    return accuracy + weight * apart + entropy * spread


def smooth_adversarial(
    model: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    sigma: Level,
    radius: Level,
    *,
    samples: int = 2,
    steps: int = 10,
    norm: float = 2,
    box: tuple[float, float] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Move inputs so as to harm the **smoothed** classifier under the noise returned.

    :func:`rsbounds.torch.pgd` on - log of the mean softmax of the true class over the
    same noisy copies in every step, the model in eval mode.

    Parameters
    ----------
    model, x, y, sigma
        As in :func:`macer_loss`.
    radius : float or Tensor, shape (n,)
        How far inputs may move, >= 0.
    samples : int
        m, noisy copies of each input, >= 1.
    steps : int
        T, steps of the attack, >= 1.
    norm, box
        As in :func:`rsbounds.torch.pgd`.

    Returns
    -------
    moved, noise : Tensor
        Like x; and of shape (n, samples, ...), already scaled by sigma.

    References
    ----------
    Salman et al., Provably robust deep learning via adversarially trained smoothed
    classifiers, NeurIPS 2019: SmoothAdv-PGD.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import smooth_adversarial
    >>> x, y = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    >>> moved, noise = smooth_adversarial(torch.nn.Linear(3, 2), x, y, 0.5, 0.25)
    >>> bool(moved.norm(dim=1).max() <= 0.25), noise.shape
    (True, torch.Size([4, 2, 3]))
    """
    noise = _noise(x, sigma, samples)

    def harm(point: torch.Tensor) -> torch.Tensor:
        mean = _scores(model, point, noise).softmax(-1).mean(1)
        right: torch.Tensor = mean.gather(1, y[:, None])[:, 0]
        return -(right + 1e-20).log()

    steps = count("steps", steps, 1)
    with evaluating(model):
        moved = pgd(
            harm, x, radius, norm=norm, steps=steps, step=min(1.0, 2 / steps), box=box
        )
    return moved, noise


def smooth_adversarial_loss(
    model: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    sigma: Level,
    radius: Level,
    *,
    samples: int = 2,
    **options: Any,
) -> torch.Tensor:
    """SmoothAdv: cross-entropy at the inputs of :func:`smooth_adversarial`.

    The noise is that of the attack. Parameters and options as there; Algorithm 1 of the
    same paper, which raises ``radius`` from 0 over the first ten epochs and uses radii
    of .25 to 1 at sigma of .12 to 1.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import smooth_adversarial_loss
    >>> x, y = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    >>> smooth_adversarial_loss(torch.nn.Linear(3, 2), x, y, 0.5, 0.25).shape
    torch.Size([])
    """
    moved, noise = smooth_adversarial(
        model, x, y, sigma, radius, samples=samples, **options
    )
    scores = _scores(model, moved, noise).flatten(0, 1)
    loss: torch.Tensor = cross_entropy(scores, y.repeat_interleave(samples))
    return loss


def _noise(x: torch.Tensor, sigma: Level, samples: int) -> torch.Tensor:
    """Scaled noise, shape (n, samples, ...)."""
    level = checked_levels(x, sigma).expand(len(x))
    copies = count("samples", samples, 1)
    noise = torch.randn(len(x), copies, *x.shape[1:], dtype=x.dtype, device=x.device)
    scaled: torch.Tensor = level.reshape(-1, *[1] * x.ndim) * noise
    return scaled


def _scores(model: Model, x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """Scores of noisy copies, shape (n, samples, classes)."""
    return model((x[:, None] + noise).flatten(0, 1)).reshape(*noise.shape[:2], -1)


# the stages of a cascade


def passed_on(
    model: Model,
    x: torch.Tensor,
    sigma: float,
    threshold: float = 0.0,
    *,
    samples: int = 64,
    batch: int = 1000,
) -> torch.Tensor:
    """A mask of the inputs that a stage passes on.

    Of those no class has sigma Phi^-1(share) > threshold. The next stage sees nothing
    but ``x[mask]``: fine-tune its expert on that.

    Parameters
    ----------
    model : callable
        The stage's classifier: maps a batch to class scores; in eval mode during this.
    x : Tensor, shape (n, ...)
    sigma : float
        The stage's noise level, > 0.
    threshold : float
        That of the stage's condition on scores, in the input's unit; 0 asks for a
        majority.
    samples, batch : int
        Votes for each input, and noisy copies classified at once, >= 1.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import passed_on
    >>> x = torch.tensor([[9.0], [0.01]])
    >>> passed_on(lambda x: torch.cat([x, -x], 1), x, 1.0, 0.5).tolist()
    [False, True]
    """
    level = float(as_floats("sigma", sigma, 0, closed="neither", nan=False))
    votes = count("samples", samples, 1)
    size = count("batch", batch, 1)
    score = number("threshold", threshold) / level
    least = torch.special.ndtr(
        torch.tensor(score, dtype=torch.float64, device="cpu")
    ).item()
    shares = []
    with torch.no_grad(), evaluating(model):
        for part in torch.split(x, max(size // votes, 1)):
            scores = model(augment(part.repeat_interleave(votes, 0), level))
            labels = scores.argmax(1).reshape(len(part), votes)
            counts = torch.zeros(len(part), scores.shape[1], device=x.device)
            ones = torch.ones_like(labels).to(counts)
            shares.append(counts.scatter_add_(1, labels, ones))
    mask: torch.Tensor = torch.cat(shares).amax(1) <= least * votes
    return mask


def soft_labels(
    y: torch.Tensor, classes: int, hard: torch.Tensor, *, keep: float = 0.3
) -> torch.Tensor:
    """Labels for a router: one-hot, but mostly uniform where an input is hard.

    Trained on them by ``cross_entropy``, a stage learns to have no majority on hard
    inputs and so to pass them on.

    Parameters
    ----------
    y : Tensor of int, shape (n,)
    classes : int
        >= 2.
    hard : Tensor of bool, shape (n,)
        Such as those for which the plain network has no majority: :func:`passed_on`.
    keep : float
        Weight of the true class on hard inputs, besides its part of the uniform rest,
        in [0, 1].

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import soft_labels
    >>> soft_labels(torch.tensor([0, 1]), 2, torch.tensor([False, True]), keep=0.5)
    tensor([[1.0000, 0.0000],
            [0.2500, 0.7500]])
    """
    classes = count("classes", classes, 2)
    keep = number("keep", keep, 0, 1)
    weight = torch.where(hard, keep, 1.0)[:, None]
    return weight * torch.nn.functional.one_hot(y, classes) + (1 - weight) / classes
