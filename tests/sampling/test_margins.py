"""Votes by a margin: certificates of the program that runs."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from rsbounds import certify_dataset, demo
from rsbounds.answers import Maps, TopClass, TopK, Values, certify_counts
from rsbounds.audit import verify
from rsbounds.certify import Procedure, certify, forecast, measure_margin
from rsbounds.cli import main
from rsbounds.confidence import pair_bounds
from rsbounds.noises import grid_noise
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.reports import card
from rsbounds.results import read
from rsbounds.results.internal import write
from rsbounds.sampling import ArraySampler
from rsbounds.sampling.margins import Difference, leads
from rsbounds.schemes import gaussian
from rsbounds.torch import TorchSampler

SIGMA = 0.5
WEIGHTS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], np.float32)
X = np.array([[0.9, 0.0], [0.2, 0.1], [0.0, 0.7]], np.float32)
Y = np.array([0, 0, 1])


def scores(batch):
    return batch @ WEIGHTS.T.astype(batch.dtype)


def linear(dtype=torch.float32):
    model = torch.nn.Linear(2, 3, bias=False)
    model.weight.data = torch.from_numpy(WEIGHTS)
    return model.to(dtype)


MODELS = [pytest.param(lambda: scores, id="numpy"), pytest.param(linear, id="torch")]


def test_leads_is_exact_at_the_margin():
    # neighbours of 1 + 0.1: the largest that does not lead, and the first that does
    tops = 1.0 + np.nextafter(0.1, [0.0, 1.0]) + np.array([0.0, 2.0**-51])
    for top in tops:
        exact = Fraction(float(top)) - 1 > Fraction(0.1)
        assert leads(np.array([[1.0, top]]), 0.1)[0] == exact


def test_ties_do_not_lead_by_a_margin_of_zero():
    tied = np.array([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, -0.0, -1.0]])
    for dtype in (np.float16, np.float32, np.float64, np.longdouble, np.int64):
        assert leads(tied.astype(dtype), 0.0).tolist() == [False, True, False]
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.int64):
        sampler = TorchSampler(Tied(dtype)).with_margin(0.0)
        counts = np.asarray(sampler(X[0], SIGMA, 20, np.random.default_rng(0)))
        assert counts.sum() == 0


class Tied(torch.nn.Module):
    """Two classes with one score, which argmax would give to the first."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.dtype = dtype

    def forward(self, batch):
        return torch.ones(len(batch), 2, dtype=self.dtype)


def test_half_precision_scores_lead_as_float64_has_them():
    """1 and its neighbour in float16, a margin between half of the step and all."""
    row = np.array([[1.0, np.nextafter(np.float16(1), np.float16(2))]], np.float16)
    assert row.dtype == np.float16
    assert leads(row, 0.0009)[0]
    assert not leads(row, 2.0**-10)[0]
    overflowed = np.array([[np.inf, 1.0]], np.float16)
    assert not leads(overflowed, 0.0)[0]  # infinite: at no finite distance of 70,000


def test_scores_that_float64_does_not_hold_are_void():
    near = np.array([[2**53, 2**53 + 1], [2**53 - 1, 5]])
    assert leads(near, 0.0).tolist() == [False, True]
    longer = np.array([[1, 1 + np.finfo(np.longdouble).eps]], np.longdouble)
    if np.finfo(np.longdouble).eps < np.finfo(np.float64).eps:
        assert not leads(longer, 0.0)[0]

    class Whole(torch.nn.Module):
        def forward(self, batch):
            return torch.tensor([2**53, 2**53 + 3]).expand(len(batch), 2)

    sampler = TorchSampler(Whole()).with_margin(3.5)
    assert np.asarray(sampler(X[0], SIGMA, 9, np.random.default_rng(0))).sum() == 0


def test_a_pilot_by_a_margin_expects_its_void_votes():
    x = np.tile(X, (4, 1)) + np.arange(12, dtype=np.float32)[:, None] / 100
    data = x, np.tile(Y, 4)
    pilots = [
        certify_dataset(scores, data, gaussian(SIGMA), n=500, margin=margin)
        for margin in (None, 0.3)
    ]
    plain, marked = (
        forecast(pilot, [1000], runs=20, tolerance=0.1)[0] for pilot in pilots
    )
    assert marked.average_radius.high < plain.average_radius.mean


@pytest.mark.parametrize(
    "row", [[np.nan, 0.0], [0.0, np.nan], [np.inf, 0.0], [np.inf, np.inf]]
)
def test_scores_that_are_no_numbers_are_void(row):
    row = [*row, -1.0]
    assert not leads(np.array([row]), 0.0)[0]

    class Constant(torch.nn.Module):
        def forward(self, batch):
            return torch.tensor(row).expand(len(batch), 3)

    samplers = [
        ArraySampler(lambda batch: np.tile(row, (len(batch), 1))),
        TorchSampler(Constant()),
    ]
    for sampler in samplers:
        marked = sampler.with_margin(0.0)
        counts = marked(X[0], SIGMA, 20, np.random.default_rng(0))
        assert np.asarray(counts).sum() == 0


@pytest.mark.parametrize("make", MODELS)
def test_votes_are_those_that_lead(make):
    seen = []

    def watched(batch):
        seen.append(scores(batch))
        return seen[-1]

    sampler = ArraySampler(watched)
    sampler(X[1], SIGMA, 400, np.random.default_rng(5))
    drawn = seen[-1].astype(np.float64)
    ranked = np.sort(drawn, axis=1)
    counts = ranked[:, -1] - ranked[:, -2] > 0.25
    expected = np.bincount(drawn.argmax(1)[counts], minlength=3)
    marked = sampler.with_margin(0.25)
    assert marked(X[1], SIGMA, 400, np.random.default_rng(5)).tolist() == [*expected]
    assert sampler.margin is None
    if make is linear:
        plain = TorchSampler(linear())
        with_margin = plain.with_margin(0.25)
        all_votes = np.asarray(plain(X[1], SIGMA, 400, np.random.default_rng(5)))
        votes = np.asarray(with_margin(X[1], SIGMA, 400, np.random.default_rng(5)))
        assert 0 < votes.sum() < all_votes.sum() == 400
        assert (votes <= all_votes).all()


def test_void_votes_count_for_the_runner_up():
    with_margin = certify(
        ArraySampler(scores), X[0], gaussian(SIGMA), n=2000, margin=0.1
    )
    void = with_margin.n - sum(with_margin.counts)
    assert void > 0
    second = sorted(with_margin.counts)[-2] + void
    pair = pair_bounds(with_margin.count, second, 2000, 0.001, scores=True)
    assert (with_margin.z_a, with_margin.z_b) == pair
    # without, the same: counts don't tell why a sample has no class
    without = certify_counts(
        gaussian(SIGMA),
        SIGMA,
        with_margin.select,
        with_margin.counts,
        Procedure(n0=100, n=2000, alpha=0.001),
    )
    assert (without.z_a, without.z_b) == pair


def test_draws_that_decide_nothing_count_for_the_runner_up(monkeypatch, tmp_path):
    """Those of Gaussian noise on a grid counted for nobody, so that the radius of
    (1539, 361) of 2,000 was .7203.
    """
    draw = grid_noise.noisy

    def undecided(*args):
        batch, void = draw(*args)
        void[::20] = True
        return batch, void

    monkeypatch.setattr(grid_noise, "noisy", undecided)
    x = np.round(X * 255) / 255
    sampler = ArraySampler(scores, noise=OnGrid())
    path = tmp_path / "run.tsv"
    with pytest.warns(RuntimeWarning, match="void"):
        run = certify_dataset(sampler, (x, Y), gaussian(SIGMA), out=path, n=2000)
    for row in run.rows:
        void = row.n - sum(row.counts)
        assert void == 100
        second = sorted(row.counts)[-2] + void
        assert row.z_b == pair_bounds(row.count, second, row.n, 0.001, scores=True)[1]
    assert not verify(path).findings
    row, *others = run.rows
    second = sorted(row.counts)[-2]
    z_b = pair_bounds(row.count, second, row.n, 0.001, scores=True)[1]
    write(tmp_path / "f.tsv", run.manifest, [replace(row, z_b=float(z_b)), *others])
    found = verify(tmp_path / "f.tsv").findings
    assert "bound" in {str(finding.kind) for finding in found}
    counts = (1539, 361), (1539, 461)
    numbers = Procedure(n0=100, n=2000, alpha=0.001)
    both = [certify_counts(gaussian(1.0), 1.0, [9, 0], c, numbers) for c in counts]
    assert both[0].radius == both[1].radius


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("bound", ["clopper-pearson", "staged", "anytime"])
def test_files_are_proved_and_forged_ones_found(make, bound, tmp_path):
    path = tmp_path / "run.tsv"
    numbers = {"n": 1000, "bound": bound, "margin": 0.05}
    run = certify_dataset(make(), (X, Y), gaussian(SIGMA), out=path, **numbers)
    assert run.manifest.procedure.margin == 0.05
    assert run.manifest.engine["margin"] == {"basis": "stated"}
    assert any(row.void for row in run.rows)
    checked = verify(path, data=(X, Y), model=make(), rerun=2)
    assert not checked.findings
    again = certify_dataset(make(), (X, Y), gaussian(SIGMA), out=path, **numbers)
    assert [row.radius for row in again.rows] == [row.radius for row in run.rows]
    with pytest.raises(ValueError, match="margin"):
        certify_dataset(make(), (X, Y), gaussian(SIGMA), out=path, n=1000, bound=bound)
    # the same votes, void for another reason
    other = tmp_path / "other.tsv"
    nan = NanNearTies()
    with pytest.warns(RuntimeWarning, match="void"):
        certify_dataset(nan, (X, Y), gaussian(SIGMA), out=other, n=1000, bound=bound)
    assert not verify(other).findings
    # and rows that forget them
    forged = [replace(row, z_b=row.z_b - 0.2) for row in run.rows]
    write(other, run.manifest, forged)
    assert {str(found.kind) for found in verify(other).findings} >= {"bound"}


class NanNearTies(ArraySampler):
    """Void where scores are near, without a margin."""

    def __init__(self):
        def near(batch):
            found = scores(batch).astype(np.float32)
            found[~leads(found, 0.05)] = np.nan
            return found

        super().__init__(near)


def test_sums_of_top_k_have_the_void_votes(tmp_path):
    path = tmp_path / "k.tsv"
    run = certify_dataset(
        scores, (X, Y), TopK(gaussian(SIGMA), 2), out=path, n=1000, margin=0.3
    )
    assert not verify(path).findings
    plain = certify_dataset(scores, (X, Y), TopK(gaussian(SIGMA), 2), n=1000)
    for row, bare in zip(run.rows, plain.rows, strict=True):
        assert row.radius < bare.radius
    with pytest.warns(RuntimeWarning, match="void"):
        forged = certify_dataset(
            NanNearTies(), (X, Y), TopK(gaussian(SIGMA), 2), out=tmp_path / "f.tsv"
        )
    assert forged.rows[0].void


def test_maps_count_positions_by_the_margin():
    def two(batch):
        return np.stack([batch, -batch], axis=1)

    x = np.array([[0.3, -2.0, 0.05]], np.float32)
    plain = certify_dataset(two, x, Maps(gaussian(SIGMA)), n=200)
    marked = certify_dataset(two, x, Maps(gaussian(SIGMA)), n=200, margin=0.4)
    with torch.no_grad():
        model = TwoMaps()
        same = certify_dataset(model, x, Maps(gaussian(SIGMA)), n=200, margin=0.4)
    assert plain.rows[0].void == 0 < marked.rows[0].void
    assert same.rows[0].void > 0
    assert marked.rows[0].extra["hits"] != plain.rows[0].extra["hits"]


class TwoMaps(torch.nn.Module):
    def forward(self, batch):
        return torch.stack([batch, -batch], 1)


def test_what_has_no_margin_says_so():
    with pytest.raises(ValueError, match=r"margin.*votes"):
        certify_dataset(
            lambda batch: batch[:, :1],
            X,
            Values(gaussian(SIGMA), [0.1]),
            n=100,
            margin=0.1,
        )

    with pytest.raises(ValueError, match=r"margin.*counts"):
        TopClass(gaussian(SIGMA)).check(Procedure(bound="betting", margin=0.1))

    def sampler(x, sigma, n, generator):
        return np.array([n, 0])

    with pytest.raises(ValueError, match="scores of a model"):
        certify(sampler, X[0], gaussian(SIGMA), n=100, margin=0.1)
    for margin in (-1.0, np.nan, np.inf, "x"):
        with pytest.raises(ValueError, match="margin"):
            Procedure(margin=margin)


def other_threads():
    """The other number of threads that a module on a CPU is compared with."""
    return ["one thread" if torch.get_num_threads() > 1 else "several threads"]


def test_a_margin_is_measured_against_float64():
    weights = np.linspace(0.1, 0.9, 6, dtype=np.float32).reshape(3, 2) / 3
    model = torch.nn.Linear(2, 3)
    model.weight.data = torch.from_numpy(weights)
    margins = {}
    for dtype in (torch.float32, torch.bfloat16):
        made = model.to(dtype)
        margin, record = measure_margin(made, (X, Y), gaussian(SIGMA))
        assert record["settings"] == ["batches of 7", *other_threads(), "float64"]
        assert margin >= 16 * record["largest"] > 0
        assert next(made.parameters()).dtype == dtype
        margins[dtype] = margin
    assert margins[torch.bfloat16] > 1000 * margins[torch.float32]


def test_a_margin_is_measured_where_scores_stay_in_half_precision():
    """NumPy has no bfloat16: the scores of the wide model were read as they are."""

    class Half(torch.nn.Module):
        def forward(self, batch):
            return batch.bfloat16()

    margin, record = measure_margin(Half(), (X, Y), gaussian(SIGMA))
    assert record["settings"][-1] == "float64"
    assert margin >= 0


class ByThreads(torch.nn.Module):
    """Scores that depend on how many threads there are."""

    def forward(self, batch):
        return batch + 1e-3 * torch.get_num_threads() * torch.tensor([1.0, -1.0])


def test_a_margin_is_measured_by_another_number_of_threads():
    before = torch.get_num_threads()
    record = measure_margin(ByThreads(), (X, Y), gaussian(SIGMA)).record
    assert record["largest"] >= 0.9e-3
    assert other_threads()[0] in record["settings"]
    assert torch.get_num_threads() == before


def test_threads_of_numpy_are_changed_where_something_can():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads():
        pools = threadpoolctl.threadpool_info()
        return max(pool["num_threads"] for pool in pools if pool["user_api"] == "blas")

    def by_threads(batch):
        return batch + 1e-3 * threads() * np.array([1.0, -1.0], batch.dtype)

    before = threads()
    record = measure_margin(by_threads, (X, Y), gaussian(SIGMA)).record
    assert record["largest"] >= 0.9e-3
    assert record["settings"][1].endswith("of BLAS")
    assert threads() == before


def test_a_compiled_model_is_compared_with_itself(monkeypatch):
    """The compiler is a stand-in here: a real one takes seconds."""
    monkeypatch.setattr(torch, "compile", lambda model, **_: torch.nn.Sequential(model))
    sampler = TorchSampler(linear(), compile=True)
    record = measure_margin(sampler, (X, Y), gaussian(SIGMA)).record
    assert record["settings"][1] == "not compiled"


def uncertain():
    """A network of ten near outputs in bfloat16."""
    torch.manual_seed(1)
    hidden = torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)
    model = torch.nn.Sequential(*hidden, torch.nn.ReLU(), torch.nn.Linear(64, 10))
    return model.bfloat16()


def test_under_a_measured_margin_no_vote_changes():
    bare = TorchSampler(uncertain())
    unsure = bare.compared(X[1], 5.0, 4000, np.random.default_rng(0))
    assert unsure.changed > 0  # bfloat16 is not float64
    margin, _ = measure_margin(uncertain(), (X, Y), gaussian(5.0))
    sure = bare.with_margin(margin)
    found = sure.compared(X[1], 5.0, 4000, np.random.default_rng(0))
    assert found.changed == 0 < found.counted < found.samples == 4000


@pytest.mark.slow
def test_programs_of_one_network_have_the_same_certificates_under_a_margin():
    """As the page on one network and many programs has it for all held-out digits."""
    network = demo.model(0)
    _, _, x, y = demo.digits(0)
    data = x[:24], y[:24]
    numbers = {"n0": 20, "n": 200, "alpha": 0.05}
    margin, _ = measure_margin(network, data, gaussian(SIGMA))

    def run(threads=1, margin=margin, **options):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            sampler = TorchSampler(network, noise=OnGrid(), **options)
            made = certify_dataset(
                sampler, data, gaussian(SIGMA), margin=margin, **numbers
            )
        finally:
            torch.set_num_threads(before)
        return [(row.predict, row.select, row.counts, row.radius) for row in made.rows]

    first = run()
    # blocks of another size hold other noise: compiled, they are of powers of two
    for options in ({"forward_batch": 1}, {"threads": 2}, {"batch": 1}):
        assert run(**options) == first
    narrow = TorchSampler(network, autocast="bfloat16")
    wider, _ = measure_margin(narrow, data, gaussian(SIGMA))
    assert wider > 1000 * margin
    plain = run(autocast="bfloat16", margin=None)
    assert [row[1:3] for row in plain] != [row[1:3] for row in run(margin=None)]
    rows = run(autocast="bfloat16", margin=wider), run(margin=wider)
    for (predict, *_), (other, *_) in zip(*rows, strict=True):
        assert predict == other or -1 in (predict, other)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_really_compiled_model_is_compared_with_itself():
    sampler = TorchSampler(linear(), compile=True)
    record = measure_margin(sampler, (X, Y), gaussian(SIGMA)).record
    assert "not compiled" in record["settings"]
    assert record["largest"] < 1e-5


def test_measuring_infinite_differences_is_refused():
    found = Difference(margin=0.0)
    found.add(np.array([[1.0, np.nan]]), np.array([[1.0, 2.0]]), "float64")
    with pytest.raises(ValueError, match="infinity"):
        found.times(16)


def test_auto_is_recorded_and_kept(tmp_path, capsys):
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    (tmp_path / "model.py").write_text(
        "import torch\ntorch.manual_seed(0)\nmodel = torch.nn.Linear(2, 3)\n"
        "def make():\n    return model\n"
    )
    out = tmp_path / "run.tsv"
    words = ["certify", "--model", f"{tmp_path}/model.py:make"]
    words += ["--data", str(tmp_path / "data.npz"), "--sigma", "0.5", "--n", "500"]
    words += ["--out", str(out), "--margin", "auto"]
    assert not main(words)
    first = out.read_text()
    manifest = read(out).manifest
    record = manifest.engine["margin"]
    assert record["basis"] == "measured"
    assert manifest.procedure.margin > 0
    assert not main(words)  # goes on with the margin of the file
    assert out.read_text() == first
    capsys.readouterr()
    assert not main(["report", str(out)])
    assert "holds for the program" in capsys.readouterr().out
    made = card(read(out))
    assert "measured: 16 times" in made["about"]["holds for the program"]


@pytest.mark.slow
def test_verify_counts_the_votes_that_change(tmp_path):
    data = X, Y
    numbers = {"n": 2000, "alpha": 0.01}
    bare = tmp_path / "bare.tsv"
    certify_dataset(uncertain(), data, gaussian(5.0), out=bare, **numbers)
    given = {"data": data, "model": uncertain(), "rerun": 3, "margin": True}
    found = verify(bare, **given)
    assert not found.findings
    assert found.votes.changed > 0
    sure = tmp_path / "sure.tsv"
    certify_dataset(
        uncertain(), data, gaussian(5.0), out=sure, margin="auto", **numbers
    )
    found = verify(sure, **given)
    assert not found.findings
    assert (found.votes.samples, found.votes.changed) == (6000, 0)
    assert "margin" in found.stated
    # far less than what bfloat16 needs
    small = tmp_path / "small.tsv"
    certify_dataset(uncertain(), data, gaussian(5.0), out=small, margin=1e-9, **numbers)
    found = verify(small, **given)
    apart, led = [finding.text for finding in found.findings]
    assert "under other settings, more than the margin 1e-09 allows" in apart
    assert "votes that lead by the margin" in led
    with pytest.raises(ValueError, match="rerun"):
        verify(sure, margin=True)


def test_a_measured_margin_is_that_of_its_record(tmp_path):
    path = tmp_path / "run.tsv"
    model = uncertain()
    certify_dataset(model, (X, Y), gaussian(5.0), out=path, n=50, margin="auto")
    assert not verify(path).findings
    place = tmp_path / "run.tsv.manifest.json"
    entries = json.loads(place.read_text())
    record = entries["engine"]["margin"]
    for changes in ({"largest": 2 * record["largest"]}, {"multiple": 1000}):
        engine = {**entries["engine"], "margin": {**record, **changes}}
        place.write_text(json.dumps(entries | {"engine": engine}))
        assert "record of a measurement" in verify(path).findings[0].text
    place.write_text(json.dumps(entries | {"margin": entries["margin"] / 2}))
    assert any("of a measurement" in found.text for found in verify(path).findings)
