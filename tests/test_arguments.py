"""Arguments of all radii and their factors: refused by name outside the domain, NaN in,
NaN out.
"""

from functools import partial

import numpy as np
import pytest

from rsbounds import (
    anisotropic,
    envelope,
    gaussian,
    lbrs,
    lipschitz,
    renyi,
    semielastic,
)

PAIR = {"p_a": 0.9, "sigma": 0.25, "p_b": 0.05}
MOVING = {**PAIR, "lip": 0.3, "sigma_min": 0.2, "dim": 784.0}
AXES = {"p_a": 0.9, "sigma": [0.5, 0.7], "p_b": 0.05}
SHAPE = envelope.LipschitzSigma(0.1, 0.2)
CALLS = {
    "gaussian": (gaussian.radius, {**PAIR, "norm": 3.0, "dim": 9.0}),
    "local_lipschitz": (gaussian.local_lipschitz, {"p": 0.9, "sigma": 0.5}),
    "lipschitz_radius": (
        gaussian.lipschitz_radius,
        {"p_a": 0.9, "p_b": 0.1, "lip": 1.0},
    ),
    "max_radius": (gaussian.max_radius, {"n": 100, "alpha": 0.001, "sigma": 0.5}),
    "semielastic": (semielastic.radius, {**PAIR, "rate": 0.1, "dim": 784.0}),
    "xi": (
        semielastic.xi,
        {"distance": 0.3, "p_a": 0.9, "sigma0": 0.5, "sigma1": 0.51, "dim": 9.0},
    ),
    "threshold": (semielastic.ratio_threshold, {"p_a": 0.9, "dim": 784.0}),
    "envelope": (
        partial(envelope.radius, envelope=SHAPE),
        {**PAIR, "dim": 784.0, "mean_lip": 0.1},
    ),
    "exact": (lipschitz.radius, MOVING),
    "integrated": (partial(lipschitz.radius, method="integrated"), MOVING),
    "paper": (partial(lipschitz.radius, method="paper"), {**MOVING, "p_min": 1e-7}),
    "ratio": (lipschitz.ratio, {"p": 0.9, "dim": 784.0}),
    "base": (lipschitz.base_radius, {**PAIR, "base_lip": 1.0}),
    "anisotropic": (anisotropic.radius, {**AXES, "norm": 3.0}),
    "log_volume": (anisotropic.log_volume, AXES),
    "laplace": (
        anisotropic.laplace_radius,
        {"p_a": 0.9, "scale": [1.0, 2.0], "p_b": 0.05},
    ),
    "renyi": (
        renyi.radius,
        {"p_a": 0.9, "sigma0": 0.5, "sigma1": 0.5, "dim": 9.0, "p_b": 0.05},
    ),
    "boundary": (
        lbrs.boundary_radius,
        {"value": 1.0, "grad_norm": 1.0, "alpha": 0.1, "lip_grad": 1.0},
    ),
}
OUTSIDE = {
    "p_a": 1.5,
    "p": 1.5,
    "sigma1": np.inf,
    "value": np.inf,
    "p_min": 0.7,
    "sigma": np.inf,
}
REFUSE_NAN = {"norm", "rate", "n", "n_classes"}
PAIRS = [(name, argument) for name, (_, values) in CALLS.items() for argument in values]


def outside(argument, value):
    bad = OUTSIDE.get(argument, -1)
    return [bad, *value[1:]] if isinstance(value, list) else bad


@pytest.mark.parametrize(("name", "argument"), PAIRS)
def test_values_outside_are_refused_by_name(name, argument):
    call, values = CALLS[name]
    assert np.all(np.isfinite(call(**values)))
    for bad in (outside(argument, values[argument]), "high", True):
        with pytest.raises(ValueError, match=rf"^{argument} must "):
            call(**{**values, argument: bad})


@pytest.mark.parametrize(("name", "argument"), PAIRS)
def test_nan_gives_nan_and_the_flag(name, argument):
    call, values = CALLS[name]
    value = values[argument]
    nan = [np.nan, *value[1:]] if isinstance(value, list) else np.nan
    if argument in REFUSE_NAN or (name == "exact" and argument in ("lip", "sigma_min")):
        with pytest.raises(ValueError, match=rf"^{argument} must be"):
            call(**{**values, argument: nan})
        return
    with np.errstate(invalid="ignore"):
        assert np.isnan(call(**{**values, argument: nan}))
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        call(**{**values, argument: nan})


@pytest.mark.parametrize("name", CALLS)
def test_shapes_that_do_not_broadcast_are_refused(name):
    call, values = CALLS[name]
    first, second = list(values)[:2]
    wide = (
        [[1.0, 1.0]] * 3 if isinstance(values[second], list) else [values[second]] * 3
    )
    with pytest.raises(ValueError, match="shapes must broadcast together"):
        call(**{**values, first: [values[first]] * 2, second: wide})
