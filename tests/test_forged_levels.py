"""Forged noise levels and bounds of sigma(x): found by what the levels depend on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli_models import MODELS, arguments, models, one_line
from optional_packages import package
from result_table import DATA, best, grown, save, state, table

from rsbounds import semielastic
from rsbounds.certificate import PROVEN_ENVELOPE
from rsbounds.cli import main


def test_levels_and_radii_scaled_alike(work, capsys):
    """Such a file is consistent with itself; what sigma(x) depends on tells."""
    known = {"method": "semi-elastic", "anchors": "data.npz", "rate": 0.01, "k": 2}
    assert main(arguments(**known)) == 0
    levels = (*DATA, "--anchors", "data.npz")
    assert main(["verify", "out.tsv", *levels]) == 0
    rows = table()
    for row in rows:
        sigma, z_a, z_b = 1.5 * float(row["sigma"]), float(row["z_a"]), float(row["z_b"])
        radius = semielastic.radius(z_a, sigma, 0.01, 36, z_b, scores=True)
        row |= {"sigma": repr(sigma), "radius": repr(float(radius))}
    save(rows)
    assert main(["verify", "out.tsv", *DATA]) == 0  # no sigma(x) is known here
    capsys.readouterr()
    assert main(["verify", "out.tsv", *levels]) == 1
    assert capsys.readouterr().out.count("at this input") == 12
    with np.load("data.npz") as data:
        np.savez("other.npz", x=data["x"][:5], y=data["y"][:5])
    for options, said in (
        ((*DATA, "--anchors", "other.npz"), "--anchors is not what out.tsv was made with"),
        (("--anchors", "data.npz"), "--anchors needs --data"),
        ((*DATA, "--sigma-function", "models:half"), "has no meaning for a file of method semi"),
    ):
        assert main(["verify", "out.tsv", *options]) == 2
        assert said in capsys.readouterr().err


def test_levels_of_a_function(work, capsys):
    models(MODELS + "\ndef half():\n    return lambda x: 0.5\n")
    known = {"method": "lipschitz", "sigma_function": "models:half", "lip": 0.01, "sigma_min": 0.25}
    assert main(arguments(**known, sigma=None)) == 0
    levels = (*DATA, "--sigma-function", "models:half")
    assert main(["verify", "out.tsv", *levels]) == 0
    save([row | {"sigma": "0.51"} for row in table()])
    capsys.readouterr()
    assert main(["verify", "out.tsv", *levels]) == 1
    assert capsys.readouterr().out.count("sigma is 0.51, 0.5 at this input") == 12


NETWORK = """
def network():
    import torch
    from rsbounds.torch import SigmaNetwork
    torch.manual_seed(0)
    return SigmaNetwork(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 1)), 0.25)

def half():
    return lambda x: 0.5
"""


def test_bounds_that_a_network_does_not_prove(work, capsys):
    """Bounds and radii that were changed alike are consistent; the network and the data tell."""
    package("torch")
    models(MODELS + NETWORK)
    known = {"method": "lipschitz", "sigma": None, "sigma_function": "models:network"}
    assert main(arguments(**known)) == 0
    levels = (*DATA, "--sigma-function", "models:network")
    assert main(["verify", "out.tsv", *levels]) == 0
    again = ["recertify", "out.tsv", "--alpha", "0.01", "--out", "again.tsv"]
    assert main(again) == 0
    assert main(["verify", "again.tsv", *levels]) == 0
    place = Path("again.tsv.manifest.json")
    stated = json.loads(place.read_text())
    stated["parameters"]["lip"] = 0.01
    place.write_text(json.dumps(stated))
    one_line(capsys, ["verify", "again.tsv", *levels], "made with: lip was 0.01 and is")
    said = json.loads(Path("out.tsv.manifest.json").read_text())["parameters"]
    before = best(table())["radius"]
    grown(lip=0.01)
    assert float(best(table())["radius"]) > 1.5 * float(before)
    assert main(["verify", "out.tsv"]) == 0
    capsys.readouterr()
    assert main(["verify", "out.tsv", *DATA]) == 1  # no sigma(x) is known, but its levels are
    assert "more than lip = 0.01 allows" in capsys.readouterr().out
    one_line(capsys, ["verify", "out.tsv", *levels], "made with: lip was 0.01 and is")
    grown(lip=said["lip"], dim=1)
    capsys.readouterr()
    assert main(["verify", "out.tsv", *DATA]) == 1
    assert capsys.readouterr().out.count("has 36 numbers, dim is 1 in the manifest") == 12


@pytest.mark.parametrize("own", [{"lip": 0.01}, {"sigma_max": 0.6}])
def test_asserted_bounds_passed_off_as_proven(work, capsys, own):
    models(MODELS + NETWORK)
    method = "lipschitz" if "lip" in own else "range"
    known = {"method": method, "sigma": None, "sigma_function": "models:half", "sigma_min": 0.4}
    assert main(arguments(**known, **own)) == 0
    levels = ["verify", "out.tsv", *DATA, "--sigma-function", "models:half"]
    assert main(levels) == 0
    state(scope=PROVEN_ENVELOPE)
    save([row | {"scope": PROVEN_ENVELOPE} for row in table()])
    one_line(capsys, levels, f"scope is '{PROVEN_ENVELOPE}'", "--sigma-function proves no bounds")
