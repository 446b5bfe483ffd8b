"""Noise levels and bounds of sigma(x) that were forged, and what an audit takes as
stated.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_models import MODELS, arguments, models, one_line, package, prepare, says
from result_table import DATA, best, grown, manifest, save, state, table

from rsbounds import semielastic
from rsbounds.audit import Kind, _levels
from rsbounds.certificate import (
    ASSERTED_ENVELOPE,
    PROVEN_ENVELOPE,
    PROVEN_MAPS,
    THIS_INPUT,
)
from rsbounds.cli import main
from rsbounds.results import Manifest, Row

OWN = """
def slope():
    return lambda batch: 0.3 + abs(batch.reshape(len(batch), -1)[:, 0])  # 1-Lipschitz

def half():
    return lambda x: 0.5

def network():
    import torch
    from rsbounds.torch import SigmaNetwork
    torch.manual_seed(0)
    layers = torch.nn.Flatten(), torch.nn.Linear(36, 1)
    return SigmaNetwork(torch.nn.Sequential(*layers), 0.25)

def shaped(largest=0.75):
    import torch
    from rsbounds.torch import FixedNoise
    levels = torch.linspace(0.25, largest, 36).reshape(1, 6, 6)
    return FixedNoise(torch.zeros(1, 6, 6), levels)

def other_shape():
    return shaped(0.8)
"""
ANCHORED = {"method": "semi-elastic", "anchors": "data.npz", "rate": 0.01, "k": 2}
ANCHORS = (*DATA, "--anchors", "data.npz")
NETWORK = {"method": "lipschitz", "sigma": None, "sigma_function": "models:network"}
HALF = {"method": "lipschitz", "sigma": None, "sigma_function": "models:half"}
SAID = "taken as stated, not verified: "


@pytest.fixture
def work(tmp_path, monkeypatch):
    prepare(tmp_path, monkeypatch)
    models(MODELS + OWN)
    return tmp_path


def answer(capsys, status, *options):
    capsys.readouterr()
    assert main(["verify", "out.tsv", *options]) == status
    return capsys.readouterr().out


def stated(capsys, *options):
    """What radii rest on of what ``--json`` calls stated, and the line that says so."""
    names = json.loads(answer(capsys, 0, *options, "--json")).get("rests_on", [])
    lines = [
        line
        for line in answer(capsys, 0, *options).splitlines()
        if "taken as stated" in line
    ]
    assert len(lines) == bool(names)
    return names, lines[0].removeprefix("out.tsv: ") if lines else ""


def test_levels_and_radii_scaled_alike(work, capsys):
    """Such a file is consistent with itself; what sigma(x) depends on tells."""
    assert main(arguments(**ANCHORED)) == 0
    names, line = stated(capsys)
    assert names == ["rate", "dim", "scope", "sigma"]
    words = "rate, dim, scope, each row's sigma (--data with --anchors compares them)"
    assert line == f"{SAID}{words}"
    assert stated(capsys, *DATA)[1].endswith("sigma (--anchors compares them)")
    assert stated(capsys, *ANCHORS) == ([], "")
    rows = table()
    for row in rows:
        sigma, z_a, z_b = (
            1.5 * float(row["sigma"]),
            float(row["z_a"]),
            float(row["z_b"]),
        )
        radius = semielastic.radius(z_a, sigma, 0.01, 36, z_b, scores=True)
        row |= {"sigma": repr(sigma), "radius": repr(float(radius))}
    save(rows)
    answer(capsys, 0, *DATA)  # no sigma(x) is given here
    assert answer(capsys, 1, *ANCHORS).count("at this input") == 12
    with np.load("data.npz") as data:
        np.savez("other.npz", x=data["x"][:5], y=data["y"][:5])
    for options, said in (
        (
            (*DATA, "--anchors", "other.npz"),
            "not what out.tsv was made with: anchors was",
        ),
        (("--anchors", "data.npz"), "--anchors needs --data"),
        (
            (*DATA, "--sigma-function", "models:half"),
            "has no meaning for a file of method semi",
        ),
    ):
        one_line(capsys, ["verify", "out.tsv", *options], said)


def test_levels_of_a_function(work, capsys):
    """Its asserted bounds stay asserted, whatever is given."""
    assert main(arguments(**HALF, lip=0.01, sigma_min=0.25)) == 0
    levels = (*DATA, "--sigma-function", "models:half")
    assert stated(capsys, *DATA) == (
        ["lip", "sigma_min", "sigma"],
        f"{SAID}lip, sigma_min, each row's sigma "
        "(--sigma-function compares each row's sigma)",
    )
    assert stated(capsys, *levels) == (["lip", "sigma_min"], f"{SAID}lip, sigma_min")
    save([row | {"sigma": "0.51"} for row in table()])
    assert answer(capsys, 1, *levels).count("sigma is 0.51, 0.5 at this input") == 12


@pytest.mark.slow
def test_bounds_that_a_network_does_not_prove(work, capsys):
    """Bounds and radii that were changed alike are consistent; the network and the data
    tell.
    """
    package("torch")
    assert main(arguments(**NETWORK)) == 0
    levels = (*DATA, "--sigma-function", "models:network")
    assert stated(capsys)[0] == ["lip", "sigma_min", "dim", "scope", "sigma"]
    assert stated(capsys, *levels) == ([], "")
    proven, before = manifest()["parameters"], best(table())["radius"]
    grown(lip=0.01)
    assert float(best(table())["radius"]) > 1.5 * float(before)
    answer(capsys, 0)
    # no sigma(x) is given, but its levels are
    assert "more than lip = 0.01 allows" in answer(capsys, 1, *DATA)
    one_line(capsys, ["verify", "out.tsv", *levels], "made with: lip was 0.01 and is")
    grown(lip=proven["lip"], dim=1)
    assert (
        answer(capsys, 1, *DATA).count("has 36 numbers, dim is 1 in the manifest") == 12
    )


@pytest.mark.parametrize("own", [{"lip": 0.01}, {"sigma_max": 0.6}])
def test_asserted_bounds_passed_off_as_proven(work, capsys, own):
    method = "lipschitz" if "lip" in own else "range"
    assert main(arguments(**HALF | {"method": method}, sigma_min=0.4, **own)) == 0
    levels = (*DATA, "--sigma-function", "models:half")
    answer(capsys, 0, *levels)
    state(scope=PROVEN_ENVELOPE)
    save([row | {"scope": PROVEN_ENVELOPE} for row in table()])
    one_line(
        capsys,
        ["verify", "out.tsv", *levels],
        f"scope is '{PROVEN_ENVELOPE}'",
        "no bounds",
    )


def test_a_fixed_level_leaves_nothing_but_the_dimension(work, capsys):
    assert main(arguments(norm="inf")) == 0
    assert stated(capsys) == (["dim"], f"{SAID}dim (--data compares it)")
    assert stated(capsys, *DATA) == ([], "")


def test_noise_of_a_shape_without_the_model(work, capsys):
    """An inner radius and radii grown alike are consistent; the noise tells."""
    package("torch")
    known = {
        "method": "anisotropic",
        "noise": "models:shaped",
        "model": "models:torch_linear",
    }
    assert main(arguments(**known, sigma=None)) == 0
    noise = (*DATA, "--noise", "models:shaped")
    names, line = stated(capsys)
    assert names == ["inner", "sigma"]
    assert line == f"{SAID}inner, each row's sigma (--data with --noise compares them)"
    assert stated(capsys, *noise) == ([], "")
    one_line(
        capsys,
        ["verify", "out.tsv", *DATA, "--noise", "models:other_shape"],
        "made with",
    )
    before = manifest()["parameters"]
    rows = table()
    save([row | {"sigma": repr(2 * float(row["sigma"]))} for row in rows])
    grown(inner=before["inner"])
    answer(capsys, 0)
    assert answer(capsys, 1, *noise).count("at this input") == 12
    save(rows)
    grown(inner=2 * before["inner"])
    answer(capsys, 0)
    one_line(capsys, ["verify", "out.tsv", *noise], "made with: inner was ")


def test_what_others_code_named_can_be_compared(work, capsys):
    """A network returned by ``--method MODULE:CALLABLE`` is named as code, not as a
    function.
    """
    package("torch")
    assert main(arguments(method="models:network", sigma=None)) == 0
    assert stated(capsys, *DATA, "--sigma-function", "models:network") == ([], "")


@pytest.mark.filterwarnings("default")
def test_a_constant_that_rows_refute_is_found(work, capsys):
    """A file of lip = 0 held levels of .79, 1.18 and .90, and was verified."""
    slope = {"sigma_function": "models:slope", "sigma_min": 0.3}
    assert "lip = 0.0 is refuted" in says(capsys, arguments(**HALF | slope, lip=0.0))
    for data in ((), DATA):
        said = answer(capsys, 1, *data)
        assert said.count("lip = 0.0 allows") == 11  # each but the least
    Path("out.tsv").unlink()
    assert main(arguments(**HALF | slope, lip=0.01)) == 0
    answer(capsys, 0)  # where the inputs are is not known
    assert "away: more than lip = 0.01 allows" in answer(capsys, 1, *DATA)
    Path("out.tsv").unlink()
    assert main(arguments(**HALF | slope, lip=1.0)) == 0
    answer(capsys, 0, *DATA)
    first, *rest = table()
    save([first | {"sigma": "40.0"}, *rest])
    assert "more than lip = 1.0 allows" in answer(capsys, 1, *DATA)


def bounded(method, scope=ASSERTED_ENVELOPE, **known):
    return Manifest(method=method, scope=scope, parameters={"dim": 9, **known})


def found(points, levels, manifest):
    rows = [
        (i + 2, Row(i, 0, 0, 0.1, True, sigma=float(s))) for i, s in enumerate(levels)
    ]
    findings = [*_levels.refuted(rows, manifest)]
    findings += _levels.refuted(rows, manifest, lambda index: points[index])
    assert all(f.kind == Kind.LEVEL and f.line == f.index + 2 for f in findings)
    return {f.index for f in findings}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 255.0])
@pytest.mark.parametrize("dim", [1, 30, 3072])
def test_the_steepest_honest_levels_are_not_found(dim, scale, kind):
    """Along the gradient, equality but for rounding; of inputs near and far, and the
    same one.
    """
    rng = np.random.default_rng(dim)
    way = rng.standard_normal(dim)
    way /= np.linalg.norm(way)
    places = scale * np.concatenate([[0, 0, 1e-7, 1e-4], rng.random(60)])
    points = (places[:, None] * way).astype(np.float32)
    at = points.astype(kind) @ way.astype(kind)
    for lip in (1e-3, 1.0):
        levels = (kind(0.25) + kind(lip) * np.abs(at)).astype(kind)
        assert not found(points, levels, bounded("lipschitz", lip=lip, sigma_min=0.25))
    rate = 1 / scale
    levels = np.exp(kind(rate) * at)
    assert not found(points, levels, bounded("semi-elastic", rate=rate))
    assert found(
        points, np.exp(kind(1.01 * rate) * at), bounded("semi-elastic", rate=rate)
    )


@pytest.mark.parametrize("dim", [1, pytest.param(3072, marks=pytest.mark.slow)])
def test_one_step_too_far_among_many_rows_is_found(dim):
    points = np.random.default_rng(0).random((900, dim)).astype(np.float32)
    levels = 0.5 + 0.1 * np.linalg.norm(points, axis=1) / np.sqrt(dim)
    levels[700] += 0.2 * np.sqrt(dim)
    assert found(points, levels, bounded("lipschitz", lip=0.1, sigma_min=0.25)) == {700}


def test_what_is_allowed():
    points, known = np.zeros((2, 3)), {"lip": 0.1, "sigma_min": 0.25}
    assert found(points, [0.5, 0.51], bounded("lipschitz", **known)) == {1}
    assert not found(points, [0.5, 0.51], bounded("lipschitz", **known, slack=0.03))
    for scope, wrong in (
        (THIS_INPUT, set()),
        (PROVEN_ENVELOPE, {1}),
        (ASSERTED_ENVELOPE, {1}),
    ):
        for lip in (0.0, 1.0):  # a scope that states no bound is not asked for one
            manifest = bounded("lipschitz", scope, lip=lip, sigma_min=0.25)
            assert found(points, [0.5, 0.6], manifest) == wrong
    points = np.array([[0.0, 0.0], [0.0, 1.0]])
    for inner, wrong in (
        (1.0, {1}),
        (0.5, set()),
    ):  # in the shape's coordinates .1/inner
        manifest = bounded("generator", PROVEN_MAPS, **known, mean_lip=0.0, inner=inner)
        assert found(points, [0.5, 0.65], manifest) == wrong


def test_more_rows_than_are_compared_keep_the_ends():
    levels = np.linspace(0.3, 0.9, 3 * _levels._MOST)
    manifest = bounded("lipschitz", lip=0.1, sigma_min=0.25)
    wrong = found(np.zeros((len(levels), 2), np.float32), levels, manifest)
    assert len(wrong) == _levels._MOST - 1
    assert len(levels) - 1 in wrong


def test_rows_without_a_level_or_an_input_are_passed_over():
    for lip in (0.0, 0.1):
        manifest = bounded("lipschitz", lip=lip, sigma_min=0.25)
        assert not found([], [], manifest)
        assert not found([np.zeros(3)], [float("nan")], manifest)
    assert not found([None, np.zeros(3)], [0.5, 0.9], manifest)
