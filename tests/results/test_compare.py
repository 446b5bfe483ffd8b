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
from scipy.stats import binomtest

from rsbounds.cli import main
from rsbounds.results import Manifest, Results, Row, compare, html, plot_difference
from rsbounds.results._compare import from_first
from rsbounds.results._difference import compared, stairs
from rsbounds.results._paired import LEVEL, band, holm, interval_of_mean, sign_test


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
    comparison = compare(a, b, [0, 0.5])
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
    mirrored = compare(b, a, [0, 0.5])
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
        ({"draws": 5}, "draws"),
        ({"draws": 1000.5}, "draws"),
        ({"seed": -1}, "seed"),
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
    huge = compare(run("a", np.linspace(1e307, 1e308, 9)), run("b", [1e300] * 9))
    assert np.isfinite(huge.interval).all()
    assert math.isnan(compare(run("a", [1.0]), run("b", [0.5])).interval.low)


# --- the bootstrap


def test_the_interval_is_the_definition_over_all_resamples():
    """Of four pairs: Hall's quantile over all 256 resamples, each as likely."""
    differences = np.array([0.1, 0.25, -0.05, 0.4])
    each = np.array(list(itertools.product(differences, repeat=4)))
    spread = each.std(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(each.mean(axis=1) - differences.mean()) / spread
    t[spread < 1e-9] = np.inf
    reach = np.sort(t)[math.ceil(LEVEL * 256) - 1] * differences.std()
    expected = differences.mean() - reach, differences.mean() + reach
    # t is on few values here: the quantile of many draws is that of all
    assert interval_of_mean(differences, 40_000, 0) == pytest.approx(expected, rel=1e-9)


def test_the_interval_of_many_pairs_is_the_normal_one():
    differences = np.random.default_rng(2).standard_normal(4000) + 0.3
    low, high = interval_of_mean(differences, 4000, 0)
    reach = 1.96 * differences.std() / math.sqrt(4000)
    # a quantile of 4,000 draws is off by 3 % at most, three standard errors of 2 %
    assert (high - low) / 2 == pytest.approx(reach, rel=0.05)
    assert (high + low) / 2 == pytest.approx(differences.mean(), rel=1e-12)


def test_there_is_no_interval_where_hardly_any_pair_differs():
    few = np.zeros(400)
    for many, is_known in ((0, False), (1, False), (2, False), (8, True)):
        few[:many] = np.linspace(0.1, 0.5, many)
        assert math.isfinite(interval_of_mean(few, 1000, 0).low) is is_known


def test_an_interval_is_the_same_each_time():
    rng = np.random.default_rng(5)
    differences = rng.standard_normal(50)
    first, again, other = (
        interval_of_mean(differences, 1000, seed) for seed in (7, 7, 8)
    )
    assert first == again != other


def alike(rng, n):
    """Radii of two runs that are alike at many inputs, and skewed; -1: not right."""
    common = rng.gamma(0.8, 0.5, n)
    radii = [common * rng.uniform(0.7, 1.25, n) for _ in range(2)]
    radii[1] *= 1.05
    return [np.where(rng.random(n) < 0.25, -1.0, own) for own in radii]


def nearly_equal(rng, n):
    """Radii of which few differ much: those that one of the two does not certify."""
    a, u = rng.gamma(2, 0.3, n), rng.random(n)
    b = a * rng.normal(1, 0.05, n)
    return [np.where(u < 0.04, -1, a), np.where((u > 0.02) & (u < 0.05), -1, b)]


def capped(rng, n):
    """Radii that end at the most that all samples earn, one run often wrong."""
    a = np.minimum(rng.gamma(1.5, 0.5, n), 1.2)
    return [a, np.where(rng.random(n) < 0.1, -1, np.minimum(1.1 * a, 1.2))]


@pytest.mark.slow
@pytest.mark.parametrize("population", [alike, nearly_equal, capped])
def test_intervals_and_bands_cover_the_truth(population):
    rng = np.random.default_rng(11)
    big = population(rng, 400_000)
    truth = float(np.mean(np.maximum(big[0], 0) - np.maximum(big[1], 0)))
    at = np.linspace(0, 1.19, 60)
    shares = [1 - np.searchsorted(np.sort(own), at) / own.size for own in big]
    many, covered, inside = 1000, 0, 0
    for seed in range(many):
        a, b = population(rng, 150)
        differences = np.maximum(a, 0) - np.maximum(b, 0)
        low, high = interval_of_mean(differences, 1000, seed)
        covered += low <= truth <= high
        drawn = stairs(band(a, b, 500, seed))
        place = np.minimum(np.searchsorted(drawn.edges, at), drawn.edges.size - 1)
        far = np.abs(drawn.heights[place] - (shares[0] - shares[1]))
        inside += bool((far <= drawn.half_width).all())
    # three standard errors of 1,000 draws at 95 % are 2.1 %
    assert covered / many > LEVEL - 0.021, covered
    assert inside / many > LEVEL - 0.021, inside


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
        comparison = compare(a, b, [0, 0.25, 0.5, 0.75], draws=100)
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
    (line, zero) = ax.get_lines()
    edges, heights = line.get_data()
    drawn = dict(zip(edges[:-1], heights[:-1], strict=True))
    # by hand: at most .25 both hold three; then A loses one, at .3 B does
    assert drawn == pytest.approx(
        {0.0: 0, 0.25: 0, 0.3: -0.25, 0.4: 0, 0.5: 0.25, 0.75: 0}
    )
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
