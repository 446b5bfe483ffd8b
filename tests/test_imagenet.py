"""ImageNet dimension: the committed radii follow from the committed counts, the page from both."""

import importlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from rsbounds import confidence, envelope, oracle
from rsbounds.cli import main
from rsbounds.results import Manifest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks" / "imagenet.md"
METHODS = ("gaussian", "semi-elastic", "lipschitz")
DIM = 150528


def path(method):
    return PAGE.with_suffix("") / f"{method}.tsv"


@pytest.fixture(scope="module")
def bench():
    """The script, which certifies nothing when it is imported."""
    for name in ("torch", "PIL"):
        pytest.importorskip(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks" / "pages")
        yield importlib.import_module("imagenet")


@pytest.fixture(scope="module")
def case(bench):
    return sys.modules["imagenet_case"]


@pytest.fixture(scope="module")
def found(bench):
    return {method: bench.results(path(method)) for method in METHODS}


@pytest.mark.parametrize("method", METHODS)
def test_the_oracle_agrees(method, capsys):
    assert main(["verify", str(path(method))]) == 0, capsys.readouterr().out
    assert "20 rows, no findings" in capsys.readouterr().out


def test_clamped_radius_is_the_zero_of_the_oracle(bench):
    """At the clamped radius one of the two sides is on the verge, and the other holds."""
    from mpmath import log10, mp, mpf

    for count, rate in ((1000, 0.005), (980, 0.001), (1000, 0.02)):
        z = float(confidence.lower_bound(count, 1000, 0.001, scores=True))
        for constant in bench.CLAMPS.values():
            r = float(bench.clamped(z, 0.12, envelope.SemiElastic(rate), constant))
            with mp.workdps(25):
                t = mpf(constant) + log10(oracle.ndtr(-z)) / 1000
                turn = mp.exp(mpf(rate) * mpf(r))
                sides = [mpf(0.12) * min(t, 1 / turn), mpf(0.12) * max(1 / t, turn)]
                worst = [oracle.worst_score(mpf(r), -z, 0.12, s, DIM, dps=20) for s in sides]
            # xi is right to 1e-11, the slope in r of a score is about 1/sigma
            assert float(max(worst)) == pytest.approx(0, abs=1e-9)


def test_sigma_network_is_a_mean_with_its_constant(bench):
    network = bench.sigma_network()
    true = bench.SLOPE / np.sqrt(DIM)
    assert true <= network.lip < 1.001 * true  # float32 weights: 1e-7; the bound's own slack less
    parameters = Manifest.read(path("lipschitz")).parameters
    # the constant is a product rounded outward: versions differ in how they round it, by 1e-13
    lip = pytest.approx(network.lip, rel=1e-12)
    slack = pytest.approx(network.scheme(DIM, sound=True).parameters["slack"], rel=1e-6)
    assert parameters == {"lip": lip, "sigma_min": bench.FLOOR, "dim": DIM, "slack": slack}


def test_tables_are_those_of_the_results(bench, found):
    page = PAGE.read_text()
    table, radii = bench.summary(found)
    assert table in page
    assert bench.photographs(found["semi-elastic"], radii) in page
    assert bench.rates() in page
    allowed = max(bench.allowance(method, found[method]) for method in bench.MOVING)
    assert f"at most {bench.above(allowed)} of their length" in page
    assert PAGE.with_suffix(".png").is_file()


@pytest.mark.slow
def test_levels_are_those_of_the_pictures(case, found):
    pytest.importorskip("sklearn")
    if importlib.util.find_spec("foolbox") is None:
        pytest.skip("the photographs come with foolbox")
    x, labels = case.pictures()
    for method in METHODS:
        plan, rows = case.scheme(method), found[method].rows
        assert [row.label for row in rows] == labels
        manifest = Manifest.read(path(method))
        assert manifest.model["preprocessing"] == case.PREPROCESS.description
        assert manifest.parameters == pytest.approx(plan.parameters, rel=1e-6)
        # another version of Pillow may move some pixels by 1/255
        assert [plan.sigma(one) for one in x] == pytest.approx(found[method].sigma, rel=1e-4)
