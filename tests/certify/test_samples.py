"""Runs that stop where more samples gain little, or leave out what is not asked."""

import json
import math
import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.signal import convolve2d
from scipy.special import ndtr, ndtri

import rsbounds
from rsbounds import certify_dataset, reports, results
from rsbounds.answers import DecisionList, Maps, TopClass, TopK, Values
from rsbounds.audit import verify
from rsbounds.audit._looks import LOOKS, levels_of
from rsbounds.certify import Procedure, certify_counts, forecast
from rsbounds.certify._work import Here
from rsbounds.certify.internal import job_of
from rsbounds.cli import main, plan
from rsbounds.composite import Cond, Rule
from rsbounds.confidence import BOUNDS, Bound, lower_bound
from rsbounds.confidence.internal import Looks
from rsbounds.procedure import TOLERANCE
from rsbounds.sampling import Draws, Phase
from rsbounds.sampling.internal import GrowingDraws
from rsbounds.schemes import gaussian
from rsbounds.testing._rows import linear

SIGMA = 0.25
MODEL = linear(8)
X = np.random.default_rng(3).random((12, 8)).astype(np.float32)
Y = MODEL(X).argmax(axis=1)
WRONG = np.where(np.arange(len(Y)) % 3 == 0, (Y + 1) % 3, Y)
RULE = Rule([0.5, SIGMA], [[Cond("score", 0, 0.5)], [Cond("margin", 1)]])


def staged(out, answer=None, data=(X, Y), **numbers):
    numbers = {"n": 20_000, "tolerance": 0.1, **numbers}
    return certify_dataset(MODEL, data, answer or gaussian(SIGMA), out=out, **numbers)


# --- levels


@pytest.mark.parametrize("n", [1, 2, 50, 99, 1000, 12_345, 10**6, 10**9])
@pytest.mark.parametrize("alpha", [0.9999, 0.001, 1e-300 / 7 * 1e20])
def test_looks_and_their_levels_are_those_that_the_audit_computes_on_its_own(n, alpha):
    looks = BOUNDS["staged"].looks.at(n, alpha)
    assert sum(Fraction(look.alpha) for look in looks) <= Fraction(alpha)
    procedure = Procedure(n=n, alpha=alpha, bound="staged")
    assert levels_of(procedure) == {look.samples: look.alpha for look in looks}
    bound, shares = LOOKS["staged"]
    assert (bound, shares) == (
        BOUNDS["staged"].looks.bound,
        BOUNDS["staged"].looks.shares,
    )


@pytest.mark.parametrize(
    "shares",
    [
        (),
        ((Fraction(1, 2), Fraction(1)),),
        ((Fraction(1), Fraction(1, 2)), (Fraction(1, 2), Fraction(1, 2))),
        ((Fraction(1, 2), Fraction(0)), (Fraction(1), Fraction(1))),
        ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1), Fraction(2, 3))),
    ],
)
def test_looks_that_spend_more_than_alpha_or_do_not_rise_are_refused(shares):
    with pytest.raises(ValueError, match="shares must"):
        Looks("clopper-pearson", shares)


def test_a_level_too_small_to_share_is_refused():
    with pytest.raises(ValueError, match=r"alpha.*larger"):
        BOUNDS["staged"].looks.at(1000, 5e-324)


def steps(p_a, p_b, n):
    """The chances of all counts of two classes among n samples, by the two counts."""
    chances = np.zeros((n + 1, n + 1))
    for a in range(n + 1):
        for b in range(n + 1 - a):
            ways = math.comb(n, a) * math.comb(n - a, b)
            chances[a, b] = ways * p_a**a * p_b**b * (1 - p_a - p_b) ** (n - a - b)
    return chances


def test_pairs_of_all_looks_hold_together_whatever_stops_the_sampling():
    """By all outcomes; whoever stops the sampling knows the truth, and stops at an
    error.
    """
    n, alpha = 24, 0.3
    looks = BOUNDS["staged"].looks.at(n, alpha)
    assert [look.samples for look in looks] == [1, 3, 8, 24]
    pair = BOUNDS["clopper-pearson"].pair
    scores = np.zeros((len(looks), n + 1, n + 1, 2))
    for number, look in enumerate(looks):
        for a in range(look.samples + 1):
            for b in range(look.samples + 1 - a):
                ends = pair([a, b], 0, look.samples, look.alpha, runner_up=True)
                scores[number, a, b] = ends.z_a, ends.z_b
    worst = 0.0
    # just below a bound of A the chance of an error is largest
    truths = {(p_a, (1 - p_a) * q) for p_a in (0.2, 0.4, 0.6, 0.8) for q in (0.5, 1)}
    tops = {float(ndtr(z)) for z in scores[-1, 12:, 0, 0]}
    truths |= {(p_a, (1 - p_a) * 0.9) for p_a in tops - {0.0}}
    for p_a, p_b in truths:
        left = np.zeros((n + 1, n + 1))
        left[0, 0] = 1.0
        erred, drawn = 0.0, 0
        for number, look in enumerate(looks):
            step = steps(p_a, p_b, look.samples - drawn)
            drawn = look.samples
            left = convolve2d(left, step)[: n + 1, : n + 1]
            low, high = scores[number, ..., 0], scores[number, ..., 1]
            wrong = (low > ndtri(p_a) - 1e-12) | (high < ndtri(p_b))
            erred += left[wrong].sum()
            left[wrong] = 0.0
        worst = max(worst, erred)
    assert alpha / 4 < worst <= alpha


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.6, 0.9, 0.97])
def test_a_million_simulated_runs_err_no_more_often_than_alpha(p):
    """Stopped by one who knows the truth: as soon as a bound is wrong."""
    runs, n, alpha = 1_000_000, 2000, 0.05
    rng = np.random.default_rng(1)
    hits = np.zeros(runs, dtype=np.int64)
    wrong = np.zeros(runs, dtype=bool)
    drawn = 0
    for look in BOUNDS["staged"].looks.at(n, alpha):
        hits += rng.binomial(look.samples - drawn, p, runs)
        drawn = look.samples
        ends = lower_bound(np.arange(drawn + 1), drawn, look.alpha)
        wrong |= ends[hits] > p
    # four standard errors of so many runs
    assert wrong.mean() <= alpha + 4 * math.sqrt(alpha / runs)
    assert wrong.mean() > alpha / 10  # the looks were looked at


# --- what is drawn


def test_draws_that_grow_draw_each_sample_once():
    calls = []

    def sampler(x, sigma, n, generator):
        calls.append(n)
        return np.bincount(generator.integers(0, 2, n), minlength=2)

    draws = Draws([sampler, sampler], X[0], [1.0, 2.0], Procedure(seed=0), index=5)
    growing = GrowingDraws(draws)
    few = growing(Phase.ESTIMATE, 10)
    many = growing(Phase.ESTIMATE, 50)
    assert growing(Phase.ESTIMATE, 10) is few
    assert calls == [10, 40]
    assert many.sum() == 50
    assert (many >= few).all()
    assert growing(Phase.ESTIMATE, 50, 1).sum() == 50  # a stage has its own stream
    with pytest.raises(ValueError, match="already drawn"):
        growing(Phase.ESTIMATE, 30)


def test_a_tolerance_implies_the_bound_and_the_bound_has_a_tolerance():
    assert Procedure(tolerance=0.1).bound == "staged"
    assert Procedure(bound="staged").tolerance == TOLERANCE
    assert Procedure().tolerance is None
    assert "tolerance" not in Procedure().to_dict()
    for procedure in (Procedure(tolerance=0.0), Procedure(only_correct=True)):
        assert Procedure.from_dict(procedure.to_dict()) == procedure
    for wrong in (-0.1, math.nan, "a"):
        with pytest.raises(ValueError, match="tolerance"):
            Procedure(tolerance=wrong)
    with pytest.raises(ValueError, match="target radius"):
        Procedure(tolerance=0.1, target_radius=0.5)
    with pytest.raises(ValueError, match="only_correct"):
        Procedure(only_correct=1)


def test_without_room_only_what_is_decided_stops(tmp_path):
    """Tolerance 0 goes on while a larger radius is expected at all."""
    run = staged(tmp_path / "run.tsv", tolerance=0.0)
    for row in run.rows:
        assert row.drawn == 20_000 or row.radius == 0


@pytest.mark.parametrize(
    "answer",
    [gaussian(SIGMA), TopK(gaussian(SIGMA), 2), RULE],
    ids=["class", "top-k", "list"],
)
def test_every_answer_with_votes_is_verified_and_certified_again(
    tmp_path, monkeypatch, capsys, answer
):
    monkeypatch.chdir(tmp_path)
    run = staged(tmp_path / "run.tsv", answer)
    audit = verify(tmp_path / "run.tsv", data=(X, Y), model=MODEL, rerun=len(X))
    assert audit.findings == ()
    assert audit.drawn == len(X)
    assert any(row.drawn < 20_000 for row in run.rows)
    fixed = certify_dataset(MODEL, (X, Y), answer, n=20_000)
    # what is expected to be missed is at most the tolerance
    assert run.average_radius() > fixed.average_radius() - 0.1 * SIGMA
    assert main(["recertify", "run.tsv", "--alpha", "0.01", "--out", "more.tsv"]) == 0
    more = results.read("more.tsv")
    assert verify(tmp_path / "more.tsv", data=(X, Y)).findings == ()
    assert more.average_radius() >= run.average_radius()
    assert [row.extra["drawn"] for row in more.rows] == [
        row.extra["drawn"] for row in run.rows
    ]
    command = ["recertify", "run.tsv", "--bound", "clopper-pearson", "--out", "no.tsv"]
    assert main(command) == 2
    assert "would have no level" in capsys.readouterr().err


def test_values_do_not_stop_early():
    with pytest.raises(ValueError, match="does not stop early"):
        certify_dataset(MODEL, X, Values(gaussian(SIGMA), [0.1]), tolerance=0.1)


def test_a_rule_needs_the_same_samples_of_every_input(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    staged("run.tsv", n=2000)
    certify_dataset(
        MODEL, (X, Y), gaussian(0.5), n=2000, only_correct=True, out="b.tsv"
    )
    for file in ("run.tsv", "b.tsv"):
        assert main(["fit-rule", file, "--out", "rule.json"]) == 2
        assert f"{file} has fewer samples" in capsys.readouterr().err


def forged(path, **changes):
    """The file with the first row of most samples changed; its manifest beside it."""
    head, *lines = path.read_text().splitlines()
    names = head.split("\t")
    cells = [line.split("\t") for line in lines]
    chosen = max(cells, key=lambda row: float(row[names.index("radius")]))
    for name, value in changes.items():
        place = names.index(name)
        chosen[place] = value(chosen[place]) if callable(value) else value
    copy = path.with_name("forged.tsv")
    copy.write_text("\n".join("\t".join(row) for row in [names, *cells]) + "\n")
    shutil.copy(
        results.internal.manifest_path(path), results.internal.manifest_path(copy)
    )
    return verify(copy).findings


def test_a_forged_look_is_found(tmp_path):
    path = tmp_path / "run.tsv"
    staged(path)
    assert forged(path) == ()
    for changes, what in (
        ({"n": "19999"}, "is no look"),
        ({"drawn": "19999"}, "is no look from"),
        ({"drawn": "200"}, "is no look from"),
        ({"bound": "clopper-pearson"}, "in the manifest"),
        ({"n": "20000"}, "by its counts"),
        ({"z_a": lambda z: repr(float(z) + 1e-6)}, "on the unsafe side"),
        ({"radius": lambda r: repr(float(r) + 1e-6)}, "more than the counts prove"),
        ({"drawn": "x"}, "can't be computed"),
    ):
        found = forged(path, **changes)
        assert any(what in finding.text for finding in found), (changes, found)


def test_a_look_at_the_level_of_the_whole_run_is_found(tmp_path):
    """The row of a fixed run, at all of alpha, under the manifest of a staged one."""
    path = tmp_path / "run.tsv"
    run = staged(path)
    row = max(run.rows, key=lambda row: row.radius)
    whole = certify_counts(
        gaussian(SIGMA),
        SIGMA,
        row.select,
        row.counts,
        Procedure(n0=100, n=row.n, alpha=0.001),
    )
    assert whole.radius > row.radius
    found = forged(path, z_a=repr(whole.z_a), z_b=repr(whole.z_b))
    assert any("on the unsafe side" in finding.text for finding in found)


def test_workers_and_api_draw_the_same(tmp_path):
    run = staged(tmp_path / "run.tsv")
    procedure = Procedure(n=20_000, tolerance=0.1)
    job = job_of(TopClass(gaussian(SIGMA)), procedure).with_model(MODEL)
    assert job.columns == ("drawn",)
    certificate, columns = job.certify(X[4], 4, int(Y[4]))
    row = run.rows[4]
    assert (certificate.n, certificate.radius) == (row.n, row.radius)
    assert columns == row.extra
    here = Here.built(
        lambda: (MODEL, (X, Y), gaussian(SIGMA)),
        procedure,
        job.facts(rsbounds.loading.open_data((X, Y))),
        False,
    )
    ((outcome,),) = here.carried_out([4], lambda: False)
    assert replace(outcome.row, time="") == replace(row, time="")


def test_few_samples_do_not_stop_a_run(tmp_path):
    """At n = 10,000 a look at 100 samples lost one input in a hundred."""
    run = staged(tmp_path / "run.tsv", n=2000, tolerance=10.0)
    assert {row.drawn for row in run.rows} == {2000}
    run = staged(tmp_path / "more.tsv", n=10_000, tolerance=10.0)
    assert {row.drawn for row in run.rows} == {1000}


# --- only what may be correct


def test_rows_that_were_not_sampled_are_told(tmp_path):
    path = tmp_path / "run.tsv"
    numbers = {"n": 2000, "only_correct": True}
    run = certify_dataset(MODEL, (X, WRONG), gaussian(SIGMA), out=path, **numbers)
    every = certify_dataset(MODEL, (X, WRONG), gaussian(SIGMA), n=2000)
    left = [row for row in run.rows if row.is_left_out]
    assert len(left) >= 4
    assert all(math.isnan(row.p_a) and math.isnan(row.z_a) for row in left)
    assert len(run.p_a()) == len(run.rows) - len(left)
    kept = [row for row in every.rows if row.idx not in {out.idx for out in left}]
    assert run.abstention() == sum(row.predict == -1 for row in kept) / len(kept)
    assert any("were not sampled" in note for note in reports.card(run)["notes"])
    entries = json.loads(results.internal.manifest_path(path).read_text())
    del entries["only_correct"]
    results.internal.manifest_path(path).write_text(json.dumps(entries))
    assert any("n is 0" in finding.text for finding in verify(path).findings)


def test_only_correct_is_of_classes():
    for question in (
        Maps(gaussian(SIGMA)),
        Values(gaussian(SIGMA), [0.1]),
        DecisionList(RULE),
    ):
        with pytest.raises(ValueError, match=r"only_correct.*selected"):
            certify_dataset(MODEL, (X, Y), question, n=100, only_correct=True)


@pytest.mark.parametrize("bound", [{}, {"bound": "staged"}])
@pytest.mark.parametrize("k", [1, 2])
def test_inputs_whose_label_is_not_among_the_k_are_not_sampled(k, bound, tmp_path):
    path = tmp_path / "run.tsv"
    answer = TopK(gaussian(SIGMA), k)
    numbers = {"n": 2000, **bound}
    run = certify_dataset(
        MODEL, (X, WRONG), answer, out=path, only_correct=True, **numbers
    )
    every = certify_dataset(MODEL, (X, WRONG), answer, **numbers)
    left = [row for row in run.rows if row.is_left_out]
    assert 0 < len(left) < len(run.rows)
    for row, other in zip(run.rows, every.rows, strict=True):
        if row.is_left_out:
            assert row.label not in np.atleast_1d(other.predict) or other.predict == -1
            assert (row.n, row.predict, row.radius) == (0, -1, 0.0)
        else:
            assert replace(row, time="") == replace(other, time="")
    radii = [0.0, 0.1, 0.2]
    assert (run.certified_accuracy(radii) == every.certified_accuracy(radii)).all()
    assert verify(path, data=(X, WRONG), model=MODEL, rerun=12).findings == ()
    # a row left out though its label is among the k
    head, *lines = path.read_text().splitlines()
    gone = next(i for i, row in enumerate(run.rows) if row.is_left_out)
    cells = dict(zip(head.split("\t"), lines[gone].split("\t"), strict=True))
    for name in ("idx", "label", "select", "input", "time"):
        del cells[name]
    found = forged(path, **cells)
    assert any("an input to be sampled" in finding.text for finding in found)


def test_the_command_line_says_how_many_were_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", x=X, y=WRONG)
    lines = "from rsbounds.testing._rows import linear", "", "def model():"
    text = "\n".join([*lines, "    return linear(8)", ""])
    (tmp_path / "mine.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    command = "certify --model mine:model --data data.npz --sigma 0.25 --n 10000"
    words = [*command.split(), "--tolerance", "0.2", "--only-correct"]
    assert main([*words, "--out", "run.tsv"]) == 0
    assert "% of n = 10000 samples an input were drawn" in capsys.readouterr().out
    manifest = results.read("run.tsv").manifest
    assert manifest.procedure.tolerance == 0.2
    assert main(["report", "run.tsv"]) == 0
    assert "were not sampled" in capsys.readouterr().out
    assert main(["verify", "run.tsv", "--data", "data.npz"]) == 0


# --- what more samples would show


@pytest.fixture(scope="module")
def pilot():
    """A pilot whose scores are spread, and a part of whose classes is wrong."""
    x = np.random.default_rng(1).random((60, 8)).astype(np.float32)
    y = MODEL(x).argmax(axis=1)
    y[:6] = (y[:6] + 1) % 3
    return certify_dataset(MODEL, (x, y), gaussian(SIGMA), n=1000)


@pytest.mark.slow
def test_what_is_expected_is_what_is_found(pilot):
    x = np.random.default_rng(2).random((400, 8)).astype(np.float32)
    y = MODEL(x).argmax(axis=1)
    y[:40] = (y[:40] + 1) % 3
    radii = [0.0, 0.1, 0.25]
    expected, shared = forecast(pilot, [5000], radii=radii, tolerance=0.1)
    found = certify_dataset(MODEL, (x, y), gaussian(SIGMA), n=5000)
    low, high = expected.average_radius[1:]
    assert low <= found.average_radius() <= high
    for share, at in zip(
        found.certified_accuracy(radii), expected.accuracy, strict=True
    ):
        assert at.low <= share <= at.high
    looked = certify_dataset(MODEL, (x, y), gaussian(SIGMA), n=5000, tolerance=0.1)
    # of 60 inputs: a tenth of the samples more or less
    assert abs(shared.samples / (100 + looked.samples() / 400) - 1) < 0.1
    assert expected.samples == 5100
    assert shared.samples_only_correct < 0.95 * shared.samples


def test_a_forecast_repeats_and_refuses(pilot):
    assert forecast(pilot, [1000], runs=20) == forecast(pilot, [1000], runs=20)
    for wrong, what in (
        (replace(pilot, manifest=None), "manifest"),
        (replace(pilot, rows=pilot.rows[:9]), "at least 10"),
    ):
        with pytest.raises(ValueError, match=what):
            forecast(wrong, [1000])


@pytest.fixture
def pilots(tmp_path, monkeypatch):
    """Two pilots of 16 inputs, at two noise levels."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plan, "NUMBERS", (1000, 3000))
    x = np.random.default_rng(1).random((16, 8)).astype(np.float32)
    data = x, MODEL(x).argmax(axis=1)
    for name, sigma in (("pilot", SIGMA), ("wide", 2 * SIGMA)):
        certify_dataset(MODEL, data, gaussian(sigma), n=1000, out=f"{name}.tsv")


def test_plan_recommends_the_least_that_loses_little(pilots, capsys):
    assert main(["plan", "pilot.tsv", "--n", "10000", "--radii", "0,0.25"]) == 0
    said, _, name, *table = capsys.readouterr().out.splitlines()
    assert name == "pilot.tsv:"
    assert len(table) == 1 + 2 * 3
    assert table[0].split()[:4] == ["n", "bound", "ACR", "minutes"]
    assert said.startswith("pilot.tsv, 16 inputs: --n ")
    assert " minutes" in said
    for wrong in (["--lose", "1"], ["--hours", "nan"], ["--hours", "1e-9"]):
        assert main(["plan", "pilot.tsv", *wrong]) == 2
        assert f"{wrong[0]} must be" in capsys.readouterr().err


def test_plan_puts_pilots_side_by_side(pilots, capsys):
    words = ["plan", "pilot.tsv", "wide.tsv", "--hours", "1", "--inputs", "500"]
    assert main(words) == 0
    first, second, head, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("pilot.tsv, 500 inputs: --n ")
    assert second.startswith("wide.tsv, 500 inputs: --n ")
    assert head.split()[:3] == ["pilot", "n", "bound"]
    assert [line.split()[0] for line in lines[:2]] == ["pilot.tsv", "wide.tsv"]


def test_plan_spends_no_more_than_the_hours(pilots, capsys):
    def planned(*more):
        assert main(["plan", "pilot.tsv", "--json", *more]) == 0
        (own,) = json.loads(capsys.readouterr().out)["pilots"]
        return own

    every = planned()
    minutes = sorted(each["minutes"] for each in every["forecasts"])
    middle = (minutes[2] + minutes[3]) / 2
    own = planned("--hours", repr(middle / 60))
    assert own["recommended"]["minutes"] <= middle
    affordable = [e for e in every["forecasts"] if e["minutes"] <= middle]
    largest = max(each["average_radius"]["mean"] for each in affordable)
    best = max(
        each["average_radius"]["mean"]
        for each in own["forecasts"]
        if each["minutes"] == own["recommended"]["minutes"]
    )
    assert best >= 0.998 * largest


@pytest.mark.slow
def test_plan_never_recommends_all_of_a_run_for_all_of_it(pilots, capsys):
    for n in ("1000", "100000"):
        for more in ([], ["--lose", "0"]):
            assert main(["plan", "pilot.tsv", "--n", n, *more]) == 0
            assert "with 100.0%" not in capsys.readouterr().out


def test_a_bound_with_looks_of_its_own_is_an_entry():
    looks = Looks(
        "clopper-pearson",
        ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1), Fraction(1, 2))),
    )
    halves = Bound("halves", "counts", BOUNDS["staged"].lower, looks=looks)
    assert [look.samples for look in halves.looks.at(101, 0.1)] == [51, 101]
