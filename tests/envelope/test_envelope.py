"""Radii under an envelope: its classes, a user's own, tables; see test_soundness for
the truth.
"""

import mpmath as mp
import numpy as np
import pytest

from rsbounds import envelope, gaussian
from rsbounds.envelope import (
    LipschitzSigma,
    SemiElastic,
    SigmaRange,
    TableEnvelope,
    Widened,
)

SHAPES = [SemiElastic(0.05), LipschitzSigma(0.02, 0.2), SigmaRange(0.249, 0.251)]
Z = np.array([-1.0, 0.0, 0.1, 1.0, 3.0, 8.0, np.inf])


class Own:
    def __init__(self, shape):
        self.bounds = shape.bounds


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
@pytest.mark.parametrize("z_b", [None, -0.4])
def test_an_envelope_known_by_its_bounds_alone_has_the_same_radius(shape, z_b):
    given = envelope.radius(Z, 0.25, shape, 784, z_b, scores=True)
    own = envelope.radius(Z, 0.25, Own(shape), 784, z_b, scores=True)
    np.testing.assert_allclose(own, given, rtol=1e-11)


@pytest.mark.parametrize(
    "shape", [SemiElastic(0.0), LipschitzSigma(0.0), SigmaRange(0.25, 0.25)], ids=repr
)
def test_a_constant_sigma_has_cohens_radius(shape):
    p = np.array([0.2, 0.6, 0.99, 1 - 1e-9])
    result, cohen = envelope.radius(p, 0.25, shape, 784), gaussian.radius(p, 0.25)
    np.testing.assert_allclose(result, cohen, rtol=2e-12)
    assert np.all(result <= cohen * (1 + 1e-14))


@pytest.mark.parametrize(
    "shape", [*SHAPES, Own(SHAPES[0])], ids=lambda s: type(s).__name__
)
def test_nan_passes_from_every_argument(shape):
    options = {"p_a": 0.9, "sigma": 0.25, "dim": 784, "p_b": 0.05, "mean_lip": 0.1}
    for name in options:  # mean_lip = nan was 0: no certificate, but no answer either
        with np.errstate(invalid="ignore"):
            result = envelope.radius(**{**options, name: np.nan}, envelope=shape)
        assert np.isnan(result), name
        with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
            envelope.radius(**{**options, name: np.nan}, envelope=shape)


def test_sigma_outside_its_envelope_is_refused():
    for shape in (LipschitzSigma(0.1, 0.3), SigmaRange(0.1, 0.2), SigmaRange(0.3, 0.4)):
        with pytest.raises(ValueError, match=r"sigma.*envelope"):
            envelope.radius(0.9, 0.25, shape, 784)
    with pytest.raises(ValueError, match="rate must"):
        SemiElastic(-1.0)
    with pytest.raises(ValueError, match=r"envelope.*bounds"):
        envelope.radius(0.9, 0.25, object(), 784)
    with pytest.raises(ValueError, match=r"envelope.*SemiElastic"):
        envelope.branch_radii(0.9, 0.25, Own(SHAPES[0]), 784)


@pytest.mark.parametrize("end", [1e-3, 1e-40, 1e-200])
def test_a_short_table_certifies_up_to_its_end(end):
    """From 1e-37 on the halvings gave up at 0; beyond a table nothing is certified."""
    table = TableEnvelope([end], [0.2499], [0.2501])
    result = envelope.radius(0.99, 0.25, table, 784)
    assert end * (1 - 1e-11) <= result <= end


def test_a_table_in_extreme_units():
    plain = envelope.radius(0.99, 1.0, TableEnvelope([1.0], [1.0], [1.0]), 3)
    for power in (-900, 1023):
        unit = 2.0**power
        table = TableEnvelope([unit], [unit], [unit])
        result = envelope.radius(0.99, unit, table, 3)
        assert result / unit == pytest.approx(plain, rel=1e-11)


def test_a_table_between_its_rows_uses_the_wider_one():
    wide = envelope.radius(0.99, 0.25, TableEnvelope([9.0], [0.245], [0.255]), 784)
    steps = TableEnvelope([0.01, 9.0], [0.249, 0.245], [0.251, 0.255])
    result = envelope.radius(0.99, 0.25, steps, 784)
    assert wide > 0.01
    assert result == pytest.approx(wide, rel=1e-11)


def test_probabilities_that_float64_would_round_up_are_rounded_down():
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("long double is float64 here")
    p_a = (
        np.longdouble(1) - np.longdouble(2) ** -60
    )  # to the nearest it is 1, and the radius inf
    with mp.workdps(40):
        below = 0.25 * float(-mp.sqrt(2) * mp.erfinv(mp.mpf(2) ** -59 - 1))
    for result in (
        gaussian.radius(p_a, 0.25),
        envelope.radius(p_a, 0.25, SemiElastic(0.0), 784),
        gaussian.radius(0.5, 0.5, np.longdouble(2) ** -60),
    ):
        assert 0 < result <= below


def test_bounds_name_the_argument_that_is_no_number():
    table = TableEnvelope([1.0], [0.2], [0.3])
    for shape in (SemiElastic(0.1), LipschitzSigma(0.1), SigmaRange(0.2, 0.3), table):
        for argument in ("sigma0", "distance"):
            with pytest.raises(ValueError, match=rf"^{argument}.*real"):
                shape.bounds(**{"sigma0": 0.25, "distance": 1.0, argument: "x"})


def test_accuracy_at_the_ends_of_the_range_is_what_the_docstring_says():
    """5.8e-11 below the truth at p_b = 7e-297; 0 for a truth of 1.7e-161."""
    shape = LipschitzSigma(4.1918448523087308, 0.48061149673994186)
    result = envelope.radius(
        0.58232665388059413, 1.0, shape, 1.0, 7.4869780455754559e-297
    )
    truth = 3.863994493536090  # by oracle.envelope_branches
    assert truth * (1 - 1e-10) <= result <= truth
    assert (
        0 <= envelope.radius(0.99, 1.0, LipschitzSigma(1e160, 0.99999), 100) <= 1.7e-161
    )
    assert envelope.radius(0.99, 1.0, LipschitzSigma(1e153, 0.99999), 100) > 1.69e-154


WIDE = np.finfo(np.longdouble).nmant > 52
TENTH = np.longdouble(1) / 10  # below the float64 0.1


@pytest.mark.skipif(not WIDE, reason="long double is float64 here")
def test_parameters_that_float64_does_not_hold_are_rounded_outward():
    up, down = 0.1, np.nextafter(0.1, 0)
    radius = envelope.radius
    assert radius(0.99, TENTH, SemiElastic(TENTH), 784) == radius(
        0.99, down, SemiElastic(up), 784
    )
    assert radius(0.99, 0.25, LipschitzSigma(TENTH, TENTH), 784) == radius(
        0.99, 0.25, LipschitzSigma(up, down), 784
    )
    third, below = np.longdouble(1) / 3, 1 / 3  # above the float64
    assert radius(0.99, 0.33, SigmaRange(third * 0.98, third), 784) == radius(
        0.99, 0.33, SigmaRange(rounded_down(third * 0.98), np.nextafter(below, 1)), 784
    )
    one = radius(0.99, 0.25, SemiElastic(0.01), 784, mean_lip=TENTH)
    assert one == radius(0.99, 0.25, SemiElastic(0.01), 784, mean_lip=up)
    table = TableEnvelope([third], [TENTH], [third])
    assert table.distance[0] == below
    assert table.low[0] == down
    assert table.high[0] > third


def rounded_down(value):
    near = np.float64(value)
    return near if near <= value else np.nextafter(near, 0)


@pytest.mark.skipif(not WIDE, reason="long double is float64 here")
@pytest.mark.parametrize("shape", [LipschitzSigma(0.1, 0.05), SigmaRange(0.24, 0.26)])
def test_a_sigma_with_no_safe_side_is_refused(shape):
    """The radius grows with sigma0, but falls with its distance from the smallest
    sigma.
    """
    assert envelope.radius(0.99, np.longdouble(0.25), shape, 784) > 0
    with pytest.raises(ValueError, match=r"sigma.*float64"):
        envelope.radius(0.99, TENTH, shape, 784)
    with pytest.raises(ValueError, match=r"dim.*float64"):
        envelope.radius(0.99, 0.25, shape, 784 + TENTH)
    with pytest.raises(ValueError, match=r"got 1 of 2 values"):
        envelope.radius(0.99, np.array([0.25, TENTH]), shape, 784)


def test_parameters_cannot_be_changed_after_they_were_checked():
    rates = np.array([0.01, 0.02])
    shape = SemiElastic(rates)
    before = envelope.radius(0.99, 0.25, shape, 784)
    rates[:] = 0.0
    assert np.array_equal(envelope.radius(0.99, 0.25, shape, 784), before)
    with pytest.raises(ValueError, match="read-only"):
        shape.rate[:] = 0.0


def test_a_slack_of_a_narrow_type_keeps_its_value():
    """In float16 the factor exp(slack) was 1: a radius of .34235 instead of .32245."""
    narrow = np.float16(3e-4)
    radii = [
        envelope.radius(0.99, 0.25, Widened(SemiElastic(0.01), slack), 150528)
        for slack in (narrow, np.float32(narrow), float(narrow))
    ]
    assert radii[0] == radii[1] == radii[2] < 0.3225


@pytest.mark.parametrize("z_b", [None, -0.4])
@pytest.mark.parametrize("z", [0.9, 3.0, 6.0, 20.0])
def test_levels_that_fall_at_once_leave_radii_as_small_as_they_should(z, z_b):
    """From 1e154 on the search ended above the radius, which then was 0."""
    lips = 10.0 ** np.array([100, 150, 153, 154, 160, 250, 300])
    radii = lips * envelope.radius(
        z, 0.5, LipschitzSigma(lips, 0.25), 4, z_b, scores=True
    )
    # at no distance to speak of sigma alone decides, by lip times the distance
    np.testing.assert_allclose(radii, radii[0], rtol=1e-11)
