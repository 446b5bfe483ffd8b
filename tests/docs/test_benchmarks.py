"""The benchmarks' scripts, and the committed pages: they follow from the committed
counts.
"""

import csv
import importlib
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import slow_but

from rsbounds import confidence, datasets, envelope, oracle
from rsbounds.cli import main
from rsbounds.results import Manifest

ROOT = Path(__file__).parents[2]
SCALE = (ROOT / "docs" / "howto" / "how-far-does-it-scale.md").read_text()
DOCS = ROOT / "docs" / "benchmarks"
SETS = ("Fashion-MNIST", "MNIST")
IMAGENET = DOCS / "imagenet.md"
METHODS = ("gaussian", "semi-elastic", "lipschitz")
DIM = 150528


@pytest.fixture(scope="module")
def script():
    """script(name) imports a script, which measures and writes nothing when it is
    imported.
    """
    for name in ("matplotlib", "mpmath"):
        pytest.importorskip(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks" / "pages")
        yield importlib.import_module


@pytest.mark.slow
def test_no_error_exceeds_its_bound(script, monkeypatch):
    errors = script("errors")
    for of in errors.FUNCTIONS:
        found = errors.worst(of, points=10, seed=1)
        assert 0 < found.ratio <= 1, (of, found)
    for of in errors.STEPS:
        found = errors.inversions(of, points=2000, seed=1)
        assert found.largest <= 2, (of, found)
        assert 0 <= found.inverted < 0.01
    for of in errors.RADII:
        lost = errors.losses(of, points=20, seed=1)
        assert 0 <= lost.least <= lost.largest <= 1, (of, lost)
    monkeypatch.setattr(errors.special, "ndtri", lambda p: -1.0)
    assert errors.worst("`ndtri`", points=2).ratio > 1e10
    monkeypatch.setattr(errors.special, "ball_score", lambda u, dim, s: -u)
    assert errors.inversions("u of `ball_score`", points=100).inverted == 1


@pytest.mark.slow
def test_the_page_of_a_gpu_is_made_on_the_processor_too(script):
    torch = pytest.importorskip("torch")
    gpu = script("gpu")
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 3))
    line = gpu.row("linear", network, (1, 4, 4), 200, torch.device("cpu"))
    title, n, *_, repeats, alike = line.strip("| ").split(" | ")
    assert (title, n, repeats) == ("linear", "200", "yes")
    same, _, size = alike.partition(" of ")
    assert int(same) == int(size) > 0


@pytest.mark.slow
def test_the_page_of_aims_has_losses_first(script):
    pytest.importorskip("pandas")
    aims = script("aims")
    lines = [*aims.scans(70, 3), *aims.levels_among(40), *aims.files(30)]
    assert len(lines) == 21 + 2 + 3
    assert all(line.ours > 0 < line.theirs for line in lines)
    slow, quick = (
        aims.Line("slow", "it", 4.0, 1.0, 3),
        aims.Line("quick", "it", 1, 1, 3),
    )
    kept = [["quick", "", "it", "", "9", "3"], ["kept", "", "it", "", "0.10", "3"]]
    table = aims.joined([quick, slow], kept)
    assert [row[0] for row in table] == ["slow", "quick", "kept"]
    page = aims.page(table, 70, 30)
    assert "[All 3 ratios](aims.csv): of these 2 are at\nmost" in page
    assert page.index("slow") < page.index("4.00")
    assert "quick" not in page
    assert aims.plain_low(aims.by_powers, 0.9, 0.1, 0.3, 1, 0) == pytest.approx(
        aims.schemes.flips(0.1, 0.3).curve.low(0.9, (1, 0))
    )


def test_splits_share_no_image(script, monkeypatch):
    case, rows = script("composite_case"), np.arange(60_000)
    monkeypatch.setattr(datasets, "mnist_digits", lambda: (rows[:5000], rows[:5000]))
    known = {"train": (rows, rows), "test": (-1 - rows, -1 - rows)}
    monkeypatch.setattr(datasets, "fashion_mnist", known.__getitem__)
    for name, size in case.SIZES.items():
        parts = [x for x, _ in case.splits(name)]
        assert [len(x) for x in parts] == [size.train, size.images, size.images]
        assert len(np.unique(np.concatenate(parts))) == sum(map(len, parts))


@pytest.mark.parametrize(
    "name", ["samples", "clusters", pytest.param("stops", marks=pytest.mark.slow)]
)
def test_tables_of_scale_are_the_script_s(script, name):
    part = re.search(
        f"<!-- {name} -->\n\n(.*?)\n\n<!-- end of {name} -->", SCALE, re.S
    )[1]
    assert part == getattr(script("scale"), name)()


@pytest.mark.parametrize("name", slow_but(["MNIST"], SETS))
def test_constants_follow_from_the_counts(script, name):
    composite, case = script("composite"), script("composite_case")
    found = case.load(DOCS / "composite" / f"{name.lower()}.npz", name)
    assert found.counts.shape == (case.SIZES[name].images, len(case.SIGMAS), 10)
    assert np.all(found.counts.sum(-1) == case.N)
    with (DOCS / "composite" / f"{name.lower()}.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    shown = [head.index(column) for column in composite.SHOWN]
    page = (DOCS / "composite.md").read_text()
    again = composite.Bench(found)
    for row in [*again.constants, again.constant("Cohen, sigma 1", 1, runner_up=False)]:
        cells = row.cells()
        assert cells in rows
        assert f"| {' | '.join(cells[k] for k in shown)} |" in page


def path(method):
    return IMAGENET.with_suffix("") / f"{method}.tsv"


@pytest.fixture(scope="module")
def bench(script):
    for name in ("torch", "PIL"):
        pytest.importorskip(name)
    return script("imagenet")


@pytest.fixture(scope="module")
def found(bench):
    return {method: bench.results(path(method)) for method in METHODS}


@pytest.mark.parametrize("method", METHODS)
def test_the_oracle_agrees(method, capsys):
    assert main(["verify", str(path(method))]) == 0, capsys.readouterr().out
    assert "20 rows, no findings" in capsys.readouterr().out


@pytest.mark.slow
def test_clamped_radius_is_the_zero_of_the_oracle(bench):
    """At the clamped radius one side is on the verge, and the other one holds."""
    from mpmath import log10, mp, mpf

    for count, rate in ((1000, 0.005), (980, 0.001), (1000, 0.02)):
        z = float(confidence.lower_bound(count, 1000, 0.001, scores=True))
        for constant in bench.CLAMPS.values():
            r = float(bench.clamped(z, 0.12, envelope.SemiElastic(rate), constant))
            with mp.workdps(25):
                t = mpf(constant) + log10(oracle.ndtr(-z)) / 1000
                turn = mp.exp(mpf(rate) * mpf(r))
                sides = [mpf(0.12) * min(t, 1 / turn), mpf(0.12) * max(1 / t, turn)]
                worst = [
                    oracle.worst_score(mpf(r), -z, 0.12, s, DIM, dps=20) for s in sides
                ]
            # xi is right to 1e-11, the slope in r of a score is about 1/sigma
            assert float(max(worst)) == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
def test_sigma_network_is_a_mean_with_its_constant(bench):
    constant = bench.network_lip()
    true = bench.SLOPE / np.sqrt(DIM)
    # float32 weights: 1e-7; the bound's own slack less
    assert true <= constant < 1.001 * true
    parameters = Manifest.read(path("lipschitz")).parameters
    # the constant is a product rounded outward: versions differ in how they round it,
    # by 1e-13
    lip = pytest.approx(constant, rel=1e-12)
    stated = bench.scheme("lipschitz").parameters["slack"]
    slack = pytest.approx(stated, rel=1e-6)
    assert parameters == {
        "lip": lip,
        "sigma_min": bench.FLOOR,
        "dim": DIM,
        "slack": slack,
    }


def test_tables_are_those_of_the_results(bench, found):
    page = IMAGENET.read_text()
    table, radii = bench.summary(found)
    assert table in page
    with (IMAGENET.with_suffix("") / "photographs.csv").open(newline="") as file:
        assert [*csv.reader(file)] == bench.photographs(found["semi-elastic"], radii)
    assert bench.rates() in page
    allowed = max(bench.allowance(method, found[method]) for method in bench.MOVING)
    assert f"at most {bench.above(allowed)} of their length" in page
    assert IMAGENET.with_suffix(".png").is_file()


@pytest.mark.slow
def test_levels_are_those_of_the_pictures(bench, found):
    case = sys.modules["imagenet_case"]
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
        assert [plan.sigma(one) for one in x] == pytest.approx(
            found[method].sigma, rel=1e-4
        )
