"""The oracle's radii: limits, integration, printed values; its evaluation of each
method.
"""

from math import inf

import numpy as np
import pytest
from cases import quick_each
from mpmath import mp
from radius_truth import close

from rsbounds import audit, certify_dataset, envelope, oracle, schemes
from rsbounds.answers import ANSWERS
from rsbounds.audit import _bounds
from rsbounds.audit._proofs import PROOFS
from rsbounds.audit.schemes import RADII
from rsbounds.certificate import SCOPES
from rsbounds.cli._methods import COUNTED
from rsbounds.oracle import certificates

pytestmark = pytest.mark.usefixtures("sixty_digits")


def test_without_slope_every_envelope_is_the_fixed_noise_radius():
    fixed = oracle.gaussian_radius(2.0, 0.25, -1.0)
    envelope = oracle.semi_elastic(0.25, 0)
    for branch in oracle.envelope_branches(2.0, 0.25, envelope, 784, -1.0):
        assert close(branch, fixed, 1e-28)
    low, _ = oracle.envelope_branches(2.0, 0.25, envelope, 784, mean_lip=1.5)
    assert close(low, oracle.gaussian_radius(2.0, 0.25) / 2.5, 1e-28)
    assert oracle.envelope_branch(-1.0, 0.25, envelope[0], 784) == 0


XI = [  # dim, sigma0, sigma1, distance, 1 - p, printed
    (1, 1, ".8", ".5", ".1", ".175147954707881"),
    (10, 1, "1.05", ".7", ".01", ".0641080193874159"),
    (784, ".25", ".245", ".3", ".01", ".183115087492133693"),
    (784, 1, ".999999", 1, ".01", ".0923620286386605787"),
    (196608, ".5", ".5001", 1, ".001", ".138720173860290678"),
]


@pytest.mark.parametrize(("dim", "sigma0", "sigma1", "distance", "q", "printed"), XI)
def test_worst_case_probability(dim, sigma0, sigma1, distance, q, printed):
    score = oracle.worst_score(distance, oracle.ndtri(q, dps=40), sigma0, sigma1, dim)
    # Half a unit in the last printed digit, 15 digits at least.
    assert close(oracle.ndtr(score), printed, 4e-15)


def test_worst_case_by_integration_in_one_dimension():
    """In one dimension the ball is an interval: its masses are differences of normal
    CDFs.
    """
    a, z, sigma0, sigma1 = (mp.mpf(v) for v in ("0.5", "-1.3", "1", "0.8"))
    centre = a * sigma0**2 / (sigma0**2 - sigma1**2)

    def mass(half, mean, sigma):
        return mp.ncdf((centre + half - mean) / sigma) - mp.ncdf(
            (centre - half - mean) / sigma
        )

    half = mp.findroot(lambda h: mass(h, 0, sigma0) - mp.ncdf(z), 2.0)
    score = oracle.worst_score(a, z, sigma0, sigma1, 1, dps=40)
    assert close(oracle.ndtr(score, dps=40), mass(half, a, sigma1), 1e-36)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dim", "sigma", "rate", "q", "low", "high"),
    [
        (1, "1", ".5", ".1", "1.25645355111837924", "1.21661205896587639"),
        (2, "1", ".5", ".1", "1.06858776901081732", ".941446878133668908"),
        (784, ".25", ".01", ".01", ".578772330787014025", ".578750685928353039"),
    ],
)
def test_semi_elastic_radii(dim, sigma, rate, q, low, high):
    envelope = oracle.semi_elastic(sigma, rate)
    z_a = -oracle.ndtri(q, dps=40)
    branches = oracle.envelope_branches(z_a, sigma, envelope, dim, dps=20)
    assert close(branches[0], low, 4e-18)
    assert close(branches[1], high, 4e-18)


RATIOS = [  # dim, and the ratio at p = 1e-7, .5, .999
    (1, "2.72453660283483159", ".537263287591867322", ".148496098042175313"),
    (784, "21.56147330601827", "19.7919754268644447", "18.7757425895654032"),
    (150528, "276.078186353984631", "274.342344931623208", "273.313236674080826"),
]


@pytest.mark.parametrize("row", RATIOS)
def test_lipschitz_ratio(row):
    for p, printed in zip(("1e-7", ".5", ".999"), row[1:], strict=True):
        ratio, _ = oracle.lipschitz_ratio(oracle.ndtri(p, dps=40), row[0], dps=25)
        assert close(ratio, printed, 4e-16 if len(printed) < 18 else 4e-18)


def test_lipschitz_ratio_in_two_dimensions_and_its_slope():
    for z in (-6.0, -0.5, 1.0, 8.0):
        p = oracle.ndtr(z, dps=60)
        ratio, slope = oracle.lipschitz_ratio(z, 2, dps=40)
        assert close(ratio, -p * mp.log(p) / mp.npdf(z))
        step = mp.mpf(10) ** -15
        ahead, back = (
            oracle.lipschitz_ratio(z + e, 2, dps=50)[0] for e in (step, -step)
        )
        # Central difference: error step^2 times a third derivative of order one.
        assert close(slope, (ahead - back) / (2 * step), 1e-27)


def test_integrated_radius_without_slope_is_the_fixed_noise_radius():
    radius = oracle.integrated_radius(2.5, 0.5, lip=0, sigma_min=0.5, dim=4, z_b=-1.0)
    assert close(radius, 0.5 * 3.5 / 2, 1e-19)


def test_ratio_threshold():
    for q, printed in ((".1", ".9678011129644028"), (".00007", ".9053886677354021")):
        assert close(oracle.ratio_threshold(-oracle.ndtri(q), 784), printed, 1e-15)
    assert oracle.ratio_threshold(oracle.ndtri(".1"), 4) > 1


def test_fixed_noise_radii():
    z = oracle.ndtri(".99")
    assert close(oracle.gaussian_radius(z, 2), 2 * z, 1e-29)
    assert close(oracle.gaussian_radius(z, 2, norm=4, dim=16), z, 1e-29)
    assert close(oracle.anisotropic_radius(z, [2, 2, 2, 2], norm=mp.inf), z, 1e-29)
    assert close(oracle.anisotropic_radius(z, [1, 3], norm=2), z, 1e-29)
    assert close(
        oracle.anisotropic_radius(z, [1, 1, 1], norm=6),
        z * mp.cbrt(1 / mp.mpf(3)),
        1e-29,
    )
    z_a, z_b = oracle.ndtri(".7"), oracle.ndtri(".1")
    assert close(oracle.laplace_radius(z_a, 2, z_b), mp.log(mp.mpf(25) / 3), 1e-28)
    paper = oracle.laplace_radius(z_a, 1, z_b, method="paper")
    assert close(paper, mp.log(7) / 2, 1e-28)


@pytest.mark.slow
def test_renyi_radius():
    # Two equal levels: the spread vanishes and the largest value lies below the exact
    # radius.
    z = oracle.ndtri(".99")
    equal = oracle.renyi_radius(z, 0.5, 0.5, 784)
    assert 0.95 < equal < oracle.gaussian_radius(z, 0.5)
    close_by = oracle.renyi_radius(z, 0.5, 0.5 * (1 + 1e-9), 784)
    assert close(close_by, equal, 1e-6)
    for sigma1 in (0.45, 0.55):
        radius = oracle.renyi_radius(z, 0.5, sigma1, 5)
        assert radius > 0
        assert oracle.worst_score(radius, -z, 0.5, sigma1, 5) < 0
    assert oracle.renyi_radius(z, 0.5, 0.6, 784) == 0


@pytest.mark.slow
def test_a_floor_that_is_all_but_zero():
    """The secant steps left the bracket here: the low branch is at sigma's floor for
    most of it.
    """
    sigma, lip, floor = 0.2750291537980145, 1.8669661873264214, 2.750291537980145e-21
    bounds = oracle.lipschitz_sigma(sigma, lip, floor)
    z_a, z_b = 26.139126378309598, -31.065147262295767
    radii = oracle.envelope_branches(z_a, sigma, bounds, 2.0, z_b)
    shape = envelope.LipschitzSigma(lip, floor)
    radii_of_ours = envelope.branch_radii(z_a, sigma, shape, 2.0, p_b=z_b, scores=True)
    for value, truth in zip(radii_of_ours, radii, strict=True):
        assert 0 <= (truth - float(value)) / truth <= 1e-11


SIGMA = {"lip": 0.05, "sigma_min": 0.1, "dim": 3}
SHAPED = {"lip": 0.01, "sigma_min": 0.1, "mean_lip": 0.5, "inner": 0.3, "dim": 3}
# the largest radius at sigma = 1/4 and z_a = 1.5, by the roots of
# `oracle.envelope_branches`
TURNED = [
    [0.125, 0.5, 0.5, 0.5],
    [0.125, -0.5, 0.5, -0.5],
    [0.125, 0.5, -0.5, -0.5],
    [0.125, -0.5, -0.5, 0.5],
]
TRUTH = [
    (
        "gaussian",
        {"sigma": 0.25, "norm": inf, "dim": 3},
        None,
        "0.21650635094610966169",
    ),
    ("anisotropic", {"inner": 0.3}, -2.5, "0.14999999999999999445"),
    # Hadamard's columns, of length 2, times 1/8 and 1/2: the levels are .25, 1, 1, 1
    ("correlated", {"matrix": TURNED}, -2.5, "0.5"),
    ("semi-elastic", {"rate": 0.01, "dim": 3}, None, "0.37499530082813209195"),
    ("lipschitz", SIGMA, -2.5, "0.49742428754431618527"),
    (
        "range",
        {"sigma_min": 0.2499, "sigma_max": 0.2501, "dim": 3},
        None,
        "0.37499994665954709834",
    ),
    ("generator", SHAPED, -2.5, "0.099991072068956292702"),
]


def test_what_is_proved_of_result_files_has_its_evaluations():
    """An entry may have neither: its rows are refused then."""
    # these have no level to be at two points, and an oracle of their own
    counted = {"categorical", "flips", "mask", "deletion"}
    of_a_curve = counted | {"laplace", "uniform", "exponential", "splitting"}
    proved = {
        "gaussian",
        "semi-elastic",
        "lipschitz",
        "range",
        "anisotropic",
        "correlated",
        "generator",
        "two-queries",
        "composite",
        "blocks",
    }
    of_answers = {name for proof in PROOFS.values() for name in proof.methods}
    of_its_law = {"transformed", "brightness-contrast", "orbit", "double-masking"}
    assert set(schemes.METHODS) >= of_answers == proved | of_a_curve | of_its_law
    assert set(certificates.METHODS) == proved
    assert {method.scope for method in schemes.METHODS.values()} <= set(SCOPES)
    counted = {"clopper-pearson", "anytime"}
    assert set(certificates.BOUNDS) == counted
    assert set(COUNTED) >= set(_bounds.PROOFS) == counted | {"exact", "staged"}
    answers = {"class", "list", "top-k", "values", "maps", "flag"}
    assert set(ANSWERS) >= set(PROOFS) == answers


def test_a_method_without_a_proof_is_refused_in_one_line(monkeypatch, tmp_path):
    """Each of its rows was a finding of its own."""
    x, y = np.eye(3, dtype=np.float32), np.arange(3)
    scheme = schemes.gaussian(0.25)
    certify_dataset(
        lambda batch: batch, (x, y), scheme, n=100, out=tmp_path / "out.tsv"
    )
    assert not audit.verify(tmp_path / "out.tsv").findings
    monkeypatch.setattr(PROOFS["class"], "methods", ("lipschitz",), raising=False)
    with pytest.raises(ValueError, match=r"'gaussian'.*prove"):
        audit.verify(tmp_path / "out.tsv")


@pytest.mark.parametrize(("method", "parameters", "z_b", "truth"), quick_each(4, TRUTH))
def test_the_sign_at_the_truth(method, parameters, z_b, truth):
    for step in (1e-3, 1e-12, -1e-12):
        options = (parameters, 0.25, float(truth) * (1 + step), 1.5, z_b)
        assert (certificates.excess(method, *options) > 0) == (step > 0)
        assert RADII[method].proved(*options) == (step < 0)


#: A rate that changes nothing, and a runner-up as good as impossible.
FAR = [
    (
        "semi-elastic",
        {"rate": 6.009497295660547e-50, "dim": 150528.0},
        0.5307496262486745,
        4.3239553233536045e-08,
        -4.3239553233536045e-08,
        2.2949376717833e-08,
    ),
    (
        "blocks",
        {
            "blocks": [
                {"method": "categorical", "keep": 0.5, "values": 3},
                {"method": "gaussian", "sigma": 0.4},
            ],
            "splits": [3],
            "changes": 1,
        },
        0.4,
        4.0,
        -14.0,
        3.59238734487323,
    ),
]


@pytest.mark.slow  # digits for large scores
@pytest.mark.parametrize(("method", "parameters", "sigma", "z_a", "z_b", "truth"), FAR)
def test_the_sign_is_right_far_out(method, parameters, sigma, z_a, z_b, truth):
    """The digits of a centre at 1e48, and of a probability of 1 - 8e-45, were lost."""
    for step in (1e-9, -1e-9):
        radius = truth * (1 + step)
        digits = 8 if method == "blocks" else 31  # of a lead of 4e-8 fewer are left
        found = certificates.excess(
            method, parameters, sigma, radius, z_a, z_b, dps=digits
        )
        assert (found > 0) == (step > 0)


@pytest.mark.parametrize("sigma1", [0.4, 0.5, 0.6])
@pytest.mark.parametrize("z", [-inf, inf])
def test_sets_of_measure_nought_or_one_stay_so(z, sigma1):
    assert oracle.worst_score(0.3, z, 0.5, sigma1, 4) == z
