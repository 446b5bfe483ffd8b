"""Train the stages of a decision list, which leave to others what isn't their own."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from rsbounds._numerics.checks import as_floats, count
from rsbounds.sampling.torch_modes import evaluating
from rsbounds.torch.training.fitting import fit
from rsbounds.torch.training.perturbed import augment, pgd
from rsbounds.torch.training.recipes import smooth_adversarial_loss
from rsbounds.torch.training.seeds import reseed, seeded

__all__ = ["Stage", "cascade"]

_SAMPLES = 2  # noisy copies of an input
_STEPS = 3  # of an attack
_FLOOR = 1e-3  # shares of votes are kept this far from 0 and 1


class Stage(NamedTuple):
    """A level, and how its network is trained."""

    sigma: float
    own: float  # the margin from which an input is the stage's own
    radius: float  # of the attack on own inputs
    weight: float = 0.3  # of the other inputs


def aside_loss(
    model: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    is_own: torch.Tensor,
    stage: Stage,
    classes: int,
) -> torch.Tensor:
    """SmoothAdv for own inputs, and for the others -log(p_y + p_void), unmoved.

    Own inputs have -log p_y at the attacked point, others the weight ``stage.weight``.
    Votes for the outputs beyond ``classes`` are void.
    """
    noise = stage.sigma * torch.randn(
        len(x), _SAMPLES, *x.shape[1:], dtype=x.dtype, device=x.device
    )
    place = y[:, None, None].expand(-1, _SAMPLES, 1)

    def right(points: torch.Tensor) -> torch.Tensor:
        scores = model((points[:, None] + noise).flatten(0, 1)).log_softmax(1)
        if scores.shape[1] <= classes:
            raise ValueError(
                f"model must have more than {classes} outputs; got {scores.shape[1]}"
            )
        scores = scores.reshape(len(x), _SAMPLES, -1)
        of_class = scores.gather(2, place)[..., 0]
        void = scores[..., classes:].logsumexp(2)
        return torch.where(is_own[:, None], of_class, torch.logaddexp(of_class, void))

    def harm(points: torch.Tensor) -> torch.Tensor:
        return -right(points).logsumexp(1)

    reach = stage.radius * is_own.to(x)
    with evaluating(model):
        moved = pgd(harm, x, reach, steps=_STEPS, step=2 / 3)
    weight = torch.where(is_own, 1.0, stage.weight).to(x)
    return -(weight * right(moved).mean(1)).mean()


def cascade(
    network: Callable[[], nn.Module],
    stages: Sequence[Stage],
    train: tuple[torch.Tensor, torch.Tensor],
    *,
    classes: int = 10,
    epochs: int = 10,
    votes: int = 200,
    batch_size: int = 250,
    rate: float = 4e-3,
    seed: int = 0,
) -> list[nn.Module]:
    """Networks for a decision list's gated stages, which step aside where weak.

    A stage owns the inputs whose class has a margin above ``stage.own`` under its
    noise. Margins are those of networks that did not see the input: one is trained on
    each half, by SmoothAdv. Then the stage's network is trained under noise, and as
    long for its own inputs, by SmoothAdv, while others add ``stage.weight`` times
    -log(p_y + p_void): class or void, whichever is easier. The last stage of a list
    answers what is left: any classifier of its level will do.

    Parameters
    ----------
    network : callable
        Makes an untrained network with outputs for the classes and at least one more:
        votes for it are void, so leave them out of the counts.
    stages : sequence of Stage
        Levels and margins are in the input's unit; ``own``, ``radius`` and ``weight``
        are to be chosen on other images: more weight passes more inputs on.
    train : (Tensor, Tensor)
        Inputs and labels, in random order.
    classes, votes : int
        Number of classes, and noisy copies of an input that tell its margin.
    epochs, batch_size, rate, seed
        Epochs under noise, and as many of each loss; the others as in
        :func:`rsbounds.torch.fit`.

    Returns
    -------
    list of torch.nn.Module
        One for each stage. Choose the thresholds with :func:`rsbounds.composite.fit`.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import Stage, cascade
    >>> x = torch.tensor([[-2.0], [2.0]]).repeat(50, 1)
    >>> y = torch.tensor([0, 1]).repeat(50)
    >>> stages = [Stage(1.0, 0.5, 0.5)]
    >>> def network():
    ...     return torch.nn.Linear(1, 3)
    >>> [model] = cascade(network, stages, (x, y), classes=2, epochs=2)
    >>> model(x).shape
    torch.Size([100, 3])
    """
    table = as_floats("stages", [list(stage) for stage in stages], 0.0, nan=False)
    stages = [Stage._make(row) for row in table.tolist()]
    seed = count("seed", seed)
    x, y = train
    devices = {x.device}

    def trained(
        model: nn.Module,
        loss: Callable[..., torch.Tensor],
        columns: Sequence[torch.Tensor],
    ) -> None:
        fit(
            model,
            loss,
            columns,
            epochs=epochs,
            batch_size=batch_size,
            rate=rate,
            seed=seed,
        )

    def noisy(sigma: float, columns: Sequence[torch.Tensor]) -> nn.Module:
        """A network trained under noise on its classes alone."""
        reseed(seed, devices)
        model = network()

        def noise_loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            scores = model(augment(x, sigma))[:, :classes]
            return cross_entropy(scores, y)

        trained(model, noise_loss, columns)
        return model

    def attacked(stage: Stage, columns: Sequence[torch.Tensor]) -> nn.Module:
        """A network trained under noise, then by SmoothAdv."""
        model = noisy(stage.sigma, columns)

        def attack_loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return smooth_adversarial_loss(
                model, x, y, stage.sigma, stage.radius, steps=_STEPS
            )

        trained(model, attack_loss, columns)
        return model

    def stepping_aside(stage: Stage, is_own: torch.Tensor) -> nn.Module:
        """The stage's network: sure of its own inputs, class or void on others."""
        model = noisy(stage.sigma, train)

        def stage_loss(
            x: torch.Tensor, y: torch.Tensor, is_own: torch.Tensor
        ) -> torch.Tensor:
            return aside_loss(model, x, y, is_own, stage, classes=classes)

        trained(model, stage_loss, (x, y, is_own))
        return model

    models = []
    halves = slice(0, None, 2), slice(1, None, 2)
    with seeded(seed, devices):
        for stage in stages:
            margins = torch.zeros(len(x), device=x.device)
            for seen, other in (halves[::-1], halves):
                model = attacked(stage, (x[seen], y[seen]))
                # of the half that this network did not see
                unseen = _margin(model, x[other], y[other], stage.sigma, votes)
                margins[other] = unseen.to(margins)
            models.append(stepping_aside(stage, margins > stage.own))
    return models


@torch.no_grad()
def _margin(
    model: nn.Module, x: torch.Tensor, y: torch.Tensor, sigma: float, votes: int
) -> torch.Tensor:
    """sigma/2 times the true class's normal score less the largest other one."""
    margins = []
    for points, labels in zip(torch.split(x, 100), torch.split(y, 100), strict=True):
        scores = model(augment(points.repeat_interleave(votes, 0), sigma))
        hits = nn.functional.one_hot(scores.argmax(1), scores.shape[1]).to(scores)
        shares = hits.reshape(len(points), votes, -1).mean(1)
        z = torch.special.ndtri(shares.clamp(_FLOOR, 1 - _FLOOR))
        true_class = labels[:, None]
        rival = z.scatter(1, true_class, -torch.inf).amax(1)
        margins.append(sigma * (z.gather(1, true_class)[:, 0] - rival) / 2)
    return torch.cat(margins)
