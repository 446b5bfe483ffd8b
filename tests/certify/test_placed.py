"""certify_dataset of a torch module: where it runs, in batches of which size, and what
is shown.
"""

import numpy as np
import pytest

from rsbounds import certify_dataset
from rsbounds.answers import Maps, TopK, Values, asked
from rsbounds.certify._placed import placed
from rsbounds.composite import Cond, Rule
from rsbounds.schemes import gaussian

torch = pytest.importorskip("torch")
X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
DATA = (X, np.array([0, 1, 2]))


def network():
    torch.manual_seed(0)
    return torch.nn.Linear(4, 3)


def rows(model, scheme, **options):
    found = certify_dataset(model, DATA, scheme, n=600, n0=10, **options).rows
    return [(row.predict, row.radius, tuple(row.counts)) for row in found]


@pytest.mark.parametrize("answer", [gaussian(0.5), TopK(gaussian(0.5), 2)])
def test_rows_do_not_depend_on_the_batch(answer):
    assert rows(network(), answer, batch_size=64) == rows(network(), answer)


def test_a_sampler_holds_what_is_asked_for():
    sampler = placed(asked(gaussian(0.5)), network(), 64, "cpu")
    assert (sampler.batch, str(sampler.device)) == (64, "cpu")
    assert placed(asked(gaussian(0.5)), network(), None, "cpu").batch == 1000


def test_values_and_maps_take_them_too():
    def layer():
        return torch.nn.Unflatten(1, (2, 2))

    for answer, model in (
        (Values(gaussian(0.5), [0.1]), network()),
        (Maps(gaussian(0.5), tau=0.75), layer()),
    ):
        options = {"n": 200, "progress": False}
        one = certify_dataset(model, X, answer, **options).rows
        other = certify_dataset(model, X, answer, batch_size=1, device="cpu", **options)
        assert [row.extra for row in other.rows] == [row.extra for row in one]


def test_each_level_of_a_list_takes_them():
    rule = Rule([0.5, 0.25], [[Cond("score", 0, 0.4)], [Cond("margin", 1)]])
    models = [network(), network()]
    assert rows(models, rule, batch_size=64) == rows(models, rule)


def test_a_file_names_the_parameters_of_the_model(tmp_path):
    for name, options in (("plain", {}), ("placed", {"batch_size": 64})):
        out = tmp_path / f"{name}.tsv"
        certify_dataset(network(), DATA, gaussian(0.5), n=100, out=out, **options)
    plain, placed = (
        certify_dataset(network(), DATA, gaussian(0.5), n=100, out=tmp_path / name)
        for name in ("plain.tsv", "placed.tsv")
    )
    assert plain.manifest.model["parameters"] == placed.manifest.model["parameters"]


@pytest.mark.parametrize("options", [{"batch_size": 10}, {"device": "cpu"}])
def test_a_function_decides_that_itself(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"{name} goes with a torch module"):
        certify_dataset(lambda b: b, DATA, gaussian(0.5), n=100, **options)


@pytest.mark.parametrize("size", [0, -1, 1.5, "10"])
def test_no_batch_of_no_whole_size(size):
    with pytest.raises(ValueError, match="batch_size must be"):
        certify_dataset(network(), DATA, gaussian(0.5), n=100, batch_size=size)


def test_no_progress_is_written_where_none_is_wanted(capsys, monkeypatch):
    monkeypatch.setattr("rsbounds._numerics.progress.LOGGED", 0.0)
    certify_dataset(lambda b: b, DATA, gaussian(0.5), n=100)
    assert "input" in capsys.readouterr().err
    certify_dataset(lambda b: b, DATA, gaussian(0.5), n=100, progress=False)
    assert capsys.readouterr().err == ""
