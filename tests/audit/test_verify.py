"""``rsbounds.audit.verify``: what it takes, what it returns."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from cli_models import one_line

from rsbounds import certify_dataset, schemes
from rsbounds.audit import Audit, Finding, Kind, verify
from rsbounds.cli import main
from rsbounds.loading import open_data
from rsbounds.results import read
from rsbounds.results.internal import write
from rsbounds.semielastic import KNNSigma


class _Model:
    def __call__(self, batch):
        first = np.reshape(batch, (len(batch), -1))[:, :1]
        return np.concatenate([first, -first], axis=1)


RNG = np.random.default_rng(0)
X, Y = RNG.normal(0, 0.3, (9, 4)).astype(np.float32), RNG.integers(0, 2, 9)


def anchored(points=X, rate=0.01):
    return schemes.semielastic(KNNSigma(points, 0.25, rate, 2, "mean"), 4)


OPTIONS = {"n0": 20, "n": 500, "seed": 3}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "out.tsv"
    certify_dataset(_Model(), (X, Y), anchored(), out=path, **OPTIONS)
    return path


def edited(path, index, **changes):
    results = read(path)
    rows = [
        replace(row, **changes) if row.idx == index else row for row in results.rows
    ]
    write(path, results.manifest, rows)


def test_a_true_file_has_no_findings(path):
    known = {"scheme": anchored(), "model": _Model(), "rerun": 9}
    result = verify(path, data=(X, Y), **known)
    assert result.findings == () == result.corrupt
    assert result.stated == ("times", "data.kind", "versions", "run")
    assert (result.rows, result.proved, result.drawn) == (9, 9, 9)
    assert verify(path).stated == (
        *("rate", "dim", "scope", "sigma"),
        *("counts", "data", "times"),
        *("versions", "run"),
    )


FORGED = {
    "a radius": ({"radius": 0.5}, Kind.RADIUS),
    "a bound": ({"p_a": 0.9999999}, Kind.BOUND),
    "a weak one": ({"radius": 0.0001}, Kind.WEAK),
    "a label": ({"label": 5, "correct": False}, Kind.DATA),
    "a hash": ({"input": "-"}, Kind.DATA),
    "a level": ({"sigma": 0.2500001, "radius": 0.0001}, Kind.LEVEL),
    "an input": ({"idx": 20}, Kind.ROWS),
    "counts": ({"counts": (400, 99)}, Kind.CONTRADICTION),
    "a void sample": ({"void": 1}, Kind.CONTRADICTION),
}


@pytest.mark.parametrize("what", FORGED)
def test_each_kind_of_finding(path, what):
    change, kind = FORGED[what]
    certain = max(read(path).rows, key=lambda row: row.radius).idx
    edited(path, certain, **change)
    result = verify(path, data=(X, Y), scheme=anchored())
    found = [finding for finding in result.findings if finding.kind == kind]
    assert {finding.index for finding in found} <= {change.get("idx", certain), None}
    line = 10 if "idx" in change else certain + 2
    assert {finding.line for finding in found} <= {line, None}
    assert found
    assert isinstance(found[0], Finding)


def test_another_noise(path):
    known = {"data": (X, Y)}
    with pytest.raises(ValueError, match="rate was"):
        verify(path, scheme=anchored(rate=0.02), **known)
    with pytest.raises(ValueError, match=r"semi-elastic.*gaussian"):
        verify(path, scheme=schemes.gaussian(0.25), **known)
    with_others = verify(path, scheme=anchored(2 * X), **known)
    assert {finding.kind for finding in with_others.findings} == {Kind.LEVEL}


@pytest.mark.parametrize(
    "options",
    [
        *(
            {"rerun": 3},
            {"model": _Model()},
            {"rerun": 3, "model": _Model()},
            {"rerun": -1},
        ),
        *({"jobs": 0}, {"jobs": -5}, {"sample": 0}, {"seed": -1}),
        {"scheme": schemes.gaussian(0.25)},
    ],
)
def test_arguments_that_do_not_go_together(path, options):
    with pytest.raises(ValueError, match=r"must be|need"):
        verify(path, **options)


def test_samples_and_processes(path):
    for row in read(path).rows:
        edited(path, row.idx, p_a=1.0)
    assert len(verify(path, jobs=100_000).findings) == 9
    some = verify(path, sample=4, seed=1)
    assert (some.proved, len(some.findings)) == (4, 4)
    assert some == verify(path, sample=4, seed=1)


def test_inputs_that_cannot_be_read(path):
    broken = X.copy()
    broken[2] = np.nan
    (found,) = (f for f in verify(path, data=(broken, Y)).findings if f.index == 2)
    assert (found.kind, found.line) == (Kind.DATA, 4)
    assert "must be finite" in found.text
    fewer = verify(path, data=open_data((X[:5], Y[:5])))
    assert [f.index for f in fewer.findings] == [5, 6, 7, 8, *[None] * 4]


def test_without_flint_one_line_says_what_to_install(path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "flint", None)
    one_line(capsys, ["verify", str(path)], 'pip install "rsbounds[verify]"')
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "mpmath", None)  # only the oracle needs that
    assert main(["verify", str(path)]) == 0


def test_an_audit_in_a_notebook_is_escaped():
    finding = Finding(Kind.RADIUS, 3, "<b>", 5)
    shown = Audit((finding,), ("data",), 9, 8, 2, (), 0)._repr_html_()
    assert "9 rows, 8 of them proved" in shown
    assert "1 finding" in shown
    assert "&lt;b&gt;" in shown
