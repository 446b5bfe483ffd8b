"""What changes of single operators and numbers once got past every other test."""

import json
from collections import deque
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from itertools import count
from statistics import NormalDist

import numpy as np
import pytest

from rsbounds import certify_dataset, schemes
from rsbounds.answers import (
    Maps,
    TopK,
    Values,
    conformalize,
    set_rule,
    top_k_radius,
    value_interval,
)
from rsbounds.audit import Kind, verify
from rsbounds.audit._proofs import PROOFS
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.certify import (
    ArraySampler,
    Memory,
    Selection,
    Settings,
    certify,
    certify_radius,
)
from rsbounds.cluster import Workers
from rsbounds.confidence import CDFCertificate, ScoreHistogram
from rsbounds.procedure import Procedure
from rsbounds.results import Writer, board, card, manifest_path, read
from rsbounds.sampling import SoftSampler


def squared_distance(a, b):
    """Exact, of two points as they are stored."""
    differences = (Fraction(x) - Fraction(y) for x, y in zip(a, b, strict=True))
    return sum(difference**2 for difference in differences)


def remembered(radius, *, size):
    """A memory of one ball around the origin."""
    memory = Memory()
    memory.correct(np.zeros(size), certificate(0, radius))
    return memory


def certificate(label, radius):
    return Certificate(
        predict=label,
        radius=radius,
        z_a=2.0,
        p_a=0.9,
        count=990,
        n=1000,
        sigma=0.5,
        method="gaussian",
        scope="fixed noise",
    )


def nearly(distance, *, size, seed):
    """A point at about a distance from the origin."""
    direction = np.random.default_rng(seed).standard_normal(size)
    return direction * (distance / np.linalg.norm(direction))


@pytest.mark.parametrize("seed", range(40))
def test_a_point_in_a_remembered_ball_stays_in_it(seed):
    """Its radius and its exact distance from the centre are the ball's at most."""
    size, ball = 7, 1.0
    point = nearly(0.25 + 0.5 * (seed / 40), size=size, seed=seed)
    inside = remembered(ball, size=size).correct(point, certificate(1, 5.0))
    assert inside.predict == 0
    distance_squared = squared_distance(point, np.zeros(size))
    rest = Fraction(ball) - Fraction(inside.radius)
    assert rest >= 0
    assert distance_squared <= rest**2
    # and no less than the error of a norm requires
    assert inside.radius >= ball - np.linalg.norm(point) - 2e-14


@pytest.mark.parametrize("seed", range(40))
def test_a_radius_ends_where_a_remembered_ball_of_another_class_begins(seed):
    size, ball = 7, 1.0
    point = nearly(1.25 + seed / 40, size=size, seed=seed)
    outside = remembered(ball, size=size).correct(point, certificate(1, 5.0))
    assert outside.predict == 1
    distance_squared = squared_distance(point, np.zeros(size))
    assert (Fraction(ball) + Fraction(outside.radius)) ** 2 <= distance_squared
    assert outside.radius >= np.linalg.norm(point) - ball - 2e-14


@pytest.mark.parametrize("seed", range(40))
def test_a_point_that_may_be_in_a_remembered_ball_is_in_it(seed):
    """On the border, but for the error of a norm: the ball's class, and no radius."""
    point = nearly(1.0, size=7, seed=seed)
    border = float(np.linalg.norm(point))
    found = remembered(border, size=7).correct(point, certificate(1, 5.0))
    assert (found.predict, found.radius) == (0, 0.0)


def test_balls_of_the_own_class_cut_no_radius():
    found = remembered(1.0, size=2).correct([1.5, 0.0], certificate(0, 5.0))
    assert (found.predict, found.radius) == (0, 5.0)


def test_abstentions_are_not_remembered():
    memory = Memory()
    abstention = certificate(ABSTAIN, 0.0)
    assert memory.correct([0.0, 0.0], abstention).radius == 0.0
    memory.correct([0.0, 0.1], certificate(0, 0.0))
    assert memory.correct([0.0, 1.0], certificate(1, 3.0)).radius == 3.0


FAILS = "fails from here on"


class InOneProcess(Workers):
    """Workers that are called in this process, one call after the other."""

    def _begun(self, member):
        return OneAfterAnother(member)


class OneAfterAnother:
    """An :class:`rsbounds.cluster.Executor` of one worker, in this process."""

    count = 1

    def __init__(self, member):
        self._member, self._tickets = member, count()
        self._waiting, self.handed = deque(), []

    def call(self, worker, name, *args):
        ticket = next(self._tickets)
        assert ticket < 1000, "the same calls again and again"
        self._waiting.append((ticket, name, args))
        return ticket

    def finished(self, tickets):
        return [self._waiting[0][0]]

    def result(self, ticket):
        _, name, args = self._waiting.popleft()
        return self._member.do(name, *args)

    def close(self):
        self._waiting.clear()


COUNT = 24
WEIGHTS = np.random.default_rng(0).standard_normal((5, 3))
INPUTS = np.random.default_rng(1).standard_normal((COUNT, 5))
LABELS = (INPUTS @ WEIGHTS).argmax(1)


def dealt(out, broken=None):
    """The run of workers in this process, whose model fails at one input."""
    inputs = INPUTS.copy()
    if broken is not None:
        inputs[broken] = 1e6

    def model(batch):
        if abs(batch).max() > 1e5 and len(batch) > 1:
            raise RuntimeError(FAILS)
        return batch @ WEIGHTS

    scheme = schemes.gaussian(0.25)
    data = (inputs, LABELS)
    workers = InOneProcess(lambda: (ArraySampler(model), data, scheme))
    # one selection sample, which the model answers
    return certify_dataset(workers, data, scheme, out=out, n0=1, n=50)


# 1 is handed out alone, 2 is the first of a handful, the others are within handfuls
@pytest.mark.parametrize("broken", [0, 1, 2, 5, 9, 13, COUNT - 1])
def test_an_input_that_fails_among_others_costs_no_other_row(tmp_path, broken):
    out = tmp_path / "out.tsv"
    with pytest.raises(ValueError, match=rf"input {broken} failed.*{FAILS}"):
        dealt(out, broken)
    if broken == 0:
        return
    written = [row.idx for row in read(out).rows]
    assert set(range(broken)) <= set(written)
    assert broken not in written


@pytest.mark.parametrize("sigma", [0.1, 0.3])
@pytest.mark.parametrize("kept", [COUNT - 1, COUNT])
def test_workers_must_have_the_scheme_and_the_data_of_the_writer(sigma, kept):
    """Their description is compared, not ordered."""
    model = ArraySampler(lambda batch: batch @ WEIGHTS)
    data = (INPUTS, LABELS)
    build = (model, (INPUTS[:kept], LABELS[:kept]), schemes.gaussian(sigma))
    name = "method" if kept == COUNT else "(method|data)"
    with pytest.raises(ValueError, match=f"must have the same {name} as the process"):
        certify_dataset(InOneProcess(lambda: build), data, schemes.gaussian(0.25), n=9)


def test_work_that_is_dealt_out_in_one_process_gives_the_rows_of_none(tmp_path):
    alone = certify_dataset(
        ArraySampler(lambda batch: batch @ WEIGHTS),
        (INPUTS, LABELS),
        schemes.gaussian(0.25),
        n0=1,
        n=50,
    )
    rows = dealt(tmp_path / "out.tsv").rows
    without_time = [(row.idx, row.counts, row.radius) for row in rows]
    assert without_time == [(row.idx, row.counts, row.radius) for row in alone.rows]


def run(**known):
    model = ArraySampler(lambda batch: batch @ WEIGHTS)
    data = (INPUTS, LABELS)
    return certify_dataset(model, data, schemes.gaussian(0.25), n=50, **known)


@pytest.mark.parametrize(
    ("chosen", "indices"),
    [
        ({"max": -1}, range(COUNT)),
        ({"max": 0}, range(0)),
        ({"max": 1}, range(1)),
        ({"max": COUNT + 1}, range(COUNT)),
        ({"start": COUNT - 1}, range(COUNT - 1, COUNT)),
        ({"start": 1, "max": 7, "skip": 3}, range(1, 7, 3)),
    ],
)
def test_the_inputs_that_are_chosen_are_certified(chosen, indices):
    results = run(**chosen)
    assert [row.idx for row in results.rows] == list(indices)
    assert results.manifest.data["inputs"] == len(indices)


def shares(batch):
    """Scores from 0 to 1, with sum 1."""
    powers = np.exp(batch @ WEIGHTS)
    return powers / powers.sum(1, keepdims=True)


def test_a_bound_on_scores_writes_no_file(tmp_path):
    """A row holds counts, which don't prove such a bound."""
    out = tmp_path / "out.tsv"
    data = (INPUTS, LABELS)
    known = {"n": 200, "max": 2, "bound": "betting", "out": out}
    with pytest.raises(ValueError, match=r"^bound\b.*'betting'"):
        certify_dataset(SoftSampler(shares), data, schemes.gaussian(0.25), **known)
    assert not out.exists()


def test_laplace_noise_certifies_in_l1():
    scheme = schemes.laplace(0.5)

    def sampler(x, sigma, n, generator):
        noise = generator.laplace(0.0, sigma, (n, len(x)))
        return np.bincount((np.asarray(x) + noise).argmax(1), minlength=len(x))

    sampler.law = "laplace"
    found = certify(sampler, np.array([2.0, 0.0]), scheme, n=200)
    assert found.predict == 0
    assert found.radius > 0
    assert scheme.norm == found.norm == 1.0
    with pytest.raises(ValueError, match="certificate must have an l2 radius"):
        Memory().correct([2.0, 0.0], found)


def test_the_lowest_sample_is_the_end_that_it_takes():
    """Of 10 samples: 2^-10 are all above the median, within the alpha/2 of an end."""
    samples = np.random.default_rng(0).standard_normal(10)
    known = {"alpha": 2.1 * 2.0**-10, "scheme": schemes.gaussian(0.5)}
    assert value_interval(samples, 0.0, **known) == (samples.min(), samples.max())
    stricter = known | {"alpha": 1.9 * 2.0**-10}
    with pytest.warns(RuntimeWarning, match="10 samples can't show both ends"):
        assert value_interval(samples, 0.0, **stricter) == (-np.inf, np.inf)
    samples[3] = np.nan  # below the low and above the high end
    assert value_interval(samples, 0.0, **known) == (-np.inf, np.inf)


@pytest.mark.parametrize("alpha", [-0.1, 0.0, 1.0, np.nan])
def test_an_interval_needs_an_alpha_between_0_and_1(alpha):
    scheme = schemes.gaussian(0.5)
    with pytest.raises(ValueError, match="alpha"):
        value_interval(np.arange(9.0), 0.0, alpha=alpha, scheme=scheme)


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_the_threshold_is_an_order_statistic_of_order_statistics(copies):
    """Of each input the score that the rule names, of these the one of the share."""
    inputs, alpha, radius, scheme = 400, 0.2, 0.05, schemes.gaussian(0.5)
    scores = np.random.default_rng(0).random((inputs, copies))
    scores[3, 0] = np.nan  # counts as infinite
    rule = set_rule(copies, alpha, radius, scheme)
    # the definition, number by number
    infinite = [[s if s == s else np.inf for s in row] for row in scores.tolist()]
    reached = sorted(sorted(row)[rule.calibrate - 1] for row in infinite)
    left_out = int((inputs + 1) * Fraction(rule.error))
    threshold = conformalize(scores, alpha, radius, scheme)
    assert threshold == reached[inputs - left_out]
    assert np.isfinite(threshold)


def test_equal_others_are_compared_by_their_mean():
    """A sum of three is known better than each of them."""
    n, sigma = 10_000, 0.5
    counts = [4000, 1500, 1500, 1500, 1500]
    known = {"n0": n, "n": n, "alpha": 0.001, "scheme": schemes.gaussian(sigma)}
    radius = top_k_radius(counts, counts, 0, 3, **known)
    # without the errors of samples: where Phi(z(.4) - r) = Phi(z(.45) + r)/3, and where
    # Phi(z(.4) - r) = Phi(z(.15) + r)
    of_three, of_one = 0.52449, 0.39154
    assert of_one < 0.45 < radius / sigma < of_three


def test_a_target_beyond_all_scores_is_given_up_before_a_sample_is_drawn():
    model = ArraySampler(lambda batch: batch @ WEIGHTS)
    found = certify_radius(
        model, INPUTS[0], schemes.gaussian(0.25), Procedure(target_radius=1e6)
    )
    assert (found.predict, found.radius, found.n) == (ABSTAIN, 0.0, 0)
    # nothing is known of the class
    assert (found.z_a, found.p_a, found.z_b) == (-np.inf, 0.0, np.inf)


def test_a_certificate_from_scores_has_no_counts():
    known = {"n0": 20, "n": 500, "bound": "betting"}
    found = certify(SoftSampler(shares), INPUTS[0], schemes.gaussian(0.25), **known)
    assert found.predict == LABELS[0]
    assert found.select == found.counts == ()
    assert found.void == 0


def test_a_target_that_is_no_number_is_refused():
    model = ArraySampler(lambda batch: batch @ WEIGHTS)
    with pytest.raises(ValueError, match="target"):
        certify_radius(
            model, INPUTS[0], schemes.gaussian(0.25), Procedure(target_radius=np.nan)
        )


def edited(path, change):
    """A result file whose rows were changed, each by the function of a dictionary."""
    header, *lines = path.read_text().splitlines()
    names = header.split("\t")
    for place, line in enumerate(lines):
        row = dict(zip(names, line.split("\t"), strict=True))
        lines[place] = "\t".join({**row, **change(row)}.values())
    path.write_text("\n".join([header, *lines]) + "\n")


@pytest.mark.parametrize("bound", ["clopper-pearson", "randomized", "anytime"])
def test_a_bound_from_unanimous_samples_that_was_raised_is_found(tmp_path, bound):
    """Score and radius were raised alike: nothing but the bound is wrong."""
    pytest.importorskip("flint")
    out, sigma = tmp_path / "out.tsv", 0.25
    x, y = np.full((12, 2), [40.0, 0.0]), np.zeros(12, np.int64)
    known = {"n0": 5, "n": 9, "alpha": 0.01, "bound": bound, "runner_up": False}
    model = ArraySampler(lambda batch: batch)
    scheme = schemes.gaussian(sigma)
    certify_dataset(model, (x, y), scheme, out=out, **known)
    rows = read(out).rows
    assert all(row.counts == (9,) and row.radius > 0 for row in rows)
    assert verify(out).findings == ()

    def raised(row):
        score = float(row["z_a"]) + 1e-6
        share = NormalDist().cdf(score) * (1 - 1e-15)
        return {
            "z_a": repr(score),
            "z_b": repr(-score),
            "p_a": repr(share),
            "radius": repr(sigma * score * (1 - 1e-12)),
        }

    edited(out, raised)
    findings = verify(out).findings
    assert {found.kind for found in findings} == {Kind.BOUND}
    assert {found.index for found in findings} == set(range(12))


def test_a_lead_over_the_mean_of_two_is_proved_and_no_more(tmp_path):
    """With k = 2 and others that are alike, two are compared at once."""
    pytest.importorskip("flint")
    out = tmp_path / "out.tsv"

    def sampler(x, sigma, n, generator):
        return np.array([n - 4 * (n // 6), *[n // 6] * 4])

    data = (np.zeros((2, 3)), np.zeros(2, np.int64))
    answer = TopK(schemes.gaussian(0.5), 2)
    certify_dataset(sampler, data, answer, out=out, n0=6000, n=6000)
    rows = read(out).rows
    assert [row.extra["sum_of"] for row in rows] == ["2", "2"]
    assert all(row.radius > 0 for row in rows)
    assert verify(out).findings == ()
    edited(out, lambda row: {"radius": repr(float(row["radius"]) * (1 + 1e-8))})
    assert {found.kind for found in verify(out).findings} == {Kind.RADIUS}


def test_ranks_further_inside_are_not_proved(tmp_path):
    """2^8 samples: a sum of ranks is not what it is bit by bit."""
    pytest.importorskip("flint")
    out = tmp_path / "out.tsv"
    answer = Values(schemes.gaussian(0.5), radii=[0.1])
    certify_dataset(lambda batch: batch, INPUTS[:2], answer, out=out, n=256)
    assert verify(out).findings == ()
    below, above = map(int, read(out).rows[0].extra["ranks"].split(","))
    for ranks in (f"{below + 1},{above}", f"{below},{above + 1}"):
        edited(out, lambda row, ranks=ranks: {"ranks": ranks})
        kinds = [found.kind for found in verify(out).findings]
        assert kinds.count(Kind.BOUND) == 2


@pytest.mark.parametrize(
    ("name", "kept", "changed"),
    [("steps", [1, 2], [1, 3]), ("steps", [1, 2], [1, 2, 3]), ("steps", [1, 2], [])],
)
def test_a_model_that_is_described_otherwise_is_another(tmp_path, name, kept, changed):
    out = tmp_path / "out.tsv"
    run(out=out, max=3, settings=Settings(describe={name: kept}))
    with pytest.raises(ValueError, match=name):
        run(out=out, max=3, settings=Settings(describe={name: changed}))


def test_no_input_that_was_not_chosen_is_left_out(tmp_path):
    pytest.importorskip("flint")
    data = (INPUTS, LABELS)
    for place, known in enumerate([{"max": 0}, {"max": 5}, {"start": 3, "skip": 4}]):
        out = tmp_path / f"{place}.tsv"
        run(out=out, **known)
        kinds = [found.kind for found in verify(out, data=data).findings]
        assert kinds == ([Kind.ROWS] if known == {"max": 0} else [])  # "has no rows"


def test_a_row_of_an_input_that_was_not_chosen_is_found(tmp_path):
    pytest.importorskip("flint")
    out = tmp_path / "out.tsv"
    run(out=out, skip=2)  # without an end
    edited(out, lambda row: {"idx": "3"} if row["idx"] == "2" else {})
    findings = [found for found in verify(out).findings if found.index == 3]
    assert [found.kind for found in findings] == [Kind.ROWS]


def test_arrays_of_radii_hold_numbers(tmp_path):
    for name, array in (
        ("radius_l2", [0.5, np.nan]),
        ("labels", [0, 1]),
        ("preds", np.eye(2)),
    ):
        np.save(tmp_path / f"{name}.npy", np.asarray(array))
    with pytest.raises(ValueError, match="radius_l2"):
        read(tmp_path / "radius_l2.npy")


@pytest.mark.parametrize("level", [-0.5, 0.0, 1.0, 1.5])
def test_a_level_of_a_distribution_is_between_0_and_1(level):
    histogram = ScoreHistogram()
    histogram.add(np.linspace(0.7, 1.0, 100))
    certificate = CDFCertificate.from_histogram(histogram, 0.01)
    with pytest.raises(ValueError, match="level"):
        certificate.radius(0.25, level)


@pytest.mark.parametrize("rounding", [-1e-9, 0.26, np.nan])
def test_levels_are_computed_to_a_quarter_of_the_least(rounding):
    with pytest.raises(ValueError, match="rounding"):
        schemes.level_slack(rounding, 1.0)


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
        (certificate(0, 1.0), "radius"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(fixed, name, getattr(fixed, name))


def test_a_board_says_what_was_verified(tmp_path):
    run(out=tmp_path / "out.tsv", max=3)
    verified = {"proved": 3, "rows": 3, "findings": 0, "first": [], "stated": ["dim"]}
    made = card(read(tmp_path / "out.tsv"), verified=verified)
    board([made, made], tmp_path / "board.html")
    page = (tmp_path / "board.html").read_text(encoding="utf-8")
    assert page.count(">3 of 3 rows, 0 findings<") == 2


def test_a_manifest_that_is_nested_without_end_is_refused(tmp_path):
    out = tmp_path / "out.tsv"
    run(out=out, max=3)
    place = manifest_path(out)
    entries = json.loads(place.read_text())
    nested = []
    for _ in range(200):
        nested = [nested]
    place.write_text(json.dumps(entries | {"run": {"machines": nested}}))
    with pytest.raises(ValueError, match="nested at most"):
        read(out)


@pytest.mark.parametrize("shape", [(199, 2), (201, 2), (200,), (200, 1, 2)])
def test_order_statistics_are_of_as_many_samples_as_are_stated(shape):
    def sampler(x, sigma, n, generator):
        return np.zeros(shape if n == 200 else (n, 2))

    answer = Values(schemes.gaussian(0.5), radii=[0.1])
    with pytest.raises(ValueError, match="must return 200 rows of outputs"):
        certify_dataset(sampler, INPUTS[:2], answer, n=200)


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


@pytest.mark.parametrize(
    ("name", "wrong"), [("start", -1), ("skip", 0), ("max", -2), ("shard", "2/2")]
)
def test_a_selection_is_checked(name, wrong):
    with pytest.raises(ValueError, match=name):
        Selection(**{name: wrong})


def test_so_many_rows_are_proved_as_are_asked_for(tmp_path):
    pytest.importorskip("flint")
    out = tmp_path / "out.tsv"
    certify_dataset(
        lambda batch: batch[:, :2],
        (INPUTS[:3], [0, 0, 0]),
        schemes.gaussian(0.5),
        out=out,
        n=200,
    )
    assert [verify(out, sample=sample).proved for sample in (1, 2, 3, 99)] == [
        1,
        2,
        3,
        3,
    ]
