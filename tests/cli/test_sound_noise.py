"""``--sound-noise`` with every method: rows that verify, rows that are refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_models import (
    MODELS,
    arguments,
    models,
    one_line,
    package,
    prepare,
    savez,
    says,
)
from result_table import DATA, RULE, manifest, outcomes, state

from rsbounds.cli import main
from rsbounds.results import Manifest
from rsbounds.results.internal import read_rows


@pytest.fixture
def work(tmp_path, monkeypatch):
    place = prepare(tmp_path, monkeypatch)
    rng = np.random.default_rng(0)
    savez(x=(rng.integers(0, 256, (12, 1, 6, 6)) / 255).astype(np.float32))
    np.savez("anchors.npz", x=rng.random((30, 36)))
    Path("rule.json").write_text(json.dumps(RULE))
    return place


HALF = """
def half():
    return lambda batch: 0.5
"""
SEMI = {"method": "semi-elastic", "anchors": "anchors.npz", "rate": 0.1, "k": 3}


def verified(*words):
    assert main(["verify", *words]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("model", ["models:linear", "models:torch_linear"])
def test_semi_elastic_rows_in_sound_noise(work, model):
    if model.endswith("torch_linear"):
        package("torch")
    known = {"model": model, "sound_noise": "", **SEMI}
    assert main(arguments(**known)) == 0
    stated = Manifest.read(Path("out.tsv"))
    assert stated.engine["sound_noise"] is True
    assert 0 < stated.parameters["slack"] < 1e-12
    assert sum(row.radius > 0 for row in read_rows(Path("out.tsv"))) > 3
    assert main(arguments(**known, batch=7, out="7.tsv")) == 0
    assert outcomes("out.tsv") == outcomes("7.tsv")
    verified("out.tsv", "--rerun", "3", "--model", model, *DATA, "--sound-noise")
    assert main(["recertify", "out.tsv", "--alpha", "0.01", "--out", "more.tsv"]) == 0
    verified("more.tsv")


@pytest.mark.slow
def test_a_slack_that_was_cut_from_the_manifest_or_raised_is_found(work, capsys):
    assert main(arguments(sound_noise="", **SEMI)) == 0
    known = manifest()["parameters"]
    state(parameters=known | {"slack": 1e-4})
    assert main(["verify", "out.tsv"]) == 1
    state(parameters=known | {"slack": -1.0})
    assert "parameters.slack" in says(capsys, "verify out.tsv", 2)
    state(parameters={name: own for name, own in known.items() if name != "slack"})
    one_line(capsys, ["verify", "out.tsv"], "noise on a grid needs parameters.slack")
    state(parameters=known | {"slack": 1e-20})
    levels = ["verify", "out.tsv", "--data", "data.npz", "--anchors", "anchors.npz"]
    one_line(capsys, levels, "not what out.tsv was made with: slack was 1e-20 and is")


def test_rows_are_drawn_again_with_the_noise_that_the_manifest_states(work, capsys):
    again = ["verify", "out.tsv", "--rerun", "3", "--model", "models:linear", *DATA]
    for own, sound, words in (
        ({"sound_noise": ""}, True, [*again, "--sound-noise"]),
        ({}, False, again),
    ):
        assert main(arguments(**own)) == 0
        assert main(words) == 0, capsys.readouterr().out
        engine = manifest()["engine"]
        assert engine["sound_noise"] is sound
        state(engine=engine | {"sound_noise": not sound})
        one_line(
            capsys, words, f"--rerun {'takes no' if sound else 'needs'} --sound-noise"
        )
        Path("out.tsv").unlink()


def test_composites_and_ranges_in_sound_noise(work):
    assert main(arguments(rule="rule.json", sigma=None, sound_noise="")) == 0
    verified("out.tsv")
    models(MODELS + HALF)
    known = {"method": "range", "sigma": None, "sigma_function": "models:half"}
    known |= {
        "sigma_min": 0.45,
        "sigma_max": 0.55,
        "sound_noise": "",
        "out": "range.tsv",
    }
    assert main(arguments(**known)) == 0
    verified("range.tsv")


def test_a_callables_level_has_no_bound_of_its_rounding(work, capsys):
    models(MODELS + HALF)
    known = {"method": "lipschitz", "sigma": None, "sigma_function": "models:half"}
    known |= {"lip": 0.1, "sigma_min": 0.25, "sound_noise": ""}
    one_line(
        capsys,
        arguments(**known),
        "--sound-noise needs a bound of the rounding of sigma(x)",
    )


LEVELS = """
def network():
    import torch
    from rsbounds.torch import SigmaNetwork
    torch.manual_seed(0)
    first, last = torch.nn.Linear(36, 4), torch.nn.Linear(4, 1)
    layers = torch.nn.Flatten(), first, torch.nn.ReLU(), last
    return SigmaNetwork(torch.nn.Sequential(*layers), 0.25)
"""


@pytest.mark.slow
def test_lipschitz_rows_in_sound_noise(work):
    package("torch")
    models(MODELS + LEVELS)
    known = {"model": "models:torch_linear", "method": "lipschitz", "sigma": None}
    known |= {"sigma_function": "models:network", "sound_noise": ""}
    assert main(arguments(**known)) == 0
    stated = Manifest.read(Path("out.tsv"))
    assert 0 < stated.parameters["slack"] < 1e-11
    assert sum(row.radius > 0 for row in read_rows(Path("out.tsv"))) > 3
    assert main(["recertify", "out.tsv", "--runner-up", "off", "--out", "off.tsv"]) == 0
    verified("off.tsv")


SHAPES = """
def maps():
    import torch
    from rsbounds.torch import FixedNoise
    levels = torch.linspace(0.1, 0.4, 36).view(1, 6, 6)
    return FixedNoise(torch.full((1, 6, 6), 0.02), levels)

def generator():
    import torch
    from rsbounds.torch import CertifiedGenerator, Scale, SigmaNetwork
    torch.manual_seed(0)
    h = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 1), Scale(0.01))
    shape = torch.linspace(0.8, 1.2, 36).view(1, 6, 6)
    return CertifiedGenerator(Scale(0.1), SigmaNetwork(h, 0.25), shape)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "noise"), [("anisotropic", "maps"), ("generator", "generator")]
)
def test_noise_of_a_shape_in_sound_noise(work, method, noise):
    package("torch")
    models(MODELS + SHAPES)
    known = {"model": "models:torch_linear", "method": method, "sigma": None}
    known |= {"noise": f"models:{noise}", "sound_noise": ""}
    assert main(arguments(**known)) == 0
    assert main(arguments(**known, batch=7, out="7.tsv")) == 0
    assert outcomes("out.tsv") == outcomes("7.tsv")
    assert sum(row.radius > 0 for row in read_rows(Path("out.tsv"))) > 3
    stated = Manifest.read(Path("out.tsv"))
    own = {"slack", "shift"} & stated.parameters.keys()
    assert own == ({"slack", "shift"} if method == "generator" else set())
    words = ["--rerun", "2", "--model", "models:torch_linear", *DATA, "--sound-noise"]
    verified("out.tsv", *words, "--noise", f"models:{noise}")


@pytest.mark.slow
def test_a_target_radius_in_sound_noise(work):
    assert main(arguments(target_radius=0.1, sound_noise="", n=20_000, **SEMI)) == 0
    assert {row.radius for row in read_rows(Path("out.tsv"))} == {0.0, 0.1}
    verified("out.tsv")
