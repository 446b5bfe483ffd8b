"""Models and inputs that changed between two runs of one file."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from answer_runs import RUNS, WEIGHTS, scores
from cases import slow_but
from cli_models import arguments, inputs, models, one_line, savez, says
from result_table import manifest, state

from rsbounds import certify_dataset
from rsbounds.certify import Settings
from rsbounds.cli import main
from rsbounds.results import Manifest

LOADS = """
import numpy as np
def linear():
    w = np.load("w.npy")
    return lambda batch: batch.reshape(len(batch), -1) @ np.stack([w, -w], axis=1)
"""


HELPED = """
import numpy as np
from helper import matrix
def linear():
    return lambda batch: batch.reshape(len(batch), -1) @ matrix()
"""


HELPER = """
import numpy as np
def matrix(seed=0):
    w = np.random.default_rng(seed).standard_normal(36)
    return np.stack([w, -w], axis=1)
"""


def weights_file_replaced():
    np.save("w.npy", np.random.default_rng(1).standard_normal(36))


def helper_edited():
    Path("helper.py").write_text(HELPER.replace("[w, -w]", "[-w, w]"))


def default_changed():
    Path("helper.py").write_text(HELPER.replace("seed=0", "seed=1"))


@pytest.mark.parametrize(
    "change",
    slow_but(
        [weights_file_replaced],
        [weights_file_replaced, helper_edited, default_changed],
    ),
)
def test_a_model_that_changed_behind_its_source_is_refused(
    work, capsys, monkeypatch, change
):
    # an edit within a second that keeps the length: Python would take its old bytecode
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    np.save("w.npy", np.random.default_rng(0).standard_normal(36))
    Path("helper.py").write_text(HELPER)
    models(LOADS if change is weights_file_replaced else HELPED)
    sys.modules.pop("helper", None)
    assert main(arguments()) == 0
    lines = Path("out.tsv").read_text().splitlines(True)
    Path("out.tsv").write_text("".join(lines[:4]))
    change()
    for module in ("models", "helper"):
        sys.modules.pop(module, None)
    # weights that a function holds are hashed, and compared before the model runs
    hashed = change is weights_file_replaced
    said = "model.parameters was" if hashed else "probe.0 was"
    one_line(capsys, arguments(), said, "--accept-change")
    assert Path("out.tsv").read_text() == "".join(lines[:4])
    assert main(arguments(accept_change="")) == 0
    history = Manifest.read(Path("out.tsv")).history
    assert history[0]["rows"] == 3
    assert any(text.startswith(said) for text in history[0]["changes"])
    assert main(["verify", "out.tsv"]) == 0
    sys.modules.pop("helper", None)


CERTAIN = """
import numpy as np
def linear():
    return lambda batch: np.stack([9 + batch[:, 0, 0, 0], 0 * batch[:, 0, 0, 0]], 1)
"""


def test_another_model_of_the_same_counts_is_refused(work, capsys):
    """Where every probe is decided they tell nothing: the code is compared whatever
    they say.
    """
    for name, text in (("a", CERTAIN), ("b", CERTAIN.replace("9 +", "8 +"))):
        models(text)
        assert main(arguments(max=6, out=f"{name}.tsv")) == 0
    assert set(manifest("a.tsv")["probe"].values()) == {"0:50"}
    assert manifest("a.tsv")["probe"] == manifest("b.tsv")["probe"]
    one_line(
        capsys, arguments(max=6, out="a.tsv"), "model.source was", "--accept-change"
    )
    one_line(capsys, ["merge", "all.tsv", "a.tsv", "b.tsv"], "model.source was")


def test_a_probe_is_of_undecided_inputs_where_there_are_any(work):
    models(CERTAIN)
    x, _ = inputs()
    x[7, 0, 0, 0] = -9
    savez(x=x)
    assert main(arguments()) == 0
    probe = manifest()["probe"]
    assert probe.keys() >= {"0", "4", "8", "7"}
    assert ["," in counts for counts in probe.values()].count(True) == 1


def test_rows_of_other_inputs_are_not_gone_on_with(work, capsys):
    """Whatever the manifest says: the hashes in the rows are compared."""
    assert main(arguments(max=10)) == 0
    x, _ = inputs()
    x[7] += 1
    savez(x=x)
    one_line(capsys, arguments(), "data.x was")
    assert main(arguments(out="new.tsv", max=10)) == 0
    state(data=manifest("new.tsv")["data"])
    one_line(capsys, [*arguments(), "--accept-change"], "hash of input 7 was", "is now")


def test_rows_of_ordinary_noise_are_not_relabelled(work, capsys):
    savez(x=np.round(inputs()[0] * 255) / np.float32(255))
    assert main(arguments(max=3)) == 0
    sound = [*arguments(), "--sound-noise", "--accept-change"]
    one_line(capsys, sound, "engine.sound_noise was false and is now true")
    assert main([*sound, "--out", "sound.tsv"]) == 0
    state(engine=manifest("sound.tsv")["engine"])
    assert "taken as stated, not verified: exact_noise" in says(
        capsys, "verify out.tsv"
    )


def is_other(model):
    """The same function with weights a little different."""
    other = WEIGHTS + 0.02 * np.random.default_rng(1).standard_normal(WEIGHTS.shape)
    if model is scores:
        return lambda batch: batch.reshape(len(batch), -1) @ other
    return lambda batch: model(batch + 0.05)


@pytest.mark.parametrize("name", RUNS)
def test_another_model_does_not_go_on(name, tmp_path):
    """Rows with further columns were not compared at all."""
    model, data, answer = RUNS[name]
    out = tmp_path / "out.tsv"
    numbers = {"out": out, "n0": 50, "n": 1000}
    described = {"spec": "a model whose weights nothing hashes"}
    numbers["settings"] = Settings(describe=described)
    certify_dataset(model, data, answer, **numbers)
    header, *lines = out.read_text().splitlines(keepends=True)
    place = out.with_name("out.tsv.manifest.json")
    stated = json.loads(place.read_text())
    stated["probe"] = {}  # a probe alone may be of inputs that are decided
    place.write_text(json.dumps(stated))
    out.write_text(header + "".join(lines[:2]))
    with pytest.raises(ValueError, match="the model has changed: input"):
        certify_dataset(is_other(model), data, answer, **numbers)
    assert out.read_text() == header + "".join(lines[:2])
    certify_dataset(model, data, answer, **numbers)
    assert len(out.read_text().splitlines()) == 4
