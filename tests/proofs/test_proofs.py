"""Every claim is proved, and half of its constant is not enough: a slip in one would be
seen.
"""

import pytest

from .balls import named, prove
from .claims import CLAIMS
from .mutations import run

SLOW = {
    "central",
    "densities",
    "median[4]",
    "mills",
    "ndtri_tail[2]",
    "ndtri_tail[3]",
    "discretisation",
    "last node",
    "ratio",
    "few",
    "large_df",
    "poisson",
    "median[7]",
    "binomial nodes",
}
NODES = [c for c in CLAIMS if c.name.startswith(("score", "tail"))]  # share their boxes
ALL = [
    pytest.param(c, id=c.name, marks=[pytest.mark.slow] if c.name in SLOW else [])
    for c in CLAIMS
    if c not in NODES
]


def proved(claim):
    proof = prove(claim)
    return proof.boxes >= 1 and proof.largest <= claim.bound


@pytest.mark.parametrize("claim", ALL)
def test_claim_is_proved(claim):
    assert proved(claim)


@pytest.mark.parametrize("claim", ALL)
def test_half_of_the_constant_is_refuted(claim):
    with pytest.raises(ArithmeticError, match="at"):
        prove(claim, claim.bound / 2)


@pytest.mark.parametrize(
    ("name", "header", "constant"),
    [
        ("score", "ball.hpp", "score_error"),
        ("score (small)", "ball.hpp", "small_score_error"),
        ("log_gamma", "gain.hpp", "tiny_error"),
        ("saddle", "median.hpp", "saddle_room"),
        ("median[7]", "median.hpp", "series_room"),
    ],
)
def test_the_bound_of_a_claim_is_the_constant_of_its_header(name, header, constant):
    (claim,) = (claim for claim in CLAIMS if claim.name == name)
    assert claim.bound == named(header, constant)


@pytest.mark.slow
def test_scores_and_tails_are_proved_and_half_of_their_constants_refuted():
    assert len(NODES) == 5
    for claim in NODES:
        assert proved(claim)
        with pytest.raises(ArithmeticError, match="at"):
            prove(claim, claim.bound / 2)


@pytest.mark.slow
def test_each_error_in_the_headers_is_refuted():
    """Half of a constant, a border further out, a coefficient a little off."""
    assert run([]) == 0
