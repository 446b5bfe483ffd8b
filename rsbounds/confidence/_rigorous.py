"""Proof of a Clopper-Pearson bound by interval arithmetic (python-flint's Arb balls)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array

_TRIVIAL = {"p": 0.0, "q": 1.0, "z": -math.inf, "-z": math.inf}
_PRECISION = 192


def prove(bound: Array, form: str, count: Any, n: Any, alpha: Any) -> Array:
    """``bound`` with each element proved, moved outward where the proof needs it.

    ``form`` says what an element v is: "p" a lower bound p = v, "q" its complement
    p = 1 - v, "z" a lower score p = Phi(v), "-z" its negative p = Phi(-v). What is proved
    is P(Bin(n, p) >= count) <= alpha.
    """
    try:
        import flint
    except ImportError:
        raise ImportError(
            "rigorous=True needs python-flint, which is not installed: pip install python-flint"
        ) from None
    result = np.array(bound, dtype=np.float64)
    outward = -1.0 if form in ("p", "z") else 1.0
    precision = flint.ctx.prec
    try:
        for index in np.ndindex(result.shape):
            args = (form, int(count[index]), int(n[index]), float(alpha[index]))
            step = outward * np.spacing(np.abs(result[index]))
            while not _holds(flint, float(result[index]), *args):
                result[index] += step
                step *= 2.0
    finally:
        flint.ctx.prec = precision
    return result


def _holds(flint: Any, value: float, form: str, count: int, n: int, alpha: float) -> bool:
    if value == _TRIVIAL[form]:
        return True
    flint.ctx.prec = _PRECISION
    p, q = _probabilities(flint.arb, value, form)
    return bool(p > 0 and q > 0 and _at_least(flint.arb, count, n, p, q) <= alpha)


def _probabilities(arb: Any, value: float, form: str) -> tuple[Any, Any]:
    v = arb(value)
    match form:
        case "p":
            return v, 1 - v
        case "q":
            return 1 - v, v
        case "z":
            return _normal(arb, v), _normal(arb, -v)
        case _:
            return _normal(arb, -v), _normal(arb, v)


def _normal(arb: Any, z: Any) -> Any:
    return (-z / arb(2).sqrt()).erfc() / 2


def _at_least(arb: Any, count: int, n: int, p: Any, q: Any) -> Any:
    """P(Bin(n, p) >= count): the first term times a sum of products of ratios.

    The ratios decrease, so a geometric series bounds the rest. (Arb's own incomplete beta
    function takes seconds at some points, such as count = 441, n = 443, p = 0.68.)
    """
    choose = arb(n + 1).lgamma() - arb(count + 1).lgamma() - arb(n - count + 1).lgamma()
    first = (choose + count * p.log() + (n - count) * q.log()).exp()
    term = total = arb(1)
    for i in range(count, n):
        ratio = (p / q) * (n - i) / (i + 1)
        if (i - count) % 16 == 0 and ratio < 1:
            rest = term * ratio / (1 - ratio)
            if rest < total * arb(2) ** -80:
                return first * (total + rest.union(0))
        term *= ratio
        total += term
    return first * total
