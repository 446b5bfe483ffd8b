"""Noise that counts changes, and noise in l1: levels, rows, answers, commands."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from cli_models import one_line, prepare, refused
from exact_curves import cases_of
from scipy import sparse

from rsbounds import certify_dataset, reports, results, schemes
from rsbounds.answers import (
    Maps,
    TopClass,
    TopK,
    Values,
    certify_counts,
    conformal_level,
    top_k_radius,
)
from rsbounds.audit import verify
from rsbounds.audit._finding import Kind
from rsbounds.audit.schemes import RADII
from rsbounds.certificate import EDITS
from rsbounds.certify._forecast import _inputs_of
from rsbounds.cli import main
from rsbounds.confidence import pair_bounds
from rsbounds.oracle import discrete
from rsbounds.procedure import Procedure
from rsbounds.results import Row
from rsbounds.results.internal import COLUMNS

DISCRETE = {
    "categorical": partial(schemes.categorical, 0.5, 4),
    "flips": partial(schemes.flips, 0.2, 0.4),
    "mask": partial(schemes.mask, 30, 3),
    "mask of any length": partial(schemes.mask, keep_probability=0.1),
    "deletion": partial(schemes.deletion, 0.9),
    "blocks": lambda: schemes.blocks(
        schemes.flips(0.2, 0.4), schemes.categorical(0.5, 3), splits=[2]
    ),
}


# --- levels, by all outcomes of a few samples


@pytest.mark.parametrize("name", DISCRETE)
def test_each_radius_is_wrong_as_rarely_as_alpha_says(name):
    """At the largest probability that does not certify r, exactly: in rationals."""
    scheme, n = DISCRETE[name](), 40
    numbers = {"n0": 10, "n": n, "alpha": 0.05, "runner_up": False}
    radii = []
    for count in range(n + 1):
        votes = [count, n - count]
        certificate = certify_counts(
            scheme, scheme.own_level, [10, 0], votes, Procedure(**numbers)
        )
        radii.append(certificate.radius)
    for r in range(1, int(max(radii)) + 1):
        p = discrete.infimum(cases_of(scheme.curve, r))
        wrong = sum(
            math.comb(n, count) * p**count * (1 - p) ** (n - count)
            for count in range(n + 1)
            if radii[count] >= r
        )
        assert 0 < wrong <= Fraction(0.05)
    assert max(radii) >= 1


def test_all_outcomes_of_splitting_are_the_truth():
    """n_A - m q > n_B + m q for the steps m of the grid, and no others; n_B has those
    without a class.
    """
    scheme = schemes.splitting(0.5, 8)
    numbers = {"n": scheme.outcomes, "n0": 8, "alpha": 0.05, "bound": "exact"}
    for first in range(9):
        for second in range(9 - first):
            others = 8 - first
            if first <= others:
                continue
            counts = [first, second]
            found = certify_counts(scheme, 0.5, counts, counts, Procedure(**numbers))
            steps = [m for m in range(1, 9) if m / 8 < found.radius]
            held = [m for m in range(1, 9) if first - m > others + m]
            assert steps == held, counts
            assert found.predict == 0


def test_only_noise_that_is_evaluated_whole_has_the_bound_of_all_outcomes():
    split, numbers = schemes.splitting(0.5, 8), {"n0": 8, "alpha": 0.05}
    counts = [8, 0]
    with pytest.raises(ValueError, match=r"bound.*samples"):
        certify_counts(
            schemes.gaussian(0.5),
            0.5,
            counts,
            counts,
            Procedure(n=8, bound="exact", **numbers),
        )
    with pytest.raises(ValueError, match=r"bound.*'exact'"):
        certify_counts(split, 0.5, counts, counts, Procedure(n=8, **numbers))
    with pytest.raises(ValueError, match=r"n must.*outcomes"):
        certify_counts(
            split, 0.5, counts, counts, Procedure(n=9, bound="exact", **numbers)
        )


# --- proofs, and what is forged


@pytest.mark.parametrize("name", DISCRETE)
def test_a_change_more_is_not_proved(name):
    scheme = DISCRETE[name]()
    for z_a, z_b in ((2.3, None), (1.5, -1.9)):
        proved = partial(
            RADII[scheme.name].proved, scheme.parameters, 1.0, z_a=z_a, z_b=z_b
        )
        radius = scheme.radius(z_a, scheme.own_level, z_b)
        assert proved(radius=radius)
        assert not proved(radius=radius + 1)
        assert not proved(radius=math.inf)
        assert not proved(radius=math.nan)
        if scheme.columns:
            entries = scheme.further(z_a, -z_a if z_b is None else z_b)["frontier"]
            for entry in entries.split(";"):
                counts = tuple(map(int, entry.split(",")))
                assert proved(radius=counts)
                assert not proved(radius=(counts[0] + 1, counts[1]))
                assert not proved(radius=(counts[0], counts[1] + 1))


def by_sum(batch):
    total = np.asarray(batch).reshape(len(batch), -1).sum(axis=1)
    return np.stack([12.5 - total, total - 12.5], axis=1)


def run(scheme, path, answer=TopClass, model=by_sum, **numbers):
    """Six inputs, all zeros or all ones."""
    labels = np.array([0, 1, 1, 0, 1, 0])
    data = (np.repeat(labels[:, None], 30, axis=1), labels)
    numbers = {"n": 2000, "n0": 50, **numbers}
    certify_dataset(model, data, answer(scheme), out=path, **numbers)
    return data


def test_what_a_file_of_flips_states_is_less_with_data_and_model(tmp_path):
    path = tmp_path / "run.tsv"
    data = run(schemes.flips(0.2, 0.4), path)
    audit = verify(path, data=data)
    assert audit.findings == ()
    assert audit.stated == (
        *("counts", "times"),
        *("parameters.add", "parameters.delete", "data.kind", "versions", "run"),
    )
    drawn = verify(path, data=data, model=by_sum, rerun=6)
    assert drawn.stated == ("times", "data.kind", "versions", "run")
    rows = results.read(path).rows
    assert {row.norm for row in rows} == {0.0}
    assert max(row.radius for row in rows) >= 1


def test_undecided_draws_count_for_the_runner_up(tmp_path):
    """A copy may be void because its draw decided nothing: by chance, as the noise is,
    so that the samples with a class alone would bound a smaller probability.
    """
    numbers = {"n0": 100, "n": 1000, "alpha": 0.001}
    scheme = schemes.categorical(0.9, 4)
    with_void, added = (
        certify_counts(
            scheme, scheme.own_level, [100, 0, 0], counts, Procedure(**numbers)
        )
        for counts in ([800, 100, 50], [800, 150, 50])
    )
    assert (with_void.z_a, with_void.z_b) == (added.z_a, added.z_b)
    path = tmp_path / "run.tsv"
    with pytest.warns(RuntimeWarning, match="void"):
        run(schemes.flips(0.2, 0.4), path, model=now_and_then)
    assert verify(path).findings == ()
    row, *others = (before := results.read(path)).rows
    assert row.void > 10
    top, second = sorted(row.counts, reverse=True)
    z_a, z_b = pair_bounds(top, second, row.n, 0.001, scores=True)
    assert z_a == row.z_a
    assert z_b < row.z_b
    place = tmp_path / "forged.tsv"
    results.internal.write(
        place, before.manifest, [replace(row, z_b=float(z_b)), *others]
    )
    assert Kind.BOUND in {finding.kind for finding in verify(place).findings}


def test_a_forecast_counts_undecided_draws_as_a_run_does(tmp_path):
    path = tmp_path / "run.tsv"
    scheme = schemes.flips(0.2, 0.4)
    with pytest.warns(RuntimeWarning, match="void"):
        run(scheme, path, model=now_and_then)
    pilot = results.read(path)
    inputs = _inputs_of(pilot)
    # of two classes: what the selected one lacks is the other's or void
    assert (inputs.first + inputs.second == 2000).all()
    assert max(row.void for row in pilot.rows) > 0


def now_and_then(batch):
    """by_sum and a class that never wins, but for one in five outcomes no number."""
    scores = by_sum(batch)
    scores = np.column_stack([scores, scores.min(axis=1) - 1])
    scores[np.asarray(batch).sum(axis=1) % 5 == 0] = np.nan
    return scores


@pytest.mark.parametrize(
    ("scheme", "radius"),
    [
        (schemes.mask(3000, 4), 468.0),
        (schemes.mask(keep_probability=0.0015), 452.0),
        (schemes.deletion(0.9985), 452.0),
        (schemes.categorical(0.525, 2), 606.0),
        (schemes.categorical(0.28, 4), 492.0),
    ],
)
def test_hundreds_of_changes_are_proved(scheme, radius, tmp_path):
    """Radii above 400 were findings, though they were right."""
    path, forged = tmp_path / "run.tsv", tmp_path / "forged.tsv"

    def always_first(batch):
        return np.tile([1.0, 0.0], (len(batch), 1))

    data = (np.zeros((1, 3000), np.int64), np.array([0]))
    certify_dataset(always_first, data, TopClass(scheme), out=path, n=1000, n0=20)
    before = results.read(path)
    (row,) = before.rows
    assert row.radius == radius
    assert verify(path, data=data).findings == ()
    for wrong, text in ((radius + 1, "more than the counts"), (1e16, "more changes")):
        forged.unlink(missing_ok=True)
        forged.with_name("forged.tsv.manifest.json").unlink(missing_ok=True)
        results.internal.write(forged, before.manifest, [replace(row, radius=wrong)])
        (finding,) = verify(forged).findings
        assert finding.kind is Kind.RADIUS
        assert text in finding.text


def test_rows_that_count_edits_are_read_and_shown(tmp_path):
    row = Row(0, 1, 1, 3.0, True, "fixed noise", norm=EDITS.spelled)
    columns = COLUMNS
    assert Row.parse(row.text(columns), columns) == row
    assert Row.parse(replace(row, norm=0.0).text(columns), columns).norm == 0.0
    path = tmp_path / "run.tsv"
    run(schemes.deletion(0.9), path, model=of_lengths)
    assert verify(path).findings == ()
    (file,) = [results.read(path)]
    assert reports.summary(file)["norm"] == EDITS.spelled
    assert EDITS.spelled in reports.table([file], style="csv")
    reports.plot([file], tmp_path / "plot.svg")
    reports.html([file], tmp_path / "page.html")
    counts = replace(row, norm="2 edits")
    with pytest.raises(ValueError, match="in column norm"):
        Row.parse(counts.text(columns), columns)


def of_lengths(sequences):
    return np.array([[len(s), 15.5] for s in sequences], float)


# --- answers


def pixels(batch):
    flat = np.asarray(batch).reshape(len(batch), -1).astype(float)
    return np.stack([flat.sum(axis=1), np.full(len(flat), 8.0), flat[:, 0]], axis=1)


def two_maps(batch):
    batch = np.asarray(batch, float)
    return np.stack([batch, 1 - batch], axis=1)


@pytest.mark.parametrize(
    ("answer", "model"),
    [
        (partial(TopK, k=2), pixels),
        (partial(Values, radii=[0, 1, 2]), lambda b: np.asarray(b, float).sum(axis=1)),
        (partial(Maps, tau=0.9), two_maps),
    ],
)
@pytest.mark.parametrize(
    "scheme", [schemes.categorical(0.6, 2), schemes.mask(30, 3, hidden=1)]
)
def test_other_answers_are_certified_and_proved(answer, model, scheme, tmp_path):
    path = tmp_path / "run.tsv"
    data = run(scheme, path, answer=answer, model=model, n=1000)
    assert verify(path, data=data, model=model, rerun=3).findings == ()


@pytest.mark.parametrize("more", [0.5, 1.0, math.inf])
def test_changes_that_the_best_k_do_not_stand_are_found(more, tmp_path):
    """Half a change more was taken for none."""

    def three_sums(batch):
        total = np.asarray(batch, float).sum(axis=1)
        return np.stack([total + 40, total - 0.5, 10 - total], axis=1)

    path, forged = tmp_path / "run.tsv", tmp_path / "forged.tsv"
    answer = partial(TopK, k=2)
    scheme = schemes.mask(keep_probability=0.3)
    run(scheme, path, answer=answer, model=three_sums, n=1000)
    before = results.read(path)
    (place, row) = max(enumerate(before.rows), key=lambda placed: placed[1].radius)
    assert row.radius >= 1
    assert row.extra["sum_of"] == "2"
    rows = list(before.rows)
    rows[place] = replace(row, radius=row.radius + more)
    results.internal.write(forged, before.manifest, rows)
    assert Kind.RADIUS in {finding.kind for finding in verify(forged).findings}


def test_a_sum_is_compared_by_whole_changes():
    """The largest r with low(p_l) above high(sum)/2, by the curve itself."""
    scheme = schemes.categorical(0.9, 4)
    samples = {"n0": 100, "n": 10_000, "alpha": 0.001, "scheme": scheme}
    select, counts = [60, 20, 15, 5], [9900, 60, 30, 10]
    radius = top_k_radius(select, counts, 0, 3, **samples)
    assert radius == int(radius)
    assert radius >= top_k_radius(select, counts, 0, 1, **samples) >= 1


def test_intervals_are_those_of_whole_changes(tmp_path):
    path = tmp_path / "run.tsv"
    values = partial(Values, radii=[0, 0.99, 1, 1.5])
    scheme = schemes.mask(keep_probability=0.1)
    run(scheme, path, answer=values, model=lambda b: b.sum(axis=1))
    low, high = Values.intervals(results.read(path).rows)
    assert (low[:, 0] == low[:, 1]).all()
    assert (high[:, 0] == high[:, 1]).all()
    assert (low[:, 2] == low[:, 3]).all()
    assert (low[:, 2] < low[:, 0]).any()


def test_coverage_under_changes_of_several_kinds_is_that_of_the_hull():
    """The least of several curves is not convex: Jensen's inequality needs its hull."""
    joint = schemes.flips(0.1, 0.3)
    level = conformal_level(0.3, 1.0, joint)
    assert not joint.convex
    # a mixture of inputs of these coverages must keep 1 - alpha in the mean
    shares = np.linspace(0, 1, 401)
    worst = np.array([joint.curve.low(float(p), 1) for p in shares])
    for one in (0.0, 0.2, 0.5):
        weight = (level - one) / (1 - one)
        mean = weight * 1.0 + (1 - weight) * joint.curve.low(one, 1)
        assert mean >= 0.7
    assert np.interp(level, shares, worst) >= 0.7


# --- the command line


MODELS = """
import numpy as np

def first():
    def scores(batch):
        flat = np.asarray(batch).reshape(len(batch), -1)
        return np.stack([flat[:, 0] == 0, flat[:, 0] != 0], axis=1).astype(float)
    return scores

def longer():
    return lambda batch: np.array([[len(s), 4.5] for s in batch])
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    prepare(tmp_path, monkeypatch)
    Path("threats.py").write_text(MODELS)
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (4, 8))
    np.savez("bits.npz", x=bits, y=bits[:, 0])
    np.savez("values.npz", x=rng.integers(0, 4, (4, 8)), y=[0, 1, 0, 1])
    grid = rng.integers(0, 256, (4, 8)) / 255
    np.savez("grid.npz", x=grid.astype(np.float32), y=[0, 1, 0, 1])
    sparse.save_npz("edges.npz", sparse.csr_array(np.eye(4, 8, dtype=int)))
    np.savez("numbers.npz", x=bits[:, 0], y=bits[:, 0])
    np.savez("ragged.npz", values=[1, 2, 3], offsets=[0, 2, 2, 3], y=[0, 1, 0])
    return tmp_path


def command(*words, data="bits.npz", model="first", n=500):
    numbers = [] if n is None else ["--n", str(n)]
    place = ["--data", data, "--out", "out.tsv", "--n0", "20", *numbers]
    return ["certify", "--model", f"threats.py:{model}", *place, *words]


BLOCKS = "--method blocks --blocks"
GRID = {"data": "grid.npz"}
RUNS = {
    "--method categorical --keep .97 --values 2": {},
    "--method flips --add .01 --delete .02": {"n": 2000},
    "--method mask --keep-count 1 --hidden 2": {},
    "--method deletion --delete .9": {"model": "longer"},
    f"{BLOCKS} flips:add=.01,delete=.02;categorical:keep=.9,values=2 --splits 4": {
        "n": 2000
    },
    "--method laplace --sigma .25": GRID,
    "--method uniform --sigma .25": GRID,
    "--method exponential --rate 4": GRID,
    "--method splitting --sigma .5 --levels 255": GRID | {"n": None},
}


@pytest.mark.parametrize("words", RUNS)
def test_each_method_runs_is_verified_and_certified_again(work, words, capsys):
    changes = RUNS[words]
    assert main(command(*words.split(), **changes)) == 0
    data = changes.get("data", "bits.npz")
    model = f"threats.py:{changes.get('model', 'first')}"
    drawn = ["--data", data, "--model", model, "--rerun", "2"]
    assert main(["verify", "out.tsv", *drawn]) == 0
    bound = "exact" if "splitting" in words else "clopper-pearson"
    again = ["recertify", "out.tsv", "--bound", bound, "--out", "again.tsv"]
    assert main(again) == 0
    assert main(["report", "out.tsv"]) == 0


def test_undirected_edges_and_features_are_flipped_together(work):
    """Symmetric flips once were refused in blocks, and no graph with features ran."""
    edges = np.eye(8, k=1, dtype=np.int8) + np.eye(8, k=-1, dtype=np.int8)
    graph = np.hstack([edges, np.ones((8, 3), np.int8)])
    np.savez("graph.npz", x=graph[None], y=[0])
    Path("symmetric.py").write_text(
        "import numpy as np\n"
        "def model():\n"
        "    def scores(batch):\n"
        "        edges = batch[:, :, :8]\n"
        "        same = (edges == edges.swapaxes(1, 2)).all(axis=(1, 2))\n"
        "        return np.stack([same, ~same], axis=1).astype(float)\n"
        "    return scores\n"
    )
    blocks = "flips:add=.01,delete=.6,symmetric=on;flips:add=.05,delete=.6"
    words = ["--model", "symmetric.py:model", "--data", "graph.npz"]
    chosen = ["--method", "blocks", "--blocks", blocks, "--splits", "8"]
    assert main(["certify", *words, *chosen, "--n", "100", "--out", "out.tsv"]) == 0
    (row,) = results.read("out.tsv").rows
    assert (row.predict, row.count) == (0, 100)
    assert main(["verify", "out.tsv", *words, "--rerun", "1"]) == 0
    scheme = schemes.blocks(
        schemes.flips(0.01, 0.6, symmetric=True), schemes.flips(0.05, 0.6), splits=[8]
    )
    assert scheme.parameters == results.read("out.tsv").manifest.parameters
    assert row.radius == scheme.radius(row.z_a, scheme.own_level, row.z_b) > 0


PAIR = "flips:add=.1,delete=.2;flips:add=.1,delete=.3"
VALUES = "categorical:keep=.8,values=9;categorical:keep=.8,values=2"
#: What reaches the noise by the command line alone; the noises refuse the rest
#: themselves (tests/schemes/test_draws.py).
REFUSED = {
    "--method categorical --keep .8 --values 3": (
        "--data values.npz: the first",
        {"data": "values.npz"},
    ),
    "--method categorical --keep .9 --values 2": (
        "x must be real",
        {"data": "numbers.npz"},
    ),
    "--method flips --add .5 --delete .7": ("--add must be below", {}),
    "--method mask --keep-count 9": ("--keep-count must be less", {}),
    "--method mask --keep-count 3": (
        "--data edges.npz: the first",
        {"data": "edges.npz"},
    ),
    "--method splitting --sigma .3333 --levels 255": (
        "--sigma must be a multiple",
        GRID,
    ),
    "--method splitting --sigma .5 --levels 255": ("--n must", GRID),
    "--sigma .5 --bound exact": ("--bound must", GRID),
    "--method deletion --delete .3": (
        "at least one value for each input",
        {"data": "ragged.npz", "model": "longer"},
    ),
    "--answer list --method deletion --delete .5": ("--answer list", {}),
    "--method deletion --delete .5 --denoiser threats.py:first": ("--denoiser", {}),
    f"{BLOCKS} flips:add=.1;words:x=1 --splits 3": ("--blocks ", {}),
    f"{BLOCKS} {PAIR};flips:add=0,delete=.3 --splits 5,2": ("--splits must", {}),
    f"{BLOCKS} {VALUES} --splits 1": (
        "categorical from column 1",
        {"data": "values.npz"},
    ),
    f"{BLOCKS} {PAIR} --splits 8": ("--data bits.npz: the first", {}),
}


@pytest.mark.parametrize("words", REFUSED)
def test_bad_input_is_refused_in_one_line(work, words, capsys):
    message, changes = REFUSED[words]
    one_line(capsys, command(*words.split(), **changes), message)
    assert not Path("out.tsv").exists()


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("categorical:keep=.6,values=2.5", "METHOD:NAME=NUMBER"),
        ("categorical:keep=.6,values=inf", "METHOD:NAME=NUMBER"),
        ("flips:add=.1,add=.2,delete=.1", "add once"),
        ("flips:add=.1,delete=.1,method=mask", "method once"),
    ],
)
def test_blocks_that_cannot_be_read_are_refused(work, part, message, capsys):
    """2.5 values were 2, and the second of two numbers was taken."""
    words = f"{BLOCKS} {part};flips:add=.1,delete=.3 --splits 3".split()
    refused(capsys, command(*words), "blocks must", message)


PRINTED = {
    "categorical --keep .2 --values 256 --p-a .98": "3.0",
    "mask --keep-count 5 --dim 50 --p-a .9": "4.0",
    "mask --keep-probability .1 --p-a .98": "6.0",
    "deletion --delete .9 --p-a .99": "6.0",
    "flips --add .01 --delete .6 --p-a .9": "1.0",
}


@pytest.mark.parametrize("words", PRINTED)
def test_radii_of_one_probability(words, capsys):
    assert main(["radius", *words.split()]) == 0
    assert capsys.readouterr().out.split()[0] == PRINTED[words]


@pytest.mark.slow
def test_workers_of_ray_certify_sequences(work):
    pytest.importorskip("ray")
    words = ["--method", "deletion", "--delete", ".8"]
    assert main(command(*words, "--ray", "--processes", "2", model="longer")) == 0
    Path("out.tsv").rename("ray.tsv")
    Path("out.tsv.manifest.json").unlink()
    assert main(command(*words, model="longer")) == 0
    columns = ("idx", "predict", "radius", "select", "counts")
    ray, here = (
        sorted(
            tuple(getattr(row, c) for c in columns)
            for row in results.internal.read_rows(p)
        )
        for p in (Path("ray.tsv"), Path("out.tsv"))
    )
    assert ray == here


def test_columns_of_inputs_left_out_are_compared(tmp_path):
    path = tmp_path / "run.tsv"
    x = np.zeros((2, 30), np.int64)
    numbers = {"n": 200, "n0": 20, "only_correct": True, "bound": "staged"}
    certify_dataset(
        by_sum,
        (x, np.array([0, 1])),
        TopClass(schemes.flips(0.2, 0.4)),
        out=path,
        **numbers,
    )
    assert verify(path).findings == ()
    before = results.read(path)
    row = before.rows[1]
    assert row.is_left_out
    for changes in (
        {"extra": {**row.extra, "frontier": "9,9"}},
        {"extra": {**row.extra, "drawn": "200"}},
        {"extra": {**row.extra, "drawn": "x"}},
        {"norm": 1.0},
        {"bound": "exact"},
        {"count": 5},
        {"void": 7},
    ):
        place = tmp_path / "forged.tsv"
        place.unlink(missing_ok=True)
        place.with_name("forged.tsv.manifest.json").unlink(missing_ok=True)
        results.internal.write(
            place, before.manifest, [before.rows[0], replace(row, **changes)]
        )
        assert verify(place).findings, changes


def with_all_parameters(p, q):
    """A scheme of each kind whose probabilities are these."""
    return {
        "categorical": schemes.categorical(p, 3),
        "flips": schemes.flips(p, q),
        "mask": schemes.mask(keep_probability=p, hidden=q),
        "deletion": schemes.deletion(p),
        "blocks": schemes.blocks(
            schemes.flips(p, q), schemes.categorical(q, 5), splits=[2]
        ),
    }


def test_fractions_that_are_doubles_are_taken_by_all_alike():
    exact = with_all_parameters(Fraction(1, 8), Fraction(1, 4))
    double = with_all_parameters(0.125, 0.25)
    for name, scheme in exact.items():
        assert scheme.parameters == double[name].parameters
        assert scheme.curve == double[name].curve


@pytest.mark.parametrize(
    "make",
    [
        lambda third: schemes.categorical(third, 4),
        lambda third: schemes.flips(third, 0.1),
        lambda third: schemes.flips(0.1, third),
        lambda third: schemes.mask(keep_probability=third),
        lambda third: schemes.mask(8, 2, hidden=third),
        lambda third: schemes.deletion(third),
    ],
)
def test_fractions_that_no_file_can_hold_are_refused_by_all_alike(make):
    with pytest.raises(ValueError, match=r"number.*file"):
        make(Fraction(1, 3))
    with pytest.raises(ValueError, match="must be"):
        make(Fraction(10**400))


@pytest.mark.parametrize("split", [2.5, -1, "2", None, True])
def test_splits_are_whole_numbers(split):
    """2.5 was taken for 2."""
    with pytest.raises(ValueError, match="splits must be"):
        schemes.blocks(schemes.flips(0.1, 0.2), schemes.flips(0.1, 0.3), splits=[split])


@pytest.mark.parametrize(
    "make",
    [
        lambda: schemes.categorical(np.float16(0.8), np.int8(4)),
        lambda: schemes.flips(np.longdouble("0.1"), np.float32(0.4)),
        lambda: schemes.mask(np.int64(30), np.int8(3), hidden=np.float16(0.5)),
        lambda: schemes.blocks(
            schemes.flips(np.float16(0.2), 0.4), schemes.flips(0.2, 0.4), splits=[2]
        ),
    ],
)
def test_parameters_of_narrow_types_are_written(make, tmp_path):
    """A manifest once could not be written of them."""
    path = tmp_path / "run.tsv"
    scheme = make()
    x = np.zeros((1, 30), np.float32)
    certify_dataset(by_sum, (x, np.array([0])), scheme, n=1000, out=path)
    assert results.read(path).manifest.parameters == scheme.parameters
    assert verify(path).findings == ()


@pytest.mark.parametrize("make", [schemes.uniform, schemes.laplace])
def test_wide_scores_are_rounded_to_the_safe_side_in_l1(make):
    """A long double between two doubles is the lower of them as z_a."""
    scheme, double = make(0.5), 1.0
    between = np.longdouble(np.nextafter(double, 2)) - np.longdouble(2) ** -60
    assert np.float64(between) > double
    assert scheme.radius(between, 0.5) == scheme.radius(double, 0.5)
    above = np.longdouble(-double) + np.longdouble(2) ** -60
    assert np.float64(above) == -double
    upper = float(np.nextafter(-double, 0))
    assert scheme.radius(double, 0.5, above) == scheme.radius(double, 0.5, upper)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="no wider numbers")
def test_curves_transport_no_score_that_rounding_would_move():
    """Both ends are returned: no side is safe for a score between two doubles."""
    curve = schemes.flips(0.01, 0.6).curve
    wide = np.longdouble(1.0) - np.longdouble(2) ** -60
    for z in (wide, np.array(wide), np.array([wide])):
        with pytest.raises(ValueError, match="z must"):
            curve.transport(z, 1)
    exact = np.longdouble(1.5)
    assert curve.transport(exact, 1) == curve.transport(1.5, 1)


def test_wide_scores_are_rounded_to_the_safe_side_by_curves():
    """Just below the least score of a whole change more, and nearest to it."""
    scheme = schemes.categorical(0.5, 4)
    least = scheme.curve.threshold(2, scores=True)
    below = np.longdouble(least) - np.longdouble(2) ** -60
    assert np.float64(below) == least
    assert scheme.radius(least, scheme.own_level) == 2
    assert scheme.radius(below, scheme.own_level) == 1
