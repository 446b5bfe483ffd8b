"""A call of each radius and each of their factors, inside their domains."""

from functools import partial

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
