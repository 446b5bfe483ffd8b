"""Potentials, filtered votes and routes: closed forms and worst cases."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from rsbounds import gaussian
from rsbounds.composite import filtered_radius, potential_radius, route_radius


def test_potential_of_one_level_is_the_margin():
    rng = np.random.default_rng(0)
    r = rng.normal(size=(300, 1, 4))
    cls = r[:, 0].argmax(axis=-1)
    top = np.sort(r[:, 0], axis=-1)
    found = potential_radius(lambda v: v[..., 0], r, cls)
    truth = (top[:, -1] - top[:, -2]) / 2
    assert np.all(found <= truth)
    assert found == pytest.approx(truth, rel=1e-10, abs=1e-14)
    assert np.all(potential_radius(lambda v: v[..., 0], r, (cls + 1) % 4) == 0)


@pytest.mark.parametrize(
    "g", [lambda r: r.max(axis=-1), lambda r: np.exp(r).sum(axis=-1), lambda r: r.min(axis=-1)]
)
def test_no_shift_within_the_radius_changes_the_class(g):
    rng = np.random.default_rng(1)
    for _ in range(100):
        r = rng.normal(size=(3, 4))
        cls = int(np.argmax(g(r.T)))
        found = float(potential_radius(g, r, cls))
        moves = rng.uniform(-1, 1, (200, 3, 4)) * found
        moves[:50] = np.sign(moves[:50]) * found
        assert np.all(np.argmax(g(np.swapaxes(r + moves, -1, -2)), axis=-1) == cls)
        worst = np.full(4, found * (1 + 1e-9) + 1e-12)
        worst[cls] *= -1  # just beyond it the worst shift does
        shifted = g((r + worst).T)
        assert shifted[cls] <= np.delete(shifted, cls).max()


def test_filtered_votes_at_one_half_are_the_pair():
    z_c, z_w = np.array([0.3, 1.2, -0.5]), np.array([-0.4, -2.0, -1.5])
    found = filtered_radius(z_c, z_w, 0.7)
    assert found == pytest.approx(gaussian.radius(z_c, 0.7, z_w, scores=True), rel=1e-10)
    assert filtered_radius(-1.0, -0.9, 0.7) == 0.0


@pytest.mark.parametrize("q", [0.1, 0.3, 0.7, 0.95])
def test_filtered_votes_hold_to_the_radius_and_no_further(q):
    for z_c, z_w in ((1.0, -1.8), (0.2, -2.5), (-0.5, -3.0)):
        found = filtered_radius(z_c, z_w, 0.5, q)

        def fires(move, z_c=z_c, z_w=z_w):
            p_c, p_w = ndtr(z_c - move), ndtr(z_w + move)
            return p_c > q * (p_c + p_w)

        assert not fires(0.0) or fires(found / 0.5 * (1 - 1e-9))
        assert not fires(found / 0.5 * (1 + 1e-9) + 1e-9)


def test_routes_against_every_shift():
    """The router's scores move together by d; routes that come within reach must certify."""
    rng, sigma = np.random.default_rng(2), 0.5
    for _ in range(200):
        k = int(rng.integers(2, 5))
        p = np.cumsum(rng.dirichlet(np.ones(k)))[:-1]
        radii, q = rng.uniform(0, 1, k) * rng.integers(0, 2, k), float(rng.uniform(0.2, 0.8))
        z = ndtri(p)
        found = float(route_radius(z, sigma, radii, q))
        for d in np.linspace(-found, found, 41)[1:-1]:
            taken = int(np.argmax(np.append(ndtr(z + d / sigma), 1.0) > q))
            # at distance |d| the route that is taken still certifies
            assert radii[taken] > abs(d) or abs(d) >= found * (1 - 1e-12)
        edges = sigma * (np.concatenate([[-np.inf], z, [np.inf]]) - ndtri(q))
        worst = np.maximum.reduce([radii, -edges[1:], edges[:-1]]).min()
        assert found == pytest.approx(max(worst, 0.0), rel=1e-12, abs=1e-13)


def test_bad_input_is_named():
    g = np.sum
    for call, match in (
        (lambda: potential_radius(g, [1.0, 2.0], 0), "scores must have shape"),
        (lambda: potential_radius(g, [[1.0, np.inf]], 0), "scores must be finite"),
        (lambda: potential_radius(g, [[1.0, 2.0]], 2), "cls must be one of 2 classes; got 2"),
        (lambda: potential_radius(g, [[1.0, 2.0]], [0, 1]), "cls must have shape"),
        (lambda: filtered_radius(1.0, 0.0, 0.0), "sigma must be in"),
        (lambda: filtered_radius(1.0, 0.0, 1.0, 1.0), "quantile must be in"),
        (lambda: route_radius([1.0], 0.5, [1.0]), "radii must have one route more"),
        (lambda: route_radius([1.0, 0.0], 0.5, [1.0, 1.0, 1.0]), "scores must be non-decreasing"),
        (lambda: route_radius([1.0], 0.5, [1.0, -1.0]), "radii must be in"),
        (lambda: route_radius([1.0], 0.5, [1.0, 1.0], 0.0), "quantile must be in"),
    ):
        with pytest.raises(ValueError, match=match):
            call()
