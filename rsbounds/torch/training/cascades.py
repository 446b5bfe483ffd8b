"""Train the networks of a decision list together, for its worst ratio to the union of constants."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from rsbounds import composite
from rsbounds._numerics.checks import as_floats, count
from rsbounds.torch import radius
from rsbounds.torch.training.fitting import augment, evaluating, fit

__all__ = ["cascade", "cascade_loss"]

_FLOOR = 3e-4  # so that scores stay within 3.4, about what 10,000 samples can show
_LEAST = 0.05  # the union is followed as long as it certifies this share


def cascade_loss(
    models: Sequence[nn.Module],
    x: torch.Tensor,
    y: torch.Tensor,
    rule: Any,
    weights: torch.Tensor,
    radii: torch.Tensor,
    *,
    classes: int = 10,
    samples: int = 8,
    sharpness: float = 3.0,
    width: float = 0.15,
    accuracy: float = 0.05,
) -> torch.Tensor:
    """Minus a weighted sum of a decision list's certified accuracies, smoothed to have a slope.

    Probabilities are mean softmax values, of ``sharpness`` times the scores, of noisy copies; R is
    the signed :func:`rsbounds.torch.radius.cascade`, and what is certified beyond r counts as
    .8 sigmoid((R - r)/width) + .2 sigmoid((R - r)/(4 width)). Plus ``accuracy`` times the mean
    cross-entropy of the copies.

    Parameters
    ----------
    models : sequence of K torch.nn.Module
        One for each stage of the rule. By outputs beyond ``classes`` a stage steps aside: leave
        their columns out of the counts, so that these votes are void.
    x, y : Tensor
        A batch of inputs and its labels.
    rule : rsbounds.composite.Rule
        K levels.
    weights, radii : Tensor, shape (m,)
        >= 0.
    classes, samples : int
        Number of classes, >= 2, and of noisy copies, >= 1.
    sharpness, width, accuracy : float
        > 0, > 0 (in the input's unit), >= 0.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.composite import Cond, Rule
    >>> from rsbounds.torch.training import cascade_loss
    >>> gate = [Cond("margin", 0), Cond("score", 0, -0.3)]
    >>> rule = Rule([1.0, 0.5], [gate, [Cond("margin", 1)]])
    >>> models = [torch.nn.Linear(3, 3), torch.nn.Linear(3, 2)]
    >>> x, y, radii = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long), torch.tensor([0.0, 0.5])
    >>> cascade_loss(models, x, y, rule, torch.ones(2), radii, classes=2).shape
    torch.Size([])
    """
    count("classes", classes, 2), count("samples", samples, 1)
    for name, value in (("sharpness", sharpness), ("width", width)):
        as_floats(name, value, 0, closed="neither", nan=False)
    if len(models) != len(rule.sigmas):
        raise ValueError(f"models must be {len(rule.sigmas)}, one a stage; got {len(models)}")
    scores, penalty = [], torch.zeros(())
    for model, sigma in zip(models, rule.sigmas, strict=True):
        outputs = model(augment(x.repeat_interleave(samples, 0), sigma))
        penalty = penalty + cross_entropy(outputs[:, :classes], y.repeat_interleave(samples))
        p = (sharpness * outputs).softmax(1)[:, :classes].reshape(len(x), samples, classes).mean(1)
        scores.append(torch.special.ndtri(p * (1 - 2.5 * _FLOOR) + _FLOOR))
    z = torch.stack(scores, 1)
    reach = radius.cascade(rule, z, y, scores=True, signed=True)
    over = reach[:, None] - radii
    near, far = torch.sigmoid(over / width), torch.sigmoid(over / (4 * width))
    certified = (0.8 * near + 0.2 * far).mean(0)  # far: a slope where much is lacking
    return accuracy * penalty / len(models) - (weights * certified).sum()


def cascade(
    models: Sequence[nn.Module],
    rule: Any,
    train: tuple[torch.Tensor, torch.Tensor],
    calibration: tuple[torch.Tensor, torch.Tensor],
    constants: Any,
    *,
    rounds: int = 10,
    epochs: int = 2,
    rate: float = 3e-3,
    focus: float = 40.0,
    votes: int = 1000,
    batch_size: int = 250,
    seed: int = 0,
    **options: Any,
) -> list[Any]:
    """Train the stages of a decision list for its worst ratio to the union of constants.

    After each round the list's radii on calibration inputs give the ratio to the union at each
    radius. The weights of :func:`cascade_loss` are the softmax of -``focus`` times its running
    mean: those radii count where the list lags. The networks of the best round are kept.

    Parameters
    ----------
    models : sequence of K torch.nn.Module
        Trained in place, best from networks that are trained under their level's noise already.
    rule : rsbounds.composite.Rule
        Refit its thresholds afterwards: :func:`rsbounds.composite.fit`.
    train, calibration : (Tensor, Tensor)
        Inputs and labels. Calibration inputs serve for choices: certify others.
    constants : array_like, shape (constants, calibration inputs)
        Radii certified by single levels, 0 where the class is wrong, as in
        :func:`rsbounds.composite.worst_ratio`.
    rounds, epochs, rate, batch_size, seed
        Rounds of so many epochs, at a rate that falls; the others as in :func:`rsbounds.torch.fit`.
    focus, votes : float, int
        >= 0 (at 0 all radii weigh alike); samples of a calibration input at each level and round.
    **options
        Of :func:`cascade_loss`.

    Returns
    -------
    list of rsbounds.composite.WorstRatio
        By plug-in probabilities, before the first round and after each.
    """
    classes, parts = options.get("classes", 10), nn.ModuleList(models)
    as_floats("focus", focus, 0, nan=False)
    single, y = np.asarray(constants, float), calibration[1].numpy()
    grid = np.arange(0.0, single.max(initial=0.0), 0.1)
    union = (single[:, :, None] > grid).mean(1).max(0)
    grid, union = grid[union >= _LEAST], union[union >= _LEAST]

    def measured() -> tuple[Any, torch.Tensor]:
        with torch.random.fork_rng(), torch.no_grad(), evaluating(parts):
            torch.manual_seed(seed)
            stages = zip(models, rule.sigmas, strict=True)
            p = np.stack([_shares(m, calibration[0], s, votes, classes) for m, s in stages], 1)
        z = torch.special.ndtri(torch.from_numpy((p * votes + 0.5) / (votes + 1))).numpy()
        radii = composite.radius(rule, z, y)
        ratio = (radii[:, None] > grid).mean(0) / union
        return composite.worst_ratio(radii, single), torch.from_numpy(ratio).float()

    result, ratio = measured()
    history, best, state = [result], result, copy.deepcopy(parts.state_dict())
    mean, radii, common = ratio, torch.from_numpy(grid).float(), torch.from_numpy(1 / union).float()
    for k in range(count("rounds", rounds, 1)):
        weights = (0.8 * torch.softmax(-focus * mean, 0) + 0.2 / len(mean)) * common

        def loss(x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor = weights) -> torch.Tensor:
            return cascade_loss(models, x, y, rule, weights, radii, **options)

        own = rate * (1 - 0.9 * k / rounds)
        fit(parts, loss, train, epochs=epochs, batch_size=batch_size, rate=own, seed=seed + k)
        result, ratio = measured()
        history.append(result)
        mean = 0.6 * mean + 0.4 * ratio
        if result.ratio > best.ratio:
            best, state = result, copy.deepcopy(parts.state_dict())
    parts.load_state_dict(state)
    return history


def _shares(model: nn.Module, x: torch.Tensor, sigma: float, votes: int, classes: int) -> Any:
    """The shares of votes for each class, shape (n, classes)."""
    shares = []
    for part in torch.split(x, max(20_000 // votes, 1)):
        best = model(augment(part.repeat_interleave(votes, 0), sigma)).argmax(1)
        hits = torch.nn.functional.one_hot(best, max(classes, int(best.max()) + 1))
        shares.append(hits.reshape(len(part), votes, -1)[..., :classes].double().mean(1))
    return torch.cat(shares).numpy()
