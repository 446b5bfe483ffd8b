"""What ``verify`` takes from a file as stated is said: nobody takes it for verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_models import MODELS, arguments, models, one_line, prepare
from optional_packages import package
from result_table import grown, save, table

from rsbounds.cli import main

DATA = ("--data", "data.npz")
SAID = "taken as stated, not verified: "

OWN = """
def network():
    import torch
    from rsbounds.torch import SigmaNetwork
    torch.manual_seed(0)
    return SigmaNetwork(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 1)), 0.25)

def half():
    return lambda x: 0.5

def shaped(largest=0.75):
    import torch
    from rsbounds.torch import FixedNoise
    return FixedNoise(torch.zeros(1, 6, 6), torch.linspace(0.25, largest, 36).reshape(1, 6, 6))

def other_shape():
    return shaped(0.8)
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    prepare(tmp_path, monkeypatch)
    models(MODELS + OWN)
    return tmp_path


def answer(capsys, *options: str) -> tuple[list[str], str]:
    """What ``--json`` calls stated, and the line that says so, "" without one."""
    capsys.readouterr()
    assert main(["verify", "out.tsv", *options, "--json"]) == 0
    stated = json.loads(capsys.readouterr().out)["stated"]
    assert main(["verify", "out.tsv", *options]) == 0
    lines = [one for one in capsys.readouterr().out.splitlines() if "stated" in one]
    assert len(lines) == bool(stated)
    return stated, lines[0].removeprefix("out.tsv: ") if lines else ""


def test_a_fixed_level_leaves_nothing_but_the_dimension(work, capsys):
    assert main(arguments()) == 0
    assert answer(capsys) == ([], "")
    assert main(arguments(norm="inf", out="other.tsv")) == 0
    Path("other.tsv").rename("out.tsv")
    Path("other.tsv.manifest.json").rename("out.tsv.manifest.json")
    assert answer(capsys) == (["dim"], f"{SAID}dim (--data compares it)")
    assert answer(capsys, *DATA) == ([], "")


def test_levels_by_anchors(work, capsys):
    known = {"method": "semi-elastic", "anchors": "data.npz", "rate": 0.01, "k": 2}
    assert main(arguments(**known)) == 0
    stated, line = answer(capsys)
    assert stated == ["rate", "dim", "sigma"]
    assert line == f"{SAID}rate, dim, each row's sigma (--data with --anchors compares them)"
    assert answer(capsys, *DATA)[1].endswith("sigma (--anchors compares them)")
    assert answer(capsys, *DATA, "--anchors", "data.npz") == ([], "")


def test_a_networks_own_bounds(work, capsys):
    package("torch")
    known = {"method": "lipschitz", "sigma": None, "sigma_function": "models:network"}
    assert main(arguments(**known)) == 0
    assert answer(capsys)[0] == ["lip", "sigma_min", "dim", "sigma"]
    assert answer(capsys, *DATA, "--sigma-function", "models:network") == ([], "")


def test_asserted_bounds_stay_so(work, capsys):
    known = {"method": "lipschitz", "sigma_function": "models:half", "lip": 0.01, "sigma_min": 0.25}
    assert main(arguments(**known, sigma=None)) == 0
    assert answer(capsys, *DATA) == (
        ["lip", "sigma_min", "sigma"],
        f"{SAID}lip, sigma_min, each row's sigma (--sigma-function compares each row's sigma)",
    )
    found = answer(capsys, *DATA, "--sigma-function", "models:half")
    assert found == (["lip", "sigma_min"], f"{SAID}lip, sigma_min")


def test_noise_of_a_shape_without_the_model(work, capsys):
    """An inner radius and radii that were grown alike are consistent; the noise tells."""
    package("torch")
    known = {"method": "anisotropic", "noise": "models:shaped", "model": "models:torch_linear"}
    assert main(arguments(**known, sigma=None)) == 0
    noise = (*DATA, "--noise", "models:shaped")
    stated, line = answer(capsys)
    assert stated == ["inner", "sigma"]
    assert line == f"{SAID}inner, each row's sigma (--data with --noise compares them)"
    assert answer(capsys, *noise) == ([], "")
    one_line(capsys, ["verify", "out.tsv", *DATA, "--noise", "models:other_shape"], "made with")
    before = json.loads(Path("out.tsv.manifest.json").read_text())["parameters"]
    rows = table()
    save([row | {"sigma": repr(2 * float(row["sigma"]))} for row in rows])
    grown(inner=before["inner"])
    assert main(["verify", "out.tsv"]) == 0
    capsys.readouterr()
    assert main(["verify", "out.tsv", *noise]) == 1
    assert capsys.readouterr().out.count("at this input") == 12
    save(rows)
    grown(inner=2 * before["inner"])
    assert main(["verify", "out.tsv"]) == 0
    one_line(capsys, ["verify", "out.tsv", *noise], "made with: inner was ")


def test_what_others_code_named_can_be_compared(work, capsys):
    """A network returned by ``--method MODULE:CALLABLE`` is named as code, not as a function."""
    package("torch")
    assert main(arguments(method="models:network", sigma=None)) == 0
    assert answer(capsys)[0] == ["lip", "sigma_min", "dim", "sigma"]
    assert answer(capsys, *DATA, "--sigma-function", "models:network") == ([], "")
