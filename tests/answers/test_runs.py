"""Answers over data sets: result files, resumption, verify, forgeries, reports,
samplers.
"""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from cli_models import says

from rsbounds import certify_dataset, schemes
from rsbounds.answers import (
    Maps,
    TopK,
    Values,
    value_interval,
)
from rsbounds.answers._map_rows import from_runs, runs
from rsbounds.audit import verify
from rsbounds.cli import main
from rsbounds.results import read
from rsbounds.sampling import ArraySampler, Phase
from rsbounds.sampling.adapters import output_sampler
from rsbounds.sampling.internal import stream
from rsbounds.schemes import gaussian

SCHEME = gaussian(0.25)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 5)).astype(np.float32)
Y = np.argsort(-X, axis=1)[:, 1]  # the second best: no certificate of one class has it
POINTS = RNG.normal(size=(5, 4, 4)).astype(np.float32)
TRUTH = (POINTS < 0).astype(int)


def best(batch):
    return batch


def outputs(batch):
    return np.stack(
        [batch.sum(axis=1), np.where(batch[:, 0] > 9, np.nan, batch[:, 1])], axis=1
    )


def two_classes(batch):
    return np.stack([batch, -batch], axis=1)


def top_k(out=None, **changes):
    numbers = {"n0": 50, "n": 800, "alpha": 0.01} | changes
    return certify_dataset(best, (X, Y), TopK(SCHEME, 2), out=out, **numbers)


def certify_values(model, x, scheme, *, radii=(0.0,), p=0.5, **run):
    return certify_dataset(model, x, Values(scheme, radii, p), **run)


def values(out=None, **changes):
    numbers = {"radii": [0.0, 0.1, 0.3], "n": 500, "alpha": 0.01} | changes
    return certify_values(outputs, X, SCHEME, out=out, **numbers)


def certify_maps(model, points, scheme, *, truth=None, tau=0.75, **run):
    return certify_dataset(model, points, Maps(scheme, tau, truth), **run)


def maps(out=None, **changes):
    numbers = {"n": 200, "truth": TRUTH} | changes
    return certify_maps(two_classes, POINTS, SCHEME, out=out, **numbers)


ANSWERS = {"top-k": top_k, "values": values, "maps": maps}


def own(rows):
    return [
        (row.idx, row.predict, row.radius, row.counts, dict(row.extra)) for row in rows
    ]


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_run_that_is_resumed_equals_one_in_one_go(answer, tmp_path):
    whole, parts = tmp_path / "whole.tsv", tmp_path / "parts.tsv"
    ANSWERS[answer](whole)
    ANSWERS[answer](parts, max=2)
    text = parts.read_text()
    parts.write_text(text[: len(text) - 7])  # killed while it wrote a line
    ANSWERS[answer](parts)
    assert own(read(parts).rows) == own(read(whole).rows)
    assert not verify(whole).findings
    with pytest.raises(ValueError, match="belongs to another run"):
        ANSWERS[answer](parts, alpha=0.02)


def test_verify_proves_what_the_code_would_let_pass(tmp_path, monkeypatch):
    """Ranks, p-values and radii that a wrong library computes are refused by the
    proofs.
    """
    from rsbounds.answers import _map_labels, _topk, _values

    for answer, module, name, wrong in (
        ("values", _values, "_rank", lambda n, level, z: 200),
        (
            "maps",
            _map_labels,
            "end",
            lambda hits, *_: SimpleNamespace(p=np.ones(len(hits))),
        ),
        ("top-k", _topk, "radius_of", lambda *_: 0.9),
    ):
        path = tmp_path / f"{answer}.tsv"
        monkeypatch.setattr(module, name, wrong)
        ANSWERS[answer](path)
        kinds = {str(finding.kind) for finding in verify(path).findings}
        assert kinds & {"bound", "radius"}, answer
        monkeypatch.undo()


def test_rows_are_drawn_again(tmp_path):
    for answer, model, x in (
        ("top-k", best, (X, Y)),
        ("values", outputs, (X, np.zeros(6, int))),
        ("maps", two_classes, (POINTS, np.zeros(5, int))),
    ):
        path = tmp_path / f"{answer}.tsv"
        ANSWERS[answer](path)
        other = (lambda m: lambda batch: m(-batch))(model)
        kinds = []
        for each in (model, other):
            audit = verify(path, data=x, model=each, rerun=3)
            kinds.append({str(f.kind) for f in audit.findings if f.kind != "data"})
        assert kinds == [set(), {"counts"}], answer


def test_other_commands_refuse_such_counts(tmp_path, capsys):
    values(tmp_path / "run.tsv")
    assert "rows of the answer 'values' don't hold their samples" in says(
        capsys,
        ["recertify", str(tmp_path / "run.tsv"), "--out", str(tmp_path / "new.tsv")],
        2,
    )


def test_reports_of_values_and_maps(tmp_path, capsys):
    (
        values(tmp_path / "values.tsv"),
        maps(tmp_path / "maps.tsv"),
        top_k(tmp_path / "top.tsv"),
    )
    assert (
        main(
            ["report", *(str(tmp_path / f"{n}.tsv") for n in ("values", "maps", "top"))]
        )
        == 0
    )
    text = capsys.readouterr().out
    assert re.search(r"0\.1 +1\.0000 +0\.\d+", text)
    assert "maps, classes likelier than 0.75" in text
    assert re.search(r"0\.1686 +0\.\d+ +0\.\d+", text)
    assert "ACR" in text  # the third is a table as any


def test_values_are_those_of_one_input(tmp_path):
    results = values()
    low, high = Values.intervals(results.rows)
    assert low.shape == high.shape == (6, 3, 2)
    drawn = output_sampler(outputs, "values")(
        X[2], 0.25, 500, stream(0, 2, Phase.ESTIMATE)
    )
    for i, radius in enumerate((0.0, 0.1, 0.3)):
        ends = value_interval(drawn, radius, alpha=0.01, scheme=SCHEME)
        np.testing.assert_array_equal(ends, (low[2, i], high[2, i]))
    assert (low <= X.sum(axis=1)[:, None, None])[:, :, 0].all()


def test_a_radius_beyond_n_is_said_once(tmp_path):
    with pytest.warns(RuntimeWarning, match=r"ends.*radius") as said:
        low, high = Values.intervals(values(radii=[0.1, 3.0]).rows)
    assert len(said) == 1
    assert np.isinf(low[:, 1]).all()
    assert np.isinf(high[:, 1]).all()


def test_nan_outputs_count_against_the_interval(tmp_path):
    def some(batch):
        return np.where(batch[:, 1] > X[0, 1], np.nan, batch[:, 0])

    with pytest.warns(RuntimeWarning, match="samples are void"):
        void = certify_values(some, X[:1], SCHEME, radii=[0.1], n=500)
    assert void.rows[0].void > 0
    assert np.isinf(Values.intervals(void.rows)[1]).all()
    with pytest.warns(RuntimeWarning, match="samples are void"):
        none = certify_values(
            lambda b: b[:, 0] * np.nan, X[:1], SCHEME, radii=[0.1], n=500
        )
    assert none.rows[0].extra["quantile"] == "nan"


def test_map_summary_is_that_of_the_maps():
    results = maps()
    right = certified = 0
    for row, truth in zip(results.rows, TRUTH, strict=True):
        chosen, hits = from_runs(row.extra["chosen"]), from_runs(row.extra["hits"])
        assert len(chosen) == len(hits) == 16
        certified += int(row.extra["certified"])
        right += int(row.extra["right"])
        assert right <= certified
        assert (chosen == truth.ravel()).mean() > 0.7
    summary = Maps.figures(results.rows)
    assert summary["accuracy"] == right / 80
    assert summary["abstain"] == 1 - certified / 80
    assert 0 < summary["miou"] <= summary["accuracy"] + 0.2
    assert np.isnan(
        Maps.figures(certify_maps(two_classes, POINTS, SCHEME, n=200).rows)["miou"]
    )


def test_runs_of_numbers_come_back():
    for numbers in ([0], [1, 1, 1], [0, 1, 1, 2, 2, 2, 0], list(range(5))):
        text = runs(np.array(numbers))
        assert from_runs(text).tolist() == numbers
    for bad in ("", "1x0", "ax3", "1x", "nan", "1x-2", "1x99999999999"):
        with pytest.raises(ValueError, match=r".*"):
            from_runs(bad)


def test_nan_of_a_torch_map_counts_for_no_class_there():
    torch = pytest.importorskip("torch")
    from rsbounds.sampling.adapters import output_sampler

    class Scores(torch.nn.Module):
        def forward(self, x):
            scores = torch.stack([x, -x], 1)
            scores[:, 1, 0] = torch.nan
            return scores

    sampler = output_sampler(Scores(), "maps")
    counts = np.asarray(sampler(POINTS[0], 0.25, 100, np.random.default_rng(0)))
    assert counts.shape == (16, 2)
    assert counts.sum(axis=1).tolist() == [0] * 4 + [100] * 12


def test_samplers_of_ones_own_and_other_noise():
    def sampler(x, sigma, n, generator):
        return (x + generator.laplace(0, sigma, (n, *x.shape))).sum(
            axis=1, keepdims=True
        )

    sampler.law = "laplace"
    results = certify_values(sampler, X, schemes.laplace(0.25), radii=[0.1], n=500)
    assert np.isfinite(Values.intervals(results.rows)[0]).all()
    with pytest.raises(ValueError, match=r"sampler.*noise"):
        certify_values(sampler, X, SCHEME, radii=[0.1], n=500)
    results = certify_values(outputs, X, schemes.laplace(0.25), radii=[0.1], n=500)
    assert np.isfinite(Values.intervals(results.rows)[0]).all()
    with pytest.raises(ValueError, match=r"sampler.*noise"):
        certify_dataset(
            ArraySampler(best), (X, Y), TopK(schemes.laplace(0.25), 2), n=500
        )


def changing():
    calls = iter(range(10**9))
    return lambda batch: np.zeros((len(batch), 2 + (next(calls) > 3)))


MOVING = schemes.sigma_range(lambda x: 0.5, 0.4, 0.6, 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: certify_values(lambda b: np.zeros((len(b), 2, 2)), X, SCHEME),
            "outputs of shape",
        ),
        (
            lambda: certify_values(lambda b: np.array(["a"] * len(b)), X, SCHEME),
            "real numbers",
        ),
        (lambda: certify_values(changing(), X, SCHEME, n=9000), "outputs of one shape"),
        (
            lambda: certify_values(outputs, X, SCHEME, radii=[]),
            "radii must hold at least one",
        ),
        (lambda: certify_values(outputs, X, MOVING), "must"),
        (
            lambda: certify_values(lambda b: b + RNG.normal(size=b.shape), X, SCHEME),
            "itself",
        ),
        (
            lambda: certify_maps(lambda b: b.sum((1, 2)), POINTS, SCHEME),
            "outputs of shape",
        ),
        (
            lambda: certify_maps(two_classes, POINTS, SCHEME, truth=TRUTH[:2]),
            "each of 5 inputs; got 2",
        ),
        (
            lambda: certify_maps(two_classes, POINTS, SCHEME, truth=TRUTH[:, :2]),
            "16 positions; got 8",
        ),
        (lambda: top_k(bound="anytime"), "has its own bounds"),
        (
            lambda: certify_dataset(best, (X, Y), TopK(SCHEME, 5)),
            "less than the classes; got 5",
        ),
        (
            lambda: certify_dataset(best, (X, Y), TopK(MOVING, 2)),
            "the same at every input",
        ),
        (lambda: Values.intervals(maps().rows), "must be of the answer 'values'"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_input_is_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


MODEL = """
import numpy as np

def load():
    return lambda batch: batch
"""


@pytest.mark.slow
def test_top_k_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    np.savez("data.npz", x=X, y=Y)
    words = [
        "certify",
        "--model",
        "model.py:load",
        "--data",
        "data.npz",
        "--sigma",
        "0.25",
    ]
    words += [
        "--n",
        "800",
        "--n0",
        "50",
        "--alpha",
        "0.01",
        "--answer",
        "top-k",
        "--k",
        "2",
        "--out",
    ]
    assert main([*words, "run.tsv"]) == 0
    rows = read("run.tsv").rows
    assert own(rows) == own(top_k().rows)
    assert main(["verify", "run.tsv", "--data", "data.npz"]) == 0
    assert main(["report", "run.tsv"]) == 0
    assert main([*words, "two.tsv", "--processes", "2"]) == 0
    assert own(read("two.tsv").rows) == own(rows)
    rerun = [
        "verify",
        "run.tsv",
        "--data",
        "data.npz",
        "--model",
        "model.py:load",
        "--rerun",
        "2",
    ]
    assert main(rerun) == 0
    assert "less than the classes; got 7" in says(
        capsys, [*words[:-2], "7", "--out", "seven.tsv"], 2
    )


def test_k_1_writes_the_rows_of_one_class(tmp_path):
    labels = X.argmax(axis=1)
    plain = certify_dataset(best, (X, labels), SCHEME, n=800)
    other = certify_dataset(best, (X, labels), TopK(SCHEME, 1), n=800)
    for a, b in zip(plain.rows, other.rows, strict=True):
        if a.predict == a.label:
            assert (a.predict, a.radius, a.z_a, a.z_b) == (
                b.predict,
                b.radius,
                b.z_a,
                b.z_b,
            )
