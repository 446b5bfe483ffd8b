"""From a changed input back to the input: against brute force and exact laws."""

import warnings
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise, product

import mpmath as mp
import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from rsbounds import certify_dataset, schemes
from rsbounds.answers import (
    Maps,
    TopK,
    Values,
    conformal_level,
    value_interval,
)
from rsbounds.audit import verify
from rsbounds.audit._values import _ranked
from rsbounds.schemes import METHODS, Scheme

FIXED = {
    "gaussian": schemes.gaussian(0.5),
    "anisotropic": schemes.anisotropic([0.5, 2.0]),
    "correlated": schemes.correlated([[0.5, 0.1], [-0.3, 0.8]]),
    "laplace": schemes.laplace(0.5),
    "uniform": schemes.uniform(0.5),
    "exponential": schemes.exponential(2.0),
    "splitting": schemes.splitting(0.5, 255),
    "two-queries": schemes.two_queries(0.6, 0.8, dim=4),
    "categorical": schemes.categorical(0.8, 4),
    "deletion": schemes.deletion(0.9),
    "flips": schemes.flips(0.01, 0.6),
    "mask": schemes.mask(keep_probability=0.2),
    "blocks": schemes.blocks(
        schemes.flips(0.01, 0.8), schemes.flips(0.003, 0.4), splits=[2]
    ),
    "transformed": schemes.transformed(schemes.exponential(2.0), "blur"),
}
#: Whose noise follows the input, or of which a group, a patch or two numbers move.
REFUSED = {
    *("semi-elastic", "lipschitz", "range", "generator"),
    *("brightness-contrast", "orbit", "double-masking", "composite"),
}


def test_each_scheme_of_the_list_states_its_inverse_or_has_no_transport():
    assert {*FIXED} | REFUSED == set(METHODS)
    for scheme in FIXED.values():
        level = scheme.own_level or 1.0
        low, high = scheme.inverse(0.3, 0.0, level)
        assert low <= 0.3 <= high
    for name in ("semi-elastic", "lipschitz", "range", "generator"):
        parameters = dict.fromkeys(METHODS[name].domains, 1.0)
        with pytest.raises(ValueError, match="the same at every input"):
            METHODS[name](parameters).inverse(1.0, 0.1)


# --- exponential noise, exactly


def exact_scores(p):
    size = mp.findroot(lambda z: mp.log(mp.ncdf(z)) - mp.log(p), -mp.sqrt(2) - 0.1)
    return size


def test_the_inverse_of_one_sided_noise_is_rounded_outward_and_tight():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=60) * 2
    steps = 10.0 ** rng.uniform(-6, 0.5, 60)
    low, high = schemes.exponential(2.0).inverse(scores, steps)
    with mp.workdps(40):
        for z, a, bottom, top in zip(scores, steps, low, high, strict=True):
            kept = mp.exp(-2 * mp.mpf(a))
            least = kept * mp.ncdf(mp.mpf(z))
            rest = kept * mp.ncdf(-mp.mpf(z))  # of the event's complement
            assert mp.ncdf(mp.mpf(bottom)) <= least
            assert mp.ncdf(-mp.mpf(top)) <= rest
            assert mp.ncdf(mp.mpf(bottom)) >= least * (1 - mp.mpf("1e-12")) - 1e-15
            assert mp.ncdf(-mp.mpf(top)) >= rest * (1 - mp.mpf("1e-12")) - 1e-15


def test_the_inverse_of_one_sided_noise_at_the_ends():
    scheme = schemes.exponential(2.0)
    low, high = scheme.inverse([np.inf, -np.inf, 1.0], [0.1, 0.1, np.inf])
    # what is sure there has all but the share of noise that is below the change
    assert low[0] == pytest.approx(ndtri(np.exp(-0.2)))
    assert high[1] == pytest.approx(ndtri(1 - np.exp(-0.2)))
    assert (high[0], low[1]) == (np.inf, -np.inf)
    assert (low[2], high[2]) == (-np.inf, np.inf)
    low, high = scheme.inverse(0.7, 5e-324)
    assert low < 0.7 < high
    assert scheme.inverse(0.7, 0.0) == pytest.approx((0.7, 0.7), abs=1e-13)


@pytest.mark.parametrize("p", [0.01, 0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("side", [1, -1])
def test_quantiles_under_one_sided_noise_are_in_their_interval(p, side):
    """f(v) = v and -v, whose quantiles at every shift are known."""
    theta = np.random.default_rng(0).exponential(1.0, 20_000)
    reach = 0.2
    for scheme in (
        schemes.exponential(1.0),
        schemes.transformed(schemes.exponential(1.0), "blur"),
    ):
        low, high = value_interval(side * theta, reach, p=p, alpha=1e-3, scheme=scheme)
        share = p if side > 0 else 1 - p
        for shift in (0.0, 0.1, reach):
            quantile = side * (shift - np.log1p(-share))
            assert low <= quantile <= high
        # and the worst model attains its end: no more than the samples' room is left
        worst = side * (reach - np.log1p(-share))
        assert abs(worst - (high if side > 0 else low)) < 0.12 * (1 + abs(worst))


def test_sets_of_one_sided_noise_are_calibrated_by_the_inverse():
    """A label missed at x' with probability alpha is missed at x this often."""
    scheme = schemes.exponential(1.0)
    level = conformal_level(0.1, 0.2, scheme)
    assert level == pytest.approx(1 - np.exp(-0.2) * 0.1, abs=1e-12)
    assert level >= 1 - np.exp(-0.2) * 0.1
    # at that level coverage falls to 1 - alpha and no lower
    low, _ = scheme.transport(ndtri(level), 0.2)
    assert ndtr(low) == pytest.approx(0.9, abs=1e-12)


def run_of_values(path):
    """Of f(v) = -v under one-sided noise, quantiles on both sides of the median."""
    scheme = schemes.transformed(schemes.exponential(1.0), "brightness")
    answer = Values(scheme, radii=[0.0, 0.2], p=0.8)
    x = np.zeros((2, 1), np.float32)
    return certify_dataset(lambda b: -b, x, answer, n=2000, alpha=0.01, out=path)


def test_rows_of_values_under_one_sided_noise_are_proved(tmp_path):
    path = tmp_path / "values.tsv"
    run = run_of_values(path)
    assert not verify(path).findings
    answer = Values(schemes.exponential(1.0), radii=[0.2], p=0.8)
    manifest = run.manifest
    ((below, above),) = answer.ranks(manifest.procedure, 1.0)
    ask = partial(_ranked, manifest, 1.0, 0.2, 0.8)
    # the proof finds the same ranks, and none that is less far out
    assert ask(below, above)
    assert not ask(below + 1, above)
    assert not ask(below, above + 1)


def test_rows_of_values_by_the_wrong_direction_are_found(tmp_path, monkeypatch):
    """The transport in place of its inverse: what it claims is false at the shift."""
    path = tmp_path / "values.tsv"
    with monkeypatch.context() as patched:
        patched.setattr(schemes.Exponential, "inverse", schemes.Exponential.transport)
        with warnings.catch_warnings():  # an end of its intervals is infinite
            warnings.simplefilter("ignore", RuntimeWarning)
            run = run_of_values(path)
        low, _ = Values.intervals(run.rows)
        assert low[0, 1, 0] > -0.2 + np.log(0.8)  # the quantile there
        # nor does the proof alone, which does not ask the scheme, let it pass
        texts = [finding.text for finding in verify(path).findings]
        assert any("more than 2000 samples show" in text for text in texts)
    assert any("by the radii" in finding.text for finding in verify(path).findings)


# --- discrete noise, by all outcomes of short inputs


def flipped(x, add, delete):
    law = {}
    for out in product((0, 1), repeat=len(x)):
        share = Fraction(1)
        for given, seen in zip(x, out, strict=True):
            changes = delete if given else add
            share *= changes if given != seen else 1 - changes
        law[out] = share
    return law


def recoloured(x, keep, values):
    law = {}
    other = (1 - keep) / (values - 1)
    for out in product(range(values), repeat=len(x)):
        same = sum(a == b for a, b in zip(x, out, strict=True))
        law[out] = keep**same * other ** (len(x) - same)
    return law


def hidden(x, kept):
    shown = list(combinations(range(len(x)), kept))
    law = {}
    for places in shown:
        out = tuple(x[i] if i in places else None for i in range(len(x)))
        law[out] = law.get(out, 0) + Fraction(1, len(shown))
    return law


def deleted(x, delete):
    law = {}
    for left in product((False, True), repeat=len(x)):
        out = tuple(a for a, stays in zip(x, left, strict=True) if stays)
        share = (1 - delete) ** sum(left) * delete ** (len(x) - sum(left))
        law[out] = law.get(out, 0) + share
    return law


def edits(x, y):
    """The edit distance of two sequences."""
    row = list(range(len(y) + 1))
    for i, a in enumerate(x, start=1):
        before, row[0] = row[0], i
        for j, b in enumerate(y, start=1):
            least = min(row[j] + 1, row[j - 1] + 1, before + (a != b))
            before, row[j] = row[j], least
    return row[-1]


def changed(x, y):
    return sum(a != b for a, b in zip(x, y, strict=True))


def least_by_brute_force(there, here):
    """The least probabilities under ``here`` of events of those under ``there``.

    As a function of these, straight between its exact corners (Neyman and Pearson).
    """
    outcomes = sorted(there, key=lambda out: here.get(out, 0) / there[out])
    corners = [(Fraction(0), Fraction(0))]
    for out in outcomes:
        first, second = corners[-1]
        corners.append((first + there[out], second + here.get(out, 0)))
    known, least = np.array(corners, dtype=float).T
    return lambda share: np.interp(share, known, least)


BITS = list(product((0, 1), repeat=3))
SEQUENCES = [s for size in range(4) for s in product((0, 1), repeat=size)]
LAWS = {
    "flips": (
        schemes.flips(0.25, 0.5),
        lambda x: flipped(x, Fraction(1, 4), Fraction(1, 2)),
        BITS,
        changed,
    ),
    "categorical": (
        schemes.categorical(0.5, 3),
        lambda x: recoloured(x, Fraction(1, 2), 3),
        list(product(range(3), repeat=2)),
        changed,
    ),
    "mask": (
        schemes.mask(dim=3, keep_count=1),
        lambda x: hidden(x, 1),
        BITS,
        changed,
    ),
    "deletion": (
        schemes.deletion(0.5),
        lambda x: deleted(x, Fraction(1, 2)),
        SEQUENCES,
        edits,
    ),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("changes", [1, 2])
def test_no_event_of_a_short_input_leaves_the_inverse(name, changes):
    """All pairs of inputs that far apart, all outcomes of both, in rationals."""
    scheme, law_of, inputs, distance = LAWS[name]
    laws = {x: law_of(x) for x in inputs}
    assert all(sum(law.values()) == 1 for law in laws.values())
    shares = np.arange(1, 12) / 12
    low, high = ndtr(scheme.inverse(ndtri(shares), changes, scheme.own_level))
    tightest = np.inf
    for x, other in product(inputs, repeat=2):
        if not 0 < distance(x, other) <= changes:
            continue
        least = least_by_brute_force(laws[other], laws[x])
        assert (low <= least(shares) + 1e-12).all()
        assert (high >= 1 - least(1 - shares) - 1e-12).all()
        tightest = np.minimum(tightest, least(shares) - low)
    if name != "deletion":  # whose bound is for sequences of all lengths
        assert np.allclose(tightest, 0, atol=1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_quantiles_of_short_inputs_lie_between_those_of_the_inverse(name):
    """Exact quantiles at x' of functions of the outcomes, by exact ones at x."""
    scheme, law_of, inputs, distance = LAWS[name]
    laws = {x: law_of(x) for x in inputs}
    outcomes = sorted({out for law in laws.values() for out in law}, key=repr)
    rng = np.random.default_rng(0)
    pairs = [(x, y) for x, y in product(inputs, repeat=2) if 0 < distance(x, y) <= 1]
    for p in (0.1, 0.5, 0.8):
        low, high = scheme.inverse(ndtri(p), 1, scheme.own_level)
        for place in rng.choice(len(pairs), 40):
            x, other = pairs[place]
            value = dict(zip(outcomes, rng.permutation(len(outcomes)), strict=True))
            quantile = quantile_of(laws[other], value, p)
            assert quantile_of(laws[x], value, ndtr(low) - 1e-12) <= quantile
            assert quantile <= quantile_of(laws[x], value, ndtr(high) + 1e-12)


def quantile_of(law, value, p):
    """The least value that is not exceeded with probability p; all where p >= 1."""
    below = 0.0
    if p <= 0:
        return -np.inf
    for out in sorted(law, key=value.__getitem__):
        below += float(law[out])
        if law[out] and below >= p:
            return value[out]
    return np.inf


#: Curves, changes by kind from x to x', and the same from x' to x.
OPPOSITES = {
    "added and deleted": (schemes.flips(0.25, 0.5).curve, (2, 1), (1, 2)),
    "inserted and deleted": (schemes.deletion(0.5).curve, (2, 1, 1), (1, 2, 1)),
    "changed": (schemes.categorical(0.5, 3).curve, (3,), (3,)),
    "in blocks": (
        schemes.blocks(
            schemes.flips(0.25, 0.5), schemes.categorical(0.5, 3), splits=[2]
        ).curve,
        ((2, 1), (1,)),
        ((1, 2), (1,)),
    ),
}


@pytest.mark.parametrize("name", OPPOSITES)
def test_the_way_back_has_the_kinds_of_changes_exchanged(name):
    """The way back ends at p; a bound of doubles may end below it by its rounding."""
    curve, there, back = OPPOSITES[name]
    different = False
    for k in range(1, 32):
        p = k / 32
        most, least = curve.high(p, there), curve.low(p, there)
        if most < 1 - 1e-12:
            again = curve.low(most, back)
            assert p * (1 - 1e-12) <= again <= p * (1 + 1e-12)
            unlike = abs(curve.low(most, there) - p) > 1e-9
            different |= there != back and unlike
        if least > 1e-12:
            again = curve.high(least, back)
            assert p * (1 - 1e-12) <= again <= p * (1 + 1e-12)
    assert different == (there != back)


# --- schemes that say nothing


class OneWay(Scheme):
    """A transport of another package, and no word of its inverse."""

    name = "one way"

    def sigma(self, x):
        return 1.0

    def radius(self, z_a, sigma, z_b=None):
        return max(z_a, 0.0)

    def transport(self, z, radius, sigma=None):
        return z - radius, z + 2 * radius


class OneWayGaussian(schemes.Gaussian):
    """Another transport beside what its base says of its own."""

    def transport(self, z, radius, sigma=None):
        return z - radius, z + 2 * radius


class BothWays(OneWay):
    def inverse(self, z, radius, sigma=None):
        return z - 2 * radius, z + radius


@pytest.mark.parametrize("make", [OneWay, OneWayGaussian])
def test_an_answer_that_goes_back_refuses_a_scheme_that_says_nothing_of_it(make):
    scheme = make({"sigma": 1.0})
    for answer in (
        lambda: Values(scheme, radii=[0.1]),
        lambda: value_interval(np.arange(1e4), 0.1, alpha=0.01, scheme=scheme),
        lambda: conformal_level(0.1, 0.1, scheme),
    ):
        with pytest.raises(ValueError, match="state the inverse of its transport") as e:
            answer()
        assert "\n" not in str(e.value)
    # answers that go forward need nothing of it
    TopK(scheme, k=2)
    Maps(scheme, tau=0.7)


def test_an_inverse_of_its_own_is_taken():
    samples = np.arange(10_000.0)
    low, high = value_interval(
        samples, 0.5, alpha=0.001, scheme=BothWays({"sigma": 1.0})
    )
    assert low / 1e4 == pytest.approx(ndtr(-1.0), abs=0.02)
    assert high / 1e4 == pytest.approx(ndtr(0.5), abs=0.02)


def test_intervals_grow_with_the_radius():
    samples = np.random.default_rng(0).exponential(1.0, 5000)
    ends = [
        value_interval(samples, reach, alpha=0.01, scheme=schemes.exponential(1.0))
        for reach in (0.0, 0.1, 0.3)
    ]
    for (low, high), (lower, higher) in pairwise(ends):
        assert lower <= low <= high <= higher
