"""Flags: radii of the theorem, worst-case detectors, runs, other thresholds."""

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from cli_models import one_line
from edited_runs import generated

from rsbounds import audit, certify_dataset, schemes
from rsbounds.answers import Flag, conformal_threshold
from rsbounds.certify import Procedure
from rsbounds.cli import _answers, main
from rsbounds.confidence import lower_bound
from rsbounds.reports import plot_flags
from rsbounds.results import read
from rsbounds.results.internal import manifest_path, read_rows
from rsbounds.special import ndtr, ndtri

GAUSSIAN = schemes.gaussian(0.5)
BEST = float(lower_bound(100_000, 100_000, 0.001, scores=True))
X = np.array([[0.5], [-1.5], [0.0], [-0.8224]], np.float32)  # the last: .05
Y = np.array([1, 0, 1, 0])
NUMBERS = {"n0": 50, "n": 2000, "alpha": 0.01}


def score(batch):
    return batch[:, 0]


def two(batch):
    """Classes that say the same as a score above 0."""
    return np.stack([0 * batch[:, 0], batch[:, 0]], axis=1)


def own(rows):
    return [
        (row.predict, row.radius, row.count, row.z_a, row.counts, row.select)
        for row in rows
    ]


# --- the theorem

TABLE = {  # of 100,000 in 100,000 at alpha = .001
    "mask": (lambda: schemes.mask(512, 45), (7, 31, 47, 89)),
    "deletion": (lambda: schemes.deletion(0.9), (6, 28, 43, 86)),
    "categorical": (lambda: schemes.categorical(0.2, 256), (8, 22, 30, 47)),
    "gaussian": (lambda: schemes.gaussian(1.0), (3.8115, 5.4563, 6.1378, 7.7222)),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_radii_of_all_samples(name):
    scheme, radii = TABLE[name][0](), TABLE[name][1]
    found = [Flag(scheme, tau).radius(BEST) for tau in (0.5, 0.05, 0.01, 4.6e-5)]
    if name == "deletion":  # the table's last column counts substitutions
        assert scheme.norm == "edit"
    assert [round(radius, 4) for radius in found] == list(radii)


@pytest.mark.parametrize("tau", [1e-9, 0.05, 0.5, 0.9])
def test_gaussian_radii_are_those_of_the_formula(tau):
    for z in (ndtri(tau) + 1e-6, 1.5, 3.8, 30.0):
        truth = 0.5 * (z - ndtri(tau))
        if truth > 0:
            # scores near 6 are rounded outward by 2e-14
            least = truth * (1 - 1e-11) - 2e-14
            assert least < Flag(GAUSSIAN, tau).radius(z) <= truth + 1e-15
    assert Flag(GAUSSIAN, tau).radius(ndtri(tau) - 1e-6) == 0


@pytest.mark.parametrize("tau", [0.05, 0.4])
def test_a_half_space_reaches_the_radius(tau):
    """Of all detectors of that probability it loses most, and just so much."""
    radius = Flag(GAUSSIAN, tau).radius(1.0)
    assert ndtr(1.0 - radius / 0.5) >= tau > ndtr(1.0 - (radius + 1e-9) / 0.5)


BITS = 4
STAYS = Fraction(7, 8), Fraction(3, 4)  # of a zero and of a one


def chance(outcome, bits):
    """The probability of an outcome of flips, in rationals."""
    value = Fraction(1)
    for seen, bit in zip(outcome, bits, strict=True):
        value *= STAYS[bit] if seen == bit else 1 - STAYS[bit]
    return value


@pytest.mark.parametrize("tau", [Fraction(1, 20), Fraction(1, 2)])
@pytest.mark.parametrize("count", [3, 9, 14])
def test_detectors_of_bits_keep_their_flag_within_the_radius_and_not_beyond(tau, count):
    """All outcomes of all changes, in rationals, of the worst detectors of each change.

    These give up the outcomes that the changed input sees more often.
    """
    scheme = schemes.flips(0.125, 0.25)
    outcomes = list(product((0, 1), repeat=BITS))
    flag = Flag(scheme, float(tau))
    radii = cache(flag.radius)
    lost = False
    for x, other in product(outcomes, repeat=2):
        changes = sum(a != b for a, b in zip(x, other, strict=True))
        order = sorted(outcomes, key=lambda o: chance(o, other) / chance(o, x))
        here = sum(chance(outcome, x) for outcome in order[:count])
        there = sum(chance(outcome, other) for outcome in order[:count])
        if not here > tau:
            continue
        radius = radii(float(ndtri(float(here))) - 1e-9)
        if changes <= radius:
            assert there > tau
        lost = lost or (there <= tau and changes == radius + 1)
    assert lost or tau < Fraction(1, 2)


# --- a frontier of two kinds of changes


@pytest.mark.parametrize("count", [3, 5])
def test_within_a_frontier_detectors_of_bits_keep_their_flag_and_not_all_beyond(count):
    """As above: an entry of ones added and ones deleted, at all changes of all bits."""
    tau = Fraction(1, 20)
    curve = schemes.flips(0.125, 0.25).curve
    least = float(ndtri(float(tau))) + 1e-12
    outcomes = list(product((0, 1), repeat=BITS))
    frontiers = cache(lambda z: curve.frontier_above(z, least))
    ends = {"within": 0, "lost": 0}
    for x, other in product(outcomes, repeat=2):
        added = sum(b > a for a, b in zip(x, other, strict=True))
        deleted = sum(b < a for a, b in zip(x, other, strict=True))
        order = sorted(outcomes, key=lambda o: chance(o, other) / chance(o, x))
        here = sum(chance(outcome, x) for outcome in order[:count])
        there = sum(chance(outcome, other) for outcome in order[:count])
        if not here > tau:
            continue
        frontier = frontiers(float(ndtri(float(here))) - 1e-9)
        if any(added <= a and deleted <= d for a, d in frontier):
            assert there > tau
            ends["within"] += 1
        else:
            ends["lost"] += there <= tau
    assert ends["within"]
    assert ends["lost"]


def test_beside_numbers_a_frontier_has_the_radius_that_is_left():
    table = schemes.blocks(
        schemes.gaussian(0.5), schemes.categorical(0.8, 3), splits=[2]
    )
    least = float(ndtri(0.05))
    frontier = table.curve.frontier_above(2.0, least)
    assert [changes for _, changes in frontier] == list(range(len(frontier)))
    assert len(frontier) > 2
    assert frontier[0][0] == pytest.approx(Flag(table, 0.05).radius(2.0), rel=1e-11)
    for radius, changes in frontier:
        assert table.curve.transport(2.0, (radius, changes))[0] > least
        assert not table.curve.transport(2.0, (radius + 1e-9, changes))[0] > least
    beyond = len(frontier)
    assert not table.curve.discrete.transport(2.0, beyond)[0] > least


def test_rows_of_two_kinds_of_changes_have_a_frontier_in_file_and_report(
    tmp_path, capsys
):
    path = tmp_path / "flags.tsv"
    x = np.array([[1, 0, 1, 1], [0, 0, 0, 1], [1, 1, 1, 1]])
    answer = Flag(schemes.flips(0.1, 0.2), 0.2, "score>0.5")
    data = x, np.array([1, 0, 1])
    certify_dataset(lambda b: b.mean(axis=1), data, answer, out=path, **NUMBERS)
    rows = read_rows(path)
    for row in rows:
        entries = row.extra["frontier"].split(";")
        sums = [sum(map(int, entry.split(","))) for entry in entries]
        # so many changes of any kind are of each entry that has as many in all
        assert row.predict >= 0
        assert row.radius <= max(sums)
    assert audit.verify(path).findings == ()
    assert main(["report", str(path)]) == 0
    said = capsys.readouterr().out
    assert (
        "share of the inputs to flag that stay flagged against additions up to r"
        in said
    )
    text = path.read_text().replace(rows[0].extra["frontier"], "9,9")
    path.write_text(text)
    assert any("frontier" in each.text for each in audit.verify(path).findings)


# --- noise whose level follows the input


def cone(x):
    return 0.4 + 0.01 * float(np.linalg.norm(x))


FOLLOWS = schemes.lipschitz(cone, 0.01, 0.4, 1)


@pytest.mark.parametrize("tau", [0.05, 0.5, 0.7])
def test_of_levels_that_follow_one_side_has_a_radius_and_is_proved(tmp_path, tau):
    path = tmp_path / "flags.tsv"
    answer = Flag(FOLLOWS, tau, "score>0")
    certify_dataset(score, (X, Y), answer, out=path, **NUMBERS)
    rows = read_rows(path)
    sides = {row.predict for row in rows if row.radius}
    assert sides == ({1} if tau < 0.5 else {0} if tau > 0.5 else {0, 1})
    assert {row.predict for row in rows} >= {0, 1}
    for row in rows:
        if row.radius:
            threshold = tau if row.predict else 1 - tau
            fixed = row.sigma * (row.z_a - ndtri(threshold))
            assert 0.9 * fixed < row.radius < fixed
    found = audit.verify(path, data=(X, Y), scheme=FOLLOWS)
    assert found.findings == ()
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    place = lines[0].index("radius")
    for line in lines[1:]:
        line[place] = repr(float(line[place]) * 1.0001 + 1e-6)
    path.write_text("".join("\t".join(line) + "\n" for line in lines))
    assert len(audit.verify(path).findings) >= len(rows)


def test_of_levels_that_follow_a_threshold_above_a_half_is_refused():
    assert Flag(FOLLOWS, 0.5).radius(2.0, sigma=0.41) > 0.7
    with pytest.raises(ValueError, match="threshold must be at most 1/2 where"):
        Flag(FOLLOWS, 0.51).radius(2.0, sigma=0.41)
    rule = schemes.METHODS["composite"]
    with pytest.raises(ValueError, match="scheme must"):
        Flag(rule({}), 0.05)


# --- the sides


def test_few_alarms_pass_and_many_are_flagged():
    run = certify_dataset(score, (X, Y), Flag(GAUSSIAN, 0.05, "score>0"), **NUMBERS)
    assert [row.predict for row in run.rows] == [1, 0, 1, -1]
    for row in run.rows:
        alarms = ndtr(X[row.idx, 0] / 0.5)
        if row.predict == 1:
            assert 0 < row.radius <= 0.5 * (ndtri(alarms) - ndtri(0.05))
        if row.predict == 0:
            assert 0 < row.radius <= 0.5 * (ndtri(0.05) - ndtri(alarms))


def test_all_of_alpha_is_one_bound():
    run = certify_dataset(score, (X, Y), Flag(GAUSSIAN, 0.05, "score>0"), **NUMBERS)
    for row in run.rows:
        assert row.z_a == lower_bound(row.count, row.n, 0.01, scores=True)


def test_a_score_and_its_two_classes_say_the_same():
    answers = Flag(GAUSSIAN, 0.05, "score>0"), Flag(GAUSSIAN, 0.05, 1)
    by_score = certify_dataset(score, (X, Y), answers[0], **NUMBERS)
    by_class = certify_dataset(two, (X, Y), answers[1], **NUMBERS)
    assert own(by_score.rows) == own(by_class.rows)


@pytest.mark.parametrize("flagged", ["score>0", 1])
def test_samples_without_a_class_count_against_either_side(flagged):
    def gaps(batch):
        outputs = score(batch) if flagged != 1 else two(batch)
        return np.where(np.abs(batch[:, 0] - 0.1) < 0.2, np.nan, outputs.T).T

    answer = Flag(GAUSSIAN, 0.3, flagged)
    with pytest.warns(RuntimeWarning, match="void"):
        run = certify_dataset(gaps, (X, Y), answer, **NUMBERS)
    voided = [row for row in run.rows if row.n > sum(row.counts)]
    assert {0.5, 0.0} == {float(X[row.idx, 0]) for row in voided} - {X[3, 0]}
    for row in voided:
        passes, alarms = row.counts
        raised = sum(row.select[1:]) > 0.3 * 50
        assert row.count == (alarms if raised else passes)
        assert row.z_a == lower_bound(row.count, row.n, 0.01, scores=True)


def test_a_margin_leaves_votes_void_on_either_side():
    plain = certify_dataset(two, (X, Y), Flag(GAUSSIAN, 0.05, 1), **NUMBERS)
    wide = certify_dataset(two, (X, Y), Flag(GAUSSIAN, 0.05, 1), margin=0.2, **NUMBERS)
    for one, other in zip(plain.rows, wide.rows, strict=True):
        assert other.void > 0
        assert other.radius <= one.radius


# --- runs


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "flags.tsv"
    answer = Flag(GAUSSIAN, 0.05, "score>0")
    certify_dataset(score, (X, Y), answer, out=path, **NUMBERS)
    return path


def test_its_rows_are_proved_and_drawn_again(written):
    found = audit.verify(written, data=(X, Y), model=score, rerun=4)
    assert found.findings == ()


def test_a_run_goes_on_where_it_was_cut(written, tmp_path):
    whole = read_rows(written)
    lines = written.read_text().splitlines(keepends=True)
    written.write_text("".join(lines[:3]))
    answer = Flag(GAUSSIAN, 0.05, "score>0")
    certify_dataset(score, (X, Y), answer, out=written, **NUMBERS)
    assert own(read_rows(written)) == own(whole)


def test_a_file_of_another_threshold_is_not_gone_on_with(written):
    with pytest.raises(ValueError, match="answer"):
        certify_dataset(
            score, (X, Y), Flag(GAUSSIAN, 0.1, "score>0"), out=written, **NUMBERS
        )


@pytest.mark.parametrize(
    "numbers", [{"bound": "staged", "n": 4000}, {"target_radius": 0.2}]
)
def test_runs_that_stop_are_proved(tmp_path, numbers):
    path = tmp_path / "flags.tsv"
    answer = Flag(GAUSSIAN, 0.05, "score>0")
    run = certify_dataset(score, (X, Y), answer, out=path, **{**NUMBERS, **numbers})
    assert audit.verify(path, data=(X, Y), model=score, rerun=2).findings == ()
    assert any(row.radius for row in run.rows)
    if "target_radius" in numbers:
        assert {row.radius for row in run.rows} == {0.0, 0.2}
        assert min(row.n for row in run.rows) < NUMBERS["n"]


def test_counts_are_certified_again_at_another_threshold(written, tmp_path, capsys):
    again = tmp_path / "again.tsv"
    words = ["recertify", str(written), "--threshold", "0.2", "--out", str(again)]
    assert main(words) == 0
    assert "1 - 2 alpha" in capsys.readouterr().out
    direct = certify_dataset(score, (X, Y), Flag(GAUSSIAN, 0.2, "score>0"), **NUMBERS)
    assert own(read_rows(again)) == own(direct.rows)
    assert audit.verify(again, data=(X, Y), model=score, rerun=2).findings == ()
    stated = json.loads(manifest_path(again).read_text())
    assert stated["history"][-1]["threshold"] == 0.05
    # a file whose threshold stays says nothing of it
    assert main([*words[:2], "--alpha", "0.02", "--out", str(tmp_path / "b.tsv")]) == 0
    assert "1 - 2 alpha" not in capsys.readouterr().out


def test_another_answers_file_has_no_threshold(tmp_path, capsys):
    path = tmp_path / "class.tsv"
    certify_dataset(two, (X, Y), GAUSSIAN, out=path, **NUMBERS)
    words = ["recertify", str(path), "--threshold", "0.2", "--out", str(tmp_path / "b")]
    one_line(capsys, words, "--threshold has no meaning for the answer class")


def test_a_report_has_detections_beside_false_alarms(written, capsys):
    shares = Flag(GAUSSIAN, 0.05, "score>0").detection(read(written).rows)
    assert (shares["to_flag"], shares["benign"]) == (2, 2)
    assert shares["undecided"] == [0, 1]
    assert shares["false_alarms"][0] == 0
    assert shares["detected"][0][0] == 1
    assert shares["passing"][0][0] == 0.5
    low, high = shares["passing"][0][1:]
    assert low < 0.02 < 0.98 < high
    assert main(["report", str(written)]) == 0
    said = capsys.readouterr().out
    assert "2 inputs to flag, 0 undecided; 2 benign, 1 undecided" in said


def test_a_curve_over_thresholds_is_that_of_runs_at_each(written):
    answer = Flag(GAUSSIAN, 0.05, "score>0")
    taus = [0.01, 0.05, 0.5, 0.6]
    rows = read_rows(written)
    curve = answer.curve(rows, Procedure(**NUMBERS), taus, radius=0.2)
    assert curve["level"] == 0.02
    for place, tau in enumerate(taus):
        other = Flag(GAUSSIAN, tau, "score>0")
        run = certify_dataset(score, (X, Y), other, **NUMBERS)
        shares = other.detection(run.rows, radii=[0.2])
        assert curve["detected"][place] == shares["detected"][0]
        assert curve["false_alarms"][place] == shares["false_alarms"]
        assert curve["undecided"][place] == shares["undecided"]
    with pytest.raises(ValueError, match="fixed in advance"):
        answer.curve(rows, Procedure(bound="staged"), taus)


def test_a_plot_of_a_file_of_flags_is_its_curve_over_thresholds(
    written, tmp_path, monkeypatch, capsys
):
    figures = pytest.importorskip("matplotlib.figure")
    drawn = []
    monkeypatch.setattr(
        figures.Figure, "savefig", lambda own, *a, **k: drawn.append(own)
    )
    assert main(["report", str(written), "--plot", str(tmp_path / "flags.png")]) == 0
    (axes,) = drawn[0].axes
    lines = {line.get_label(): line for line in axes.lines}
    taus = lines["detected"].get_xdata()
    assert {0.05, 0.5} <= set(taus)
    answer = Flag(GAUSSIAN, 0.05, "score>0")
    rows = read_rows(written)
    for name, radius in ("detected", 0.0), ("detected within 0.75", 0.75):
        curve = answer.curve(rows, Procedure(**NUMBERS), taus, radius)
        assert [share[0] for share in curve["detected"]] == list(
            lines[name].get_ydata()
        )
    alarms = [share[0] for share in curve["false_alarms"]]
    assert alarms == list(lines["false alarms"].get_ydata())
    assert "0.02 at most" in axes.get_title()


def test_what_a_plot_over_thresholds_refuses_comes_before_the_table(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path, answer = tmp_path / "staged.tsv", Flag(GAUSSIAN, 0.05, "score>0")
    numbers = {**NUMBERS, "n": 4000, "bound": "staged"}
    certify_dataset(score, (X, Y), answer, out=path, **numbers)
    words = ["report", str(path), "--plot", str(tmp_path / "flags.png")]
    one_line(capsys, words, "fixed in advance")
    assert not (tmp_path / "flags.png").exists()


def test_a_plot_over_thresholds_is_of_flags(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "class.tsv"
    certify_dataset(two, (X, Y), GAUSSIAN, out=path, **NUMBERS)
    with pytest.raises(ValueError, match="file must be of the answer 'flag'"):
        plot_flags(read(path))


@pytest.mark.slow
def test_a_threshold_of_benign_inputs_lets_all_but_a_share_of_others_pass():
    rng = np.random.default_rng(5)
    answer = Flag(GAUSSIAN, 0.05, "score>0")
    numbers = {**NUMBERS, "n": 500}
    failed = []
    for seed in range(20):
        x = rng.normal(-0.9, 0.2, (40, 1))
        many = certify_dataset(score, x, answer, **numbers, seed=seed).rows
        first, others = many[:19], many[19:]
        tau = conformal_threshold(first, 0.2, Procedure(**numbers), "score>0")
        at_tau = Flag(GAUSSIAN, tau, "score>0")
        curve = at_tau.curve(others, Procedure(**numbers), [tau])
        passing = curve["false_alarms"][0][0] * len(others)
        failed.append((passing + curve["undecided"][0][1]) / len(others))
        # the row that decides passes at its threshold, and not much below it
        own = at_tau.curve(first, Procedure(**numbers), [tau, tau * 0.9999])
        fails = [
            round(share[0] * 19) + undecided[1]
            for share, undecided in zip(
                own["false_alarms"], own["undecided"], strict=True
            )
        ]
        assert fails[0] <= 3 < fails[1]
    assert 0.1 < np.mean(failed) < 0.2 + 3 * 0.1 / 20**0.5


def test_rows_that_chose_the_threshold_are_not_judged_by_it(written):
    rows = read_rows(written)
    flag = Flag(GAUSSIAN, 0.05, "score>0")
    assert flag.detection(rows[:2], calibrated=rows[2:])["to_flag"] == 1
    with pytest.raises(ValueError, match="wasn't chosen from"):
        flag.detection(rows, calibrated=rows[:1])


# --- a threshold that was chosen is recorded


BENIGN = np.random.default_rng(6).normal(-0.9, 0.2, (40, 1)).astype(np.float32)


@pytest.fixture
def calibrated():
    first = certify_dataset(
        score, BENIGN[:19], Flag(GAUSSIAN, 0.05, "score>0"), **NUMBERS
    )
    return Flag.calibrated(GAUSSIAN, first.rows, 0.2, Procedure(**NUMBERS), "score>0")


def test_a_calibration_is_recorded_and_said(calibrated, tmp_path, capsys):
    path = tmp_path / "flags.tsv"
    certify_dataset(score, BENIGN[19:], calibrated, out=path, **NUMBERS)
    stated = json.loads(manifest_path(path).read_text())["answer"]["calibrated"]
    assert stated["threshold"] == calibrated.threshold
    assert (stated["share"], stated["alpha"], len(stated["inputs"])) == (0.2, 0.01, 19)
    audited = audit.verify(path, data=BENIGN[19:], model=score, rerun=3)
    assert audited.findings == ()
    assert "answer.calibrated.inputs" in audited.stated
    assert main(["report", str(path)]) == 0
    said = capsys.readouterr().out
    assert "chosen from 19 benign inputs" in said
    assert "probability 0.2 at most" in said


def test_noise_is_independent_of_that_of_the_inputs_that_chose(calibrated):
    """Twenty other inputs, equal ones, under the seed and indices of the first."""
    x = np.nextafter(BENIGN[:19], np.float32(0))
    plain = Flag(GAUSSIAN, calibrated.threshold, "score>0")
    first = certify_dataset(score, BENIGN[:19], plain, **NUMBERS).rows
    same = certify_dataset(score, x, plain, **NUMBERS).rows
    apart = certify_dataset(score, x, calibrated, **NUMBERS).rows
    assert [row.counts for row in same] == [row.counts for row in first]
    equal = sum(a.counts == b.counts for a, b in zip(apart, first, strict=True))
    assert equal < 5  # some 30 of 2000 alarms: two counts agree one time in 15
    again = certify_dataset(score, x, calibrated, **NUMBERS).rows
    assert own(again) == own(apart)
    other = certify_dataset(score, x, calibrated, **{**NUMBERS, "seed": 1}).rows
    assert [row.counts for row in other] != [row.counts for row in apart]


def test_no_input_is_calibrated_on_and_certified(calibrated, tmp_path):
    with pytest.raises(ValueError, match="input 2 is one that the answer was"):
        certify_dataset(score, BENIGN[17:][::-1][19:], calibrated, **NUMBERS)
    path = tmp_path / "flags.tsv"
    certify_dataset(score, BENIGN[19:], calibrated, out=path, **NUMBERS)
    place = manifest_path(path)
    stated = json.loads(place.read_text())
    stated["answer"]["calibrated"]["inputs"][3] = read_rows(path)[2].input
    place.write_text(json.dumps(stated))
    (found,) = audit.verify(path).findings
    assert "1 of the inputs chose the threshold" in found.text
    assert any("1 of these inputs chose" in note for note in read(path).notes())


@pytest.mark.parametrize("option", ["--threshold", "--alpha"])
def test_a_calibration_is_not_said_of_other_numbers(calibrated, tmp_path, option):
    path, again = tmp_path / "flags.tsv", tmp_path / "again.tsv"
    certify_dataset(score, BENIGN[19:], calibrated, out=path, **NUMBERS)
    words = ["recertify", str(path), option, "0.3", "--out", str(again)]
    assert main(words) == 0
    notes = " ".join(read(again).notes())
    assert "probability 0.2 at most" not in notes
    assert f"the calibration of the threshold had {option.strip('-')}" in notes
    # the record also says which noise the samples are of
    drawn = audit.verify(again, data=BENIGN[19:], model=score, rerun=3)
    assert drawn.findings == ()


def test_a_record_needs_hashes_and_the_noise_of_its_rows(calibrated):
    first = certify_dataset(
        score, BENIGN[:19], Flag(GAUSSIAN, 0.05, "score>0"), **NUMBERS
    )
    other = schemes.gaussian(0.25)
    with pytest.raises(ValueError, match="rows must be of the noise"):
        Flag.calibrated(other, first.rows, 0.2, Procedure(**NUMBERS), "score>0")
    nameless = [replace(row, input="-") for row in first.rows]
    with pytest.raises(ValueError, match="rows must have hashes"):
        Flag.calibrated(GAUSSIAN, nameless, 0.2, Procedure(**NUMBERS), "score>0")
    with pytest.raises(ValueError, match="calibrated must have threshold, share"):
        Flag.from_parameters({**calibrated.parameters(), "calibrated": {}}, GAUSSIAN)


@pytest.mark.parametrize("share", [0.0, 1.0, 0.01])
def test_a_threshold_needs_enough_benign_inputs(written, share):
    with pytest.raises(ValueError, match=r"share must|rows must be at least (99|100)"):
        conformal_threshold(read_rows(written), share, Procedure(**NUMBERS), "score>0")


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "def load():\n    return lambda batch: batch[:, 0]\n"
    Path("model.py").write_text(text)
    np.savez("data.npz", x=X, y=Y)
    words = ["certify", "--model", "model.py:load", "--data", "data.npz"]
    words += ["--sigma", "0.5", "--answer", "flag", "--threshold", "0.05"]
    words += ["--n", "2000", "--n0", "50", "--alpha", "0.01", "--out", "run.tsv"]
    assert main([*words, "--flagged", "score>0"]) == 0
    answer = Flag(GAUSSIAN, 0.05, "score>0")
    run = certify_dataset(score, (X, Y), answer, **NUMBERS)
    assert own(read("run.tsv").rows) == own(run.rows)
    assert main(["verify", "run.tsv", "--data", "data.npz"]) == 0
    with pytest.raises(SystemExit):
        main([*words, "--flagged", "score>x"])
    assert "argument --flagged: must be classes" in capsys.readouterr().err


@pytest.fixture
def commanded(tmp_path, monkeypatch):
    """Words of a run, in a folder with data, benign data and a file of the latter."""
    monkeypatch.chdir(tmp_path)
    text = "def load():\n    return lambda batch: batch[:, 0]\n"
    text += "def other():\n    return lambda batch: batch[:, 0] + 1\n"
    Path("model.py").write_text(text)
    np.savez("benign.npz", x=BENIGN[:19], y=np.zeros(19, int))
    np.savez("data.npz", x=BENIGN[19:], y=np.zeros(21, int))
    words = ["certify", "--model", "model.py:load", "--sigma", "0.5"]
    words += ["--answer", "flag", "--flagged", "score>0"]
    words += ["--n", "2000", "--n0", "50", "--alpha", "0.01"]
    assert main([*words, "--data", "benign.npz", "--out", "benign.tsv"]) == 0
    return [*words, "--data", "data.npz", "--out", "run.tsv"]


CALIBRATE = ("--calibrate", "benign.tsv", "--share", "0.2")


def test_the_command_line_calibrates(commanded, calibrated, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr(
        _answers, "read", lambda path: opened.append(path) or read(path)
    )
    assert main([*commanded, *CALIBRATE]) == 0
    assert opened == [Path("benign.tsv")]
    manifest = read("run.tsv").manifest
    assert manifest.answer == calibrated.describe()
    assert main(["verify", "run.tsv", "--data", "data.npz"]) == 0
    assert main(["report", "run.tsv"]) == 0
    assert "chosen from 19 benign inputs" in capsys.readouterr().out
    assert main([*commanded, *CALIBRATE]) == 0  # goes on with its file


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--threshold", "0.05"], "--threshold must be left out: --calibrate"),
        (["--data", "benign.npz"], "input 0 is one that the answer was"),
        (["--n", "1000"], "--calibrate must be of the same numbers and model"),
        (["--alpha", "0.02"], "--calibrate must be of the same numbers and model"),
        (["--sigma", "0.25"], "--calibrate must have the parameters"),
        (["--flagged", "score>1"], "--calibrate must have the flagged"),
        (["--share", "0.01"], "--calibrate must be at least 99 rows"),
        (["--share", "2"], "--share must"),
        (["--calibrate", "none.tsv"], "none.tsv"),
        (["--model", "model.py:other"], "--calibrate must be of the same numbers"),
    ],
)
def test_a_calibration_is_of_the_runs_own_question(commanded, words, said, capsys):
    capsys.readouterr()
    assert main([*commanded, *CALIBRATE, *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_share_needs_a_calibration(commanded, capsys):
    assert main([*commanded, "--share", "0.1"]) == 2
    assert "--share needs --calibrate" in capsys.readouterr().err


def test_a_calibration_is_of_benign_inputs(commanded, capsys):
    np.savez("benign.npz", x=BENIGN[:19], y=np.arange(19) % 2)
    Path("benign.tsv").unlink()
    manifest_path(Path("benign.tsv")).unlink()
    words = [*commanded, "--data", "benign.npz", "--out", "benign.tsv"]
    assert main(words) == 0
    assert main([*commanded, *CALIBRATE]) == 2
    assert "input 1 has the label 1, which is to be flagged" in capsys.readouterr().err


# --- what is refused


def test_noise_whose_mean_follows_the_input_is_refused_with_the_reason():
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"one event alone.*'generator'") as refused:
        Flag(generated().scheme())
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("tau", [0.0, 1.0, -0.1, float("nan"), "half"])
def test_a_threshold_lies_between_0_and_1(tau):
    with pytest.raises(ValueError, match="threshold must be"):
        Flag(GAUSSIAN, tau)


@pytest.mark.parametrize(
    "flagged", [(), "", "1,", "score", "score>", "score>nan", "score>inf", -1, 0.5]
)
def test_what_is_no_alarm_is_refused(flagged):
    with pytest.raises(ValueError, match="flagged must"):
        Flag(GAUSSIAN, 0.05, flagged)


@pytest.mark.parametrize("flagged", [2, (0, 1)])
def test_an_alarm_is_some_of_the_models_classes(flagged):
    with pytest.raises(ValueError, match="flagged must be some of 2 classes"):
        certify_dataset(two, (X, Y), Flag(GAUSSIAN, 0.05, flagged), **NUMBERS)


@pytest.mark.parametrize("package", ["numpy", "torch"])
@pytest.mark.parametrize(
    ("number", "dtype", "flagged", "raised"),
    [
        (0.1, "float32", "score>0.1", 1),  # 0.100000001490116
        (0.3, "float16", "score>0.3", 1),  # 0.300048828125
        (np.inf, "float16", "score>1e30", 1),
        (0, "int64", "score>-1e-46", 1),
        (2**24, "int32", "score>16777216.5", 0),
        (2**53 + 1, "int64", "score>9007199254740992", None),  # float64 can't tell
    ],
)
def test_a_score_is_compared_in_float64(package, number, dtype, flagged, raised):
    """Its own type, which rounds the number, would be asked another question."""
    xp = pytest.importorskip(package)
    answer = Flag(GAUSSIAN, 0.05, flagged)

    def model(batch):
        return xp.full((len(batch),), number, dtype=getattr(xp, dtype))

    sampler = answer.sampler(model)
    if package == "torch":

        class Module(xp.nn.Module):
            def forward(self, batch):
                return model(batch)

        sampler = answer.sampler(Module().eval())
    x = np.zeros(2, np.float32)
    counts = np.asarray(sampler(x, 0.5, 30, np.random.default_rng(0)))
    expected = [0, 0] if raised is None else [30 * (not raised), 30 * raised]
    np.testing.assert_array_equal(counts, expected)


def test_a_score_is_one_output():
    with pytest.raises(ValueError, match="one output"):
        certify_dataset(two, (X, Y), Flag(GAUSSIAN, 0.05, "score>0"), **NUMBERS)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"bound": "betting"}, "bound must be one on counts"),
        ({"only_correct": True}, "only_correct needs one selected class"),
        ({"margin": 0.1}, "margin is for votes"),
    ],
)
def test_numbers_that_it_has_no_use_for_are_refused(numbers, said):
    answer = Flag(GAUSSIAN, 0.05, "score>0")
    with pytest.raises(ValueError, match=said):
        certify_dataset(score, (X, Y), answer, **{**NUMBERS, **numbers})
