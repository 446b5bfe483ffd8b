"""Noise levels that refute the bound of sigma(x) that a file states."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli_models import MODELS, arguments, models, prepare
from result_table import save, table

from rsbounds.certificate import ASSERTED_ENVELOPE, PROVEN_ENVELOPE, PROVEN_MAPS, THIS_INPUT
from rsbounds.cli import main
from rsbounds.cli._sigma_bound import Pairs, without_data
from rsbounds.results import Manifest, Row

LEVELS = """
def slope(batch):  # its l2 Lipschitz constant is 1
    return 0.3 + abs(batch.reshape(len(batch), -1)[:, 0])

def level():
    return slope
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    prepare(tmp_path, monkeypatch)
    models(MODELS + LEVELS)
    return tmp_path


def certified(lip: float) -> None:
    known = {"method": "lipschitz", "sigma": None, "sigma_function": "models:level"}
    assert main(arguments(**known, lip=lip, sigma_min=0.3)) == 0


def test_a_constant_that_the_rows_refute_is_found(work, capsys):
    """A file of lip = 0 held levels of .79, 1.18 and .90, and was verified."""
    certified(0.0)
    capsys.readouterr()
    for data in ((), ("--data", "data.npz")):
        assert main(["verify", "out.tsv", *data]) == 1
        said = capsys.readouterr().out
        assert "lip = 0.0 allows" in said
        assert "11 findings" in said  # each but the least


def test_a_constant_that_the_inputs_refute_is_found(work, capsys):
    certified(0.01)
    assert main(["verify", "out.tsv"]) == 0  # where the inputs are is not known
    capsys.readouterr()
    assert main(["verify", "out.tsv", "--data", "data.npz"]) == 1
    assert "away: more than lip = 0.01 allows" in capsys.readouterr().out


def test_the_true_constant_is_not_refuted(work):
    certified(1.0)
    assert main(["verify", "out.tsv", "--data", "data.npz"]) == 0


def test_a_rate_of_zero_with_levels_that_differ(work, capsys):
    np.savez("anchors.npz", x=np.load("data.npz")["x"][:5])
    known = {"method": "semi-elastic", "sigma": 0.5, "anchors": "anchors.npz", "k": 2}
    assert main(arguments(**known, rate=0.1)) == 0
    for data in ((), ("--data", "data.npz")):
        assert main(["verify", "out.tsv", *data]) == 0
    place = Path("out.tsv.manifest.json")
    for rate, data in ((0.0, ()), (0.001, ("--data", "data.npz"))):
        stated = json.loads(place.read_text())
        stated["parameters"]["rate"] = rate
        place.write_text(json.dumps(stated))
        capsys.readouterr()
        assert main(["verify", "out.tsv", *data]) == 1
        assert f"more than rate = {rate} allows" in capsys.readouterr().out


def rows(levels) -> list[tuple[int, Row]]:
    return [(i + 2, Row(i, 0, 0, 0.1, True, sigma=float(s))) for i, s in enumerate(levels)]


def stated(method: str, scope: str = ASSERTED_ENVELOPE, **known: float) -> Manifest:
    return Manifest(method=method, scope=scope, parameters={"dim": 9, **known})


def found(points, levels, manifest: Manifest) -> set[int]:
    told = rows(levels)
    pairs = Pairs(told, manifest)
    for (line, row), x in zip(told, points, strict=True):
        pairs.add(line, row, x)
    return {index for _, index, _ in (*without_data(told, manifest), *pairs.findings())}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 255.0])
@pytest.mark.parametrize("dim", [1, 30, 3072])
def test_the_steepest_honest_levels_are_not_found(dim, scale, kind):
    """Along the gradient, equality but for rounding; of inputs near and far, and the same one."""
    rng = np.random.default_rng(dim)
    way = rng.standard_normal(dim)
    way /= np.linalg.norm(way)
    places = scale * np.concatenate([[0, 0, 1e-7, 1e-4], rng.random(60)])
    points = (places[:, None] * way).astype(np.float32)
    at = points.astype(kind) @ way.astype(kind)
    for lip in (1e-3, 1.0):
        levels = (kind(0.25) + kind(lip) * np.abs(at)).astype(kind)
        assert not found(points, levels, stated("lipschitz", lip=lip, sigma_min=0.25))
    rate = 1 / scale
    levels = np.exp(kind(rate) * at)
    assert not found(points, levels, stated("semi-elastic", rate=rate))
    steeper = np.exp(kind(1.01 * rate) * at)
    assert found(points, steeper, stated("semi-elastic", rate=rate))


@pytest.mark.parametrize("dim", [1, 3072])
def test_one_step_too_far_among_many_rows_is_found(dim):
    points = np.random.default_rng(0).random((900, dim)).astype(np.float32)
    levels = 0.5 + 0.1 * np.linalg.norm(points, axis=1) / np.sqrt(dim)
    levels[700] += 0.2 * np.sqrt(dim)
    manifest = stated("lipschitz", lip=0.1, sigma_min=0.25)
    assert found(points, levels, manifest) == {700}


def test_what_sound_noise_allows_for_is_allowed():
    points, levels = np.zeros((2, 3)), [0.5, 0.51]
    known = {"lip": 0.1, "sigma_min": 0.25}
    assert found(points, levels, stated("lipschitz", **known)) == {1}
    assert not found(points, levels, stated("lipschitz", **known, slack=0.03))


def test_scopes_that_state_no_bound_are_not_asked_for_one():
    points, levels = np.zeros((2, 3)), [0.5, 0.6]
    for scope, wrong in ((THIS_INPUT, set()), (PROVEN_ENVELOPE, {1}), (ASSERTED_ENVELOPE, {1})):
        for lip in (0.0, 1.0):
            manifest = stated("lipschitz", scope, lip=lip, sigma_min=0.25)
            assert found(points, levels, manifest) == wrong


def test_a_generators_levels_are_in_the_coordinates_of_its_shape():
    points, known = np.array([[0.0, 0.0], [0.0, 1.0]]), {"lip": 0.1, "sigma_min": 0.25}
    for inner, wrong in ((1.0, {1}), (0.5, set())):  # 0.1/inner allowed
        manifest = stated("generator", PROVEN_MAPS, **known, mean_lip=0.0, inner=inner, norm=2.0)
        assert found(points, [0.5, 0.65], manifest) == wrong


def test_more_rows_than_are_compared_keep_the_ends():
    from rsbounds.cli import _sigma_bound

    levels = np.linspace(0.3, 0.9, 3 * _sigma_bound._MOST)
    manifest = stated("lipschitz", lip=0.1, sigma_min=0.25)
    wrong = found(np.zeros((len(levels), 2), np.float32), levels, manifest)
    assert len(wrong) == 3999
    assert len(levels) - 1 in wrong


def test_rows_without_a_level_or_an_input_are_passed_over():
    manifest = stated("lipschitz", lip=0.0, sigma_min=0.25)
    assert not list(without_data([], manifest))
    assert not list(without_data(rows([float("nan")]), manifest))
    pairs = Pairs(told := rows([0.5, 0.9]), stated("lipschitz", lip=0.1, sigma_min=0.25))
    pairs.add(*told[0], None)
    pairs.add(*told[1], np.zeros(3))
    assert not list(pairs.findings())


def test_a_level_edited_in_one_row_is_found(work, capsys):
    certified(1.0)
    first, *rest = table()
    save([first | {"sigma": "40.0"}, *rest])
    capsys.readouterr()
    assert main(["verify", "out.tsv", "--data", "data.npz"]) == 1
    assert "more than lip = 1.0 allows" in capsys.readouterr().out
