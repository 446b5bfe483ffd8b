"""Numbers of every type: the same result as of the float64 of the same value, bit for
bit, or a ValueError.

A float16 that is only looked at keeps its eleven bits in every product after: a radius
was 6 % too large.
"""

from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from number_types import EXTREMES, bits, require_alike, retyped, rounded
from radius_calls import CALLS
from special_calls import CALLS as SPECIAL
from special_calls import IN_A_PARAMETER

from rsbounds import (
    anisotropic,
    composite,
    confidence,
    envelope,
    gaussian,
    lbrs,
    lipschitz,
    semielastic,
    special,
)
from rsbounds.certify import Procedure
from rsbounds.composite.internal import worst_ratio
from rsbounds.lipschitz.internal import ratio_derivative

EDGES = [0.0, 0.25, 0.5, 1.0]
HISTOGRAM = confidence.ScoreHistogram([10, 20, 300, 400], EDGES)
POINTS = [[0.0, 0.0], [3.0, 4.0], [1.0, 0.5]]
RULE = composite.Rule(
    [1.0, 0.5],
    [
        [composite.Cond("margin", 0), composite.Cond("score", 0, -0.25)],
        [composite.Cond("margin", 1)],
    ],
)
STAGES = [[26, 25, 24, 25], [90, 5, 5, 0]]
COUNTS = [[1300, 1250, 1250, 1200], [4500, 250, 250, 0]]
SCORES = [[1.5, -2.0, -2.5], [0.5, -1.0, -1.5]]


def within(shape, **values):
    """A radius under an envelope, and the ends of that at a distance."""
    bounds = shape(**values)
    plain = envelope.radius(0.99, 0.25, bounds, 784.0)
    return plain, *bounds.bounds(0.25, 0.125)


def widened(slack, rate):
    return within(lambda: envelope.Widened(envelope.SemiElastic(rate), slack))


def table(distance, low, high):
    return within(lambda: envelope.TableEnvelope(distance, low, high))


def mean_lip(p_a, sigma, dim, mean_lip):
    shape = envelope.Widened(envelope.SemiElastic(0.125), 0.0)
    return envelope.radius(p_a, sigma, shape, dim, mean_lip=mean_lip)


def sequential(radius, sigma, alpha, hits, trials):
    test = confidence.SequentialTest(radius, sigma, alpha)
    return test.log_wealth(hits, trials), test.proves(hits, trials), test.alpha


def bound(name, alpha):
    return confidence.BOUNDS[name].pair([300, 40, 55], 0, 400, alpha, runner_up=True)


def cdf(alpha, distance, sigma, level):
    made = confidence.CDFCertificate.from_histogram(HISTOGRAM, alpha, EDGES[1:])
    return made.lower_mean(distance, sigma), made.radius(sigma, level)


def cdf_of(thresholds, scores):
    made = confidence.CDFCertificate(thresholds, scores)
    return made.lower_mean(0.25, 0.5), made.radius(0.5)


def histogram(edges, scores):
    made = confidence.ScoreHistogram(edges=edges)
    made.add(scores)
    return confidence.soft_lower_bound(made, 0.125)


def knn(anchors, sigma_base, rate, shift, x):
    level = semielastic.KNNSigma(anchors, sigma_base, rate, 2, shift)
    return level.sigma(x), level.distance(x), level.rounding()


def biased(anchors, alpha, lip_grad, x):
    def linear(points):
        return points[:, 0] - 1.0, np.tile([1.0, 0.0], (len(points), 1))

    made = lbrs.LocallyBiased(linear, anchors, [-1, 1, 1], alpha, lip_grad)
    return made.certify(x)


def conditions(sigma, threshold, scores):
    rule = composite.Rule(
        [sigma, 0.5],
        [[composite.Cond("score", 0, threshold)], [composite.Cond("margin", 1)]],
    )
    return rule, composite.radius(rule, scores, 0), composite.classify(rule, scores)


def anytime(counts, n, alpha):
    return confidence.pair_bounds(counts, 40, n, alpha, method="anytime")


def composite_counts(alpha, n):
    made = composite.certify_counts(RULE, STAGES, COUNTS, Procedure(n=n, alpha=alpha))
    return made, composite.internal.plan(RULE, STAGES, n, alpha)


def positional(function):
    return lambda **values: function(*values.values())


MORE = {
    "SemiElastic": (partial(within, envelope.SemiElastic), {"rate": 0.1}),
    "LipschitzSigma": (
        partial(within, envelope.LipschitzSigma),
        {"lip": 0.1, "sigma_min": 0.2},
    ),
    "SigmaRange": (
        partial(within, envelope.SigmaRange),
        {"sigma_min": 0.2, "sigma_max": 0.3},
    ),
    "Widened": (widened, {"slack": 3e-4, "rate": 0.01}),
    "TableEnvelope": (
        table,
        {"distance": [0.1, 0.2], "low": [0.24, 0.23], "high": [0.26, 0.27]},
    ),
    "branches": (
        partial(envelope.branch_radii, envelope=envelope.SemiElastic(0.01)),
        {"p_a": 0.99, "sigma": 0.25, "dim": 784.0, "mean_lip": 0.1},
    ),
    "searched": (mean_lip, {"p_a": 0.9, "sigma": 0.3, "dim": 784.0, "mean_lip": 0.1}),
    "worst_case_ball": (
        semielastic.worst_case_ball,
        {"distance": 0.3, "p_a": 0.99, "sigma0": 0.25, "sigma1": 0.245, "dim": 784.0},
    ),
    "transport": (
        gaussian.internal.transport,
        {"z": 1.3, "radius": 0.3, "sigma": 0.7, "norm": 3.0, "dim": 9.0},
    ),
    "anisotropic.internal.transport": (
        anisotropic.internal.transport,
        {"z": 1.3, "radius": 0.3, "sigma": 0.7, "inner": 0.4},
    ),
    "laplace_transport": (
        anisotropic.internal.laplace_transport,
        {"z": 1.3, "radius": 0.3, "scale": 0.7},
    ),
    "laplace_score_radius": (
        anisotropic.internal.laplace_score_radius,
        {"z_a": 1.3, "scale": 0.7, "z_b": -1.7},
    ),
    "laplace_paper": (
        partial(anisotropic.laplace_radius, method="paper"),
        {"p_a": 0.9, "scale": [1.0, 2.0], "p_b": 0.05, "norm": 3.0},
    ),
    "contains": (
        anisotropic.contains,
        {"delta": [0.1, 0.2], "p_a": 0.9, "sigma": [0.5, 0.7], "p_b": 0.05},
    ),
    "constant": (
        lipschitz.constant,
        {"dim": 784.0, "lip": 0.3, "sigma_min": 0.7, "p_min": 0.01},
    ),
    "normalize": (
        lipschitz.normalize_scores,
        {"scores": [0.5, 0.25, 0.25], "p_min": 0.01},
    ),
    "p_min_search": (lipschitz.p_min_search, {"dim": 784.0, "floor": 0.01}),
    "slope": (ratio_derivative, {"p": 0.9, "dim": 784.0}),
    "neighbour": (
        lbrs.neighbour_radius,
        {"x": [0.3, 0.1], "anchors": POINTS, "labels": [0, 1, 1], "norm": 2.0},
    ),
    "LocallyBiased": (
        biased,
        {"anchors": POINTS, "alpha": 0.3, "lip_grad": 0.1, "x": [[2.3, 0.1]]},
    ),
    "KNNSigma": (
        knn,
        {
            "anchors": POINTS,
            "sigma_base": 0.3,
            "rate": 0.1,
            "shift": 0.7,
            "x": [[0.3, 0.1]],
        },
    ),
    "lower_bound": (
        confidence.lower_bound,
        {"count": 990.0, "n": 1000.0, "alpha": 0.001},
    ),
    "upper_bound": (
        confidence.upper_bound,
        {"count": 10.0, "n": 1000.0, "alpha": 0.001},
    ),
    "pair_bounds": (
        confidence.pair_bounds,
        {"count_a": 900.0, "count_b": 60.0, "n": 1000.0, "alpha": 0.001},
    ),
    "anytime": (anytime, {"counts": 300.0, "n": 400.0, "alpha": 0.001}),
    "anytime_lower": (
        confidence.anytime_lower_bound,
        {"hits": 300.0, "trials": 400.0, "alpha": 0.001},
    ),
    "anytime_upper": (
        confidence.anytime_upper_bound,
        {"hits": 300.0, "trials": 400.0, "alpha": 0.001},
    ),
    "SequentialTest": (
        sequential,
        {"radius": 0.258, "sigma": 0.5728, "alpha": 0.013, "hits": 7e2, "trials": 1e3},
    ),
    **{
        name: (partial(bound, name), {"alpha": 0.01})
        for name in ("clopper-pearson", "anytime")
    },
    "soft_lower_bound": (
        partial(confidence.soft_lower_bound, HISTOGRAM),
        {"alpha": 0.01},
    ),
    "soft_upper_bound": (
        partial(confidence.soft_upper_bound, HISTOGRAM, method="betting"),
        {"alpha": 0.01},
    ),
    "maurer-pontil": (
        partial(confidence.soft_lower_bound, HISTOGRAM, method="maurer-pontil"),
        {"alpha": 0.01},
    ),
    "from_histogram": (
        cdf,
        {"alpha": 0.01, "distance": 0.3, "sigma": 0.7, "level": 0.4},
    ),
    "CDFCertificate": (cdf_of, {"thresholds": [0.3, 0.7], "scores": [1.3, 0.7]}),
    "ScoreHistogram": (histogram, {"edges": EDGES, "scores": [0.3, 0.7]}),
    "Rule": (
        conditions,
        {"sigma": 0.7, "threshold": 0.3, "scores": [[1.5, -2.0], [0.5, -1.0]]},
    ),
    "composite.radius": (
        partial(composite.radius, RULE),
        {"scores": SCORES, "cls": 0.0},
    ),
    "route_radius": (
        composite.route_radius,
        {"scores": [1.5], "sigma": 0.3, "radii": [0.8, 0.0], "quantile": 0.4},
    ),
    "composite.certify_counts": (composite_counts, {"alpha": 0.001, "n": 5000.0}),
    "worst_ratio": (
        worst_ratio,
        {"radii": [0.4, 2.0], "constants": [[0.5, 0.5]], "least": 0.05},
    ),
    "Procedure": (
        Procedure,
        {"n0": 100.0, "n": 1000.0, "alpha": 0.001, "target_radius": 0.3},
    ),
    **{
        name: (
            positional(getattr(special, name)),
            dict(zip("abc", inside, strict=False)),
        )
        for name, (inside, *_) in SPECIAL.items()
    },
}
ALL = {**CALLS, **MORE}


@pytest.mark.parametrize("name", ALL)
def test_equal_to_the_float64_of_the_same_value(name):
    call, values = ALL[name]
    require_alike(call, values)
    values = {argument: rounded(value) for argument, value in values.items()}
    expected = bits(call(**values))
    # all of them at once: no product is formed before they are converted
    for kind in ("float16", "float32", "longdouble"):
        others = {argument: retyped(value, kind) for argument, value in values.items()}
        assert bits(call(**others)) == expected, kind


NO_NUMBERS = {
    "text": "high",
    "bytes": b"1",
    "bool": True,
    "complex": 1j,
    "object": object(),
    "mapping": {},
    "date": np.datetime64("2020"),
    "ragged": [[1.0], [1.0, 2.0]],
    "masked": np.ma.masked_all(2),
}


# ufuncs keep masked arrays, a bound that needs no u ignores it, and in a list NumPy
# makes a number of True before anybody can see it
LET_THROUGH = {
    *((name, "masked") for name in vars(special)),
    *((name, kind) for name in ("clopper-pearson", "anytime") for kind in NO_NUMBERS),
    ("Rule", "bool"),
}


@pytest.mark.parametrize("name", ALL)
def test_what_is_no_number_is_a_value_error(name):
    call, values = ALL[name]
    accepted = set()
    for argument in values:
        for kind, wrong in NO_NUMBERS.items():
            try:
                call(**{**values, argument: wrong})
            except ValueError:
                continue
            accepted.add((name, kind))
    assert accepted <= LET_THROUGH


@pytest.mark.parametrize("name", ALL)
def test_no_flag_but_for_nan(name):
    """A number of any size has its result or a ValueError, whatever NumPy may raise."""
    call, values = ALL[name]
    for argument, value in values.items():
        for extreme in (value, *EXTREMES):
            # levels whose ratio is beyond the range of numbers have a NaN, and the flag
            if name == "xi" and argument.startswith("sigma"):
                continue
            # so do inverses in a parameter where no law has that probability
            if name in IN_A_PARAMETER:
                continue
            with np.errstate(all="raise"), suppress(ValueError):
                call(**{**values, argument: extreme})
