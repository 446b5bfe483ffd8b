"""Train the stages of a decision list: each learns which inputs are its own, and leaves
others.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from rsbounds._numerics.checks import as_floats, count
from rsbounds.torch.networks._modes import evaluating
from rsbounds.torch.training.fitting import augment, fit, pgd
from rsbounds.torch.training.recipes import smooth_adversarial_loss

__all__ = ["Stage", "cascade"]

_SAMPLES, _STEPS = 2, 3  # noisy copies of an input, and steps of an attack
_FLOOR = 1e-3  # shares of votes are kept this far from 0 and 1


class Stage(NamedTuple):
    """A level, the margin that makes an input the stage's own, its attack, the others'
    weight.
    """

    sigma: float
    own: float
    radius: float
    weight: float = 0.3


def aside_loss(
    model: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    own: torch.Tensor,
    stage: Stage,
    classes: int,
) -> torch.Tensor:
    """SmoothAdv for own inputs: -log p_y; for others, unmoved, stage.weight * -log(p_y
    + p_void).

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
        return torch.where(own[:, None], of_class, torch.logaddexp(of_class, void))

    reach = stage.radius * own.to(x)
    with evaluating(model):
        moved = pgd(
            lambda points: -right(points).logsumexp(1),
            x,
            reach,
            steps=_STEPS,
            step=2 / 3,
        )
    weight = torch.where(own, 1.0, stage.weight).to(x)
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
    """Networks for the gated stages of a decision list, trained to step aside where
    they are weak.

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
    >>> x, y = torch.tensor([[-2.0], [2.0]]).repeat(50, 1), torch.tensor([0, 1]).repeat(50)
    >>> stages = [Stage(1.0, 0.5, 0.5)]
    >>> [model] = cascade(lambda: torch.nn.Linear(1, 3), stages, (x, y), classes=2, epochs=2)
    >>> model(x).shape
    torch.Size([100, 3])
    """
    as_floats("stages", [list(stage) for stage in stages], 0.0, nan=False)
    options: dict[str, Any] = {"epochs": epochs, "batch_size": batch_size, "rate": rate}
    options["seed"] = count("seed", seed)

    def noisy(sigma: float, columns: Any) -> nn.Module:
        torch.manual_seed(seed)
        model = network()
        fit(model, lambda x, y: cross_entropy(model(augment(x, sigma))[:, :classes], y), columns,
            **options)  # fmt: skip
        return model

    def margins(stage: Stage) -> torch.Tensor:
        result, odd = torch.zeros(len(train[0])), torch.arange(len(train[0])) % 2 == 1
        for half in (odd, ~odd):
            columns = train[0][half], train[1][half]
            model = noisy(stage.sigma, columns)
            fit(model, lambda x, y, m=model: smooth_adversarial_loss(
                m, x, y, stage.sigma, stage.radius, steps=_STEPS), columns, **options)  # fmt: skip
            result[~half] = _margin(
                model, train[0][~half], train[1][~half], stage.sigma, votes
            )
        return result

    models = []
    with torch.random.fork_rng():
        for stage in stages:
            own = margins(stage) > stage.own
            model = noisy(stage.sigma, train)
            fit(model, lambda x, y, own, m=model, s=stage: aside_loss(m, x, y, own, s,
                classes=classes), (*train, own), **options)  # fmt: skip
            models.append(model)
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
        true = nn.functional.one_hot(labels, z.shape[1]).bool()
        margins.append(sigma * (z[true] - z.masked_fill(true, -torch.inf).amax(1)) / 2)
    return torch.cat(margins)
