"""A file goes on with the run of its manifest alone."""

from dataclasses import FrozenInstanceError, replace

import pytest
from small_run import run

from rsbounds.certificate import Certificate
from rsbounds.certify import Settings
from rsbounds.results import Writer, read


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
