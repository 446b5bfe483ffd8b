"""Random points of every function against the oracle, within the bound it promises.

What is drawn follows from the names of arguments, so that a new kernel is swept as soon
as it is published, and one whose kind of error is not its own fails here.
"""

import inspect

import mpmath as mp
import numpy as np
import pytest
from special_calls import CALLS, IN_A_PARAMETER, NAMES

from rsbounds import oracle, special
from rsbounds.special.internal import ERROR_KINDS

POINTS, MANY = 4, 60
INVERSES = [name for name in NAMES if ERROR_KINDS[name].startswith("inverse")]


def arguments(rng):
    """A point of every law by all names that arguments have."""
    df, nc = 10 ** rng.uniform(-1.5, 5), 10 ** rng.uniform(-3, 6)
    z, z_b = rng.normal(0, 3, 2)
    s, spread = np.sqrt(nc), np.sqrt(2 * df + 4 * nc)
    x = abs(df + nc + z * spread) + 1e-3
    p, log_p = special.ndtr(z), special.log_ndtr(2 * z)
    law = {"x": x, "df": df, "nc": nc, "m": df / 2, "a": s, "b": np.sqrt(x)}
    ball = {"u": np.sqrt(x) - s, "dim": max(df, 1.0), "s": s}
    return {**law, **ball, "z": z, "z_a": z, "z_b": z_b, "p": p, "q": p, "log_p": log_p}


def names_of(name):
    ufunc = getattr(special, name)
    return list(inspect.signature(ufunc).parameters)[: ufunc.nin]


def truth_of(name):
    return CALLS[name].truth or getattr(oracle, name)


def excess(name, function, drawn):
    """How much of its bound the error of a value is."""
    args = [float(drawn[key]) for key in names_of(name)]
    value = float(function(*args))
    if not 1e-290 < abs(value) < np.inf:
        return 0.0
    bound = special.error_bound(name, value, df=drawn["df"])
    with mp.workdps(30):
        return float(abs(truth_of(name)(*map(mp.mpf, args)) - value) / bound)


def sweep(name, count, function=None):
    rng = np.random.default_rng(sum(map(ord, name)))
    function = function or getattr(special, name)
    return max(excess(name, function, arguments(rng)) for _ in range(count))


DIRECT = [name for name in NAMES if name not in INVERSES]


@pytest.mark.parametrize("name", DIRECT)
def test_errors_are_within_the_promise(name):
    assert sweep(name, POINTS) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", DIRECT)
def test_errors_of_many_points_are_within_the_promise(name):
    assert sweep(name, MANY) <= 1


def score_and_names(name, drawn):
    """The score that an inverse is asked for, and the probability's name."""
    key = names_of(name)[0]
    if key == "z":
        return drawn["z"], key
    in_log = key == "log_p"
    score = oracle.ndtri_exp(drawn[key]) if in_log else oracle.ndtri(drawn[key])
    return float(score), key


def probability(key, z):
    """What an inverse is asked for; a logarithm next to 0 has its digits."""
    if key == "z":
        return z
    if key == "log_p":
        return mp.log1p(-mp.ncdf(-z)) if z > 0 else mp.log(mp.ncdf(z))
    return mp.ncdf(z)


def between(name, drawn):
    """Whether a result is that of a score within the bound, or two steps beside it."""
    score, key = score_and_names(name, drawn)
    rest = [mp.mpf(drawn[other]) for other in names_of(name)[1:]]
    bound = special.error_bound(name, score, df=drawn["df"])
    with np.errstate(invalid="ignore"):
        value = getattr(special, name)(*(drawn[other] for other in names_of(name)))
    if not 0 < abs(value) < np.inf:  # no law has that probability
        return name in IN_A_PARAMETER
    ends = []
    with mp.workdps(30):
        for z in (score - 2 * bound, score + 2 * bound):
            ends.append(truth_of(name)(probability(key, z), *rest))
    step = 2 * np.spacing(abs(value))
    return min(ends) - step <= value <= max(ends) + step


@pytest.mark.slow
@pytest.mark.parametrize("name", INVERSES)
def test_inverses_are_within_the_promise(name):
    rng = np.random.default_rng(sum(map(ord, name)))
    for _ in range(POINTS):
        drawn = arguments(rng)
        if "df" not in names_of(name):  # where one has that probability
            drawn["x"] = max(drawn["x"], drawn["nc"] + 1)
        assert between(name, drawn), drawn


def test_a_kernel_that_breaks_its_bound_is_noticed():
    def rough(x, df, nc):
        return special.ncx2_cdf(x, df, nc) * (1 + 1e-12)

    assert sweep("ncx2_cdf", POINTS, rough) > 10


def test_of_an_unproved_kernel_nothing_is_known(monkeypatch):
    monkeypatch.setitem(ERROR_KINDS, "new", "unproved")
    for measured in (False, True):
        assert special.error_bound("new", 0.5, measured=measured) == np.inf
    assert special.error_bound("new", np.inf) == 0
