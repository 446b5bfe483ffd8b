"""What went wrong once with result files and reports: refused, or shown as it is."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_models import MODELS, arguments, inputs, models, one_line, package, savez, says
from result_table import RULE, manifest, state

from rsbounds.certificate import PROVEN_ENVELOPE
from rsbounds.cli import main
from rsbounds.results import Manifest, read_rows

CHANGED = {"changes": ["versions.numpy was 1 and is now 2"], "rows": 3, "run": {}}
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
    "change", [weights_file_replaced, helper_edited, default_changed]
)
def test_a_model_that_changed_behind_its_source_is_refused(work, capsys, change):
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
    assert "taken as stated, not verified: sound_noise" in says(
        capsys, "verify out.tsv"
    )


def test_what_was_accepted_in_a_shard_is_kept_by_merge(work):
    for i in range(2):
        assert main(arguments(shard=f"{i}/2", out=f"{i}.tsv")) == 0
    state("1.tsv", history=[CHANGED])
    assert main(["merge", "all.tsv", "0.tsv", "1.tsv"]) == 0
    assert Manifest.read(Path("all.tsv")).history == [CHANGED]


def test_inputs_that_cannot_be_decoded_are_told_everywhere(work, capsys):
    x, _ = inputs()
    x[[2, 5]] = np.nan  # neither the first nor one of the probes, 0, 3, 6 and 9
    savez(x=x)
    one_line(capsys, arguments(), "input 2 must be finite")
    for i in range(2):
        assert main([*arguments(shard=f"{i}/2", out=f"{i}.tsv"), "--skip-corrupt"]) == 0
    assert main(["merge", "all.tsv", "0.tsv", "1.tsv"]) == 0
    assert Manifest.read(Path("all.tsv")).corrupt() == {2, 5}
    assert "2 inputs left out: they can't be decoded" in says(capsys, "report all.tsv")
    assert main(["verify", "all.tsv", "--data", "data.npz"]) == 0


DAMAGED = {
    "data a number": ({"data": 5}, "data must be a JSON object; got 5"),
    "inputs missing": ({"data": {"skip": 1, "max": -1}}, "data lacks inputs"),
    "engine": ({"engine": None}, "engine must be a JSON object; got None"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_manifest_is_one_line_in_every_command(finished, capsys, case):
    entries, said = DAMAGED[case]
    state(**entries)
    for argv in (
        *(
            ["report", "out.tsv"],
            ["verify", "out.tsv"],
            ["merge", "all.tsv", "out.tsv"],
        ),
        *(["recertify", "out.tsv", "--out", "new.tsv"], arguments()),
    ):
        one_line(capsys, argv, "out.tsv", said)


@pytest.mark.parametrize("command", ["recertify", "fit-rule"])
@pytest.mark.parametrize("change", ["x", "label", "hash", "no hash"])
def test_a_rule_is_of_one_data_set(work, capsys, change, command):
    """A stage on easier inputs raised a rule's average radius from .123 to .322."""
    Path("rule.json").write_text(json.dumps(RULE))
    for name, level in (("a", 0.25), ("b", 0.5)):
        assert main(arguments(out=f"{name}.tsv", sigma=level)) == 0
    x, y = inputs()
    savez(**({"y": 1 - y} if change == "label" else {"x": 2 * x}))
    assert main(arguments(out="c.tsv", sigma=0.5)) == 0
    if change != "x":  # and its manifest is forged
        state("c.tsv", data=manifest("a.tsv")["data"], probe={})
    if change == "no hash":
        for path in (Path("a.tsv"), Path("c.tsv")):
            path.write_text(
                re.sub(r"\t[0-9a-f]{16}$", "\t-", path.read_text(), flags=re.M)
            )
    rule = ["--rule", "rule.json"] if command == "recertify" else []
    said = {
        "x": "c.tsv is not of the run of a.tsv: data.x was",
        "no hash": "of input 0 is -",
    }
    said |= dict.fromkeys(("label", "hash"), f"the {change} of input 0 is ")
    one_line(capsys, [command, "a.tsv", "c.tsv", "--out", "new", *rule], said[change])
    assert not Path("new").exists()
    if change == "x":
        assert main([command, "a.tsv", "b.tsv", "--out", "new", *rule]) == 0


def test_a_rule_on_the_runs_that_chose_it_is_marked(work, capsys):
    """Its counts chose it, so that they prove nothing by it; others' do."""
    for seed in (0, 1):
        for level in (0.25, 0.5):
            assert (
                main(arguments(out=f"{level}-{seed}.tsv", sigma=level, seed=seed)) == 0
            )
    state("0.5-0.tsv", history=[CHANGED])  # of the second stage
    fitted = ["0.25-0.tsv", "0.5-0.tsv"]
    assert main(["fit-rule", *fitted, "--out", "rule.json"]) == 0
    assert main(["recertify", fitted[0], "--alpha", "0.001", "--out", "again.tsv"]) == 0
    cases = (
        (fitted, 1),
        (["again.tsv", fitted[1]], 1),
        (["0.25-1.tsv", "0.5-1.tsv"], 0),
    )
    for k, (files, status) in enumerate(cases):
        out = f"list{k}.tsv"
        assert main(["recertify", *files, "--rule", "rule.json", "--out", out]) == 0
        assert (CHANGED in manifest(out)["history"]) == (files[1] == fitted[1])
        capsys.readouterr()
        assert main(["verify", out]) == status
        said = (
            "the rule was fitted to the rows that it certifies"
            in capsys.readouterr().out
        )
        assert said == bool(status)


@pytest.mark.parametrize("command", ["recertify", "fit-rule"])
def test_a_rule_takes_runs_of_numbers_of_samples_fixed_in_advance(
    work, capsys, command
):
    Path("rule.json").write_text(json.dumps(RULE))
    assert main(arguments(out="a.tsv")) == 0
    assert main(arguments(sigma=0.5)) == 0
    state(target_radius=0.1, bound="anytime")
    rule_option = ["--rule", "rule.json"] if command == "recertify" else []
    argv = [command, "a.tsv", "out.tsv", "--out", "new.tsv", *rule_option]
    one_line(capsys, argv, "out.tsv was sampled until a target radius was decided")
    assert not Path("new.tsv").exists()


@pytest.mark.parametrize(
    "parameters", [{}, {"sigma": [1]}, {"sigma": "x"}, {"sigma": 0}]
)
@pytest.mark.parametrize("command", ["recertify", "fit-rule"])
def test_a_run_without_its_level_is_one_line(finished, capsys, command, parameters):
    rule = {"format": 1, "sigmas": [0.25], "items": [[]]}
    rule["items"][0].append({"kind": "margin", "stage": 0, "threshold": 0.0})
    Path("rule.json").write_text(json.dumps(rule))
    state(parameters=parameters)
    rule_option = ["--rule", "rule.json"] if command == "recertify" else []
    argv = [command, "out.tsv", "--out", "new.tsv", *rule_option]
    one_line(capsys, argv, "parameters.sigma ")


@pytest.mark.parametrize("depth", [300, 10**5])
def test_a_deeply_nested_manifest_is_no_traceback(work, capsys, depth):
    assert main(arguments(max=1)) == 0
    place = Path("out.tsv.manifest.json")
    nested = '{"a": ' * depth + "1" + "}" * depth
    place.write_text(
        place.read_text().replace('"model": {', f'"model": {{"deep": {nested}, ', 1)
    )
    assert main(["report", "out.tsv"]) in (0, 2)
    assert main(["merge", "all.tsv", "out.tsv"]) in (0, 2)
    one_line(capsys, arguments(max=1), "out.tsv")


LEVELS = """
def level():
    return lambda batch: 0.25 + 0 * batch.reshape(len(batch), -1)[:, 0]

def network():
    import torch
    from rsbounds.torch import Scale, SigmaNetwork
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = torch.nn.Flatten(), torch.nn.Linear(36, 1), Scale(0.01)
    return SigmaNetwork(torch.nn.Sequential(*layers), 0.25)
"""


def test_a_network_that_proves_its_constant_takes_no_other(work, capsys):
    package("torch")
    models(MODELS + LEVELS)
    options = {
        "method": "lipschitz",
        "sigma": None,
        "sigma_function": "models:network",
        "max": 2,
    }
    one_line(capsys, arguments(**options, lip=0.001), "--lip has no meaning where")
    assert main(arguments(**options)) == 0
    assert {row.scope for row in read_rows(Path("out.tsv"))} == {PROVEN_ENVELOPE}
    # 0.01 times the norm of the weights, and above 0.001 by far
    assert 0.002 < Manifest.read(Path("out.tsv")).parameters["lip"] < 0.01


def test_no_object_proves_its_constant_by_saying_so(work, capsys):
    package("torch")
    models(
        MODELS
        + LEVELS
        + """
class Boast:
    def __call__(self, batch):
        return 0.25 + abs(batch.reshape(len(batch), -1)[:, 0])
    def scheme(self, dim):
        from rsbounds.schemes import lipschitz
        return lipschitz(lambda x: 0.25 + abs(float(x.ravel()[0])), 1e-9, 0.25, dim)

def boast():
    return Boast()

def overridden():
    made = network()
    made.scheme = Boast().scheme
    return made
"""
    )
    options = {"method": "lipschitz", "sigma": None, "max": 2}
    boast = arguments(**options, sigma_function="models:boast")
    one_line(capsys, boast, "--lip must be given where")
    overridden = arguments(**options, sigma_function="models:overridden")
    one_line(capsys, overridden, "has hooks of its own in scheme")
