"""Promises of radii under one law of noise."""

import mpmath as mp
import numpy as np
from promises import (
    ABOVE_HALF,
    DIMS,
    HUGE,
    LARGEST,
    LEVELS,
    NORMS,
    OTHERS,
    PROBABILITIES,
    SCORES,
    TINY,
    above,
    below,
    promise,
    runner_up,
)

from rsbounds import anisotropic, gaussian, oracle


@promise(
    "rsbounds.gaussian.radius",
    z_a=SCORES, sigma=LEVELS, z_b=OTHERS, norm=NORMS, dim=(*DIMS, 1e15),
)  # fmt: skip
def _(z_a, sigma, z_b, norm, dim):
    value = gaussian.radius(z_a, sigma, z_b, norm=norm, dim=dim, scores=True)
    truth = oracle.gaussian_radius(z_a, sigma, z_b, norm=norm, dim=dim, dps=40)
    yield below(value, truth, 1e-11)
    p = float(mp.ncdf(min(z_a, 8)))
    if 0.5 < p < 1:
        truth = oracle.gaussian_radius(
            oracle.ndtri(p, dps=40), sigma, norm=norm, dim=dim, dps=40
        )
        yield below(gaussian.radius(p, sigma, norm=norm, dim=dim), truth, 1e-11)


@promise(
    "rsbounds.gaussian.internal.transport",
    z=(-1e300, -38.0, -1e-17, 0.0, 1e-300, 2.0, 38.0, 1e300),
    radius=(0.0, TINY, 1e-9, 1.0, 1e300), sigma=LEVELS,
)  # fmt: skip
def _(z, radius, sigma):
    low, high = gaussian.internal.transport(z, radius, sigma)
    step = mp.mpf(radius) / mp.mpf(sigma)
    size = mp.mpf("1e-11") * (abs(mp.mpf(z)) + step)
    yield below(low, mp.mpf(z) - step, absolute=size) if step < LARGEST else (
        low, -mp.inf, mp.mpf(z) - step)  # fmt: skip
    yield above(high, mp.mpf(z) + step, absolute=size)


@promise(
    "rsbounds.anisotropic.internal.transport",
    z=(-38.0, -1e-17, 0.0, 1e-300, 2.0, 38.0, 1e300),
    radius=(0.0, TINY, 1e-9, 1.0, 1e300), sigma=(1e-300, 0.25, 1e300),
    inner=(1e-300, 0.5, 1.0, 1e300),
)  # fmt: skip
def _(z, radius, sigma, inner):
    low, high = anisotropic.internal.transport(z, radius, sigma, inner=inner)
    step = mp.mpf(radius) / (mp.mpf(sigma) * mp.mpf(inner))
    size = mp.mpf("1e-11") * (abs(mp.mpf(z)) + step)
    yield below(low, mp.mpf(z) - step, absolute=size) if step < LARGEST else (
        low, -mp.inf, mp.mpf(z) - step)  # fmt: skip
    yield above(high, mp.mpf(z) + step, absolute=size)


@promise(
    "rsbounds.gaussian.local_lipschitz",
    p=(*PROBABILITIES, 0.5 + 2.0**-53), sigma=LEVELS,
)  # fmt: skip
def _(p, sigma):
    z = oracle.ndtri(p, dps=40)
    truth = mp.npdf(z) / mp.mpf(sigma)
    yield above(gaussian.local_lipschitz(p, sigma), truth, 1e-11)


@promise(
    "rsbounds.gaussian.max_radius",
    n=(1, 10, 11, 100, 10**5, 10**15, 2**62),
    alpha=(TINY, 1e-300, 1e-9, 0.001, 0.3, 0.5 + 2.0**-53, 0.500001, 0.9, 1 - 2.0**-53),
    sigma=LEVELS,
)  # fmt: skip
def _(n, alpha, sigma):
    log_p = mp.log(mp.mpf(alpha)) / n
    z = max(oracle.ndtri_exp(log_p, dps=40), mp.mpf(0))
    near = abs(mp.exp(log_p) - 0.5) < 1e-4
    room = mp.mpf("2e-15") * mp.mpf(sigma) if near else 0
    value = gaussian.max_radius(n, alpha, sigma)
    yield below(value, z * mp.mpf(sigma), 0 if near else 1e-11, room)


@promise(
    "rsbounds.gaussian.brightness_radius",
    z_a=(0.0003, 0.1, 0.5, 2.0, 5.0, 6.0, 7.0, 8.0),
    gap=(None, 0.1, 1.0, 4.0), spread=(1e-7, 0.05, 2.0),
    sigma=(1e-300, 1.0, 1e300),
)  # fmt: skip
def _(z_a, gap, spread, sigma):
    """At no noise in contrast the radius is Cohen's; more noise leaves less."""
    z_b = None if gap is None else z_a - gap
    if gap is not None and (gap < 0.1 or z_b < -z_a):
        return
    value = gaussian.brightness_radius(z_a, sigma, spread, z_b, scores=True)
    plain = mp.mpf(sigma) * (z_a - runner_up(z_a, z_b)) / 2
    allowed = brightness_loss(z_a, gap)
    if spread < 1e-6 and allowed is not None:
        yield below(value, plain * (1 + mp.mpf("1e-13")), allowed + 1e-13)
    yield value, mp.mpf(0), plain * (1 + mp.mpf("1e-13"))


def brightness_loss(z_a, gap):
    """What the docstring says that is lost, where it says so."""
    if gap is None:
        edges = ((0.1, 1e-9), (5.0, 1e-11), (6.0, 1e-9), (7.0, 1e-6), (8.0, 1e-3))
    else:
        edges = ((3.0, 1e-9), (5.0, 1e-6), (6.0, 1e-3))
    return next((lost for end, lost in edges if z_a <= end), None)


AXES = ((1.0,), (1e-300, 1.0), (0.25, 0.5, 1.0), (1e-150, 1e150), (HUGE, 1e308))


@promise(
    "rsbounds.anisotropic.radius",
    z_a=SCORES, sigma=AXES, z_b=OTHERS, norm=NORMS,
)  # fmt: skip
def _(z_a, sigma, z_b, norm):
    value = anisotropic.radius(z_a, sigma, z_b, norm=norm, scores=True)
    truth = oracle.anisotropic_radius(z_a, sigma, z_b, norm=norm, dps=40)
    yield below(value, truth, 1e-11)


@promise(
    "rsbounds.anisotropic.contains",
    z_a=(1e-200, 1e-5, 1.0, 38.0, 1e6),
    sigma=((1.0, 2.0), (1e-150, 1e-100), (1e150, 1.0)),
    share=(1 - 2e-11, 1 - 1.1e-11, 1 + 1e-15, 2.0), axis=(0, 1),
)  # fmt: skip
def _(z_a, sigma, share, axis):
    """What is nearer than 1e-11 to the border need not be inside."""
    delta = np.zeros(2)
    delta[axis] = z_a * sigma[axis] * share
    reach = mp.mpf(delta[axis]) / mp.mpf(sigma[axis]) / mp.mpf(z_a)
    value = anisotropic.contains(delta, z_a, sigma, scores=True)
    subnormal = delta[axis] < 1e-290
    if not subnormal and (reach <= 1 - mp.mpf("1e-11") or reach >= 1):
        yield value, mp.mpf(reach < 1), mp.mpf(reach < 1)


@promise(
    "rsbounds.anisotropic.log_volume",
    z_a=(1e-295, 1e-17, 1.0, 38.0, 1e300), sigma=AXES,
)  # fmt: skip
def _(z_a, sigma):
    dim = mp.mpf(len(sigma))
    terms = [
        dim / 2 * mp.log(mp.pi),
        -mp.loggamma(dim / 2 + 1),
        dim * mp.log(mp.mpf(z_a)),
        *(mp.log(mp.mpf(s)) for s in sigma),
    ]
    size = mp.fsum(abs(term) for term in terms)
    room = mp.mpf("1e-11") * dim + mp.mpf("1e-14") * size
    value = anisotropic.log_volume(z_a, sigma, scores=True)
    yield below(value, mp.fsum(terms), absolute=room)


@promise(
    "rsbounds.anisotropic.laplace_radius", quick=20,
    p_a=(1e-300, 1e-9, 0.3, *ABOVE_HALF),
    p_b=(None, TINY, 1e-300, 1e-17, 1e-9, 0.3, 0.49999999),
    scale=LEVELS, method=("tight", "paper"),
)  # fmt: skip
def _(p_a, p_b, scale, method):
    z_a = oracle.ndtri(p_a, dps=60)
    z_b = None if p_b is None else oracle.ndtri(p_b, dps=60)
    truth = oracle.laplace_radius(z_a, scale, z_b, method=method, dps=40)
    value = anisotropic.laplace_radius(p_a, scale, p_b, method=method)
    yield below(value, truth if p_a > (p_b or 1 - p_a) else mp.mpf(0), 1e-11)


def laplace_quantile(z):
    """Quantile of the standard Laplace law at the probability of a normal score."""
    side = mp.log(2) + oracle.log_ndtr(-abs(mp.mpf(z)), dps=mp.mp.dps)
    return side if z < 0 else -side


@promise(
    "rsbounds.anisotropic.internal.laplace_score_radius", quick=15,
    z_a=(TINY, 1e-290, 1e-17, 1e-5, 0.3, 2.0, 8.0, 38.0, 1e6, 1e150),
    z_b=(None, -1e150, -38.0, -1e-17, 0.0, 1e-18, 0.29999999, 7.9999999),
    scale=(TINY, 1e-300, 1.0, 1e300),
)  # fmt: skip
def _(z_a, z_b, scale):
    width = mp.mpf(scale)
    with mp.workdps(340 if z_a < 1e-20 else mp.mp.dps):
        high, low = laplace_quantile(z_a), laplace_quantile(runner_up(z_a, z_b))
        truth = max(high - low, mp.mpf(0)) / 2 * width
    room = mp.mpf("1e-14") * (2 + abs(high) + abs(low)) * width
    if mp.mpf("1e-290") * width < truth < width / 10:
        room = min(room, mp.mpf("2e-11") * truth)
    value = anisotropic.internal.laplace_score_radius(z_a, scale, z_b)
    yield below(value, truth, absolute=room)


@promise(
    "rsbounds.anisotropic.internal.laplace_transport",
    z=(-1e6, -38.0, -2.0, -1e-17, 0.0, 1e-300, 0.3, 8.0, 38.0, 1e6),
    radius=(0.0, TINY, 1e-17, 0.5, 30.0, 1e6), scale=(1e-300, 1.0, 1e300),
)  # fmt: skip
def _(z, radius, scale):
    step = mp.mpf(radius) / mp.mpf(scale)
    room = mp.mpf("4e-14") * (1 + mp.mpf(z) ** 2 + step)
    low, high = anisotropic.internal.laplace_transport(z, radius, scale)
    if step < mp.mpf("1e12"):
        yield below(low, laplace_score(laplace_quantile(z) - step), absolute=room)
        yield above(high, laplace_score(laplace_quantile(z) + step), absolute=room)


def laplace_score(x):
    """Normal score of the standard Laplace law's distribution function."""
    score = oracle.ndtri_exp(-abs(x) - mp.log(2), dps=40)
    return score if x < 0 else -score
