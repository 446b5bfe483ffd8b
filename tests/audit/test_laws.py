"""What the audit proves of discrete noise, beside the exact curves."""

from fractions import Fraction
from functools import partial

import pytest
from exact_curves import cases_of

from rsbounds import schemes
from rsbounds.audit._balls import arb, ctx
from rsbounds.audit.schemes import RADII
from rsbounds.oracle import discrete

PAIR = (schemes.flips(0.25, 0.5), schemes.categorical(0.5, 3))
THREE = (*PAIR, schemes.mask(keep_probability=0.125))
CASES = {
    "categorical": (schemes.categorical(0.5, 3), 4),
    "rare values": (schemes.categorical(0.25, 200), 4),
    "two values": (schemes.categorical(0.25, 2), 5),
    "flips": (schemes.flips(0.25, 0.5), 5),
    "flips of so many kinds": (schemes.flips(0.25, 0.5), (3, 1)),
    "flips one way": (schemes.flips(0.0, 0.5), 3),
    "flips the other way": (schemes.flips(0.5, 0.0), 3),
    "mask": (schemes.mask(12, 2), 4),
    "mask of all": (schemes.mask(12, 2), 11),
    "mask by chance": (schemes.mask(keep_probability=0.25), 2),
    "deletion": (schemes.deletion(0.75), 2),
    "blocks": (schemes.blocks(*PAIR, splits=[2]), 4),
    "blocks of so many kinds": (schemes.blocks(*PAIR, splits=[2]), (1, 2)),
    "three blocks": (schemes.blocks(*THREE, splits=[2, 4]), 4),
    # rows that lack what is rare
    "many of two values": (schemes.categorical(0.508, 2), 80),
    "many flips": (schemes.flips(0.49, 0.48), (60, 10)),
    "many masks": (schemes.mask(10**6, 7), 50_000),
}
#: Complements: in binary, so that a ball and a Fraction hold the same number.
LEFT_OUT = [Fraction(k, 64) for k in (0, 1, 7, 32, 50, 63)] + [Fraction(1, 2**90)]


def as_fraction(ball):
    mantissa, exponent = (int(part) for part in ball.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


@pytest.mark.parametrize("name", CASES)
def test_what_is_proved_is_the_exact_curve(name):
    scheme, changes = CASES[name]
    proof = RADII[scheme.name].changes(scheme.parameters)
    for q in LEFT_OUT:
        with ctx.workprec(256):
            left_out = arb(q.numerator) / q.denominator
            low = proof.least(lambda law, q=left_out: law.least(q), proof.ways(changes))
            ends = as_fraction(low.lower()), as_fraction(low.upper())
        exact = discrete.low(cases_of(scheme.curve, changes), 1 - q)
        assert ends[0] <= exact
        # 256 bits, of which slopes up to 2^90 leave more than half
        assert exact - ends[0] < Fraction(1, 2**140)


@pytest.mark.parametrize(
    "scheme",
    [
        schemes.categorical(0.6, 2),
        schemes.categorical(0.6, 3),
        schemes.flips(0.2, 0.6),
        schemes.flips(0.2, 0.2),
        schemes.deletion(0.9),
        schemes.mask(100, 5),
        schemes.mask(keep_probability=0.1),
        schemes.blocks(*PAIR, splits=[2]),
        schemes.blocks(PAIR[0], PAIR[0], splits=[2]),
    ],
)
def test_no_radius_of_a_curve_is_more_than_is_proved(scheme):
    assert not RADII[scheme.name].too_many(scheme.parameters, scheme.curve.far)


@pytest.mark.slow
def test_hundreds_of_changes_of_several_kinds_are_proved():
    weak = schemes.categorical(0.525, 2), schemes.flips(0.473, 0.473)
    blocks = schemes.blocks(*weak, splits=[3])
    for scheme, radius in ((schemes.flips(0.475, 0.465), 408), (blocks, 505)):
        z = 2.4289  # of 1,000 votes of 1,000
        proved = partial(
            RADII[scheme.name].proved, scheme.parameters, 1.0, z_a=z, z_b=None
        )
        assert proved(radius=radius)
        assert not proved(radius=radius + 1)


@pytest.mark.parametrize("name", ["flips", "categorical", "mask", "blocks"])
def test_far_scores_are_proved(name):
    scheme, _ = CASES[name]
    for z_a, z_b in ((-8.0, -12.0), (-11.0, -11.5), (11.5, 8.0)):
        radius = scheme.curve.radius(z_a, z_b, scores=True)
        proved = partial(
            RADII[scheme.name].proved, scheme.parameters, 1.0, z_a=z_a, z_b=z_b
        )
        assert proved(radius=radius)
        assert not proved(radius=radius + 1)


def test_a_frontier_of_other_kinds_is_not_proved():
    scheme = schemes.flips(0.2, 0.4)
    proof = RADII["flips"]
    assert proof.entry_proved(scheme.parameters, "0,0", 1.0, None)
    assert not proof.entry_proved(scheme.parameters, "0,0,0", 1.0, None)
    of_values = {"keep": 0.5, "values": 3}
    assert not RADII["categorical"].entry_proved(of_values, "0,0", 1.0, None)


def test_no_radius_is_stated_beside_more_changes_than_are_proved():
    noises = schemes.gaussian(1.0), schemes.categorical(0.5, 3)
    most = schemes.blocks(*noises, splits=[2], changes=400)
    proof = RADII["blocks"]
    assert not proof.too_many(most.parameters, 0.0)
    assert proof.too_many({**most.parameters, "changes": 401}, 0.0)
    with pytest.raises(ValueError, match="changes must be at most"):
        schemes.blocks(*noises, splits=[2], changes=401)
