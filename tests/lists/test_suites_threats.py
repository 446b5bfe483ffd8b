"""The suite of answers over the noise of every threat: each scheme with each answer,
and the pairs that do not go together are refused in one line.

The truth that certificates are compared with is the scheme's own transport of exact
probabilities, which the suite of schemes compares with classifiers in mpmath, and
``tests/discrete`` with all outcomes in rational numbers.
"""

from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from claims import Claims, medians, positions, wrong_position
from scipy.special import ndtr, ndtri

from rsbounds import schemes
from rsbounds.answers import Flag, Maps, TopClass, TopK, Values
from rsbounds.testing import check_answer

TAU = 0.6
LABELS = np.array([0, 1, 0, 2])


def whole_numbers(largest, size=6):
    return np.random.default_rng(3).integers(0, largest + 1, (4, size))


#: A scheme of each method whose radii ten samples can show, and inputs of it.
NOISES = {
    "laplace": (schemes.laplace(0.5), None),
    "uniform": (schemes.uniform(0.5), None),
    "exponential": (schemes.exponential(2.0), None),
    "transformed": (schemes.transformed(schemes.laplace(0.5), "brightness"), None),
    "splitting": (schemes.splitting(0.5, 10), whole_numbers(10) / 10),
    "categorical": (schemes.categorical(0.9, 4), whole_numbers(3)),
    "flips": (schemes.flips(0.05, 0.1), whole_numbers(1)),
    "mask": (schemes.mask(6, 2, hidden=3), whole_numbers(2)),
    "mask of any length": (
        schemes.mask(keep_probability=0.3, hidden=3),
        whole_numbers(2),
    ),
    "deletion": (schemes.deletion(0.9), whole_numbers(2)),
    "blocks": (
        schemes.blocks(
            schemes.flips(0.05, 0.1), schemes.categorical(0.9, 3), splits=[3]
        ),
        whole_numbers(1),
    ),
    "blocks of numbers and values": (
        schemes.blocks(schemes.gaussian(0.5), schemes.categorical(0.9, 3), splits=[3]),
        np.hstack([whole_numbers(9, 3) / 10, whole_numbers(2, 3)]).astype(np.float32),
    ),
}
COUNTED = {name: scheme.whole for name, (scheme, _) in NOISES.items()}


# --- models


def of_sequences(sequences):
    """Scores of sequences of any length."""
    return np.array([[len(s), 4 + np.sum(np.equal(s, 1)), 0.5] for s in sequences])


def lengths(sequences):
    return np.array([float(len(s)) for s in sequences])


def sums(batch):
    return np.asarray(batch, float).reshape(len(batch), -1).sum(axis=1)


def two_classes(batch):
    batch = np.asarray(batch, float) - 0.5
    return np.stack([batch, -batch], axis=1)


def two_classes_of_lengths(sequences):
    ends = np.array([[len(s) - 2.0, 1.0] for s in sequences])
    return np.stack([ends, -ends], axis=1)


# --- what claims mean


@cache
def claims(name):
    scheme, _ = NOISES[name]

    def moved(share, radii):
        low, high = scheme.transport(ndtri(share), radii, scheme.own_level)
        return ndtr(low), ndtr(high)

    # up to what ten samples can show
    if COUNTED[name]:
        return Claims(moved, np.arange(30.0).tolist())
    return Claims(moved, np.linspace(0.0, 3.0, 601).tolist(), step=0.005)


def radii_of_values(name):
    return (0.0, 1.0) if COUNTED[name] else (0.0, 0.1)


# --- every pair


def of_class(name, scheme):
    sequences = {"model": of_sequences} if name == "deletion" else {}
    # no samples, so no level, and nothing is selected: test_threats compares all
    # outcomes with the truth
    exact = {
        "numbers": {"bound": "exact", "n": 10},
        "wrong": lambda *claim: False,
        "returned": lambda counts: counts,
    }
    return TopClass(scheme), sequences | (exact if name == "splitting" else {})


def of_best(name, scheme):
    sequences = {"model": of_sequences} if name == "deletion" else {}
    wrong = partial(claims(name).outside_the_best, 2)
    return TopK(scheme, 2), {"options": {"k": 2}, "wrong": wrong, **sequences}


def of_values(name, scheme):
    return Values(scheme, list(radii_of_values(name))), {
        "options": {"radii": radii_of_values(name), "quantile": 0.5},
        "model": lengths if name == "deletion" else sums,
        "returned": medians,
        "wrong": partial(claims(name).outside_the_interval, radii_of_values(name)),
    }


def of_maps(name, scheme):
    return Maps(scheme, TAU), {
        "options": {"tau": TAU},
        "model": two_classes_of_lengths if name == "deletion" else two_classes,
        "kinds": 4,
        "returned": positions,
        "wrong": partial(wrong_position, TAU),
    }


def of_flag(name, scheme):
    sequences = {"model": of_sequences} if name == "deletion" else {}
    return Flag(scheme, 0.2, 0), {
        "options": {
            "threshold": 0.2,
            "flagged": "0",
            "calibrate": None,
            "share": None,
        },
        "wrong": partial(claims(name).another_flag, 0.2),
        **sequences,
    }


ANSWERED = {
    "class": of_class,
    "top-k": of_best,
    "values": of_values,
    "maps": of_maps,
    "flag": of_flag,
}
REFUSED = {("splitting", answer) for answer in ANSWERED if answer != "class"}
QUICK = {("mask", "class")}
#: What differs from a line above in the curve's parameters alone.
ALIKE = {("mask of any length", answer) for answer in ANSWERED if answer != "class"}


def pairs():
    for pair in product(NOISES, ANSWERED):
        if pair not in REFUSED | ALIKE:
            marks = [] if pair in QUICK else [pytest.mark.slow]
            yield pytest.param(*pair, id=", ".join(pair), marks=marks)


@pytest.mark.filterwarnings("ignore:10 samples can't show")
@pytest.mark.parametrize(("name", "answer"), list(pairs()))
def test_an_answer_under_the_noise_of_a_threat(name, answer):
    scheme, x = NOISES[name]
    asked, options = ANSWERED[answer](name, scheme)
    data = None if x is None else (x, LABELS)
    check_answer(asked, data=data, **options)


@pytest.mark.parametrize(("name", "answer"), sorted(REFUSED))
def test_what_does_not_go_together_is_refused_in_one_line(name, answer):
    with pytest.raises(ValueError, match=r"noise.*sampled") as refusal:
        ANSWERED[answer](name, NOISES[name][0])
    assert "\n" not in str(refusal.value)


@pytest.mark.slow
def test_the_truths_that_claims_are_compared_with_refute():
    """A radius more than the truth is wrong, and the truth itself is not."""
    shares = (0.9999, 0.00006, 0.00004)
    for name in ("categorical", "flips", "uniform"):
        scheme, _ = NOISES[name]
        known = claims(name).largest_top_k_radius
        largest = known(shares, 0, 2)
        assert largest > known((0.5, 0.3, 0.2), 0, 2)
        assert scheme.radius(ndtri(0.9999), scheme.own_level, ndtri(0.00006)) <= largest
