"""Radius of a decision list over several noise levels."""

import math
from collections.abc import Iterable
from typing import Any

import torch

from rsbounds._numerics.checks import choice, flag, instance
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import EPS
from rsbounds.sampling.torch_noise import wide
from rsbounds.torch.radius._radii import Number, inside, result_type, round_down, tensor

Bounds = tuple[torch.Tensor, torch.Tensor]


def cascade(
    rule: Any,
    p: torch.Tensor,
    cls: torch.Tensor | int,
    *,
    sigmas: Number | None = None,
    scores: bool = False,
    signed: bool = False,
) -> torch.Tensor:
    """Radius of class ``cls`` under a decision list over several noise levels.

    Stage k gives every class b the value r_b = sigma_k Phi^-1(p_{k,b}) (kind "score")
    and the margin (r_b - max_{c != b} r_c)/2 (kind "margin"), and it gives all classes
    sigma_k Phi^-1 of the probability of a set (kind "set"). All are 1-Lipschitz in the
    input. The first item at which some class meets all conditions decides. The radius
    is max_j min(f_j, min_{i<j} w_i): f_j is how far class ``cls`` is from failing item
    j, w_i how far every other class is from meeting item i.

    Parameters
    ----------
    rule : object with ``sigmas`` and ``items``
        Such as :class:`rsbounds.composite.Rule`. Each item holds conditions with
        ``kind``, ``stage``, ``threshold`` (in the input's unit) and, for sets alone,
        ``classes``; at least one of them is a "score" or a "margin" with a threshold >=
        0.
    p : Tensor, shape (..., stages, classes)
        Class probabilities of each stage, taken as exact: no bounds of samples.
    cls : Tensor or int
        The class, of shape (...).
    sigmas : Tensor, optional
        Levels in place of the rule's, to be differentiated.
    scores : bool
        ``p`` holds normal scores.
    signed : bool
        Below 0, and not 0, where the list does not return ``cls``: the largest, over
        the items, of what the item lacks. Training needs its slope.

    Returns
    -------
    Tensor, shape (...)
        The radius, rounded down; 0 where ``cls`` is not what the list returns. But for
        sets it is piecewise linear in sigma times the scores. See the theory page on
        composite certificates.

    Examples
    --------
    >>> import torch
    >>> from types import SimpleNamespace as Of
    >>> from rsbounds.torch import radius
    >>> sure = Of(kind="score", stage=0, threshold=0.0, classes=None)
    >>> best = Of(kind="margin", stage=1, threshold=0.0, classes=None)
    >>> rule = Of(sigmas=(1.0, 0.5), items=((sure,), (best,)))
    >>> z = torch.tensor([[[-0.5, -0.75], [0.75, -1.25]]])
    >>> radius.cascade(rule, z, 0, scores=True)  # min(margin .5, .75 to sure class 1)
    tensor([0.5000])
    """
    instance("p", p, torch.Tensor, "a tensor of probabilities or scores")
    has_items = hasattr(rule, "sigmas") and hasattr(rule, "items")
    if not has_items or callable(rule.items):
        raise ArgumentError("rule", f"must have sigmas and items; got {rule!r:.60}")
    signed = flag("signed", signed)
    z = _scores(p, scores)
    if z.ndim < 2 or z.shape[-1] < 2:
        raise ValueError(
            f"p must have shape (..., stages, classes >= 2); got {tuple(p.shape)}"
        )
    level = tensor("sigmas", rule.sigmas if sigmas is None else sigmas).to(z)
    if level.ndim != 1 or not len(level):
        raise ArgumentError(
            "sigmas", f"must be a level for each stage; got shape {tuple(level.shape)}"
        )
    if len(level) != z.shape[-2]:
        raise ValueError(
            f"p must have {len(level)} stages, as the rule has; got {z.shape[-2]}"
        )
    level = inside("sigmas", level, 0.0)
    values = _times(level[:, None], z)
    chosen = torch.as_tensor(cls, device=z.device).expand(z.shape[:-2])[..., None]
    others = torch.arange(z.shape[-1], device=z.device) != chosen
    lowest = -math.inf if signed else 0.0
    best = torch.full_like(chosen[..., 0], lowest, dtype=z.dtype)
    blocked = torch.full_like(best, math.inf)
    size = values.detach().abs().nan_to_num(posinf=0.0).amax((-1, -2))
    for item in rule.items:
        conditions = _conditions(item)
        least = []  # how far each class is above each condition's threshold, at least
        most = []
        for condition in conditions:
            size = size + abs(condition.threshold)
            low, high = _bounds(condition, values, level, z)
            least.append(low - condition.threshold)
            most.append(high - condition.threshold)
        fires = torch.stack(least).amin(0).gather(-1, chosen)[..., 0]
        best = torch.maximum(best, torch.minimum(fires, blocked))
        # every other class lacks at least one of the conditions by so much
        lacking = -torch.stack(most).amin(0)
        blocked = torch.minimum(blocked, lacking.where(others, math.inf).amin(-1))
    exact = (best - 4e-14 * size).clamp(min=lowest)
    return round_down(exact, result_type(p, sigmas)).to(p.device)


def _scores(p: torch.Tensor, scores: bool) -> torch.Tensor:
    """Normal scores in double precision, whose slope at probabilities 0 and 1 is 0."""
    z = wide(p)
    if flag("scores", scores):
        return z
    z = inside("p", z, 0.0, 1.0, closed=True)
    exact = torch.special.ndtri(z.detach())
    # torch's own slope is infinite there, and NaN once it meets a 0
    slope_only = torch.special.ndtri(z.clamp(1e-300, 1 - EPS / 2))
    moved: torch.Tensor = exact + (slope_only - slope_only.detach())
    return moved


def _times(level: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """Return level z; an infinite score stays as it is, with no slope."""
    finite = z.isfinite()
    product: torch.Tensor = level * torch.where(finite, z, 0.0)
    return torch.where(finite, product, z.detach())


def _conditions(item: Any) -> list[Any]:
    conditions = list(item) if isinstance(item, Iterable) else [item]
    for condition in conditions:
        kind = choice("kind", condition.kind, ("score", "margin", "set"))
        if (kind == "set") != (condition.classes is not None):
            raise ValueError(
                f"classes must be given for kind 'set' alone; got {condition.classes}"
            )
    if not any(c.kind in ("score", "margin") and c.threshold >= 0 for c in conditions):
        raise ValueError(
            "each item must have a 'score' or 'margin' condition with threshold >= 0; "
            "got none"
        )
    return conditions


def _bounds(
    condition: Any, signed: torch.Tensor, level: torch.Tensor, z: torch.Tensor
) -> Bounds:
    """The condition's value for each class, from below and from above."""
    if condition.kind == "set":
        return _set(condition, level, z)
    values = signed[..., condition.stage, :]
    if condition.kind == "margin":
        top, place = values.topk(2, -1)
        first = torch.arange(values.shape[-1], device=values.device) == place[..., :1]
        values = (values - torch.where(first, top[..., 1:], top[..., :1])) / 2
    return values, values


def _set(condition: Any, level: torch.Tensor, z: torch.Tensor) -> Bounds:
    """Bounds from below and above on sigma Phi^-1 of the set's probability.

    Near 0 or 1 the score enlarges the sum's rounding.
    """
    classes = torch.as_tensor(condition.classes, device=z.device)
    if not (classes < z.shape[-1]).all():
        raise ValueError(
            f"classes must be below {z.shape[-1]}; got {tuple(condition.classes)}"
        )
    total = torch.special.ndtr(z[..., condition.stage, classes]).sum(-1, keepdim=True)
    bounds = []
    for side in (-1.0, 1.0):
        p = total + side * 4 * EPS * (len(classes) + 1)
        inner = (p > 0) & (p < 1)
        score = torch.special.ndtri(torch.where(inner, p, 0.5))  # no slope from outside
        score = score + side * EPS * (1 + 32 * score.detach().abs())
        outside = torch.where(p < 1, -math.inf, math.inf)
        bound = torch.where(inner, level[condition.stage] * score, outside)
        bounds.append(bound.expand(z[..., 0, :].shape))
    return bounds[0], bounds[1]
