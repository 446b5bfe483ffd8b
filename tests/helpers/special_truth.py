"""Reference tables, and the error of a special function against the oracle at the exact
doubles.
"""

import math
from pathlib import Path

import numpy as np
from mpmath import mp

from rsbounds import oracle, special

TABLES = Path(__file__).parents[1] / "data"


def beside(x, ulps=1):
    below = above = x
    for _ in range(ulps):
        below, above = math.nextafter(below, -math.inf), math.nextafter(above, math.inf)
    return [below, x, above]


def difference(value, truth):
    with mp.workdps(40):
        return abs(float(mp.mpf(float(value)) - truth))


def relative(value, truth):
    with mp.workdps(40):
        return (
            abs(float((mp.mpf(float(value)) - truth) / truth))
            if truth
            else float(value)
        )


def ratio(name, args, truth=None):
    """The error of a function of special over its bound."""
    value = getattr(special, name)(*args)
    if truth is None:  # s + u is exact in the oracle
        more = int(math.log10(1 + args[2])) if name.startswith("ball") else 0
        truth = getattr(oracle, name)(*args, dps=25 + more)
    return difference(value, truth) / float(
        special.error_bound(name, value, df=df_of(name, args), measured=True)
    )


def df_of(name, args):
    if name.startswith("marcum"):
        return 2 * args[name.endswith("inv")]
    return args[1] if name.startswith("ncx2") else None


def table(name):
    with np.load(TABLES / f"{name}.npz") as data:
        return {key: data[key] for key in data.files}


def rows(t, chosen):
    return {key: column[chosen] for key, column in t.items()}


def table_error(value, t, key):
    """value - truth, to some 32 digits where they are close; 0 at equal infinities."""
    high = t[f"{key}_hi"]
    finite = np.isfinite(high)
    np.testing.assert_array_equal(value[~finite], high[~finite])
    with np.errstate(invalid="ignore"):
        return np.where(finite, value - high - t[f"{key}_lo"], 0.0)


def assert_below(error, limit, t, *inputs):
    ratio = np.abs(error) / limit
    i = int(np.argmax(ratio))
    assert np.all(ratio <= 1), f"{ratio[i]:.3g} at {[float(t[k][i]) for k in inputs]}"
