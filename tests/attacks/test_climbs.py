"""Climbs towards a violation: for each threat the classifier that loses most.

It is built by Neyman and Pearson's lemma from the noise's law alone, by enumeration and
quadrature in doubles, at parameters that hypothesis draws and moves to where the radius
is largest against the truth. A radius may not be above the distance at which that
classifier changes its class, and must be next to it. Truths here are roots found in
doubles: 1e-10 of themselves is room for that.
"""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, example, given, settings, target
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ndtr

from rsbounds import schemes
from rsbounds.certify import certify
from rsbounds.oracle._mixed import ways

ROOM = 1e-10

scores = st.tuples(st.floats(0.02, 5.0), st.floats(0.05, 6.0)).map(
    lambda pair: (pair[0], max(pair[0] - pair[1], -pair[0]))
)


def climbs(few, many):
    """Few examples at every run (0: none), many where slow tests run."""
    quick = []
    if few:
        setting = settings(max_examples=few, deadline=None, derandomize=True)
        quick = [pytest.param(setting, id="few")]
    drawn = settings(max_examples=many, deadline=None)
    return [*quick, pytest.param(drawn, marks=pytest.mark.slow, id="many")]


def assert_next_to(radius, truth, within, room=ROOM):
    """At most the truth, and at least all but a share of it."""
    if truth > 0:
        target(radius / truth)
    assert radius <= truth * (1 + room)
    assert radius >= truth * (1 - within) - 1e-8


# --- changes that only add


def kept_by_exponential(ends, a, rate):
    """P(A), P(B) at x + a: A below the first end, B from the second one on."""
    first, second = ends
    below = 1 - math.exp(-rate * (first - a)) if first > a else 0.0
    return below, math.exp(-rate * max(second - a, 0.0))


@pytest.mark.parametrize("setting", climbs(10, 1000))
def test_one_sided_noise(setting):
    @setting
    @given(scores, st.floats(0.01, 50.0))
    def climb(pair, rate):
        z_a, z_b = pair
        p_a, p_b = ndtr(z_a), ndtr(z_b)
        ends = -math.log(ndtr(-z_a)) / rate, -math.log(p_b) / rate
        radius = schemes.exponential(rate).radius(z_a, 1 / rate, z_b)

        def lead(a):
            first, second = kept_by_exponential(ends, a, rate)
            return first - second

        assume(p_a - p_b > 1e-3)  # else the digits of the lead are lost here
        truth = brentq(lead, 0.0, ends[0], xtol=1e-15 / rate)
        assert_next_to(rate * radius, rate * truth, 1e-9)

    climb()


# --- numbers beside changes


def blocks_of(kind, first, second):
    if kind == "categorical":
        values = 2 + int(second * 4)
        block = {"method": kind, "keep": first, "values": values}
        return block, schemes.categorical(first, values)
    if kind == "flips":
        block = {"method": kind, "add": first, "delete": second}
        return block, schemes.flips(first, second)
    block = {"method": kind, "keep_probability": first}
    return block, schemes.mask(keep_probability=first)


def mixed_kept(p, cells, s):
    """What an event of probability p keeps, by all outcomes of the changed columns."""
    outcomes = [np.prod(own, axis=0) for own in product(*np.asarray(cells, float))]
    mass, other = np.array([own for own in outcomes if own[0] > 0]).T
    alone = mass[other == 0].sum()
    mass, other = mass[other > 0], other[other > 0]
    if p <= alone:
        return 0.0
    log = np.log(mass / other)

    def excess(t):
        return mass @ ndtr((t + log) / s + s / 2) - (p - alone)

    reach = 40 * s + s * s + abs(log).max()
    t = brentq(excess, -reach, reach, xtol=1e-15)
    return other @ ndtr((t + log) / s - s / 2)


@pytest.mark.parametrize("setting", climbs(3, 400))
def test_numbers_beside_changes(setting):
    @setting
    @given(
        scores,
        st.sampled_from(["categorical", "flips", "mask"]),
        st.floats(0.02, 0.98),
        st.floats(0.02, 0.98),
        st.integers(1, 3),
    )
    @example((3.0, -3.0), "categorical", 0.8, 0.25, 1)
    @example((4.4, 3.15), "flips", 0.01, 0.6, 1)
    @example((5.0, 3.5), "categorical", 0.4296875, 0.75, 3)  # sound by 40 digits
    def climb(pair, kind, first, second, changes):
        assume(kind != "flips" or first + second < 0.95)
        assume(kind != "categorical" or abs(first * (2 + int(second * 4)) - 1) > 0.05)
        z_a, z_b = pair
        block, part = blocks_of(kind, first, second)
        scheme = schemes.blocks(
            schemes.gaussian(1.0), part, splits=[1], changes=changes
        )
        radius = scheme.radius(z_a, scheme.own_level, z_b)
        every = list(ways([block], changes))

        def lead(s):
            return min(
                mixed_kept(ndtr(z_a), cells, s) + mixed_kept(ndtr(-z_b), cells, s) - 1
                for cells in every
            )

        least, most = 1e-4, (z_a - z_b) / 2 + 1e-6
        if lead(least) <= 0:
            assert radius <= least
            return
        truth = brentq(lead, least, most, xtol=1e-14) if lead(most) < 0 else most
        # where little is left at x' the lead has few digits in doubles: it is a sum of
        # products and tails near 1, off by some 16 units, and as flat as measured here
        slope = (lead(truth * (1 - 1e-4)) - lead(truth * (1 + 1e-4))) / 2e-4
        room = 1e-9 + 16 * np.finfo(float).eps / max(slope, 1e-9)
        assert_next_to(radius, truth, max(1e-7, room), room=room)

    climb()


# --- brightness and contrast

#: Of the trapezoidal rule, next to exact for smooth functions under a Gaussian: limits
#: that rise over a fiftieth of a level are smooth on a grid of a hundredth.
NODES = np.linspace(-9.0, 9.0, 2001)
WEIGHTS = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()
LEAST = 0.05  # of a brightness, in its level, for that


def affine_kept(p, kappa, beta, s_b, s_k):
    """What an event of probability p keeps under e^kappa x + beta, by quadrature."""

    def ends(k, t):
        m = np.exp(k - kappa) * beta
        inside = t - k * kappa / s_k**2 + kappa**2 / (2 * s_k**2)
        return (s_b**2 * inside + m**2 / 2) / m, m

    def excess(t):
        return WEIGHTS @ ndtr(ends(s_k * NODES, t)[0] / s_b) - p

    reach = 100 * (1 + (beta / s_b) ** 2)
    t = brentq(excess, -reach, reach, xtol=1e-13)
    limits, m = ends(kappa + s_k * NODES, t)
    return WEIGHTS @ ndtr((limits - m) / s_b)


@pytest.mark.parametrize("setting", climbs(0, 60))
def test_brightness_and_contrast(setting):
    @setting
    @given(
        scores,
        st.floats(0.05, 3.0),
        st.floats(0.1, 0.8),
        st.floats(0.0, 0.9),
        st.lists(st.floats(-1, 1), max_size=3),
    )
    @example((3.8, -3.8), 0.4, 0.4, 0.0, [])
    def climb(pair, s_b, s_k, share, inner):
        z_a, z_b = pair
        assume(z_a - z_b > 0.3)
        contrast = share * s_k * (z_a - z_b) / 2
        scheme = schemes.brightness_contrast(s_b, s_k, contrast=contrast)
        radius = scheme.radius(z_a, s_b, z_b)

        def truth_at(kappa):
            def lead(beta):
                kept = (
                    affine_kept(ndtr(z), kappa, beta, s_b, s_k) for z in (z_a, -z_b)
                )
                return sum(kept) - 1

            least = LEAST * s_b
            if lead(least) <= 0:
                return 0.0  # or some more, which is not looked at
            return brentq(lead, least, 10 * s_b * (z_a - z_b), xtol=1e-12)

        kappas = [contrast * own for own in (-1.0, 0.0, 1.0, *inner)]
        truth = min(truth_at(kappa) for kappa in kappas)
        if truth == 0:
            assert radius <= LEAST * s_b
        else:
            assert_next_to(radius / s_b, truth / s_b, 2e-3, room=1e-9)

    climb()


# --- finite groups


@pytest.mark.parametrize("setting", climbs(10, 500))
def test_finite_groups(setting):
    """Any labelling of an orbit, the same number of copies of a picture or few."""

    @setting
    @given(
        st.sampled_from(["shift", "quarter-turns", "mirror"]),
        st.lists(st.integers(0, 1), min_size=9, max_size=9),
        st.lists(st.integers(-1, 2), min_size=9, max_size=9),
        st.integers(0, 8),
    )
    def climb(name, pixels, labels, turned):
        x = np.array(pixels, np.float32).reshape(1, 3, 3)
        scheme = schemes.orbit(name, x.shape)
        group = scheme.group
        order = group.order(x.shape)
        every = group.apply(x, 0, order, np)
        table = {
            own.tobytes(): label for own, label in zip(every, labels * 9, strict=False)
        }

        def model(batch):
            answers = np.zeros((len(batch), 3), np.float32)
            for row, own in enumerate(batch):
                label = table[np.asarray(own, np.float32).tobytes()]
                answers[row] = np.nan if label < 0 else np.eye(3)[label]
            return answers

        votes = [table[own.tobytes()] for own in every]
        count = np.bincount([v for v in votes if v >= 0], minlength=3)
        certificate = certify(
            model, every[turned % order], scheme, n=order, n0=order, bound="exact"
        )
        void = order - count.sum()
        best, second = np.sort(count)[::-1][:2]
        if best > second + void:
            assert certificate.predict == count.argmax()
            assert certificate.radius == math.inf
        else:
            assert not certificate.radius > 0

    climb()


# --- two queries


@pytest.mark.parametrize("setting", climbs(0, 40))
def test_two_queries(setting):
    """Masks of 0 and 1 that follow the first answer, and the sum that sees most."""
    torch = pytest.importorskip("torch")
    from rsbounds.torch import Adaptive

    @setting
    @given(
        st.integers(1, 12),
        st.floats(0.1, 2.0),
        st.floats(0.05, 0.95),
        st.floats(0.2, 3.0),
        st.floats(-2.0, 2.0),
        st.integers(0, 2**31),
    )
    def climb(dim, sigma, share, z, edge, seed):
        def mask(first):
            weights = (first > edge * sigma).double()
            weights[:, 0] = 1.0
            return weights

        def both(first, second):
            kept = mask(first)
            norm = kept.norm(dim=1)
            seen = first.sum(1) / math.sqrt(dim) / sigma_1 * math.sqrt(share)
            own = (kept * second).sum(1) / (norm**2 * sigma_2 / math.sqrt(dim))
            return seen + own * math.sqrt(1 - share)

        adaptive = Adaptive(mask, both, sigma, share=share)
        sigma_1, sigma_2 = adaptive.query_levels
        scheme = adaptive.scheme((dim,))
        radius = scheme.radius(z, scheme.own_level)
        truth = z * sigma / math.sqrt(dim)
        assert_next_to(radius, truth, 1e-11)
        # at the input from which the sum is a standard normal number less z, and there
        generator = torch.Generator().manual_seed(seed)
        n = 40_000
        noise = torch.randn((n, 2, dim), generator=generator, dtype=torch.float64)
        for x, expected in ((0.0, 0.5), (radius, ndtr(z))):
            first = x + sigma_1 * noise[:, 0]
            copies = torch.stack([first, torch.full_like(first, x), noise[:, 1]], 1)
            share_a = float((adaptive(copies) > 0).double().mean())
            assert abs(share_a - expected) < 6 * 0.5 / math.sqrt(n)

    climb()
