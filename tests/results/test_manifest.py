"""A file goes on with the run of its manifest alone."""

from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest
from small_run import run

from rsbounds import certify_dataset
from rsbounds._numerics.errors import ArgumentError
from rsbounds.certificate import Certificate
from rsbounds.certify import Settings
from rsbounds.results import Manifest, read
from rsbounds.results.internal import Writer
from rsbounds.schemes import METHODS


@pytest.mark.parametrize(
    ("name", "kept", "changed"),
    [("steps", [1, 2], [1, 3]), ("steps", [1, 2], [1, 2, 3]), ("steps", [1, 2], [])],
)
def test_a_model_that_is_described_otherwise_is_another(tmp_path, name, kept, changed):
    out = tmp_path / "out.tsv"
    run(out=out, max=3, settings=Settings(describe={name: kept}))
    with pytest.raises(ValueError, match=name):
        run(out=out, max=3, settings=Settings(describe={name: changed}))


def test_a_writer_goes_on_with_no_other_model_unless_told(tmp_path):
    out = tmp_path / "out.tsv"
    run(out=out, max=3, settings=Settings(describe={"name": "the one"}))
    before = out.read_bytes()
    other = replace(read(out).manifest, model={"name": "another"})
    with pytest.raises(ValueError, match="another"):
        Writer(out, other)
    assert out.read_bytes() == before
    with Writer(out, other, accept_change=True) as writer:
        assert [row.idx for row in writer.rows] == [0, 1, 2]


def test_rows_and_results_can_not_be_changed(tmp_path):
    results = run(out=tmp_path / "out.tsv", max=3)
    for fixed, name in (
        (results, "rows"),
        (results.rows[0], "radius"),
        (results.manifest, "scope"),
        (Certificate(0, 1.0, 2.0, 0.9, 9, 10, 0.5, "gaussian", ""), "radius"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(fixed, name, getattr(fixed, name))


@pytest.mark.parametrize(
    ("method", "parameters", "place"),
    [
        ("flips", {"add": Fraction(1, 10), "delete": Fraction(1, 3)}, "parameters.add"),
        ("deletion", {"delete": Fraction(9, 10)}, "parameters.delete"),
        ("gaussian", {"sigma": Fraction(1, 2)}, "parameters.sigma"),
    ],
)
def test_parameters_that_no_file_holds_are_named_before_it_is_begun(
    method, parameters, place, tmp_path
):
    scheme = METHODS[method](parameters)
    data = np.array([[0, 1, 1, 0]]), [0]
    data = (data[0].astype(np.float32), [0]) if method == "gaussian" else data

    def model(batch):
        return np.stack([np.sum(rows) * np.array([1.0, -1.0]) for rows in batch])

    assert len(certify_dataset(model, data, scheme, n=200).rows) == 1  # in memory
    with pytest.raises(ArgumentError, match=r"got Fraction\(\d, \d+\)") as error:
        certify_dataset(model, data, scheme, n=200, out=tmp_path / "run.tsv")
    assert error.value.name == place
    assert "\n" not in str(error.value)
    assert not any(tmp_path.iterdir())


def test_what_no_file_holds_is_named_by_its_place():
    manifest = Manifest(model={"stages": [{}, {"seen": {1, 2}}]})
    with pytest.raises(ArgumentError, match=r"got \{1, 2\}") as error:
        manifest.text()
    assert error.value.name == "model.stages.1.seen"
