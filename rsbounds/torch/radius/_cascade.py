"""Radius of a decision list over several noise levels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol

import torch

from rsbounds._numerics.checks import choice
from rsbounds._numerics.rounding import EPS
from rsbounds.torch.radius._tensors import Number, inside, result_type, round_down


class Condition(Protocol):
    """A condition "value > threshold" of a decision list, as in ``rsbounds.composite``."""

    kind: str
    stage: int
    threshold: float
    classes: Any


class DecisionList(Protocol):
    """Noise levels, and the conditions of each item, in order."""

    sigmas: Any
    items: Any


def cascade(
    rule: DecisionList,
    p: torch.Tensor,
    cls: torch.Tensor | int,
    *,
    sigmas: Number | None = None,
    scores: bool = False,
    values: Number | None = None,
) -> torch.Tensor:
    """Radius of class ``cls`` under a decision list over several noise levels.

    Stage k gives every class b the value r_b = sigma_k Phi^-1(p_{k,b}) (kind "score") and the
    margin (r_b - max_{c != b} r_c)/2 (kind "margin"), and all classes sigma_k Phi^-1 of the
    probability of a set (kind "set"); all are 1-Lipschitz in the input, and so are the ``values``
    (kind "value"). The first item at which some class meets all conditions decides. The radius is
    max_j min(f_j, min_{i<j} w_i): f_j how far class ``cls`` is from failing item j, w_i how far
    every other class is from meeting item i.

    Parameters
    ----------
    rule : object with ``sigmas`` and ``items``
        Such as :class:`rsbounds.composite.Rule`. Each item holds conditions with ``kind``,
        ``stage``, ``threshold`` (in the input's unit) and, for sets alone, ``classes``; at least
        one of them is a "score" or a "margin" with a threshold >= 0.
    p : Tensor, shape (..., stages, classes)
        Class probabilities of each stage, taken as they are: no bounds of samples.
    cls : Tensor or int
        The class, of shape (...).
    sigmas : Tensor, optional
        Levels in place of the rule's, to be differentiated.
    scores : bool
        ``p`` holds normal scores.
    values : Tensor, shape (..., V), optional
        For "value" conditions, whose ``stage`` is the place here: functions of the input, each
        over its l2 Lipschitz constant.

    Returns
    -------
    Tensor, shape (...)
        The radius, rounded down; 0 where ``cls`` is not what the list returns. It is piecewise
        linear in sigma times the scores, but for sets, and in the values.

    Raises
    ------
    ValueError
        An argument outside its domain, a rule that isn't one.

    References
    ----------
    The theory page on composite certificates.

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
    z = (
        p.double()
        if scores
        else torch.special.ndtri(inside("p", p.double(), 0.0, 1.0, closed=True))
    )
    if z.ndim < 2 or z.shape[-1] < 2:
        raise ValueError(f"p must have shape (..., stages, classes >= 2); got {tuple(p.shape)}")
    level = torch.as_tensor(rule.sigmas if sigmas is None else sigmas).to(z)
    if level.shape != z.shape[-2:-1]:
        raise ValueError(f"p must have {len(level)} stages, as the rule has; got {z.shape[-2]}")
    signed = inside("sigmas", level, 0.0)[:, None] * z
    fixed = _fixed(rule, values, z)
    chosen = torch.as_tensor(cls, device=z.device).expand(z.shape[:-2])[..., None]
    others = torch.arange(z.shape[-1], device=z.device) != chosen
    best = torch.zeros_like(chosen[..., 0], dtype=z.dtype)
    blocked = torch.full_like(best, math.inf)
    size = signed.detach().abs().amax((-1, -2)) + fixed.detach().abs().sum(-1)
    for item in rule.items:
        conditions = _conditions(item)
        size = size + sum(abs(c.threshold) for c in conditions)
        pairs = [_values(c, signed, level, z, fixed) for c in conditions]
        lowest, highest = (
            torch.stack([v - c.threshold for v, c in zip(side, conditions, strict=True)]).amin(0)
            for side in zip(*pairs, strict=True)
        )
        fires = lowest.gather(-1, chosen)[..., 0]
        best = torch.maximum(best, torch.minimum(fires, blocked))
        blocked = torch.minimum(blocked, (-highest).where(others, math.inf).amin(-1))
    slack = 4e-14 * size.nan_to_num(posinf=0.0)
    return round_down((best - slack).clamp(min=0.0), result_type(p, sigmas, values))


def _conditions(item: Any) -> list[Condition]:
    found = list(item) if isinstance(item, Iterable) else [item]
    for condition in found:
        kind = choice("kind", condition.kind, ("score", "margin", "set", "value"))
        if (kind == "set") != (condition.classes is not None):
            raise ValueError(f"classes must be given for kind 'set' alone; got {condition.classes}")
    if not any(c.kind in ("score", "margin") and c.threshold >= 0 for c in found):
        raise ValueError(
            "each item must have a 'score' or 'margin' condition with threshold >= 0; got none"
        )
    return found


def _fixed(rule: DecisionList, values: Number | None, z: torch.Tensor) -> torch.Tensor:
    """The deterministic values, shape (..., V)."""
    asked = [c.stage + 1 for item in rule.items for c in item if c.kind == "value"]
    found = z.new_zeros(0) if values is None else torch.as_tensor(values).to(z)
    if found.ndim < 1 or found.shape[-1] < max(asked, default=0):
        raise ValueError(
            f"values must have {max(asked)} on the last axis, as the rule asks; "
            f"got {None if values is None else tuple(found.shape)}"
        )
    if not found.isfinite().all():
        raise ValueError("values must be finite")
    return found.expand(*z.shape[:-2], found.shape[-1])


def _values(
    condition: Condition,
    signed: torch.Tensor,
    level: torch.Tensor,
    z: torch.Tensor,
    fixed: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The condition's coordinate for each class, from below and from above."""
    if condition.kind == "value":
        value = fixed[..., condition.stage, None].expand(signed[..., 0, :].shape)
        return value, value
    if condition.kind == "set":
        return _set(condition, level, z)
    values = signed[..., condition.stage, :]
    if condition.kind == "margin":
        top, place = values.topk(2, -1)
        rest = torch.arange(values.shape[-1], device=values.device) == place[..., :1]
        values = (values - torch.where(rest, top[..., 1:], top[..., :1])) / 2
    return values, values


def _set(
    condition: Condition, level: torch.Tensor, z: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """sigma Phi^-1 of the set's probability: errors of its sum grow where it is near 0 or 1."""
    classes = torch.as_tensor(condition.classes, device=z.device)
    if not (classes < z.shape[-1]).all():
        raise ValueError(f"classes must be below {z.shape[-1]}; got {tuple(condition.classes)}")
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
