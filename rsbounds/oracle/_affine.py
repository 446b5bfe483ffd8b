"""Brightness and contrast together, from the definition alone.

An attack e^kappa x + beta under the noise e^k x + b; ``shift`` is kappa over the
contrast's standard deviation ``spread``, ``reach`` is |beta| over the brightness's.
Events of least probability under the attack are those of the smallest likelihood
ratio, and Neyman and Pearson's lemma in its dual form tells what one of them keeps.

Examples
--------
>>> from mpmath import nstr
>>> from rsbounds import oracle
>>> nstr(oracle.affine_low(2.3263478740408408, 0.75, 1.25, 0.4, dps=8), 10)
'0.7276472681'
"""

from __future__ import annotations

from collections.abc import Callable

from mpmath import mp

from rsbounds.oracle._entry import checked, exact
from rsbounds.oracle._normal import Mpf, Real

__all__ = ["affine_gap", "affine_low", "affine_masses"]

#: Scores beyond this are refused: the search would need too many digits.
MOST_SCORE = 6


@checked
def affine_masses(
    t: Real, shift: Real, reach: Real, spread: Real, dps: int = 20
) -> tuple[Mpf, Mpf]:
    """Probabilities of the event where the log likelihood ratio is at most ``t``.

    Without the attack, and under it.
    """
    with mp.workdps(dps + 5):
        t, shift, reach, spread = map(exact, (t, shift, reach, spread))

        def mean(u: Mpf) -> Mpf:
            return reach * mp.exp(spread * (u - shift))

        def most(u: Mpf) -> Mpf:
            """The largest b for which u is in the event."""
            return (t - u * shift + shift**2 / 2) / mean(u) + mean(u) / 2

        def densities(u: Mpf) -> tuple[Mpf, Mpf]:
            """Densities of u beside the event, without the attack and under it."""
            b = most(u)
            plain = mp.npdf(u) * mp.ncdf(b)
            return plain, mp.npdf(u - shift) * mp.ncdf(b - mean(u))

        # beyond so many standard deviations lies less than any digit asked for
        tail = mp.sqrt(2 * mp.log(10) * (dps + 5))
        low, high = min(shift, 0) - tail, max(shift, 0) + tail
        p, q = _integrals(densities, low, high, dps)
        return +p, +q


def _integrals(
    densities: Callable[[Mpf], tuple[Mpf, Mpf]], low: Mpf, high: Mpf, dps: int
) -> tuple[Mpf, Mpf]:
    """Two integrals of smooth functions that are next to nothing at both ends.

    By sums over even steps. Halving the step about squares their error, so they hold
    ``dps`` digits once it changes none of the first three quarters of them.
    """
    step = mp.mpf(1) / 4
    points = [low + k * step for k in range(int(mp.ceil((high - low) / step)) + 1)]
    sums = _sums(densities, points)
    while True:
        added = _sums(densities, [point + step / 2 for point in points])
        change = max(abs(x - y) * step / 2 for x, y in zip(sums, added, strict=True))
        sums = [x + y for x, y in zip(sums, added, strict=True)]
        points += [point + step / 2 for point in points]
        step /= 2
        if change <= mp.mpf(10) ** (-0.75 * dps):
            return step * sums[0], step * sums[1]


def _sums(densities: Callable[[Mpf], tuple[Mpf, Mpf]], points: list[Mpf]) -> list[Mpf]:
    return [mp.fsum(column) for column in zip(*map(densities, points), strict=True)]


@checked
def affine_low(z: Real, shift: Real, reach: Real, spread: Real, dps: int = 15) -> Mpf:
    """The least probability under the attack of an event whose score is ``z``.

    ``z`` is in [-6, 6], or infinite: an event of probability 0 or 1 keeps it, as the
    laws have the same null sets.
    """
    with mp.workdps(dps + 5):
        attack = (exact(shift), exact(reach), exact(spread))
        return +_low("z", exact(z), attack, dps)


def _low(name: str, z: Mpf, attack: tuple[Mpf, Mpf, Mpf], dps: int) -> Mpf:
    if mp.isinf(z):
        return mp.ncdf(z)
    if not abs(z) <= MOST_SCORE:
        raise ValueError(
            f"{name} must be in [-{MOST_SCORE}, {MOST_SCORE}] or infinite; "
            f"got {mp.nstr(z, 5)}"
        )
    shift, reach, _ = attack
    size = mp.hypot(shift, reach)
    last = size * (z - size / 2) - size / 4
    t = last + size / 2
    # A rough t will do: an error of it counts by its square. The tail beyond z, some
    # 10^(-z^2/4.6), takes digits of its own.
    rough = dps // 2 + 4 + int(z * z / 4.6)
    score_last = _score(affine_masses(last, *attack, rough)[0])
    for _ in range(30):
        score = _score(affine_masses(t, *attack, rough)[0])
        if abs(score - z) <= mp.mpf(10) ** (-dps / 2 - 1):
            break
        step = (z - score) * (t - last) / (score - score_last)
        last, score_last = t, score
        t += step
    p_t, q_t = affine_masses(t, *attack, dps)
    return q_t + mp.exp(t) * (mp.ncdf(z) - p_t)


def _score(p: Mpf) -> Mpf:
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


@checked
def affine_gap(
    z_a: Real, z_b: Real, shift: Real, reach: Real, spread: Real, dps: int = 15
) -> Mpf:
    """How far the class leads under the attack in the worst case; certified if > 0."""
    with mp.workdps(dps + 5):
        z_a, z_b = exact(z_a), exact(z_b)
        attack = (exact(shift), exact(reach), exact(spread))
        first = _low("z_a", z_a, attack, dps)
        if z_b == -z_a:
            return 2 * first - 1
        return first + _low("z_b", -z_b, attack, dps) - 1
