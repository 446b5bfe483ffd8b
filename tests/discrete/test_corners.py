"""Noises at the ends of the doubles, in types of more digits, and of wrong types."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_curves import case_of, cases_of
from mpmath import mp

from rsbounds import schemes
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rationals import exact_probability
from rsbounds.discrete._laws import PairedLaw
from rsbounds.discrete._regions import Regions, Shares
from rsbounds.oracle import discrete
from rsbounds.schemes._categorical import CategoricalCurve

LARGEST = 1.7e308
SCHEMES = {
    "uniform": schemes.uniform(0.5),
    "laplace": schemes.laplace(0.5),
    "exponential": schemes.exponential(2.0),
    "gaussian": schemes.gaussian(0.5),
    "anisotropic": schemes.anisotropic([0.5, 1.0]),
    "splitting": schemes.splitting(0.5, 4),
    "categorical": schemes.categorical(0.8, 3),
    "flips": schemes.flips(0.01, 0.6),
    "mask": schemes.mask(50, 5),
    "deletion": schemes.deletion(0.9),
    "blocks": schemes.blocks(
        schemes.flips(0.2, 0.6), schemes.categorical(0.6, 2), splits=[3]
    ),
}


def test_twice_the_largest_half_width_is_no_width_without_end():
    """The step was 0, and NaN at an infinite radius."""
    scheme = schemes.uniform(LARGEST)
    z, radius = 0.4992067706625214, 1.020155407968892e308
    low, high = scheme.transport(z, radius)
    with mp.workdps(40):
        step = mp.mpf(radius) / (2 * mp.mpf(LARGEST))
        assert mp.ncdf(low) <= mp.ncdf(z) - step < mp.ncdf(low) + 1e-12
        assert mp.ncdf(high) >= min(mp.ncdf(z) + step, 1) > mp.ncdf(high) - 1e-12
    assert scheme.transport(z, math.inf) == (-math.inf, math.inf)


@pytest.mark.parametrize("width", [5e-324, 2.3e-308, 1.0, 8.9e307, 1.7e308])
def test_a_step_of_any_half_width_has_its_size(width):
    """Radii from a share of the width to all of it, against exact shares."""
    scheme = schemes.uniform(width)
    for share in (0.0, 0.1, 0.25, 0.6):
        radius = min(2 * share * Fraction(width), Fraction(LARGEST))
        given = float(radius)
        low, high = scheme.transport(0.3, given)
        with mp.workdps(40):
            exact = Fraction(given) / (2 * Fraction(width))
            step = mp.mpf(exact.numerator) / exact.denominator
            assert mp.ncdf(low) <= max(mp.ncdf(mp.mpf(0.3)) - step, 0)
            assert mp.ncdf(high) >= min(mp.ncdf(mp.mpf(0.3)) + step, 1)


@pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= 52, reason="long doubles are doubles here"
)
def test_an_array_of_long_doubles_is_taken_as_the_numbers_that_it_holds():
    """To the nearest double it gave a least probability that was too large."""
    curve = CategoricalCurve(0.8, 3)
    p = np.longdouble("0.9000000000000001054711873393898713")
    case = [case_of(curve, (1,))]
    exact = discrete.low(case, exact_probability("p", p))
    largest = discrete.high(case, exact_probability("p", p))
    assert Fraction(float(p)) > Fraction(*p.as_integer_ratio())
    for given in (p, np.array(p), np.array([p, p])):
        for low in np.ravel(curve.low(given, 1)):
            assert Fraction(float(low)) <= exact
            assert low == curve.low(p, 1)
        for high in np.ravel(curve.high(given, 1)):
            assert Fraction(float(high)) >= largest


@pytest.mark.parametrize("size", [1, 0])
def test_the_largest_probability_survives_flushed_denormals(size):
    """It was -0.0 for 6e-323: the processor's own arithmetic takes it for 0."""
    torch = pytest.importorskip("torch")
    curve = CategoricalCurve(0.8, 3)
    p = 6e-323
    expected = curve.high(p, 1)
    assert expected > 0
    given = np.array([p, 0.0, p]) if size else p
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor does not flush")
    try:
        high = curve.high(given, 1)
    finally:
        torch.set_flush_denormal(False)
    # nothing that a processor takes for 0 either
    every = np.ravel(high)
    assert np.all(every[::2] >= 2.0**-1022)
    assert np.all(every[::2] >= expected)


@pytest.mark.parametrize(
    ("curve", "changes"),
    [
        pytest.param(schemes.flips(0.01, 0.6).curve, 180, marks=pytest.mark.slow),
        (schemes.flips(0.001, 0.8).curve, (140, 0)),
        pytest.param(schemes.categorical(0.2, 256).curve, 200, marks=pytest.mark.slow),
    ],
)
def test_ratios_beyond_the_largest_double_have_a_transport(curve, changes):
    """q/p of a region overflowed."""
    low, high = curve.transport([-3.0, 0.0, 3.0], changes)
    # a bound of all ways is one of any of them: exact regions of all 181 take minutes
    cases = cases_of(curve, changes, step=30)
    for z, below, above in zip((-3, 0, 3), low, high, strict=True):
        p = Fraction(float(mp.ncdf(z)))
        least, most = discrete.low(cases, p), discrete.high(cases, p)
        with mp.workdps(400):
            room = mp.mpf(2) ** -40
            assert mp.ncdf(below) <= mp.mpf(least.numerator) / least.denominator + room
            assert mp.ncdf(above) >= mp.mpf(most.numerator) / most.denominator - room


WRONG = ["1.0", None, [1.0, 2.0], [[1.0]], 1j, b"1", {}, True]


def require_named(argument, *calls):
    for call in calls:
        with pytest.raises(ArgumentError) as refusal:
            call()
        assert refusal.value.name == argument


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
@pytest.mark.parametrize("name", SCHEMES)
def test_a_score_of_a_wrong_type_is_named(name, wrong):
    """A text, None or a list was a TypeError."""
    scheme = SCHEMES[name]
    level = scheme.own_level or 0.5
    require_named("z_a", lambda: scheme.radius(wrong, level, 0.0))
    if scheme.columns:
        require_named("z_a", lambda: scheme.further(wrong, 0.0))
    if hasattr(scheme.drawn, "curve"):
        require_named(
            "z_a",
            lambda: scheme.curve.certified(wrong, 1, scores=True),
            lambda: scheme.curve.frontier(wrong, scores=True),
        )
    if np.ndim(wrong) == 0:  # of arrays there is a transport
        require_named("z", lambda: scheme.transport(wrong, 1.0))
    if wrong is None:  # which stands for -z_a
        return
    require_named("z_b", lambda: scheme.radius(1.0, level, wrong))
    if scheme.columns:
        require_named("z_b", lambda: scheme.further(1.0, wrong))
    if hasattr(scheme.drawn, "curve"):
        require_named(
            "z_b",
            lambda: scheme.curve.certified(1.0, 1, wrong, scores=True),
            lambda: scheme.curve.frontier(1.0, wrong, scores=True),
        )


@pytest.mark.parametrize(
    ("z_a", "z_b"), [(1e-17, -1.6e-17), (1e-4, -1e-4), (6.0 + 1e-9, 6.0), (-8.0, -8.1)]
)
def test_uniform_radii_of_close_scores_keep_their_digits(z_a, z_b):
    with mp.workdps(60):
        exact = (mp.ncdf(mp.mpf(z_a)) - mp.ncdf(mp.mpf(z_b))) / 2
        radius = schemes.uniform(0.5).radius(z_a, 0.5, z_b)
        assert exact * (1 - mp.mpf("1e-12")) <= radius <= exact


EXTREME = {
    "two queries": [
        schemes.two_queries(*levels, 4) for levels in ((1e-30, 7.0), (1e30, 1e-5))
    ],
    "brightness and contrast": [
        schemes.brightness_contrast(*levels)
        for levels in ((1e-37, 2.0), (6.9e36, 1e-30))
    ],
    "transformed": [
        schemes.transformed(schemes.laplace(1e-30), "brightness"),
        schemes.transformed(schemes.laplace(1e30), "brightness"),
    ],
}


@pytest.mark.parametrize("name", EXTREME)
def test_extreme_levels_and_scores_raise_no_flag(name):
    """Numbers smaller than any double are no error, whatever NumPy may raise."""
    scores = (-6.0, 5e-324, 1e-300, 0.5, 8.2, 38.0, 40.0, 1e300, math.inf)
    for scheme in EXTREME[name]:
        before = 0.0
        for z in scores:
            with np.errstate(all="raise"):
                radius = scheme.radius(z, scheme.own_level)
                fewer = scheme.radius(z, scheme.own_level, 38.0)
            assert radius >= before  # it rises with the score
            assert fewer <= radius or z < 0
            before = radius


HALF = 0.5
NEXT_TO_HALF = [HALF - 1e-9, math.nextafter(HALF, 0), HALF]
NEXT_TO_HALF += [math.nextafter(HALF, 1), HALF + 1e-9]


@pytest.mark.parametrize("chance", NEXT_TO_HALF)
def test_a_sure_score_certifies_what_probability_1_does(chance):
    """Where no score is enough the threshold is infinite, and an infinite one was."""
    mask = schemes.mask(keep_probability=chance, hidden=7)
    deletion = schemes.deletion(chance)
    for scheme, proved in ((mask, chance < HALF), (deletion, chance > HALF)):
        certified = scheme.curve.radius(1.0)
        # next to the edge what is not proved is not certified
        assert certified <= proved
        assert scheme.radius(math.inf, scheme.own_level) == certified
        assert scheme.curve.radius([math.inf], scores=True).tolist() == [certified]


def test_half_of_all_outcomes_leaves_no_lead_for_a_sure_score():
    scheme = schemes.mask(dim=4, keep_count=2)
    assert scheme.radius(math.inf, scheme.own_level) == scheme.curve.radius(1.0) == 0


@pytest.mark.parametrize("alone", [False, True])
def test_answers_are_what_the_ends_of_events_say(alone):
    """One compiled loop makes them; events next to 0, 1/2 and 1 are among them."""
    rng = np.random.default_rng(3)
    asked = yes = 0
    for size in (1, 2, 7, 300):
        mass, shifted = rng.exponential(size=(2, size)) ** 3
        law = PairedLaw(mass / mass.sum(), shifted / shifted.sum(), 0.0, 1e-15, 1e-300)
        regions = Regions(law)
        p = np.concatenate([rng.uniform(0, 1, 200), regions.before, [0, 0.5, 1]])
        p = np.clip(p, 0, 1)
        top, rest = Shares(p, 1 - p), Shares(1 - p, p)
        first, second = regions.ends(top), regions.ends(rest)
        if alone:
            expected = (first.least > 0.5) | (first.most < 0.5)
            answers = regions.hold(top, None)
        else:
            expected = (first.least > second.most) | (second.least > first.most)
            expected |= first.least + second.least > 1
            expected |= first.most + second.most < 1
            answers = regions.hold(top, rest)
        assert (answers == expected).all()
        asked += len(p)
        yes += answers.sum()
    assert 0 < yes < asked or not alone


def test_a_compiled_loop_takes_no_array_of_another_type():
    regions = Regions(PairedLaw(np.full(2, 0.5), np.array([0.25, 0.75]), 0.0, 0.0, 0.0))
    single = np.zeros(3, np.float32)
    with pytest.raises(TypeError, match="C-contiguous array of its type"):
        regions.ends(Shares(single, single))
