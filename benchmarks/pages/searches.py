"""How long the public calls of a scheme take, with ordinary and extreme parameters.

Run as ``python benchmarks/pages/searches.py``; it writes the page ``searches.md``. With
names of rows it prints each call of them above ``LIMIT`` and writes nothing.
"""

import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine

from rsbounds import schemes
from rsbounds.discrete import Curve, _laws
from rsbounds.schemes import Scheme, _discrete

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "searches.md"
LIMIT = 1.0  # seconds that a call may take
STOPPED = 2.0  # seconds after which it is stopped
NEXT_TO_ONE = math.nextafter(1, 0)

rng = np.random.default_rng(0)
P_A = np.sort(rng.uniform(0.3, 1.0, 1000))
P_B = rng.uniform(0.0, 0.5, 1000)
SCORES = rng.normal(1.0, 2.0, 1000)
PAIRS = (
    (0.1, -0.1),
    (1.2, -1.2),
    (3.2, -3.2),
    (2.5, 0.6),
    (8.0, -8.0),
    (math.inf, -math.inf),
    (2.0, -37.0),
)


def categorical() -> Iterator[Scheme]:
    for keep in (1e-9, 0.004, 0.501, 0.6, NEXT_TO_ONE):
        for values in (2, 3, 2**31):
            yield schemes.categorical(keep, values)


def flips() -> Iterator[Scheme]:
    for pair in (
        (0.0, 0.5),
        (0.01, 0.6),
        (0.1, 0.3),
        (0.48, 0.47),
        (0.3, 0.69),
        (0.49, 0.49),
        (0.4999999, 0.4999998),
        (1e-9, 1 - 2e-9),
        (0.001, 0.8),
    ):
        yield schemes.flips(*pair)


def mask() -> Iterator[Scheme]:
    for pair in ((2, 1), (50, 5), (10**9, 10), (150528, 1000), (2**53, 2**52)):
        yield schemes.mask(*pair)
    for chance in (1e-6, 0.5, NEXT_TO_ONE):
        yield schemes.mask(keep_probability=chance)


def deletion() -> Iterator[Scheme]:
    for chance in (1e-9, 0.1, 0.9, 0.99999, NEXT_TO_ONE):
        yield schemes.deletion(chance)


#: Noises of a group of columns.
PARTS = (
    schemes.flips(0.2, 0.6),
    schemes.categorical(0.6, 2),
    schemes.categorical(0.3, 4),
    schemes.flips(0.01, 0.6),
    schemes.mask(keep_probability=0.01),
    schemes.flips(0.48, 0.47),
)


def blocks_of_two() -> Iterator[Scheme]:
    for places in ((0, 0), (0, 1), (1, 2), (3, 3), (0, 5), (4, 2)):
        yield schemes.blocks(*(PARTS[place] for place in places), splits=[3])


def blocks_of_three() -> Iterator[Scheme]:
    for places in ((0, 1, 2), (0, 2, 3), (0, 0, 0)):
        yield schemes.blocks(*(PARTS[place] for place in places), splits=[3, 5])


def beside_numbers() -> Iterator[Scheme]:
    for part in PARTS[:4]:
        for changes in (0, 1, 20):
            parts = schemes.gaussian(1.0), part
            yield schemes.blocks(*parts, splits=[3], changes=changes)


def of_numbers() -> Iterator[Scheme]:
    for size in (1e-300, 1e-9, 1.0, 1e300):
        for make in (schemes.laplace, schemes.uniform, schemes.exponential):
            yield make(size)
        for norm in (1, 2):
            yield schemes.gaussian(size, norm=norm)
    yield schemes.anisotropic([1e-9, 1e9])


ROWS: dict[str, Callable[[], Iterator[Scheme]]] = {
    "categorical": categorical,
    "flips": flips,
    "mask": mask,
    "deletion": deletion,
    "blocks of two": blocks_of_two,
    "blocks of three": blocks_of_three,
    "Gaussian beside another": beside_numbers,
    "noise of numbers": of_numbers,
}

Call = Callable[[Scheme], Any]


def of_scheme() -> Iterator[tuple[str, bool, Call]]:
    """Calls that every scheme has, with whether they are of a thousand values."""
    for pair in PAIRS:
        yield f"radius{pair}", False, scored(*pair)
        yield f"further{pair}", False, lambda s, z=pair: s.further(*z)
    for distance in (1.0, 64.0, 512.0, 1e6):
        yield f"transport(0, {distance:g})", False, moved(0.0, distance)
        yield f"transport(z, {distance:g})", True, moved(SCORES, distance)


def level(scheme: Scheme) -> float:
    own = getattr(scheme, "own_level", None)
    return scheme.sigma(np.zeros(2)) if own is None else float(own)


def scored(z_a: float, z_b: float) -> Call:
    return lambda scheme: scheme.radius(z_a, level(scheme), z_b)


def moved(z: Any, distance: Any) -> Call:
    return lambda scheme: scheme.transport(z, distance, level(scheme))


def of_curve() -> Iterator[tuple[str, bool, Call]]:
    """Those of a curve."""
    yield "radius(p_a)", True, lambda s: s.curve.radius(P_A)
    yield "radius(p_a, p_b)", True, lambda s: s.curve.radius(P_A, P_B)
    yield "radius_of_scores(z)", True, lambda s: s.curve.radius(SCORES, scores=True)
    yield "frontier(.9, .05)", False, lambda s: s.curve.frontier(0.9, 0.05)


def of_changes() -> Iterator[tuple[str, bool, Call]]:
    """Those of numbers of changes."""
    for r in (1, 64, 512, 2**17):
        for name in ("low", "high"):
            yield f"{name}(.9, {r})", False, asked(name, 0.9, r)
            yield f"{name}(p, {r})", True, asked(name, P_A, r)
        yield f"threshold({r})", False, asked("threshold", r)
        yield f"score_threshold({r})", False, scored_threshold(r)
        yield f"certified(.9, {r})", False, asked("certified", 0.9, r)


def asked(name: str, *arguments: Any) -> Call:
    return lambda scheme: getattr(scheme.curve, name)(*arguments)


def scored_threshold(r: int) -> Call:
    return lambda scheme: scheme.curve.threshold(r, scores=True)


class TakesLong(Exception):
    """A call was stopped."""


def seconds(scheme: Scheme, call: Call) -> float:
    """Processor time of a call, after nothing was asked; inf where it was stopped."""
    _discrete._radius.cache_clear()
    _discrete._frontier.cache_clear()
    _laws._kept_row.cache_clear()
    begun = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, STOPPED)
    try:
        call(scheme)
    except TakesLong:
        return math.inf
    except ValueError:
        pass  # a refusal takes no time
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.process_time() - begun


def stop(*_: Any) -> None:
    raise TakesLong


def calls_of(scheme: Scheme) -> Iterator[tuple[str, bool, Call]]:
    yield from of_scheme()
    curve = getattr(scheme, "curve", None)
    if curve is not None:
        yield from of_curve()
    if isinstance(curve, Curve):
        yield from of_changes()


def row(name: str) -> tuple[list[str], list[str]]:
    """The slowest call of one number, and that of a thousand, of some schemes.

    Beside it a line for each call above the limit.
    """
    above: list[str] = []
    slowest: dict[bool, tuple[float, str]] = {False: (0.0, ""), True: (0.0, "")}
    number = 0
    for i, scheme in enumerate(ROWS[name]()):
        for text, is_array, call in calls_of(scheme):
            # nothing that an earlier call has computed
            fresh = scheme
            if hasattr(scheme, "curve"):
                fresh = next(islice(ROWS[name](), i, None))
            taken = seconds(fresh, call)
            number += 1
            slowest[is_array] = max(slowest[is_array], (taken, text))
            if taken > LIMIT:
                above.append(f"`{text}` of {scheme.law}: {shown(taken)}")
    cells = [name, str(number)]
    for taken, text in slowest.values():
        cells += [shown(taken), f"`{text}`"]
    return cells, above


def shown(taken: float) -> str:
    return f"{taken:.2f}" if taken < math.inf else f"above {STOPPED:g}"


def page() -> str:
    head = ["noise", "calls", "slowest of a number, s", "call"]
    head += ["slowest of a thousand, s", "call"]
    rows = [row(name) for name in ROWS]
    lines = [head, ["---"] * len(head), *(cells for cells, _ in rows)]
    above = "\n".join(f"- {text}" for _, several in rows for text in several)
    found = "Each of these calls does."
    if above:
        found = f"These take more (calls are stopped at\n{STOPPED:g} s):\n\n{above}"
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"""# How long a call takes

Radii, frontiers, transport, bounds and thresholds of schemes whose parameters are
ordinary, at the ends of their domains, and next to noise that forgets its input, by

```sh
python benchmarks/pages/searches.py
```

on: {machine()}.
Processor time of a call on a scheme that has computed nothing yet; `z`, `p_a` and
`p_b` are arrays of 1,000 different numbers.

{table}

A call should take {LIMIT:g} s at most. {found}

Noise next to one that forgets its input has radii of many different sizes, and each is
searched for, from a guess on. The ways to make changes of several kinds are looked at
together, from the law of each kind. An array of distances takes the time of each
different number of changes in it. What would take more is refused or not certified: see
[how, and where it ends](../theory/discrete-noise.md#ways-searches-ends).
"""


if __name__ == "__main__":
    signal.signal(signal.SIGPROF, stop)
    if sys.argv[1:]:
        for name in sys.argv[1:]:
            cells, above = row(name)
            print("\n".join([str(cells), *above]), flush=True)
    else:
        PAGE.write_text(page())
        print(PAGE.read_text())
