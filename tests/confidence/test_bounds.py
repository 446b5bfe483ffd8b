"""The registry of bounds: its interface, and the level of a pair."""

import warnings

import numpy as np
import pytest
from refusals import refusals

from rsbounds import gaussian
from rsbounds.confidence import (
    BOUNDS,
    Bound,
    CDFCertificate,
    ScoreHistogram,
    anytime_lower_bound,
    anytime_upper_bound,
    interval,
    lower_bound,
    pair_bounds,
    soft_lower_bound,
    soft_upper_bound,
    upper_bound,
)
from rsbounds.confidence.bound import check_entry, divided

SOFT = [name for name, bound in BOUNDS.items() if bound.evidence == "scores"]


def histograms(n=400):
    rng = np.random.default_rng(3)
    scores = rng.dirichlet([6.0, 2.0, 1.0], n)
    made = [ScoreHistogram() for _ in range(3)]
    for h, column in zip(made, scores.T, strict=True):
        h.add(column)
    return made


def test_values_are_those_of_the_functions():
    assert all(bound.name == name for name, bound in BOUNDS.items())
    args = ([40, 300, 55], 1, 400, 0.01)
    for method in ("clopper-pearson", "anytime"):
        pair = BOUNDS[method].pair(*args, runner_up=True)
        assert (pair.z_a, pair.z_b) == pair_bounds(
            300, 55, 400, 0.01, scores=True, method=method
        )
        assert (pair.p_a, pair.p_b) == pair_bounds(300, 55, 400, 0.01, method=method)
    assert (
        upper_bound(55, 400, 0.005) == pair_bounds(300, 55, 400, 0.01)[1] < 1 - pair.p_a
    )
    pair = BOUNDS["clopper-pearson"].pair(*args, runner_up=False)
    assert pair.z_a == -pair.z_b == lower_bound(300, 400, 0.01, scores=True)
    assert pair.p_a == lower_bound(300, 400, 0.01)
    pair = BOUNDS["anytime"].pair(*args, runner_up=False)
    assert pair.p_a == anytime_lower_bound(300, 400, 0.01)
    made = histograms()
    for name in SOFT:
        pair = BOUNDS[name].pair(made, 0, 400, 0.01, runner_up=True)
        assert pair.p_a == soft_lower_bound(made[0], 0.005, method=name)
        others = [soft_upper_bound(h, 0.005, method=name) for h in made[1:]]
        assert pair.p_b == max(others) < 1 - pair.p_a
        pair = BOUNDS[name].pair(made, 0, 400, 0.01, runner_up=False)
        assert (
            pair.z_a
            == -pair.z_b
            == soft_lower_bound(made[0], 0.01, method=name, scores=True)
        )


def test_optimistic_ends_are_those_of_the_functions():
    bound = BOUNDS["anytime"]
    most = anytime_upper_bound(300, 400, 0.01, scores=True)
    least = anytime_lower_bound(55, 400, 0.01, scores=True)
    ends = bound.optimistic([40, 300, 55], 1, 400, 0.01, runner_up=True)
    assert ends == (most, least)
    ends = bound.optimistic([40, 300, 55], 1, 400, 0.01, runner_up=False)
    assert ends == (most, -most)
    # two classes: the other one can't be likelier than what the first leaves
    ends = bound.optimistic([200, 200], 0, 400, 0.01, runner_up=True)
    assert ends == (-ends[1], -ends[0])
    with pytest.raises(ValueError, match=r"'clopper-pearson'.*any time"):
        BOUNDS["clopper-pearson"].optimistic([1, 2], 1, 3, 0.01, runner_up=True)


test_an_entry_is_a_bound = refusals(
    {
        r"confidence\.Bound": lambda: check_entry("clopper-pearson"),
        r"evidence.*one of": lambda: Bound("mine", "votes", None),
        "most_alpha must": lambda: Bound("mine", "counts", None, most_alpha=0.0),
    }
)


@pytest.mark.parametrize("name", BOUNDS)
def test_two_classes_are_capped_at_the_complement(name):
    if BOUNDS[name].evidence != "scores":
        given = [300, 100]
    else:
        # the second class's scores are spread wider than the first's complement
        given = [ScoreHistogram(), ScoreHistogram()]
        given[0].add([0.75] * 400)
        given[1].add([0.0, 0.5] * 200)
    pair = BOUNDS[name].pair(given, 0, 400, 0.01, runner_up=True)
    assert pair.z_b <= -pair.z_a
    if name in ("clopper-pearson", "anytime", "chernoff"):
        assert pair.z_b == -pair.z_a
        assert pair.p_b == pytest.approx(1 - pair.p_a, rel=1e-12)


BAD = [
    ({"top": 3}, "top must be one of 3 classes; got 3"),
    ({"top": -1}, "top must be >= 0"),
    ({"evidence": [300, 101]}, "evidence must sum to at most n = 400; got 401"),
    ({"evidence": [6.5, 1]}, "evidence must be whole numbers"),
    (
        {"name": "chernoff", "evidence": histograms(399)},
        "histograms of n = 400 scores; got 399",
    ),
]


@pytest.mark.parametrize(("wrong", "match"), BAD)
@pytest.mark.parametrize("runner_up", [True, False])
def test_bad_input_is_named(wrong, match, runner_up):
    given = {"name": "clopper-pearson", "evidence": [40, 300, 55], "top": 1, "n": 400}
    given |= {"alpha": 0.01} | wrong
    with pytest.raises(ValueError, match=match):
        BOUNDS[given.pop("name")].pair(**given, runner_up=runner_up)


def test_bad_levels_of_pairs_are_named():
    with pytest.raises(ValueError, match=r"alpha must.*0\.7"):
        pair_bounds(6, 4, 10, 0.7, method="anytime")
    with pytest.raises(ValueError, match=r"alpha must.*0\.7"):
        BOUNDS["anytime"].pair([6, 4], 0, 10, 0.7, runner_up=False)
    with pytest.raises(ValueError, match=r"method.*one of"):
        pair_bounds(6, 4, 10, 0.1, method="bonferroni")
    # half of it is 0, and 0 was never given
    with pytest.raises(ValueError, match=r"alpha must.*5e-324"):
        pair_bounds(5, 3, 10, 5e-324)
    assert pair_bounds(5, 3, 10, 1e-323)[0] >= 0.0


def test_levels_that_are_divided_sum_to_no_more():
    """Half of 3 times the smallest number was twice it: 4 in all."""
    smallest = 2.0**-1074
    for units in range(2, 40):
        for parts in range(1, units + 1):
            level = divided(units * smallest, parts)
            assert level == units // parts * smallest
    assert divided(0.3, 7) == np.nextafter(0.3 / 7, 0)
    assert divided(np.array([3 * smallest, 0.3]), 2).tolist() == [smallest, 0.15]
    with pytest.raises(ValueError, match="alpha must"):
        divided(smallest, 2)


OF_ALPHA = {
    "lower_bound": lambda alpha: lower_bound(90, 100, alpha),
    "lower_bound of arrays": lambda alpha: lower_bound([90, 9], 100, alpha),
    "upper_bound": lambda alpha: upper_bound(90, 100, alpha, scores=True),
    "interval": lambda alpha: interval(90, 100, alpha),
    "pair_bounds": lambda alpha: pair_bounds(90, 5, 100, alpha),
    "soft_lower_bound": lambda alpha: soft_lower_bound(histograms()[0], alpha),
    "soft_upper_bound": lambda alpha: soft_upper_bound(histograms()[0], alpha),
    "from_histogram": lambda alpha: CDFCertificate.from_histogram(
        histograms()[0], alpha, 0.5
    ),
    "max_radius": lambda alpha: gaussian.max_radius(100, alpha, 0.5),
}


@pytest.mark.parametrize("name", OF_ALPHA)
def test_a_confidence_given_as_alpha_is_warned_of_once_where_it_was_given(name):
    ask = OF_ALPHA[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask(0.05)
    assert caught == []
    with pytest.warns(RuntimeWarning) as heard:
        ask(0.95)
    (warning,) = heard
    assert "for a confidence of 0.95 give alpha=0.05" in str(warning.message)
    assert warning.filename == __file__
    with pytest.raises(ValueError, match="alpha"):
        ask(95.0)  # refused, and no more


def test_of_several_levels_the_largest_is_warned_of():
    with pytest.warns(RuntimeWarning, match=r"give alpha=0.01"):
        lower_bound(90, 100, [0.001, 0.99])
