"""The rows of a file as a whole: chosen inputs, true maps, history."""

from dataclasses import replace

import numpy as np
import pytest
from small_run import INPUTS, LABELS, run

from rsbounds import certify_dataset, schemes
from rsbounds.answers import (
    Maps,
)
from rsbounds.audit import Kind, verify
from rsbounds.audit._proofs import PROOFS
from rsbounds.results import read


def test_no_input_that_was_not_chosen_is_left_out(tmp_path):
    pytest.importorskip("flint")
    data = (INPUTS, LABELS)
    for place, known in enumerate([{"max": 0}, {"max": 5}, {"start": 3, "skip": 4}]):
        out = tmp_path / f"{place}.tsv"
        run(out=out, **known)
        kinds = [found.kind for found in verify(out, data=data).findings]
        assert kinds == ([Kind.ROWS] if known == {"max": 0} else [])  # "has no rows"


def test_true_maps_are_compared_past_an_input_that_has_none(tmp_path):
    """Of three maps the first's row was given another index: the others count on."""
    pytest.importorskip("flint")
    out, truth = tmp_path / "out.tsv", np.zeros((3, 5), np.int64)
    answer = Maps(schemes.gaussian(0.25), 0.75, truth)

    def two_classes(batch):
        return np.stack([batch, -batch], axis=1)

    certify_dataset(two_classes, INPUTS[:3], answer, out=out, n0=10, n=100)
    file = read(out)
    wrong = {"right": "99"}
    rows = [replace(row, extra={**row.extra, **wrong}) for row in file.rows]
    rows[0] = replace(rows[0], idx=7)
    proof = PROOFS["maps"]
    findings = proof.against(list(enumerate(rows, 2)), file.manifest, truth)
    assert [finding.index for finding in findings] == [1, 2]
