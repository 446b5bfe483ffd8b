"""``--method`` beyond this package's names: code of one's own, and other packages'
methods.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_models import (
    MODELS,
    arguments,
    inputs,
    models,
    one_line,
    package,
    prepare,
    says,
)
from methods_by_code import METHODS
from result_table import RULE, manifest, outcomes

from rsbounds import certify_dataset
from rsbounds.certificate import (
    ANOTHERS,
    ASSERTED_ENVELOPE,
    FIXED_NOISE,
    PROVEN_ENVELOPE,
)
from rsbounds.cli import main
from rsbounds.results import Manifest
from rsbounds.results.internal import read_rows
from rsbounds.schemes import anisotropic, correlated

SLOW = pytest.mark.slow


@pytest.fixture
def work(tmp_path, monkeypatch):
    prepare(tmp_path, monkeypatch)
    (tmp_path / "schemes_of_mine.py").write_text(METHODS)
    (tmp_path / "rule.json").write_text(json.dumps(RULE))
    monkeypatch.delitem(sys.modules, "schemes_of_mine", raising=False)
    return tmp_path


def certify(method, *more, **changes):
    known = {"sigma": None, "method": f"schemes_of_mine:{method}", **changes}
    return main([*arguments(**known), *more])


@pytest.mark.parametrize("method", ["fixed", "lies"])
def test_a_scheme_is_taken_at_its_parameters_and_not_at_its_word(work, method):
    """Its own sigma(x) and radius could be others than those of the method that it
    names.
    """
    assert certify(method) == 0
    assert main(arguments(out="named.tsv")) == 0
    assert outcomes("out.tsv") == outcomes("named.tsv")
    assert manifest()["scope"] == FIXED_NOISE
    assert main(["verify", "out.tsv"]) == 0


@pytest.mark.parametrize(
    ("method", "scope"),
    [("stated", ASSERTED_ENVELOPE), ("neighbours", PROVEN_ENVELOPE)],
)
def test_what_proves_its_bounds_is_a_kind_and_no_statement(work, method, scope):
    assert certify(method) == 0
    assert {row.scope for row in read_rows(Path("out.tsv"))} == {scope}
    assert (len(manifest()["parameters"].get("anchors", "")) == 64) == (
        method == "neighbours"
    )
    assert main(["verify", "out.tsv"]) == 0
    for more in ([], ["--method", f"schemes_of_mine:{method}"]):
        assert main(["recertify", "out.tsv", "--out", "b.tsv", *more]) == 0
        assert outcomes("b.tsv") == outcomes("out.tsv")
        Path("b.tsv").unlink()


def test_another_code_is_another_run(work, capsys):
    assert certify("fixed", "--method-args", "sigma=0.25") == 0
    assert manifest()["parameters"]["code"]["args"] == {"sigma": 0.25}
    other = [
        *arguments(sigma=None, method="schemes_of_mine:fixed"),
        "--method-args",
        "sigma=.5",
    ]
    one_line(capsys, other, "parameters.code.args.sigma was 0.25 and is now 0.5")
    one_line(capsys, arguments(), 'parameters.code.spec was "schemes_of_mine:fixed"')


@pytest.fixture
def torch_work(work):
    pytest.importorskip("torch")
    return work


@pytest.mark.parametrize(
    ("method", "named", "scope"),
    [
        pytest.param(
            "network", ("lipschitz", "--sigma-function"), PROVEN_ENVELOPE, marks=SLOW
        ),
        pytest.param("maps", ("anisotropic", "--noise"), FIXED_NOISE, marks=SLOW),
        pytest.param(
            "generator",
            ("generator", "--noise"),
            "sigma(x), mu(x) with proven bounds",
            marks=SLOW,
        ),
    ],
)
def test_learned_schemes_by_code_and_by_name(torch_work, capsys, method, named, scope):
    assert certify(method, model="models:torch_linear") == 0
    name, flag = named
    more = {"method": name, "out": "named.tsv", flag[2:]: f"schemes_of_mine:{method}"}
    assert (
        main(arguments(**{"model": "models:torch_linear", "sigma": None, **more})) == 0
    )
    assert outcomes("out.tsv") == outcomes("named.tsv")
    assert {row.scope for row in read_rows(Path("out.tsv"))} == {scope}
    assert any(row.radius > 0 for row in read_rows(Path("out.tsv")))
    for file in ("out.tsv", "named.tsv"):
        assert main(["verify", file]) == 0
        assert (
            main(["recertify", file, "--alpha", "0.01", "--out", f"again-{file}"]) == 0
        )
        assert main(["verify", f"again-{file}"]) == 0


def test_a_network_of_pictures_is_made_again_for_their_shape(torch_work):
    assert certify("convolution", model="models:torch_linear") == 0
    words = ["--out", "b.tsv", "--method", "schemes_of_mine:convolution"]
    assert main(["recertify", "out.tsv", *words]) == 0
    assert outcomes("b.tsv") == outcomes("out.tsv")


@pytest.mark.parametrize("method", ["maps", "generator"])
def test_noise_of_a_shape_is_drawn_again(torch_work, capsys, method):
    assert certify(method, model="models:torch_linear") == 0
    words = ["verify", "out.tsv", "--data", "data.npz", "--rerun", "5"]
    words += ["--model", "models:torch_linear"]
    assert main([*words, "--noise", f"schemes_of_mine:{method}"]) == 0
    one_line(capsys, words, "--rerun needs --noise")
    other = [*words, "--noise", "schemes_of_mine:other_maps"]
    said = (
        "must return noise of the method generator; got noise of anisotropic"
        if method == "generator"
        else "made with: inner was "
    )
    one_line(capsys, other, said)


def test_a_rule_is_drawn_again(work, capsys):
    assert certify("rule") == 0
    words = ["verify", "out.tsv", "--data", "data.npz", "--rerun", "5", "--model"]
    assert main([*words, "models:linear"]) == 0
    said = says(capsys, [*words, "schemes_of_mine:turned"], 1)
    assert "stage_counts is" in said or "stage_select is" in said
    one_line(
        capsys, [*words, "models:linear", "--denoiser", "x:y"], "takes no --denoiser"
    )


REFUSED = {
    "subclass": "--method schemes_of_mine:subclass: what certifies must be a Scheme",
    "no_scheme": "what certifies must be a Scheme",
    "no_such": "schemes_of_mine has no 'no_such'",
    "anew": "chooses its noise anew at every input and certifies none",
    "nan_radius": "must be in [0, inf]; got nan",
    "broken_radius": "failed: KeyError: 'no'",
    "unspeakable": "can't stand in a manifest: ",
    "asserted_twice": "must return the noise itself",
    "negative": "lip must be in",
    "below": "sigma(x) must be in",
}


@pytest.mark.parametrize("method", REFUSED)
def test_what_is_no_scheme_is_one_line(work, capsys, method):
    if method == "anew":
        pytest.importorskip("torch")
    one_line(
        capsys,
        arguments(sigma=None, method=f"schemes_of_mine:{method}"),
        REFUSED[method],
    )
    assert not list(work.glob("out*"))


def test_words_that_do_not_go_together_are_one_line(work, capsys):
    own = {"sigma": None, "method": "schemes_of_mine:stated"}
    for changes, said in (
        ({"sigma": 0.25}, "--sigma has no meaning for --method schemes_of_mine:stated"),
        ({"sound-noise": ""}, "--sound-noise needs a bound of the rounding of sigma"),
        ({"denoiser": "a:b"}, "one timestep, that of a fixed noise level"),
        ({"method-args": "dim=9"}, "dim must be at least 36, the size of an input;"),
        ({"method-args": "dim"}, "arguments must be key=value"),
        ({"method": None, "rule": "rule.json", "sigma": "0.25,0.5"},
         "--sigma has no meaning for --answer list"),
        ({"method": None, "rule": "rule.json", "answer": "class"},
         "--rule has no meaning for --answer class"),
        ({"method": "gaussian", "sigma": 1, "method-args": "a=1"}, "--method-args has"),
        ({"method": "semielastic"}, "--method 'semielastic' is unknown; did you mean"),
        ({"method": "xyz"}, "--method 'xyz' is unknown; there are gaussian, "),
        ({"method": "generator", "noise": "schemes_of_mine:fixed"},
         "--noise schemes_of_mine:fixed must return NoiseMaps, FixedNoise or a"),
    ):  # fmt: skip
        one_line(capsys, arguments(**{**own, **changes}), said)
    assert not list(work.glob("out*"))


@pytest.mark.slow
def test_noise_of_a_shape_around_a_model_of_arrays(torch_work):
    """It was refused: "noise of a shape needs a torch module"."""
    assert certify("maps") == 0
    again = ["verify", "out.tsv", "--data", "data.npz", "--rerun", "5"]
    again += ["--model", "models:linear", "--noise", "schemes_of_mine:maps"]
    assert main(again) == 0
    rows = read_rows(Path("out.tsv"))
    assert certify("maps", model="models:torch_linear", out="torch.tsv") == 0
    for row, of_torch in zip(rows, read_rows(Path("torch.tsv")), strict=True):
        # other random numbers of the same law: 7 standard deviations apart at most
        apart = abs(row.counts[0] - of_torch.counts[0])
        assert apart <= 7 * (row.n / 2) ** 0.5


def test_noise_that_a_matrix_in_a_file_maps(work, capsys):
    x, _ = inputs()
    factor = np.tril(np.full((x[0].size, x[0].size), 0.1)) + 0.4 * np.eye(x[0].size)
    np.savez("map.npz", x=factor)
    known = {"sigma": None, "method": "correlated", "matrix": "map.npz"}
    assert main(arguments(**known)) == 0
    rows = read_rows(Path("out.tsv"))
    assert {row.method for row in rows} == {"correlated"}
    import models

    found = certify_dataset(
        models.linear(), inputs(), correlated(factor), n0=50, n=1000
    )
    assert [row.counts for row in found.rows] == [row.counts for row in rows]
    again = ["verify", "out.tsv", "--data", "data.npz", "--rerun", "3"]
    assert main([*again, "--model", "models:linear"]) == 0
    np.savez("map.npz", x=factor[1:])
    one_line(capsys, arguments(out="o.tsv", **known), "--matrix must be square")


def test_levels_that_are_multiples_of_standard_deviations(work, capsys):
    x, _ = inputs()
    np.savez("training.npz", x=x * np.linspace(1, 9, x[0].size).reshape(x[0].shape))
    known = {"sigma": "0.5", "method": "anisotropic", "levels-of": "training.npz"}
    assert main(arguments(**known)) == 0
    import models

    rows = read_rows(Path("out.tsv"))
    assert {row.method for row in rows} == {"anisotropic"}
    with np.load("training.npz") as data:
        deviations = data["x"].std(axis=0, dtype=np.float64)
    found = certify_dataset(
        models.linear(), inputs(), anisotropic(0.5 * deviations), n0=50, n=1000
    )
    assert [row.counts for row in found.rows] == [row.counts for row in rows]
    again = ["verify", "out.tsv", "--data", "data.npz", "--levels-of", "training.npz"]
    assert main(again) == 0
    again += ["--rerun", "3", "--model", "models:linear"]
    assert main(again) == 0
    one_line(capsys, again[:4] + again[6:], "--rerun needs --levels-of")
    for changes, said in (
        ({"sigma": None}, "--levels-of needs sigma, the factor"),
        ({"noise": "a:b"}, "--levels-of takes no noise beside it"),
        ({"levels-of": None}, "--noise must be given, or a file whose deviations"),
        ({"levels-of": None, "noise": "a:b"}, "--sigma has no meaning for noise that"),
    ):
        one_line(capsys, arguments(**(known | changes), out="b.tsv"), said)
    np.savez("training.npz", x=np.zeros_like(x))
    one_line(capsys, arguments(**known, out="b.tsv"), "--levels-of must have no number")


def test_a_method_of_others_is_never_verified(work, capsys):
    assert certify("foreign") == 0
    rows = read_rows(Path("out.tsv"))
    assert {(row.method, row.scope) for row in rows} == {("thirds", ANOTHERS)}
    assert all(row.radius <= row.sigma * max(row.z_a, 0) / 3 for row in rows)
    said = "out.tsv is of method 'thirds', which nothing here can prove"
    for more in ([], ["--sample", "1"], ["--data", "data.npz"]):
        one_line(capsys, ["verify", "out.tsv", *more], said)
    assert "has no oracle for" in says(capsys, "report out.tsv")
    for shard in ("0/2", "1/2"):
        assert certify("foreign", shard=shard, out=f"{shard[0]}.tsv") == 0
    assert main(["merge", "all.tsv", "0.tsv", "1.tsv"]) == 0
    assert outcomes("all.tsv") == outcomes("out.tsv")


@pytest.mark.slow
def test_radii_of_code_are_computed_again_by_that_code(work, capsys):
    assert certify("foreign") == 0
    again = ["recertify", "out.tsv", "--out", "b.tsv"]
    one_line(
        capsys,
        again,
        "which rsbounds doesn't know",
        "as --method schemes_of_mine:foreign",
    )
    mine = [*again, "--method", "schemes_of_mine:foreign"]
    assert main([*mine, "--alpha", "0.01"]) == 0
    old, new = read_rows(Path("out.tsv")), read_rows(Path("b.tsv"))
    assert {(row.method, row.scope) for row in new} == {("thirds", ANOTHERS)}
    for before, after in zip(old, new, strict=True):
        assert after.counts == before.counts
        assert after.radius == max(after.z_a, 0) * 0.25 / 3 * (after.predict != -1)
    assert sum(row.radius for row in new) > sum(row.radius for row in old)
    Path("b.tsv").unlink()
    assert main(mine) == 0
    assert outcomes("b.tsv") == outcomes("out.tsv")
    Path("b.tsv").unlink()
    for other, said in (
        ("changed", 'parameters.code.spec was "schemes_of_mine:foreign"'),
        ("fixed", 'method was "thirds" and is now "gaussian"'),
        ("rule", "returns a rule: give it as --rule"),
        ("no_scheme", "must be a Scheme"),
        ("nothing_there", "has no 'nothing_there'"),
    ):
        one_line(capsys, [*again, "--method", f"schemes_of_mine:{other}"], said)
    one_line(
        capsys, [*again, "--method-args", "a=1"], "goes with --method MODULE:CALLABLE"
    )
    one_line(
        capsys,
        [*again, "--method", "lipschitz"],
        "--method lipschitz certifies another classifier",
    )
    assert not Path("b.tsv").exists()


@pytest.mark.slow
def test_parameters_that_are_not_numbers_are_resumed(work, capsys):
    """NaN differs from itself; a run of it does not."""
    for shard in ("0/2", "1/2"):
        assert certify("unsaid", shard=shard, out=f"{shard[0]}.tsv") == 0
    assert certify("unsaid", max=5) == 0
    assert certify("unsaid") == 0
    assert main(["merge", "all.tsv", "0.tsv", "1.tsv"]) == 0
    assert outcomes("all.tsv") == outcomes("out.tsv")
    again = [
        "recertify",
        "out.tsv",
        "--out",
        "b.tsv",
        "--method",
        "schemes_of_mine:unsaid",
    ]
    assert main(again) == 0
    more = [
        *arguments(sigma=None, method="schemes_of_mine:unsaid"),
        "--method-args",
        "known=0.5",
    ]
    one_line(capsys, more, "parameters.floor was NaN and is now 0.5")


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
    # a network's proof is its own, whatever stands beside it
    assert main(overridden) == 0
    assert Manifest.read(Path("out.tsv")).parameters["lip"] > 0.002
