"""Every claim is proved, and half of its constant is not enough: a slip in one would be seen."""

import pytest

from proofs.balls import prove
from proofs.claims import CLAIMS

SLOW = {
    "mills",
    "ndtri_tail[2]",
    "ndtri_tail[3]",
    "discretisation",
    "last node",
    "score",
    "score (small)",
    "tail",
    "tail (small)",
}
ALL = [
    pytest.param(c, id=c.name, marks=[pytest.mark.slow] if c.name in SLOW else []) for c in CLAIMS
]


@pytest.mark.parametrize("claim", ALL)
def test_claim_is_proved(claim):
    proof = prove(claim)
    assert proof.boxes >= 1
    assert proof.largest <= claim.bound


@pytest.mark.parametrize("claim", ALL)
def test_half_of_the_constant_is_refuted(claim):
    with pytest.raises(ArithmeticError, match="at"):
        prove(claim, claim.bound / 2)
