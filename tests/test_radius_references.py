"""Reference radii, printed and of the oracle's table: reproduced and never exceeded."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri

from rsbounds import envelope, lipschitz, semielastic

# dim, sigma0, rate, 1 - p_a, low branch, high branch
BRANCHES = [
    (1, 1, 0.5, 0.1, 1.25645355111837924, 1.21661205896587639),
    (2, 1, 0.5, 0.1, 1.06858776901081732, 0.941446878133668908),
    (3, 0.5, 0.2, 0.01, 1.14346710797868281, 1.1366888567636723),
    (784, 0.25, 0.01, 0.01, 0.578772330787014025, 0.578750685928353039),
    (196608, 0.5, 0.001, 0.001, 1.47441261123387061, 1.47428290661856687),
]
# dim, sigma0, rate, p_a, p_b, low, high
PAIRS = [
    (3, 1, 0.1, 0.6, 0.05, 0.931559666277431, 0.929328425160386),
    (784, 0.25, 0.01, 0.9, 0.01, 0.448802961922072, 0.448789946669532),
    (784, 0.25, 0.01, 0.4, 0.3, 0.0337171109845784, 0.0337170375243782),
    (3072, 0.5, 0.01, 0.99, 0.001, 1.26150269328202, 1.26009202029089),
]
# dim, sigma0, lip, 1 - p_a, low, high; no floor
LIPSCHITZ = [
    (784, 1, 0.5, 9e-7, 0.235909617165709491, 0.245573118515639263),
    (10, 1, 0.1, 0.01, 2.12661414042572838, 2.15093928557686421),
    (2, 1, 0.3, 0.1, 1.15456275838846293, 1.18405224423184618),
]
# dim, sigma0, sigma1, distance, 1 - p_a, xi
XI = [
    (1, 1, 0.8, 0.5, 0.1, 0.175147954707881),
    (10, 1, 0.95, 0.7, 0.01, 0.046938206314045507),
    (10, 1, 1.05, 0.7, 0.01, 0.0641080193874159),
    (784, 0.25, 0.245, 0.3, 0.01, 0.183115087492133693),
    (784, 0.25, 0.255, 0.3, 0.01, 0.190922887746893566),
    (784, 1, 0.999999, 1, 0.01, 0.0923620286386605787),
    (196608, 0.5, 0.5001, 1, 0.001, 0.138720173860290678),
]
RATIO = {
    1: (2.72453660283483159, 0.537263287591867322, 0.148496098042175313),
    10: (4.14884054178171109, 2.17438135957280771, 1.30539868828670317),
    784: (21.56147330601827, 19.7919754268644447, 18.7757425895654032),
    3072: (40.9401651854963916, 39.1882921271285984, 38.1650955157673021),
    150528: (276.078186353984631, 274.342344931623208, 273.313236674080826),
}


def assert_just_below(value, truth, digits=1e-10):
    # the references carry 15 to 18 digits: half a unit of the shortest is 5e-15 of the value
    assert truth * (1 - digits) <= value <= truth * (1 + 5e-15)


@pytest.mark.parametrize(("dim", "sigma", "rate", "q", "low", "high"), BRANCHES)
def test_semi_elastic_branches(dim, sigma, rate, q, low, high):
    z = -ndtri(q)
    found = envelope.branch_radii(z, sigma, envelope.SemiElastic(rate), dim, scores=True)
    assert_just_below(found[0], low)
    assert_just_below(found[1], high)
    assert_just_below(semielastic.radius(z, sigma, rate, dim, scores=True), min(low, high))


@pytest.mark.parametrize(("dim", "sigma", "rate", "p_a", "p_b", "low", "high"), PAIRS)
def test_separate_bounds(dim, sigma, rate, p_a, p_b, low, high):
    radii = envelope.branch_radii(p_a, sigma, envelope.SemiElastic(rate), dim, p_b)
    assert_just_below(radii[0], low)
    assert_just_below(radii[1], high)


@pytest.mark.parametrize(("dim", "sigma", "lip", "q", "low", "high"), LIPSCHITZ)
def test_lipschitz_branches(dim, sigma, lip, q, low, high):
    shape = envelope.LipschitzSigma(lip)
    radii = envelope.branch_radii(-ndtri(q), sigma, shape, dim, scores=True)
    assert_just_below(radii[0], low)
    assert_just_below(radii[1], high)


@pytest.mark.parametrize(
    ("dim", "radii"),
    [
        (784, (0.318828, 0.578751, 0.947388)),
        (3072, (0.314398, 0.570695, 0.934171)),
        (150528, (0.188661, 0.342353, 0.560157)),
    ],
)
def test_semi_elastic_table(dim, radii):
    found = semielastic.radius([0.9, 0.99, 0.99993], 0.25, 0.01, dim)
    np.testing.assert_allclose(found, radii, rtol=0, atol=5e-7)  # printed to six decimals


def test_imagenet_dimension():
    found = semielastic.radius(0.999, [0.25, 0.5], [1e-6, 0.01], 150528)
    assert abs(found[0] - 0.772558069) < 5e-10  # printed to nine decimals, and to six
    assert abs(found[1] - 0.528327) < 5e-7


@pytest.mark.parametrize(("dim", "sigma0", "sigma1", "distance", "q", "truth"), XI)
def test_xi(dim, sigma0, sigma1, distance, q, truth):
    # scores of some 100 standard deviations of offset: 1e-12 relative
    found = semielastic.xi(distance, -ndtri(q), sigma0, sigma1, dim, scores=True)
    np.testing.assert_allclose(found, ndtri(truth), rtol=2e-12)


@pytest.mark.parametrize(("dim", "truth"), RATIO.items())
def test_ratio(dim, truth):
    np.testing.assert_allclose(lipschitz.ratio([1e-7, 0.5, 0.999], dim), truth, rtol=1e-13)


@pytest.mark.parametrize(
    ("sigma", "lip", "radii"),
    [
        (0.65, 0.5, (0.1498, 0.1560, 0.1741)),
        (1.0, 0.5, (0.1498, 0.2262, 0.2564)),
        (1.0, 0.05, (1.0708, 1.6258, 2.3065)),
    ],
)
def test_three_methods(sigma, lip, radii):
    found = [
        lipschitz.radius(
            -ndtri(1e-7), sigma, lip=lip, sigma_min=0.65, dim=784, scores=True, method=m,
            p_min=1e-7 if m == "paper" else None,
        )
        for m in ("paper", "integrated", "exact")
    ]  # fmt: skip
    np.testing.assert_allclose(found, radii, atol=5e-5)


def test_bergstrom_mnist_setting():
    bound = lipschitz.constant(784, 0.5, 0.65, 1e-7)
    assert 34.7099589323358 <= bound <= 34.7099589323358 * (1 + 1e-11)
    top = lipschitz.normalize_scores(np.eye(10)[0], 1e-7)
    largest = lipschitz.radius(
        top[0], 1.0, lip=0.5, sigma_min=0.65, dim=784, p_b=top[1], method="paper", p_min=1e-7
    )
    assert_just_below(largest, 0.143676488238246653, 1e-8)  # 1 - 9e-7 as a double: 1e-10 in z


SCHEMES = envelope.SemiElastic, envelope.LipschitzSigma, envelope.SigmaRange  # by kind


def test_oracle_table():
    """Both branches of 225 settings: sound, and as tight as promised."""
    with np.load(Path(__file__).parent / "tables" / "radius.npz") as data:
        table = dict(data)
    count = len(table["kind"])
    assert count > 200

    def found(widened: float) -> np.ndarray:
        radii = []
        for i in range(count):
            column = {name: values[i] for name, values in table.items()}
            parameters = column["first"], column["second"]
            kind = int(column["kind"])
            scheme = SCHEMES[kind](*parameters[: 1 if kind == 0 else 2])
            slack = widened * (column["z_a"] - column["z_b"]) / 2
            radii.append(
                envelope.branch_radii(
                    column["z_a"] + slack,
                    column["sigma"],
                    scheme,
                    column["dim"],
                    column["z_b"] - slack,
                    mean_lip=column["mean_lip"],
                    scores=True,
                )
            )
        return np.array(radii).T

    for ours, wider, side in zip(found(0.0), found(2e-12), ("low", "high"), strict=True):
        truth, rest = table[f"{side}_hi"], table[f"{side}_lo"]
        loss = (truth - ours) + rest
        assert np.all((loss >= 0) | (ours == truth))
        # where the distance hardly counts: the radius of a budget smaller by 2e-12 of itself
        flat = wider >= truth
        assert np.all((loss <= 1e-11 * truth) | (ours == truth) | flat)
        assert np.mean(loss > 1e-11 * truth) < 0.01
