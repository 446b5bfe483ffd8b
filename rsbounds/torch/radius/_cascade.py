"""Radius of a decision list over several noise levels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol

import torch

from rsbounds._numerics.checks import choice
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
) -> torch.Tensor:
    """Radius of class ``cls`` under a decision list over several noise levels.

    Stage k gives every class b the value r_b = sigma_k Phi^-1(p_{k,b}) (kind "score") and the
    margin (r_b - max_{c != b} r_c)/2 (kind "margin"); both are 1-Lipschitz in the input. The
    first item at which some class meets all conditions decides. The radius is
    max_j min(f_j, min_{i<j} w_i): f_j how far class ``cls`` is from failing item j, w_i how far
    every other class is from meeting item i.

    Parameters
    ----------
    rule : object with ``sigmas`` and ``items``
        Such as :class:`rsbounds.composite.Rule`. Each item holds conditions with ``kind``
        ("score" or "margin"), ``stage`` and ``threshold`` (in the input's unit), at least one of
        them with a threshold >= 0; conditions on sets of classes are refused.
    p : Tensor, shape (..., stages, classes)
        Class probabilities of each stage, taken as they are: no bounds of samples.
    cls : Tensor or int
        The class, of shape (...).
    sigmas : Tensor, optional
        Levels in place of the rule's, to be differentiated.
    scores : bool
        ``p`` holds normal scores.

    Returns
    -------
    Tensor, shape (...)
        The radius, rounded down; 0 where ``cls`` is not what the list returns. It is piecewise
        linear in sigma times the scores.

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
    chosen = torch.as_tensor(cls, device=z.device).expand(z.shape[:-2])[..., None]
    others = torch.arange(z.shape[-1], device=z.device) != chosen
    best = torch.zeros_like(chosen[..., 0], dtype=z.dtype)
    blocked = torch.full_like(best, math.inf)
    for item in rule.items:
        excess = torch.stack([_value(c, signed) - c.threshold for c in _conditions(item)]).amin(0)
        fires = excess.gather(-1, chosen)[..., 0]
        best = torch.maximum(best, torch.minimum(fires, blocked))
        blocked = torch.minimum(blocked, (-excess).where(others, math.inf).amin(-1))
    size = 4e-14 * signed.detach().abs().amax((-1, -2)).nan_to_num(posinf=0.0)
    return round_down((best - size).clamp(min=0.0), result_type(p, sigmas))


def _conditions(item: Any) -> list[Condition]:
    found = list(item) if isinstance(item, Iterable) else [item]
    for condition in found:
        choice("kind", condition.kind, ("score", "margin"))
        if condition.classes is not None:
            raise ValueError(f"conditions must be on single classes; got {condition.classes}")
    if not any(c.threshold >= 0 for c in found):
        raise ValueError("each item must have a condition with threshold >= 0; got none")
    return found


def _value(condition: Condition, signed: torch.Tensor) -> torch.Tensor:
    values = signed[..., condition.stage, :]
    if condition.kind == "score":
        return values
    top, place = values.topk(2, -1)
    rest = torch.arange(values.shape[-1], device=values.device) == place[..., :1]
    return (values - torch.where(rest, top[..., 1:], top[..., :1])) / 2
