"""Two runs on the same inputs: exact tests, intervals, and what can't be paired."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from cli_models import arguments, package, says
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from rsbounds import gaussian
from rsbounds.cli import main
from rsbounds.procedure import Procedure
from rsbounds.reports import compare, html
from rsbounds.reports._bets import lower_mean
from rsbounds.reports._compare import from_first
from rsbounds.reports._difference import compared, stairs
from rsbounds.reports._most import most_of
from rsbounds.reports._paired import LEVEL, band, holm, interval_of_mean, sign_test
from rsbounds.reports.internal import plot_difference
from rsbounds.results import Manifest, Results, Row


def run(name, radii, **columns):
    """A run that is right with these radii, and abstains where they are None."""
    rows = (
        Row(i, 1, -1 if r is None else 1, r or 0.0, r is not None, **columns)
        for i, r in enumerate(radii)
    )
    return Results(name, tuple(rows))


# --- the exact test


def enumerated(only_a, only_b):
    """Two-sided p of a fair coin by all of its outcomes."""
    total, seen = only_a + only_b, abs(only_a - only_b)
    outcomes = itertools.product((0, 1), repeat=total)
    extreme = sum(abs(total - 2 * sum(each)) >= seen for each in outcomes)
    return Fraction(extreme, 2**total)


@pytest.mark.parametrize("total", range(11))
def test_p_is_that_of_all_outcomes(total):
    for only_a in range(total + 1):
        exact = enumerated(only_a, total - only_a)
        p = sign_test(only_a, total - only_a)
        assert exact <= Fraction(p) <= exact * (1 + Fraction(1, 2**52))


@given(st.integers(0, 3000), st.integers(0, 3000))
def test_p_is_that_of_scipy(only_a, only_b):
    total = only_a + only_b
    expected = binomtest(only_a, total, 0.5).pvalue if total else 1.0
    # SciPy's own tail is off by up to 1e-11 where it is 1e-300
    assert sign_test(only_a, only_b) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_no_p_is_zero():
    assert sign_test(0, 5000) > 0
    assert sign_test(0, 0) == sign_test(7, 7) == 1.0


def test_holm_keeps_the_level_for_all_radii_together():
    # Holm 1979: the smallest p times their number, the next times one less, no smaller
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


# --- what is compared


def test_counts_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    radii = [
        [None if rng.random() < 0.3 else rng.choice([0.0, 0.25, 0.5, 0.75])
         for _ in range(60)] for _ in range(2)
    ]  # fmt: skip
    a, b = (run(name, own) for name, own in zip("ab", radii, strict=True))
    comparison = compare(a, b, [0, 0.5], most=1.0)
    for at in comparison.at:
        holds = [[r is not None and r >= at.radius for r in own] for own in radii]
        pairs = list(zip(*holds, strict=True))
        assert at.only_a == pairs.count((True, False))
        assert at.only_b == pairs.count((False, True))
        assert (at.accuracy_a, at.accuracy_b) == (
            a.certified_accuracy(at.radius),
            b.certified_accuracy(at.radius),
        )
        assert at.p == sign_test(at.only_a, at.only_b)
    assert comparison.average_a == pytest.approx(a.average_radius(), rel=1e-14)
    mirrored = compare(b, a, [0, 0.5], most=1.0)
    assert [each.p_holm for each in mirrored.at] == [x.p_holm for x in comparison.at]
    assert mirrored.difference == -comparison.difference
    low, high = mirrored.interval
    assert (-high, -low) == pytest.approx(comparison.interval, rel=1e-12)


def test_rows_are_paired_by_input():
    a = run("a", [0.1, 0.9, 0.5, 0.7])
    b = replace(a, rows=a.rows[::-1])
    assert compare(a, b).at[1].only_a == 0
    part = compare(a, replace(b, rows=b.rows[:2]))
    assert part.inputs == 2
    assert any("selections differ: inputs 0, 1 of a" in note for note in part.notes)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"label": 0, "predict": 0}, "label"),
        ({"input": "b" * 16}, "hash"),
        ({"norm": math.inf}, "norm"),
        ({"norm": "edits"}, "norm"),
    ],
)
def test_another_input_is_refused(change, word):
    a = run("a.tsv", [0.5, 0.5], input="a" * 16)
    other = replace(a.rows[1], **change)
    b = replace(a, name="b.tsv", rows=(a.rows[0], other))
    with pytest.raises(ValueError, match=word) as error:
        compare(a, b)
    assert "b.tsv" in str(error.value)
    assert from_first([a, b], [0.0]) == (0, {})


def test_other_data_are_refused_where_rows_have_no_hashes():
    a, b = run("a", [0.5, 0.5]), run("b", [0.5, 0.25])
    stated = [Manifest(data={"x": x * 64, "inputs": 2}) for x in "ab"]
    assert any("by index" in note for note in compare(a, b).notes)
    with pytest.raises(ValueError, match=r"data\.x"):
        compare(replace(a, manifest=stated[0]), replace(b, manifest=stated[1]))
    units = [Manifest(data={"scale": s, "inputs": 2}) for s in (1.0, 255.0)]
    with pytest.raises(ValueError, match=r"data\.scale"):
        compare(replace(a, manifest=units[0]), replace(b, manifest=units[1]))


def test_what_has_no_accuracies_is_refused():
    a = run("a", [0.5])
    with pytest.raises(ValueError, match="no input in common"):
        compare(a, replace(a, rows=(replace(a.rows[0], idx=7),)))
    values = replace(a, manifest=Manifest(answer={"name": "values"}))
    with pytest.raises(ValueError, match="accuracy"):
        compare(a, values)
    top = replace(a, rows=(replace(a.rows[0], predict=(1, 2)),))
    with pytest.raises(ValueError, match="number of classes"):
        compare(a, top)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"radii": [-0.5]}, "radii"),
        ({"radii": [math.nan]}, "radii"),
        ({"most": 0.0}, "most"),
        ({"most": math.nan}, "most"),
        ({"most": math.inf}, "most"),
        ({"b": "run.tsv"}, "b"),
    ],
)
def test_bad_arguments_are_named(change, word):
    known = {"a": run("a", [0.5]), "b": run("b", [0.5])}
    with pytest.raises(ValueError, match=f"^{word} must"):
        compare(**known | change)
    with pytest.raises(ValueError, match="comparison"):
        compared(known["a"])
    with pytest.raises(ValueError, match="style"):
        compared(compare(**known), style="html")


def test_infinite_and_huge_radii_have_no_interval_or_a_finite_one():
    a, b = run("a", [math.inf, 0.5]), run("b", [math.inf, 0.25])
    comparison = compare(a, b)
    assert math.isnan(comparison.interval.low)
    assert json.loads(json.dumps(comparison.summary()))["difference"] is None
    assert "no interval" in compared(comparison)
    huge = run("a", np.linspace(1e306, 1e307, 9)), run("b", [1e300] * 9)
    assert np.isfinite(compare(*huge, most=2e307).interval).all()


# --- the interval and the band


@pytest.mark.parametrize("n", [5, 30, 80])
@pytest.mark.parametrize("value", [0.1, 0.45, 0.4999, 0.5001, 0.7])
def test_an_interval_keeps_its_level_for_two_values_by_all_outcomes(n, value):
    """Of differences that are 1 or a value, as shares of their reach."""
    hits = np.arange(n + 1)
    counts = np.stack([n - hits, hits], axis=1)
    alpha = (1 - LEVEL) / 2
    low = lower_mean([value, 1.0], counts, alpha)
    high = 1 - lower_mean([1 - value, 0.0], counts, alpha)
    for share in (0.001, 0.004, 0.01, 0.02, 0.05, 0.1, 0.3, 0.5, 0.9, 0.99):
        mean = value + (1 - value) * share
        chances = binom.pmf(hits, n, share)
        assert chances[low > mean].sum() <= alpha
        assert chances[high < mean].sum() <= alpha


def test_an_interval_reaches_as_far_as_what_no_pair_showed():
    """Where all pairs agree, .025^(1/n) is left for the most extreme difference."""
    n, most = 100, 1.5
    same = np.full(n, 0.5)
    low, high = interval_of_mean(same, same, most, most)
    unseen = most * (1 - 0.025 ** (1 / n))
    # half of the wealth risks all of itself: no interval of this level is narrower than
    # what is unseen, and this one is at most by what log 2 adds
    assert unseen <= high == -low <= most * (1 - 0.0125 ** (1 / n)) * 1.001


def test_a_bound_of_the_mean_is_the_definition():
    """The wealth at the bound is 1 / alpha, by rational arithmetic on both sides."""
    values, alpha = [0.25, 0.5, 1.0], 0.05
    counts = [3, 4, 2]
    bound = float(lower_mean(values, counts, alpha))

    def wealth(mean):
        risked = [Fraction(2 * i + 1, 32) for i in range(16)]
        stakes = [Fraction(1, 32)] * 16
        total = Fraction(0)
        for f, stake in zip(
            [*risked, Fraction(1)], [*stakes, Fraction(1, 2)], strict=True
        ):
            product = stake
            for value, count in zip(values, counts, strict=True):
                product *= (1 - f + f * Fraction(value) / mean) ** count
            total += product
        return total

    assert wealth(Fraction(bound)) >= 20
    assert wealth(Fraction(bound) * (1 + Fraction(1, 10**4))) < 20


def test_a_bound_does_not_depend_on_the_order_and_is_below_the_mean():
    values = np.random.default_rng(3).beta(0.4, 0.7, 200)
    once = np.ones(200)
    bound = lower_mean(values, once, 0.025)
    assert lower_mean(values[::-1], once, 0.025) == pytest.approx(bound, rel=1e-12)
    assert 0.5 * values.mean() < bound < values.mean()
    assert lower_mean([0.0, 0.0], [1, 1], 0.025) == 0


def test_an_interval_narrows_with_the_spread_of_the_pairs():
    rng = np.random.default_rng(2)
    widths = []
    for spread in (0.5, 0.2):
        a = np.clip(1 + spread * rng.standard_normal(4000), 0, 2)
        low, high = interval_of_mean(a, np.ones(4000), 2.0, 2.0)
        assert low < float(np.mean(a - 1)) < high
        widths.append(high - low)
        # the normal interval has 1.96 where this one needs sqrt(2 log 80) = 2.96 at
        # least, and what may be unseen
        assert 2 * 1.96 * a.std() / math.sqrt(4000) < high - low
    assert widths[1] < 0.6 * widths[0] < 0.06


def alike(rng, n):
    """Radii of two runs that are alike at many inputs, and skewed; -1: not right."""
    common = np.minimum(rng.gamma(0.8, 0.5, n), 1.5)
    radii = [common * rng.uniform(0.7, 1.25, n) for _ in range(2)]
    radii[1] *= 1.05
    return [np.where(rng.random(n) < 0.25, -1.0, own) for own in radii]


def nearly_equal(rng, n):
    """Radii of which few differ much: those that one of the two does not certify."""
    a, u = np.minimum(rng.gamma(2, 0.3, n), 1.5), rng.random(n)
    b = a * np.clip(rng.normal(1, 0.05, n), 0.5, 1.3)
    return [np.where(u < 0.02, -1, a), np.where((u > 0.01) & (u < 0.03), -1, b)]


def capped(rng, n):
    """Radii that end at the most that all samples earn, one run often wrong."""
    a = np.minimum(rng.gamma(1.5, 0.5, n), 1.2)
    return [a, np.where(rng.random(n) < 0.1, -1, np.minimum(1.1 * a, 1.2))]


@pytest.mark.slow
@pytest.mark.parametrize("population", [alike, nearly_equal, capped])
@pytest.mark.parametrize("n", [60, 150])
def test_intervals_and_bands_cover_the_truth(population, n):
    rng, most = np.random.default_rng(11), 2.0
    big = population(rng, 400_000)
    truth = float(np.mean(np.maximum(big[0], 0) - np.maximum(big[1], 0)))
    at = np.linspace(0, 1.19, 60)
    shares = [1 - np.searchsorted(np.sort(own), at) / own.size for own in big]
    many, covered, inside = 200, 0, 0
    for _ in range(many):
        a, b = population(rng, n)
        low, high = interval_of_mean(np.maximum(a, 0), np.maximum(b, 0), most, most)
        covered += low <= truth <= high
        drawn = stairs(band(a, b, most))
        place = np.minimum(np.searchsorted(drawn.edges, at), drawn.edges.size - 1)
        apart = shares[0] - shares[1]
        inside += bool(
            ((drawn.low[place] <= apart) & (apart <= drawn.high[place])).all()
        )
    # three standard errors of 200 draws at 95 % are 4.6 %
    assert covered / many > LEVEL - 0.046, covered
    assert inside / many > LEVEL - 0.046, inside


def test_a_band_holds_the_difference_and_ends_at_the_most():
    a, b = np.array([-1.0, 0.3, 0.9, 1.0]), np.array([0.2, 0.3, -1.0, 0.7])
    drawn = band(a, b, 1.0)
    assert (drawn.low <= drawn.heights).all()
    assert (drawn.heights <= drawn.high).all()
    assert drawn.edges[-1] == 1.0
    unknown = band(a, b, None)
    assert np.isnan(unknown.low).all()
    places = np.searchsorted(drawn.edges, unknown.edges)
    assert drawn.heights[places].tolist() == unknown.heights.tolist()


# --- what radii could be at most


def test_the_most_is_what_all_samples_earn_by_the_manifest():
    manifest = Manifest(
        method="gaussian",
        parameters={"sigma": 0.5},
        procedure=Procedure(n=1000, alpha=0.01, runner_up=False),
    )
    known = replace(run("a", [0.5, 0.25]), manifest=manifest)
    most = gaussian.max_radius(1000, 0.01, 0.5)
    assert most_of(known) == pytest.approx(float(most), rel=1e-10)
    assert compare(known, known).most == (most_of(known),) * 2
    # rows that no such run could write are no rows of it
    above = replace(known, rows=run("a", [0.5, 2.5]).rows)
    assert math.isnan(compare(above, known).interval.low)
    staged = replace(manifest, procedure=Procedure(n=1000, tolerance=0.04))
    assert 0 < most_of(replace(known, manifest=staged)) < 2


def test_the_most_is_not_guessed():
    a = run("a", [0.5, 0.25])
    follows = Manifest(
        method="lipschitz", parameters={"rate": 0.1, "sigma_min": 0.1, "dim": 4}
    )
    for file in (a, replace(a, manifest=follows)):
        assert math.isnan(most_of(file))
        comparison = compare(file, file)
        assert math.isnan(comparison.interval.low)
        assert "give it as most (--most)" in compared(comparison)
        assert math.isfinite(compare(file, file, most=2.0).interval.low)
    with pytest.raises(ValueError, match=r"most must be at least every radius.*0\.5"):
        compare(a, a, most=0.4)


def test_an_input_that_stands_twice_is_refused():
    twice = Results("a", (Row(0, 3, 3, 0.9, True), Row(0, 3, 3, 0.9, True)))
    once = run("b", [0.1])
    once = replace(once, rows=(replace(once.rows[0], label=3, predict=3),))
    for pair in ((twice, once), (once, twice)):
        with pytest.raises(ValueError, match=r"a must have each input once.*input 0"):
            compare(*pair)


def test_inputs_of_one_content_are_a_note():
    rows = run("a", [0.1, 0.2, 0.3]).rows
    hashed = [
        replace(row, input=text * 16) for row, text in zip(rows, "aba", strict=True)
    ]
    a = Results("a", tuple(hashed))
    assert any(
        note.startswith("1 of the inputs repeat") for note in compare(a, a).notes
    )
    other = Results("a", tuple(hashed[:2]))
    assert not any("repeat" in note for note in compare(other, other).notes)


@pytest.mark.slow
def test_p_and_holm_keep_their_level():
    """Under two runs that are alike, p at most 5 % is seen at most 5 % of the time."""
    rng = np.random.default_rng(12)
    rejected = 0
    for _ in range(2000):
        radii = [[None if r < 0 else r for r in own] for own in alike(rng, 80)]
        swap = rng.random(80) < 0.5
        pairs = [(y, x) if s else (x, y) for x, y, s in zip(*radii, swap, strict=True)]
        each = zip(*pairs, strict=True)
        a, b = (run(name, own) for name, own in zip("ab", each, strict=True))
        comparison = compare(a, b, [0, 0.25, 0.5, 0.75])
        rejected += min(at.p_holm for at in comparison.at) <= 0.05
    assert rejected / 2000 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2000)


# --- what is printed and drawn


@pytest.fixture
def two(work):
    """Two runs on the same inputs, and one on another selection."""
    assert main(arguments(n=200)) == 0
    assert main(arguments(n=200, sigma=0.5, out="wide.tsv")) == 0
    assert main(arguments(n=200, max=5, out="few.tsv")) == 0
    return work


def test_the_command_prints_what_the_function_returns(two, capsys):
    text = says(capsys, "compare out.tsv wide.tsv --radii 0,0.25")
    assert "12 inputs of both" in text
    assert "r=0.25" in text
    answer = json.loads(says(capsys, "compare out.tsv wide.tsv --radii 0,0.25 --json"))
    assert answer["files"] == ["out.tsv", "wide.tsv"]
    assert [at["radius"] for at in answer["radii"]] == [0.0, 0.25]
    assert answer["level"] == 0.95
    for style in ("markdown", "latex", "csv"):
        assert says(capsys, f"compare out.tsv wide.tsv --style {style}")
    lines = says(capsys, "compare out.tsv few.tsv --style csv").splitlines()
    assert (
        len({line.count(",") for line in lines if line[:2] in ("me", "av", "r=")}) == 1
    )
    assert "selections differ" in says(capsys, "compare out.tsv few.tsv")


def test_the_difference_is_drawn_with_its_band(two):
    package("matplotlib")
    command = ["compare", "out.tsv", "wide.tsv", "--plot", "difference.png"]
    assert main(command) == main(command) == 0
    assert Path("difference.png").read_bytes().startswith(b"\x89PNG")
    Path("mine.png").write_text("mine")
    assert main([*command[:-1], "mine.png"]) == 2
    a, b = run("a$_$", [0.5, 0.25, None, 0.75]), run("b", [0.4, None, 0.3, 0.75])
    ax = plot_difference(compare(a, b))
    (curve,) = ax.patches
    heights, edges, _ = curve.get_data()
    drawn = dict(zip(edges[1:-1], heights[:-1], strict=True))
    # by hand: at most .25 both hold three; then A loses one, at .3 B does
    assert drawn == pytest.approx({0.25: 0, 0.3: -0.25, 0.4: 0, 0.5: 0.25, 0.75: 0})
    (zero,) = ax.get_lines()
    assert zero.get_ydata()[0] == 0


def test_the_page_compares_files_that_share_inputs(two):
    assert main(["report", "out.tsv", "wide.tsv", "few.tsv", "--html", "p.html"]) == 0
    text = Path("p.html").read_text(encoding="utf-8")
    assert "Differences from out" in text
    assert 'id="difference"' in text
    assert main(["report", "out.tsv", "--html", "p.html"]) == 0
    assert "Differences from" not in Path("p.html").read_text(encoding="utf-8")


def test_a_page_adjusts_p_for_all_of_its_pairs(tmp_path):
    a = run("a", [0.5] * 9 + [0.2] * 3)
    others = [run(f"b{i}", [0.2] * (9 - i) + [0.5] * i + [0.2] * 3) for i in range(3)]
    html([a, *others], tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    _, made = from_first([a, *others], [0.0, 0.5])
    most = max(at.p for own in made.values() for at in own.at if at.radius == 0.5)
    assert len(made) == 3
    assert f"p {most:.2}, 0:9" not in text
    assert "0:9" in text
