"""Functions of one number each: suprema of |phi'| and |phi''|, range and rounding."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks.operations._record import (
    ELEMENTARY,
    UNIT_ROUNDOFF,
    Call,
    OperationRecord,
    SizeAndError,
    always,
    never,
    none,
    one_term,
    same,
)

Constant = Callable[[Call], float]


def _record(
    slope: float | Constant,
    bend: float | Constant | None,
    rounding: Callable[[Call, list[SizeAndError]], SizeAndError],
    *,
    settle: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    affine: bool = False,
) -> OperationRecord:
    return OperationRecord(
        inputs=("self",),
        terms=one_term(_constant(slope)),
        bend=none if bend is None else _constant(bend),
        rounding=rounding,
        affine=affine,
        pointwise=True,
        plain=always if affine else never,
        settle=settle,
    )


def _constant(value: float | Constant) -> Constant:
    return value if callable(value) else lambda call: value


def _bounded(slope: float) -> Callable[[Call, list[SizeAndError]], SizeAndError]:
    """The range of a function with values in [-1, 1]."""
    return lambda call, ranges: SizeAndError(1.0, slope * ranges[0].error + ELEMENTARY)


def _times_share(slope: float) -> Callable[[Call, list[SizeAndError]], SizeAndError]:
    """The range of x times a factor in [0, 1]."""

    def found(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
        lost = slope * ranges[0].error + ELEMENTARY * ranges[0].seen
        return SizeAndError(ranges[0].size, lost)

    return found


def scaled(factor: float, at_input: SizeAndError) -> SizeAndError:
    """The range of a number times a constant of that size, at most."""
    lost = UNIT_ROUNDOFF * factor * at_input.seen
    return SizeAndError(factor * at_input.size, factor * at_input.error + lost)


def _clamped(*limits: str) -> Callable[[Call, list[SizeAndError]], SizeAndError]:
    def found(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
        ends = [abs(float(call[key])) for key in limits if call[key] is not None]
        size, error = ranges[0]
        # with both limits the input's size doesn't matter
        return SizeAndError(max(ends) if len(ends) == 2 else max(size, *ends), error)

    return found


def _relu6(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    return SizeAndError(6.0, ranges[0].error)


def _leak(call: Call) -> float:
    return max(1.0, abs(float(call["negative_slope"])))


def _prelu(call: Call) -> float:
    return max(1.0, float(np.abs(call.array("weight")).max()))


def _scaled_by(slope: Constant) -> Callable[[Call, list[SizeAndError]], SizeAndError]:
    return lambda call, ranges: scaled(slope(call), ranges[0])


# scale x for x > 0, else scale alpha (exp(inner x) - 1)
def _elu_numbers(call: Call) -> tuple[float, float, float]:
    """Return |alpha|, |scale| and inner."""
    if "selu" in call.step.operation:
        return 1.6732632423543773, 1.0507009873554806, 1.0
    alpha = float(call["alpha"])
    if "celu" in call.step.operation:  # inner is 1/alpha, rounded
        return abs(alpha), 1.0, 1 / alpha if alpha else math.inf
    return abs(alpha), abs(float(call["scale"])), float(call["input_scale"])


def _elu(call: Call) -> float:
    alpha, scale, inner = _elu_numbers(call)
    if not inner >= 0:
        raise call.refuse("grows like an exponential function")
    slope = scale * max(1.0, alpha * inner)
    if not slope < math.inf:
        return math.inf
    steepest = max(Fraction(1), Fraction(alpha) * Fraction(inner))
    exact = Fraction(scale) * steepest
    return slope if slope >= exact else slope * (1 + 2 * EPS)


def _elu_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    alpha, scale, _ = _elu_numbers(call)
    size = scale * max(ranges[0].size, alpha)
    lost = ELEMENTARY * scale * max(alpha, 0.0 if scale == 1 else ranges[0].seen)
    return SizeAndError(size, _elu(call) * ranges[0].error + lost)


# Softplus is log(1 + exp(beta x))/beta. torch's linear part beyond a threshold begins
# with a jump, which layers around it may enlarge; in what is run it begins where it
# makes no difference in float64.

_JUMP = 1e-6


def _settled(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a softplus whose linear part begins at 40.

    Much later exp would overflow. ValueError if torch's begins with a jump that can be
    seen.
    """
    beta, threshold = float(arguments["beta"]), float(arguments["threshold"])
    if not threshold >= 20:
        raise ValueError(f"must have a threshold >= 20; got {threshold:g}")
    jump = math.log1p(math.exp(-threshold)) / abs(beta) if beta else math.inf
    if not jump <= _JUMP:
        raise ValueError(
            f"with beta = {beta:g} and threshold = {threshold:g} jumps by {jump:.2g} "
            f"where torch's linear part begins; at most {_JUMP:g} is allowed: raise "
            "one of them"
        )
    return arguments | {"threshold": 40.0}


def _softplus_bend(call: Call) -> float:
    return abs(float(call["beta"])) / 4


def _softplus_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    size = ranges[0].size + math.log(2) / abs(float(call["beta"]))
    return SizeAndError(size, ranges[0].error + ELEMENTARY * (size + ranges[0].error))


def _log_sigmoid_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    size = ranges[0].size + math.log(2)
    return SizeAndError(size, ranges[0].error + ELEMENTARY * (size + ranges[0].error))


def _gelu(call: Call) -> float:
    if call["approximate"] != "none":
        raise call.refuse(f"has no bound with approximate={call['approximate']!r}")
    return 1.13  # 1.12890


POINTWISE = {
    "aten.relu.default": _record(1.0, None, same),
    "aten.relu6.default": _record(1.0, None, _relu6),
    "aten.hardtanh.default": _record(1.0, None, _clamped("min_val", "max_val")),
    "aten.clamp.default": _record(1.0, None, _clamped("min", "max")),
    "aten.clip.default": _record(1.0, None, _clamped("min", "max")),
    "aten.clamp_min.default": _record(1.0, None, _clamped("min")),
    "aten.clamp_max.default": _record(1.0, None, _clamped("max")),
    "aten.abs.default": _record(1.0, None, same),
    "aten.neg.default": _record(1.0, 0.0, same, affine=True),
    "aten.leaky_relu.default": _record(_leak, None, _scaled_by(_leak)),
    "aten.prelu.default": _record(_prelu, None, _scaled_by(_prelu)),
    **{
        f"aten.{name}.default": _record(_elu, None, _elu_range)
        for name in ("elu", "celu", "selu")
    },
    "aten.tanh.default": _record(1.0, 0.76980036, _bounded(1.0)),  # 4/(3 sqrt 3)
    "aten.sigmoid.default": _record(0.25, 0.09622505, _bounded(0.25)),  # 1/(6 sqrt 3)
    "aten.sin.default": _record(1.0, 1.0, _bounded(1.0)),
    "aten.cos.default": _record(1.0, 1.0, _bounded(1.0)),
    "aten.silu.default": _record(1.1, 0.5, _times_share(1.1)),  # 1.09984
    "aten.gelu.default": _record(_gelu, 0.79788457, _times_share(1.13)),  # 2 phi(0)
    "aten.hardsigmoid.default": _record(1 / 6 * (1 + 1e-15), None, _bounded(0.17)),
    "aten.hardswish.default": _record(1.5, None, _times_share(1.5)),
    "aten.log_sigmoid.default": _record(1.0, 0.25, _log_sigmoid_range),
    "aten.softplus.default": _record(
        1.0, _softplus_bend, _softplus_range, settle=_settled
    ),
}
