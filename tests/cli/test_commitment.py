"""``certify --commit``: what is to be run, written before the first sample."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from answer_runs import NOISE, X, Y
from cases import quick_each
from cli_models import (
    arguments,
    models,
    one_line,
    says,
)
from result_table import manifest, outcomes, state

from rsbounds.audit import verify
from rsbounds.certify import Settings, certify_dataset
from rsbounds.cli import main
from rsbounds.results import merge
from rsbounds.schemes import gaussian

PLACE = Path("out.tsv.commitment.json")


def findings() -> list[str]:
    return [finding.text for finding in verify("out.tsv").findings]


@pytest.fixture
def committed(work):
    assert main([*arguments(), "--commit"]) == 0
    return work


def test_the_commitment_is_the_digest_of_the_file_beside(committed, capsys):
    stated = manifest()["run"]["commitment"]
    assert hashlib.sha256(PLACE.read_bytes()).hexdigest() == stated
    own = json.loads(PLACE.read_text())
    asked = manifest()["run"]["asked"]  # before the model had shown its two classes
    assert (asked, manifest()["runner_up"]) == ({"runner_up": True}, False)
    assert {k: (manifest() | asked)[k] for k in own} == own
    assert {"seed", "n", "alpha", "model", "data", "parameters"} <= own.keys()
    assert main(["verify", "out.tsv"]) == 0
    assert f"committed as sha256 {stated}" in capsys.readouterr().out


def test_it_is_written_before_the_first_sample(work):
    def model(batch):
        assert Path("run.tsv.commitment.json").exists()
        raise ValueError("no sample yet")

    x = [([0.5, 0.0], 0)]
    with pytest.raises(ValueError, match="no sample yet"):
        certify_dataset(
            model,
            x,
            gaussian(0.25),
            n=100,
            out="run.tsv",
            settings=Settings(commit=True),
        )
    assert not Path("run.tsv").exists()
    with pytest.raises(ValueError, match="commit needs out"):
        certify_dataset(model, x, gaussian(0.25), n=100, settings=Settings(commit=True))


def test_a_run_that_is_resumed_keeps_it(committed):
    before, rows = manifest()["run"]["commitment"], outcomes("out.tsv")
    lines = Path("out.tsv").read_text().splitlines(keepends=True)
    Path("out.tsv").write_text("".join(lines[:4]))
    assert main(arguments()) == 0  # the file beside is enough
    assert manifest()["run"]["commitment"] == before
    assert outcomes("out.tsv") == rows
    PLACE.unlink()
    assert main([*arguments(), "--commit"]) == 0
    assert hashlib.sha256(PLACE.read_bytes()).hexdigest() == before


def test_a_file_with_rows_can_not_be_committed(finished, capsys):
    one_line(capsys, [*arguments(), "--commit"], "without a commitment")
    assert not PLACE.exists()


@pytest.mark.parametrize("change", [{"n0": 51}, {"seed": 3}, {"extra": 1}])
def test_a_manifest_that_was_changed_since_is_found(committed, change):
    assert not findings()
    state(**change)
    assert any("is not the run that was committed" in text for text in findings())


def test_an_extended_run_is_not_the_committed_one(work):
    assert main([*arguments(max=4), "--commit"]) == 0
    PLACE.unlink()
    assert main(arguments(max=5)) == 0
    assert any("is not the run that was committed" in text for text in findings())


def test_shards_share_it_and_recertify_drops_it(work):
    for i in range(2):
        assert main([*arguments(shard=f"{i}/2", out=f"{i}.tsv"), "--commit"]) == 0
    merge(Path("out.tsv"), [Path("0.tsv"), Path("1.tsv")])
    assert manifest()["run"]["commitment"] == manifest("0.tsv")["run"]["commitment"]
    assert not findings()
    assert main(["recertify", "out.tsv", "--alpha", "0.01", "--out", "new.tsv"]) == 0
    assert "commitment" not in manifest("new.tsv")["run"]
    Path("out.tsv").unlink()
    state_of = manifest("1.tsv")
    del state_of["run"]["commitment"]
    Path("1.tsv.manifest.json").write_text(json.dumps(state_of))
    merge(Path("out.tsv"), [Path("0.tsv"), Path("1.tsv")])
    assert "commitment" not in manifest()["run"]


@pytest.mark.parametrize("text", ["", "{}", "[1]", "no JSON"])
def test_a_commitment_that_was_emptied_is_told(work, capsys, text):
    """Such a file "commits to another run", and verify didn't look at it."""
    assert main([*arguments(max=3), "--commit"]) == 0
    assert main(["verify", "out.tsv"]) == 0
    Path("out.tsv.commitment.json").write_text(text)
    one_line(capsys, arguments(max=3), "out.tsv.commitment.json is damaged")
    assert "out.tsv.commitment.json has the hash" in says(capsys, "verify out.tsv", 1)


def test_a_commitment_of_another_run_is_a_finding(work, capsys):
    assert main([*arguments(max=3), "--commit"]) == 0
    assert main([*arguments(max=3, out="b.tsv", seed=1), "--commit"]) == 0
    shutil.copy("b.tsv.commitment.json", "out.tsv.commitment.json")
    assert "out.tsv.commitment.json has the hash" in says(capsys, "verify out.tsv", 1)
    one_line(capsys, arguments(max=3), "commits to another run")


FUNCTIONS = """
import functools
import numpy as np
W = np.random.default_rng({seed}).standard_normal((36, 2))

def by_closure():
    w = np.random.default_rng({seed}).standard_normal((36, 2))
    return lambda batch: batch.reshape(len(batch), -1) @ w

def by_globals():
    return lambda batch: batch.reshape(len(batch), -1) @ W

def scored(w, batch):
    return batch.reshape(len(batch), -1) @ w

def by_partial():
    return functools.partial(scored, W)

class Model:
    def __init__(self):
        self.parts = {{"w": [W]}}

    def __call__(self, batch):
        return scored(self.parts["w"][0], batch)

def by_attributes():
    return Model()

def of_a_file():
    w = np.load("w.npy")
    return lambda batch: batch.reshape(len(batch), -1) @ w
"""


NOT_FIXED = "it does not fix the model's parameters: nothing in it could be hashed"


@pytest.mark.parametrize(
    "name",
    quick_each(
        2, ["by_closure", "by_globals", "by_partial", "by_attributes", "of_a_file"]
    ),
)
def test_a_commitment_fixes_the_arrays_of_a_function(work, capsys, name):
    """Two models had one hash where the weights are not in the code."""
    digests = []
    for seed in (0, 1, 0):
        np.save("w.npy", np.random.default_rng(seed).standard_normal((36, 2)))
        models(FUNCTIONS.format(seed=seed))
        run = arguments(model=f"models:{name}", max=2, n=100, out=f"{len(digests)}.tsv")
        assert NOT_FIXED not in says(capsys, [*run, "--commit"])
        digests.append(manifest(f"{len(digests)}.tsv")["model"]["parameters"])
    assert digests[0] == digests[2] != digests[1]


def test_a_commitment_says_what_it_does_not_fix(work, capsys):
    models(
        "def sums():\n    return lambda batch: batch.reshape(len(batch), 2, -1).sum(2)"
    )
    run = [*arguments(model="models:sums", max=2, n=100), "--commit"]
    assert NOT_FIXED in says(capsys, run)
    assert NOT_FIXED in says(capsys, "verify out.tsv")
    committed = json.loads(Path("out.tsv.commitment.json").read_text())
    assert committed["not fixed"] == [NOT_FIXED.removeprefix("it does not fix ")]


@pytest.mark.parametrize("kind", ["torch", "sklearn", "keras"])
def test_parameters_are_hashed_wherever_a_framework_has_them(tmp_path, kind):
    pytest.importorskip(kind)
    digests = [framework_model(kind, seed) for seed in (0, 1, 0)]
    x = X.astype(np.float32)
    for i, model in enumerate(digests):
        out = tmp_path / f"{i}.tsv"
        certify_dataset(
            model,
            (x, Y % 2),
            NOISE,
            n0=10,
            n=50,
            out=out,
            settings=Settings(commit=True),
        )
        digests[i] = json.loads(out.with_name(f"{i}.tsv.manifest.json").read_text())[
            "model"
        ]["parameters"]
    assert digests[0] == digests[2] != digests[1]


def framework_model(kind, seed):
    """A classifier of two classes of inputs of 8 numbers."""
    if kind == "torch":
        import torch

        torch.manual_seed(seed)
        return torch.nn.Linear(8, 2).eval()
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((40, 8))
    if kind == "sklearn":
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(3, random_state=0)
        return forest.fit(x, (x[:, 0] > 0).astype(int))
    import keras

    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(2)])
    model.set_weights([rng.standard_normal((8, 2)), np.zeros(2)])
    return model
