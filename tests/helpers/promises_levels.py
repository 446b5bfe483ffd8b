"""Promises of radii where the level varies."""

import mpmath as mp
from promises import (
    ABOVE_HALF,
    DIMS,
    LEVELS,
    STEPS,
    TINY,
    above,
    around,
    below,
    promise,
    runner_up,
)

from rsbounds import envelope, lbrs, lipschitz, oracle, renyi, semielastic
from rsbounds.schemes.internal import rounding_of_levels


@promise(
    "rsbounds.envelope.radius", quick=1,
    z_a=(1e-6, 0.1, 2.0, 8.0, 37.0), sigma=(1e-150, 0.25, 1e150),
    rate=(0.0, 1e-6, 0.1), share=(0.1, 1.0), dim=(1.0, 3.0, 784.0, 150528.0),
    z_b=(None, -3.0, -1e-7),
)  # fmt: skip
def _(z_a, sigma, rate, share, dim, z_b):
    """``rate`` is that of the level at its own scale."""
    shape = envelope.LipschitzSigma(rate, share * sigma)
    value = envelope.radius(z_a, sigma, shape, dim, z_b, scores=True)
    bounds = oracle.lipschitz_sigma(sigma, rate, mp.mpf(share * sigma))
    yield from root(value, z_a, sigma, bounds, dim, z_b)


def root(value, z_a, sigma, bounds, dim, z_b):
    """Both branches certify a radius, and one of them nothing 1e-11 beyond it."""
    value = mp.mpf(float(value))
    yield branches(value, z_a, sigma, bounds, dim, z_b), -mp.inf, mp.mpf(0)
    beyond = value * (1 + mp.mpf("1.001e-11"))
    yield branches(beyond, z_a, sigma, bounds, dim, z_b), mp.mpf(0), mp.inf


def branches(distance, z_a, sigma, bounds, dim, z_b):
    """The larger sum of both worst scores at a distance, 0 where none is left."""
    sums = []
    for bound in bounds:
        classes = (-mp.mpf(z_a), runner_up(z_a, z_b))
        sums.append(
            mp.fsum(
                oracle.worst_score(distance, z, sigma, bound(distance), dim, dps=20)
                for z in classes
            )
        )
    return max(sums)


@promise(
    "rsbounds.semielastic.radius", quick=0,
    z_a=(1e-6, 0.1, 2.0, 8.0, 37.0), sigma=(1e-150, 0.25, 1e150),
    rate=(1e-6, 0.01, 1.0), dim=(1.0, 3.0, 784.0, 150528.0), z_b=(None, -3.0, -1e-7),
)  # fmt: skip
def _(z_a, sigma, rate, dim, z_b):
    steep = rate / sigma
    value = semielastic.radius(z_a, sigma, steep, dim, z_b, scores=True)
    bounds = oracle.semi_elastic(sigma, steep)
    yield from root(value, z_a, sigma, bounds, dim, z_b)


@promise(
    "rsbounds.lipschitz.radius", quick=0,
    z_a=(1e-6, 0.1, 2.0, 8.0), lip=(0.0, 1e-6, 0.3), share=(0.1, 1.0),
    dim=(1.0, 3.0, 784.0), z_b=(None, -1.0),
)  # fmt: skip
def _(z_a, lip, share, dim, z_b):
    options = {"lip": lip, "sigma_min": share * 0.5, "dim": dim}
    value = lipschitz.radius(
        z_a, 0.5, p_b=z_b, scores=True, method="integrated", **options
    )
    bounds = oracle.lipschitz_sigma(0.5, lip, mp.mpf(share * 0.5))
    exact = min(oracle.envelope_branches(z_a, 0.5, bounds, dim, z_b, dps=20))
    truth = oracle.integrated_radius(z_a, 0.5, z_b=z_b, dps=20, **options)
    yield below(value, min(exact, truth), 1.001e-11)


@promise(
    "rsbounds.lipschitz.ratio", quick=1,
    z=(-1e6, -38.0, -2.0, 0.0, 1e-300, 2.0, 38.0, 1e6), dim=DIMS,
)  # fmt: skip
def _(z, dim):
    truth, _ = oracle.lipschitz_ratio(z, dim, dps=30)
    yield around(lipschitz.ratio(z, dim, scores=True), truth, 2e-13)


@promise(
    "rsbounds.lipschitz.constant", quick=4,
    dim=DIMS, lip=(0.0, TINY, 1e-9, 0.5, 1e300), sigma_min=LEVELS,
    p_min=(TINY, 1e-300, 1e-7, 0.4999999),
)  # fmt: skip
def _(dim, lip, sigma_min, p_min):
    z = oracle.ndtri(p_min, dps=40)
    truth = oracle.lipschitz_constant(dim, lip, sigma_min, z, dps=30)
    yield above(lipschitz.constant(dim, lip, sigma_min, p_min), truth, 1e-12)


@promise(
    "rsbounds.lipschitz.base_radius", quick=6,
    z_a=(1e-12, 1e-5, 0.3, 2.0, 8.0, 37.0), sigma=(1e-150, 0.25, 1e150),
    width=(1e-9, 0.01, 1.0, 30.0, 1e9),
)  # fmt: skip
def _(z_a, sigma, width):
    lip = 1 / (width * sigma)
    truth = oracle.base_radius(z_a, sigma, lip, dps=30)
    yield below(lipschitz.base_radius(z_a, sigma, lip, scores=True), truth, 1e-11)


@promise(
    "rsbounds.semielastic.ratio_threshold", quick=1,
    p_a=ABOVE_HALF, dim=DIMS,
)  # fmt: skip
def _(p_a, dim):
    z = oracle.ndtri(p_a, dps=40)
    for side, at in (("below", z), ("above", -z)):
        truth = oracle.ratio_threshold(at, dim, dps=30)
        value = semielastic.ratio_threshold(p_a, dim, side=side, bound="exact")
        yield around(value, truth, 1e-12)


@promise(
    "rsbounds.semielastic.xi", quick=1,
    distance=(0.0, 1e-9, 0.3, 2.0), z=(-8.0, -1.0, 0.0, 0.3, 2.0, 8.0, 37.0),
    sigma0=(0.25, 1.0), ratio=(0.5, 0.99, 1 - 1e-9, 1.0, 1 + 1e-9, 1.01, 2.0), dim=DIMS,
)  # fmt: skip
def _(distance, z, sigma0, ratio, dim):
    sigma1 = sigma0 * ratio
    truth = oracle.worst_score(distance, -z, sigma0, sigma1, dim, dps=30)
    value = semielastic.xi(distance, z, sigma0, sigma1, dim, scores=True)
    if abs(truth) <= 100:
        yield around(value, truth, absolute=mp.mpf("1e-13") * max(1, abs(truth)))


@promise(
    "rsbounds.semielastic.worst_case_ball",
    distance=(1e-9, 0.3, 2.0), p_a=(1e-9, 0.3, 0.9, 1 - 1e-9), sigma0=(0.25, 1.0),
    ratio=(0.5, 0.99, 1.01, 2.0), dim=DIMS,
)  # fmt: skip
def _(distance, p_a, sigma0, ratio, dim):
    sigma1 = sigma0 * ratio
    centre, _, _ = semielastic.worst_case_ball(distance, p_a, sigma0, sigma1, dim)
    square = mp.mpf(sigma0) ** 2
    gap = square - mp.mpf(sigma1) ** 2
    lost = mp.mpf("1e-14") + abs((mp.mpf(sigma0**2 - sigma1**2) - gap) / gap)
    yield around(centre, square * mp.mpf(distance) / gap, lost)


@promise(
    "rsbounds.renyi.radius", quick=0,
    p_a=(0.5 + 1e-9, 0.7, 0.99, 1 - 1e-9), sigma0=(1e-150, 0.5, 1e150),
    ratio=(1e-3, 0.9, 1 - 1e-9, 1.0, 1 + 1e-9, 1.1, 1e3), dim=(1.0, 3.0, 784.0),
    p_b=(None, 1e-12, 1e-300),
)  # fmt: skip
def _(p_a, sigma0, ratio, dim, p_b):
    sigma1 = sigma0 * ratio
    z_a = oracle.ndtri(p_a, dps=40)
    z_b = None if p_b is None else oracle.ndtri(p_b, dps=40)
    truth = oracle.renyi_radius(z_a, sigma0, sigma1, dim, z_b, dps=30)
    alone = oracle.renyi_radius(z_a, sigma0, sigma0, 1, z_b, dps=30)
    value = renyi.radius(p_a, sigma0, sigma1, dim, p_b)
    # the dominant of the two terms that cancel under the root
    dominant = abs(truth**2 - alone**2) + truth**2
    square = max(truth**2 - mp.mpf("4e-12") * dominant, mp.mpf(0))
    cancel = dominant > 2 * truth**2
    least = mp.sqrt(square) if cancel else truth * (1 - mp.mpf("1e-11"))
    yield value, least - STEPS, truth * (1 + mp.mpf("1e-13"))


@promise(
    "rsbounds.lbrs.boundary_radius",
    value=(TINY, 1e-300, 1.0, 1e150, 1e300), grad_norm=(0.0, 1e-299, 1.0, 1e150, 1e300),
    alpha=(0.0, 1e-9, 1.0, 1e100), lip_grad=(0.0, 1e-290, 1.0, 1e150),
    method=("tight", "paper"),
)  # fmt: skip
def _(value, grad_norm, alpha, lip_grad, method):
    size, steep = mp.mpf(value), mp.mpf(lip_grad)
    b = mp.mpf(alpha) * steep + mp.mpf(grad_norm)
    factor = 2 if method == "tight" else 4
    low = b + mp.sqrt(b**2 + factor * steep * size)
    found = lbrs.boundary_radius(value, grad_norm, alpha, lip_grad, method=method)
    truth = 2 * size / low if low else mp.inf
    small = grad_norm < 1e-300 and alpha * lip_grad < 1e-300
    yield (found, mp.mpf(0), truth) if small else below(found, truth, 1e-14)


@promise(
    "rsbounds.schemes.internal.rounding_of_levels",
    rounding=(0.0, 1e-300, 1e-17, 1e-12, 0.01), floor=(1e-290, 0.25, 1.0, 1e300),
)  # fmt: skip
def _(rounding, floor):
    if rounding <= floor / 4:
        truth = -mp.log1p(-2 * mp.mpf(rounding) / mp.mpf(floor))
        yield above(rounding_of_levels(rounding, floor)["slack"], truth, 1e-11)
