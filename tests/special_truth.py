"""Reference tables, and the error of a special function against the oracle at the exact doubles."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp

from rsbounds import oracle, special

Array = Any
Args = tuple[float, ...]
TABLES = Path(__file__).parent / "tables"


def beside(x: float, ulps: int = 1) -> list[float]:
    """x and its neighbours."""
    below = above = x
    for _ in range(ulps):
        below, above = math.nextafter(below, -math.inf), math.nextafter(above, math.inf)
    return [below, x, above]


def difference(value: Any, truth: Any) -> float:
    with mp.workdps(40):
        return abs(float(mp.mpf(float(value)) - truth))


def relative(value: Any, truth: Any) -> float:
    with mp.workdps(40):
        return abs(float((mp.mpf(float(value)) - truth) / truth)) if truth else float(value)


def ratio(name: str, args: Args, truth: Any = None) -> float:
    """The error of a function of special over its bound."""
    value = getattr(special, name)(*args)
    if truth is None:  # s + u is exact in the oracle
        more = int(math.log10(1 + args[2])) if name.startswith("ball") else 0
        truth = getattr(oracle, name)(*args, dps=25 + more)
    return difference(value, truth) / float(special.error_bound(name, value, df=df_of(name, args)))


def df_of(name: str, args: Args) -> float | None:
    if name.startswith("marcum"):
        return 2 * args[name.endswith("inv")]
    return args[1] if name.startswith("ncx2") else None


def table(name: str) -> dict[str, Array]:
    with np.load(TABLES / f"{name}.npz") as data:
        return {key: data[key] for key in data.files}


def rows(t: dict[str, Array], chosen: Array) -> dict[str, Array]:
    return {key: column[chosen] for key, column in t.items()}


def table_error(value: Array, t: dict[str, Array], key: str) -> Array:
    """value - truth, to about 32 digits where the two are close; 0 at equal infinities."""
    high = t[f"{key}_hi"]
    finite = np.isfinite(high)
    np.testing.assert_array_equal(value[~finite], high[~finite])
    with np.errstate(invalid="ignore"):
        return np.where(finite, value - high - t[f"{key}_lo"], 0.0)


def assert_below(error: Array, limit: Array, t: dict[str, Array], *inputs: str) -> None:
    ratio = np.abs(error) / limit
    i = int(np.argmax(ratio))
    assert np.all(ratio <= 1), f"{ratio[i]:.3g} at {[float(t[k][i]) for k in inputs]}"
