"""The table of compiled kernels: one list of names, the arity deduced, the domain
refused.
"""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import rsbounds_ext
from rsbounds import special
from rsbounds.special.internal import ERROR_KINDS
from rsbounds_ext import kernels

FOLDER = Path(rsbounds_ext.__file__).parent


def test_the_list_for_cython_is_the_table():
    declared = re.findall(
        r"^cdef double (\w+)\((.*)\) noexcept nogil$",
        (FOLDER / "kernels.pxd").read_text(),
        re.M,
    )
    arities = {name: arity for name, (_, arity) in kernels.symbols.items()}
    arguments = {name: re.findall(r"double (\w+)", args) for name, args in declared}
    assert {name: len(names) for name, names in arguments.items()} == arities
    for name in ERROR_KINDS:
        documented = list(inspect.signature(getattr(special, name)).parameters)
        assert documented == [*arguments[name], "out", "where", "options"]
    for name, arity in arities.items():
        ufunc = getattr(kernels, name)
        assert isinstance(ufunc, np.ufunc)
        assert (ufunc.__name__, ufunc.nin, ufunc.nout) == (name, arity, 1)


# (z_a, z_b, gap, sigma, dim, mean_lip), all inside the domain
BUDGET = (2.0, -2.0, 4.0, 0.25, 784.0, 0.0)
BAD_BUDGETS = [
    *((i, np.nan) for i in range(6)),
    *((3, bad) for bad in (0.0, -1.0, np.inf)),
    *((4, bad) for bad in (0.5, 2e8)),
    *((5, bad) for bad in (-0.1, np.inf)),
]
ENVELOPES = {
    "semielastic": ((0.01,), [(np.nan,), (-0.01,), (np.inf,)]),
    "lipschitz": (
        (0.1, 0.2),
        [
            (np.nan, 0.2),
            (-0.1, 0.2),
            (np.inf, 0.2),
            (0.1, np.nan),
            (0.1, -0.1),
            (0.1, 0.3),
        ],
    ),
    "range": (
        (0.2, 0.3),
        [
            (np.nan, 0.3),
            (0.0, 0.3),
            (0.26, 0.3),
            (0.2, np.nan),
            (0.2, 0.24),
            (-1.0, 0.3),
        ],
    ),
}


def refused(ufunc, *args):
    with np.errstate(invalid="ignore"):
        nan = bool(np.isnan(ufunc(*args)))
    with pytest.raises(FloatingPointError), np.errstate(invalid="raise"):
        ufunc(*args)
    return nan


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_radii_outside_the_domain_are_nan_and_flagged(envelope):
    good, bad = ENVELOPES[envelope]
    radius, branch = (getattr(kernels, f"{envelope}_{k}") for k in ("radius", "branch"))
    assert radius(*BUDGET, *good) >= 0
    assert branch(*BUDGET, 0.0, *good) >= 0
    for parameters in bad:
        assert refused(radius, *BUDGET, *parameters)
        assert refused(branch, *BUDGET, 1.0, *parameters)
    for i, value in BAD_BUDGETS:
        budget = [value if i == j else good for j, good in enumerate(BUDGET)]
        assert refused(radius, *budget, *good)
        assert refused(branch, *budget, 0.0, *good)
    assert refused(branch, *BUDGET, np.nan, *good)


def test_pairs_and_scores_outside_the_domain_are_nan_and_flagged():
    z_a, z_b, gap, sigma, dim, lip = BUDGET
    pair, score = kernels.pair_certified, kernels.worst_score
    for sigma1, certified in ((0.26, 1), (0.0, 0), (np.inf, 0)):
        assert pair(0.1, z_a, z_b, gap, sigma, sigma1, dim, lip) == certified
    for distance, sigma1 in ((np.nan, 0.26), (-0.1, 0.26), (0.1, np.nan), (0.1, -0.26)):
        assert refused(pair, distance, z_a, z_b, gap, sigma, sigma1, dim, lip)
    for i, value in BAD_BUDGETS:
        a, b, g, s, d, m = (value if i == j else good for j, good in enumerate(BUDGET))
        assert refused(pair, 0.1, a, b, g, s, 0.26, d, m)
    inside = (0.1, -2.0, 0.25, 0.26, 784.0)
    assert score(*inside) > -2
    outside = [
        (0, -1.0),
        (0, np.inf),
        (2, 0.0),
        (2, np.inf),
        (3, 0.0),
        (4, 0.5),
        (4, 2e8),
    ]
    for i, bad in (*outside, *((i, np.nan) for i in range(5))):
        assert refused(
            score, *(bad if i == j else good for j, good in enumerate(inside))
        )


# Every magnitude, signs, the ends of domains, and what is no number
EDGES = [0.0, 5e-324, 1e-300, 1e-100, 1e-10, 0.3, 0.5, 1 - 2**-53, 1.0, 1 + 2**-52, 1.5]
EDGES += [2.0, 7.0, 50.0, 784.0, 1e8, 1e20, 1e100, 1e300, np.inf]
EDGES += [*np.negative(EDGES).tolist(), np.nan]
ORDINARY = [0.01, 0.2, 0.5, 0.7, 0.9, 1.0, 2.0, 3.0, 10.0, 100.0]


def flags(ufunc, *args):
    """The kinds of flags that NumPy reports after a call."""
    kinds = set()
    with (
        special.errstate(domain="nan"),
        np.errstate(all="call", call=lambda kind, _: kinds.add(kind)),
    ):
        ufunc(*args)
    return kinds


@pytest.mark.parametrize("name", kernels.symbols)
def test_nan_raises_the_invalid_flag_and_nothing_raises_another(name):
    """Whatever the compiler evaluates ahead of a branch, whatever a search tries."""
    ufunc = getattr(kernels, name)
    rng = np.random.default_rng(0)
    shape = (ufunc.nin, 2000)
    args = np.where(
        rng.random(shape) < 0.7, rng.choice(ORDINARY, shape), rng.choice(EDGES, shape)
    )
    if name.startswith(("lipschitz_", "range_")) and ufunc.nin > 2:
        args[-1] = np.abs(args[-1])  # few points are inside the domain otherwise
    args[0, : len(EDGES)] = EDGES
    with special.errstate(domain="nan"), np.errstate(all="ignore"):
        result = ufunc(*args)
    nan = np.isnan(result)
    assert nan.any()
    assert (~nan).sum() > 100
    assert flags(ufunc, *args[:, ~nan]) == set()
    assert flags(ufunc, *args[:, nan]) == {"invalid value"}
    for i in range(0, 2000, 10):
        assert flags(ufunc, *args[:, i]) == ({"invalid value"} if nan[i] else set())
