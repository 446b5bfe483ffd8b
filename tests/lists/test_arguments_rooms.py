"""What test_arguments_types asks of the theories, asked of the rooms above them: exact
curves, schemes, answers, looks, settings of a run.
"""

import json
import warnings
from contextlib import suppress
from fractions import Fraction
from numbers import Real

import numpy as np
import pytest
from number_types import EXTREMES, require_alike

from rsbounds import (
    answers,
    certify,
    confidence,
    lbrs,
    reports,
    results,
    schemes,
)
from rsbounds.lipschitz.internal import ratio_derivative
from rsbounds.schemes._categorical import CategoricalCurve
from rsbounds.schemes._deletion import DeletionCurve
from rsbounds.schemes._enveloped import EnvelopeScheme
from rsbounds.schemes._flips import FlipsCurve
from rsbounds.schemes._mask import MaskCurve
from rsbounds.votes import certify_votes

VOTES = {"n0": 100, "n": 1000, "alpha": 0.001}
SAMPLES = np.random.default_rng(0).normal(size=500)
TINY = schemes.gaussian(1e-310)
INPUT = np.array([0.0, 1.0])
SHARES = np.random.default_rng(1).random((60, 2))


def of_curve(maker):
    """What a curve says of a probability, and its own parameters."""

    def call(p_a, p_b, r, **parameters):
        curve = maker(**parameters)
        return (
            repr(curve),
            curve.low(p_a, r),
            curve.high(p_b, r),
            curve.threshold(r),
            curve.threshold(r, scores=True),
            curve.certified(p_a, r, p_b),
            curve.radius(p_a, p_b),
            curve.frontier(p_a, p_b),
        )

    return call


def scores_of_curve(z_a, z_b, r, keep):
    curve = CategoricalCurve(keep, 3)
    return (
        curve.radius(z_a, z_b, scores=True),
        curve.certified(z_a, r, z_b, scores=True),
        curve.transport(z_a, r),
        curve.frontier(z_a, z_b, scores=True),
    )


def of_scheme(maker, stated=None):
    """A scheme's parameters, radius and transport; the level is the argument `stated`,
    as it is given, else what the scheme says of an input.
    """

    def call(z_a, z_b, radius, **parameters):
        scheme = maker(**parameters)
        json.dumps(
            scheme.parameters, default=float
        )  # as manifests do, but for Fractions
        sigma = parameters[stated] if stated else scheme.sigma(INPUT)
        result = [scheme.radius(z_a, sigma, z_b)]
        if not isinstance(scheme, EnvelopeScheme):
            result += scheme.transport(z_a, radius, sigma)
        # a number may be an int or a Fraction: it is the same one
        numbers = {
            name: float(value) if isinstance(value, Real) else value
            for name, value in scheme.parameters.items()
        }
        return repr(result), repr(numbers)

    return call


def level(x):
    return 0.25


# Of exact curves: so many changes, or the powers of such a rational, have no end
EXACT = {"r", "values", "dim", "keep_count", "levels", "reach"}
EXACT |= {"p_a", "p_b", "keep", "add", "delete", "probability", "keep_probability"}
PAIR = {"p_a": 0.9, "p_b": 0.05, "r": 1}
SCORES = {"z_a": 1.3, "z_b": -1.7, "radius": 0.125}
CHANGES = {**SCORES, "radius": 1}
CALLS = {
    "categorical": (
        of_curve(CategoricalCurve),
        {**PAIR, "keep": 0.6, "values": 3},
    ),
    "flips": (of_curve(FlipsCurve), {**PAIR, "add": 0.1, "delete": 0.3}),
    "mask": (of_curve(MaskCurve), {**PAIR, "dim": 20, "keep_count": 5}),
    "mask, each": (
        of_curve(MaskCurve),
        {**PAIR, "dim": 20, "probability": 0.3},
    ),
    "deletion": (of_curve(DeletionCurve), {**PAIR, "delete": 0.7}),
    "scores": (scores_of_curve, {"z_a": 1.3, "z_b": -1.7, "r": 1, "keep": 0.6}),
    "certify_votes": (certify_votes, {"votes": [7, 3, 2], "reach": 1}),
    "gaussian": (
        of_scheme(schemes.gaussian, "sigma"),
        {**SCORES, "sigma": 0.3, "norm": 3.0, "dim": 9},
    ),
    "lipschitz": (
        of_scheme(lambda **values: schemes.lipschitz(level, **values)),
        {**SCORES, "lip": 0.3, "sigma_min": 0.2, "dim": 9, "rounding": 0.001},
    ),
    "sigma_range": (
        of_scheme(lambda **values: schemes.sigma_range(level, **values)),
        {**SCORES, "sigma_min": 0.2, "sigma_max": 0.3, "dim": 9},
    ),
    "anisotropic": (
        of_scheme(schemes.anisotropic),
        {**SCORES, "levels": [0.3, 0.7], "norm": 2.0},
    ),
    "laplace": (of_scheme(schemes.laplace, "scale"), {**SCORES, "scale": 0.3}),
    "exponential": (
        of_scheme(schemes.exponential),
        {**SCORES, "rate": 0.3},
    ),
    "two queries": (
        of_scheme(schemes.two_queries),
        {**SCORES, "sigma_1": 0.3, "sigma_2": 0.7, "dim": 9},
    ),
    "uniform": (
        of_scheme(schemes.uniform, "half_width"),
        {**SCORES, "half_width": 0.3},
    ),
    "double masking scheme": (
        lambda patch, masks, hidden: (
            schemes.double_masking(patch, masks, (4, 5), hidden=hidden).outcomes
        ),
        {"patch": 2, "masks": 3, "hidden": 0.5},
    ),
    "splitting": (
        of_scheme(schemes.splitting, "half_width"),
        {**SCORES, "half_width": 0.625, "levels": 4},
    ),
    "categorical scheme": (
        of_scheme(schemes.categorical),
        {**CHANGES, "keep": 0.6, "values": 3},
    ),
    "flips scheme": (of_scheme(schemes.flips), {**CHANGES, "add": 0.1, "delete": 0.3}),
    "mask scheme": (
        of_scheme(schemes.mask),
        {**CHANGES, "keep_probability": 0.3, "hidden": 0.5},
    ),
    "deletion scheme": (of_scheme(schemes.deletion), {**CHANGES, "delete": 0.7}),
    "exact": (
        lambda count, n, alpha: confidence.BOUNDS["exact"].pair(
            [count, 40, 55], 0, n, alpha, runner_up=True
        ),
        {"count": 300, "n": 400, "alpha": 0.01},
    ),
    "staged": (
        lambda n, alpha: repr(confidence.BOUNDS["staged"].looks.at(n, alpha)),
        {"n": 1000, "alpha": 0.01},
    ),
    "Procedure": (
        lambda **values: repr(certify.Procedure(**values)),
        {**VOTES, "seed": 3, "target_radius": 0.3},
    ),
    "value_interval": (
        lambda radius, p, alpha, sigma: answers.value_interval(
            SAMPLES, radius, p=p, alpha=alpha, scheme=schemes.gaussian(sigma)
        ),
        {"radius": 0.125, "p": 0.6, "alpha": 0.1, "sigma": 0.5},
    ),
    "certify_map": (
        lambda tau, n, alpha, sigma: answers.certify_map(
            [[9, 1]],
            [[99, 1]],
            tau,
            n=n,
            alpha=alpha,
            scheme=schemes.gaussian(sigma),
        ),
        {"tau": 0.6, "n": 100, "alpha": 0.1, "sigma": 0.5},
    ),
    "top_k_radius": (
        lambda k, alpha, sigma: answers.top_k_radius(
            [60, 30, 10],
            [600, 300, 100],
            0,
            k,
            n0=100,
            n=1000,
            alpha=alpha,
            scheme=schemes.gaussian(sigma),
        ),
        {"k": 2, "alpha": 0.01, "sigma": 0.5},
    ),
    "conformal_level": (
        lambda alpha, radius: answers.conformal_level(
            alpha, radius, schemes.gaussian(0.5)
        ),
        {"alpha": 0.1, "radius": 0.125},
    ),
    "set_rule": (
        lambda alpha, radius: answers.set_rule(2, alpha, radius, schemes.gaussian(0.5)),
        {"alpha": 0.1, "radius": 0.125},
    ),
    "conformalize": (
        lambda alpha, radius: answers.conformalize(
            SHARES, alpha, radius, schemes.gaussian(0.5)
        ),
        {"alpha": 0.1, "radius": 0.125},
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_equal_to_the_float64_of_the_same_value(name):
    call, values = CALLS[name]
    require_alike(call, values)


@pytest.mark.parametrize("name", CALLS)
def test_no_flag_but_for_nan(name):
    """A number of any size has its result or a ValueError, whatever NumPy may raise."""
    call, values = CALLS[name]
    for argument, value in values.items():
        for extreme in (value, *EXTREMES):
            if argument in EXACT and extreme != value:
                continue
            with (
                np.errstate(all="raise"),
                warnings.catch_warnings(),
                suppress(ValueError),
            ):
                warnings.simplefilter("ignore", RuntimeWarning)
                call(**{**values, argument: extreme})


def test_scores_of_any_size_have_a_transport():
    """Of 1e160 it was NaN: its logarithm less a share of it was inf - inf."""
    curve = CategoricalCurve(0.6, 3)
    low, high = curve.transport([1e160, -1e160, 1e308], 1)
    assert (low <= high).all()
    assert not np.isnan([low, high]).any()
    # as of a tail that is below any double
    np.testing.assert_array_equal(low[[0, 2]], curve.transport(1000.0, 1)[0])


def test_no_flag_of_what_is_smaller_than_any_double():
    radii = (5e-324, 5e-324 / 3, 0.0)
    rows = [results.Row(i, 1, 1, r, True, "fixed noise") for i, r in enumerate(radii)]
    select = [[60, 30, 10], [1, 2, 97]]

    def linear(points):
        return points[:, 0], np.tile([1.0, 0.0], (len(points), 1))

    biased = lbrs.LocallyBiased(linear, [[0.0, 0.0], [1e-310, 0.0]], [-1, 1], 0.1, 0.0)
    with np.errstate(all="raise"):
        assert "0.0000" in reports.table([results.Results("run", tuple(rows))], [0])
        assert (biased.certify([[3e-310, 0.0]])[1] >= 0).all()
        assert ratio_derivative(1e-300, 1e8) < 0
        for counts in select:
            drawn = [10 * count for count in counts]
            kept = answers.top_k_radius(counts, drawn, 0, 2, **VOTES, scheme=TINY)
            assert 0 <= kept < 1e-300


def test_a_level_of_more_digits_is_rounded_down():
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("long doubles are doubles here")
    below = np.longdouble(0.01) - np.longdouble(2.0) ** -62
    assert float(below) == 0.01  # to the nearest
    assert confidence.BOUNDS["clopper-pearson"].check_alpha(below) < 0.01
    assert sum(
        Fraction(look.alpha) for look in confidence.BOUNDS["staged"].looks.at(99, below)
    ) < Fraction(0.01)
    # and an envelope widened
    above = np.longdouble(0.3) + np.longdouble(2.0) ** -60
    scheme = schemes.lipschitz(level, above, 0.2, 9)
    assert scheme.parameters["lip"] > 0.3
