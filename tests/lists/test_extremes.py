"""Every scheme with parameters, scores and settings at their ends; and what is wrong
there is seen.
"""

import math
import threading

import numpy as np
import pytest
from hypothesis import strategies as st
from listed_schemes import SCHEMES

from rsbounds import anisotropic, gaussian, lipschitz, renyi, schemes, semielastic
from rsbounds._numerics.errors import ArgumentError
from rsbounds.testing import check_extremes
from rsbounds.testing._truth import exceeds
from rsbounds.testing._wrong import flushed_denormals

ENDS = [1e-37, 1e-8, 0.5, 3.0, 1e8, 3e38]
CHANCES = [1e-3, 0.1, math.nextafter(0.5, 0), math.nextafter(0.5, 1), 0.7, 0.999]
LEVEL = {"range": 0.35}
#: Scores up to which a search over several groups of columns is short.
REACH = {"blocks": 3.0, "blocks of numbers and values": 3.0}
#: Those whose few examples take seconds.
LONG = {*REACH, "flips", "semi-elastic, sound"}
#: Those whose worst case takes mpmath long, and one whose takes it seconds.
WORST = {"semi-elastic", "lipschitz", "range", "generator"}
WORST_OF_ALL = {"brightness-contrast"}
#: Where parameters have parameters, or where all of a domain takes too long to search.
AMONG = {
    "transformed": st.builds(
        lambda law, end: schemes.transformed(law(end), "brightness"),
        st.sampled_from([schemes.gaussian, schemes.laplace, schemes.uniform]),
        st.sampled_from([*ENDS[:-1], 2.35e36]),  # the largest that all three may have
    ),
    "transformed by a law of one side": st.builds(
        lambda end: schemes.transformed(schemes.exponential(end), "brightness"),
        st.sampled_from([4.26e-37, *ENDS[1:]]),
    ),
    "categorical": st.builds(
        schemes.categorical,
        st.sampled_from([0.1, 0.7, 0.999]),
        st.sampled_from([3, 256, 2**31]),
    ),
    "flips": st.builds(
        schemes.flips, st.sampled_from([0.0, 1e-3, 0.1]), st.sampled_from([0.3, 0.89])
    ),
    "mask of any length": st.builds(
        lambda p: schemes.mask(keep_probability=p, hidden=7),
        st.sampled_from([*CHANCES, math.nextafter(1, 0)]),
    ),
    "deletion": st.builds(schemes.deletion, st.sampled_from(CHANCES)),
    "blocks": st.builds(
        lambda add, keep: schemes.blocks(
            schemes.flips(add, 0.5), schemes.categorical(keep, 3), splits=[3]
        ),
        st.sampled_from([0.0, 1e-3, 0.1]),
        st.sampled_from([0.7, 0.9]),
    ),
    "blocks of numbers and values": st.builds(
        lambda sigma, keep, changes: schemes.blocks(
            schemes.gaussian(sigma),
            schemes.categorical(keep, 3),
            splits=[3],
            changes=changes,
        ),
        st.sampled_from(ENDS),
        st.sampled_from([0.7, 0.9]),
        st.sampled_from([0, 1, 2]),
    ),
}


def extremes_of(name, examples):
    scheme, _ = SCHEMES[name]()
    check_extremes(
        scheme,
        among=AMONG.get(name),
        sigma=LEVEL.get(name, 0.5),
        reach=REACH.get(name, math.inf),
        examples=examples,
    )


@pytest.mark.parametrize("name", [name for name in SCHEMES if name not in LONG])
def test_a_scheme_keeps_its_promises_at_the_ends(name, monkeypatch):
    # worst cases that take long are computed where there is time, below
    monkeypatch.setattr("rsbounds.testing._extremes.FEW_PAIRS", 0)
    extremes_of(name, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMES)
def test_schemes_of_many_extremes_keep_their_promises(name):
    few = 5 if name in LONG | WORST_OF_ALL else 10 if name in WORST else 30
    extremes_of(name, few)


class Bold(schemes.Gaussian):
    def radius(self, z_a, sigma, z_b=None):
        return 1.01 * super().radius(z_a, sigma, z_b)


class Warning(schemes.Gaussian):
    def radius(self, z_a, sigma, z_b=None):
        np.exp(np.float64(-1e4))
        return super().radius(z_a, sigma, z_b)


class Negative(schemes.Gaussian):
    def radius(self, z_a, sigma, z_b=None):
        second = -z_a if z_b is None else z_b
        return float(sigma) * (z_a - second) / 2


class Typed(schemes.Gaussian):
    def radius(self, z_a, sigma, z_b=None):
        return super().radius(z_a + 0.0, sigma, z_b)


class Lonely(schemes.Gaussian):
    """Another radius where another thread asks."""

    def radius(self, z_a, sigma, z_b=None):
        alone = threading.current_thread() is threading.main_thread()
        return super().radius(z_a, sigma, z_b) * (1 if alone else 0.5)


class Flat(schemes.Gaussian):
    def transport(self, z, radius, sigma=None):
        low, high = super().transport(z, radius, sigma)
        return low - 1e-6 * np.ndim(low), high


@pytest.mark.parametrize(
    ("wrong", "promise"),
    [
        (Bold, "at most the exact"),
        (Warning, "raises floating-point errors"),
        (Negative, "numbers >= 0"),
        (Typed, "wrong type"),
        (Lonely, "threads"),
        (Flat, "alone"),
    ],
)
def test_what_is_wrong_is_seen(wrong, promise):
    # a class of this file is none of the list: its truth is that of its name's
    with pytest.raises(AssertionError, match=promise):
        check_extremes(wrong({"sigma": 0.5}), examples=3)


# --- what the suite has found


def test_exponential_radii_are_finite_where_denormals_are_flushed():
    """From z = 38 on the rest of the lead was a denormal number: 0, and radius inf."""
    scheme = schemes.exponential(2.0)
    scores = [37.4, 38.0, 39.0, 9e3, 1e154]
    with flushed_denormals() as flushes:
        radii = [scheme.radius(z, 0.5) for z in scores]
    if not flushes:
        pytest.skip("this processor does not flush")
    for z, radius in zip(scores, radii, strict=True):
        assert min(0.99 * z * z / 4, 4e299) < radius < math.inf
        assert not exceeds(scheme, 0.5, radius, z, None)
        assert radius == scheme.radius(z, 0.5)


LEADS = [(1e-300, 2e-308), (1e-295, 2e-308), (1e-307, 2.2e-308), (1e-300, None)]


@pytest.mark.parametrize(
    "name",
    [
        "gaussian",
        "laplace",
        "uniform",
        "exponential",
        "two-queries",
        "range",
        "lipschitz",
    ],
)
def test_no_radius_is_larger_where_denormals_are_flushed(name):
    """The second score became 0, and the radius larger in its eighth digit."""
    scheme, _ = SCHEMES[name]()
    level = scheme.own_level or LEVEL.get(name, 0.5)
    expected = [scheme.radius(z_a, level, z_b) for z_a, z_b in LEADS]
    with flushed_denormals() as flushes:
        radii = [scheme.radius(z_a, level, z_b) for z_a, z_b in LEADS]
    if not flushes:
        pytest.skip("this processor does not flush")
    assert all(0 <= r <= whole for r, whole in zip(radii, expected, strict=True))


def test_the_smallest_probabilities_give_finite_radii_where_they_are_flushed():
    """A runner-up of 1e-310 became impossible, and every radius infinite."""
    p_b = np.array([2e-308, 1e-310, 5e-324, 1e-300])
    calls = [
        lambda p: gaussian.radius(0.9, 0.5, p),
        lambda p: anisotropic.laplace_radius(0.9, 0.5, p),
        lambda p: semielastic.radius(0.9, 0.5, 0.01, 10, p),
        lambda p: lipschitz.radius(0.9, 0.5, lip=0.1, sigma_min=0.1, dim=10, p_b=p),
        lambda p: renyi.radius(1e-300, 0.5, 0.5, 10, p),
    ]
    for call in calls:
        expected, alone = call(p_b), call(float(p_b[1]))
        with flushed_denormals() as flushes:
            radii, one = call(p_b), call(float(p_b[1]))
        if not flushes:
            pytest.skip("this processor does not flush")
        assert (radii <= expected).all()
        assert one <= alone
        assert radii[3] == expected[3]


def test_laplace_noise_moves_a_finite_score_to_no_certainty():
    """The quantile of 1e300 overflowed, and the event became certain."""
    for distance in (0.0, 1.0, 1e308):
        low, high = anisotropic.internal.laplace_transport(
            [1e300, -1e300], distance, 1e-55
        )
        assert low[0] <= 1e300
        assert high[1] >= -1e300
    assert anisotropic.internal.laplace_transport(math.inf, 1.0, 1.0) == (
        math.inf,
        math.inf,
    )


@pytest.mark.parametrize("wrong", ["high", [], None, 1j])
def test_two_queries_and_generators_name_the_score_and_the_level(wrong):
    pytest.importorskip("torch")
    for name in ("two-queries", "generator"):
        scheme, _ = SCHEMES[name]()
        with pytest.raises(ArgumentError) as error:
            scheme.radius(wrong, scheme.own_level or 0.5, -1.0)
        assert error.value.name == "z_a"
    with pytest.raises(ArgumentError) as error:
        scheme.radius(1.0, wrong, -1.0)
    assert error.value.name == "sigma"


def test_a_pair_that_is_none_is_named_as_the_radius_of_blocks():
    scheme, _ = SCHEMES["blocks of numbers and values"]()
    with pytest.raises(ArgumentError) as error:
        scheme.transport(0.5, ())
    assert error.value.name == "radius"


@pytest.mark.parametrize("name", ["categorical", "mask", "deletion", "flips"])
def test_the_smallest_scores_move_without_a_flag(name):
    """Beside 0 the next double is no error of the caller's."""
    scheme, _ = SCHEMES[name]()
    for z in (0.0, 5e-324, -1e-310):
        for changes in (0.0, 5e-324, 1.0):
            expected = scheme.transport(z, changes)
            with np.errstate(all="raise"):
                assert scheme.transport(z, changes) == expected


def test_a_denormal_ellipsoid_has_a_number_where_denormals_are_flushed():
    """Its largest ball times an infinite reach was 0 times infinity."""
    made = SCHEMES["anisotropic"]()[0]
    scheme = type(made).from_parameters({**made.parameters, "inner": 5e-324})
    with flushed_denormals(), np.errstate(invalid="ignore"):
        assert scheme.radius(1.0, 0.5, -math.inf) >= 0


def test_next_to_no_contrast_costs_next_to_nothing():
    """It cost .001 of the radius, and less where the processor took it for 0."""
    parameters = {"sigma_brightness": 0.4, "sigma_contrast": 1.4}
    none, *radii = [
        schemes.METHODS["brightness-contrast"]
        .from_parameters({**parameters, "contrast": contrast})
        .radius(1.0, 0.4)
        for contrast in (0.0, 2.3e-308, 1e-100, 1e-13)
    ]
    np.testing.assert_allclose(radii, none, rtol=1e-11)
