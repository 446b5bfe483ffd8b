"""Reference radii, printed and of the oracle's table: reproduced and never exceeded."""

import numpy as np
import pytest
from scipy.special import ndtri
from special_truth import table

from rsbounds import envelope, lipschitz, semielastic


def assert_just_below(value, truth, digits=1e-10):
    # the references carry 15 to 18 digits: half a unit of the shortest is 5e-15 of the value
    assert truth * (1 - digits) <= value <= truth * (1 + 5e-15)


def test_worst_cases_of_the_table():
    t = table("xi")
    scores = semielastic.xi(t["distance"], -t["z"], t["sigma0"], t["sigma1"], t["dim"], scores=True)
    # the error bound is 1e-13 up to 100 standard deviations of offset, a few of its ulp beyond
    error = np.abs(scores - t["score_hi"]) / np.maximum(1, np.abs(t["score_hi"]))
    assert error.max() < 1e-13


def test_ratios_of_the_table():
    t = table("ratio")
    ratio = lipschitz.ratio(t["z"], t["dim"], scores=True)
    slope = lipschitz.ratio_derivative(t["z"], t["dim"], scores=True)
    np.testing.assert_allclose(ratio, t["ratio_hi"], rtol=1e-13)
    error = np.abs(slope - t["slope_hi"])
    assert np.all(error <= 2e-15 * np.abs(t["z"]) * t["ratio_hi"] + 1e-13 * np.abs(t["slope_hi"]))


@pytest.mark.parametrize(
    ("sigma", "lip", "radii"),
    [
        (0.65, 0.5, (0.1498, 0.1560, 0.1741)),
        (1.0, 0.5, (0.1498, 0.2262, 0.2564)),
        (1.0, 0.05, (1.0708, 1.6258, 2.3065)),
    ],
)
def test_three_methods(sigma, lip, radii):
    result = [
        lipschitz.radius(
            -ndtri(1e-7), sigma, lip=lip, sigma_min=0.65, dim=784, scores=True, method=m,
            p_min=1e-7 if m == "paper" else None,
        )
        for m in ("paper", "integrated", "exact")
    ]  # fmt: skip
    np.testing.assert_allclose(result, radii, atol=5e-5)


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
    """Both branches of each setting: sound, and as tight as promised."""
    columns = table("radius")
    count = len(columns["kind"])
    assert count > 100

    def result(widened):
        radii = []
        for i in range(count):
            column = {name: values[i] for name, values in columns.items()}
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
                    p_b=column["z_b"] - slack,
                    mean_lip=column["mean_lip"],
                    scores=True,
                )
            )
        return np.array(radii).T

    for ours, wider, side in zip(result(0.0), result(2e-12), ("low", "high"), strict=True):
        truth, rest = columns[f"{side}_hi"], columns[f"{side}_lo"]
        loss = (truth - ours) + rest
        assert np.all((loss >= 0) | (ours == truth))
        # where the distance hardly counts: the radius of a budget smaller by 2e-12 of itself
        flat = wider >= truth
        assert np.all((loss <= 1e-11 * truth) | (ours == truth) | flat)
        assert np.sum(loss > 1e-11 * truth) <= 2
