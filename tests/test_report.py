"""Reading certification files and what a report says of them."""

from __future__ import annotations

import csv
import io
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsbounds import report
from rsbounds.procedure import Procedure
from rsbounds.report import Results, Row
from rsbounds.results import Manifest, summary

FIELD = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
OWN = "idx\tlabel\tpredict\tradius\tcorrect\ttime\tcount\tn\tp_a\tsigma\tmethod\tscope\n"
WHOLE = "a whole number of at most 18 digits in column"
LOCAL = "fixed noise at this input only"


def own(idx: int, scope: str, radius: float = 0.5, label: int = 7, predict: int = 7) -> str:
    correct = int(label == predict)
    first = f"{idx}\t{label}\t{predict}\t{radius}\t{correct}\t0:00:01"
    return f"{first}\t990\t1000\t0.98\t0.25\tgaussian\t{scope}\n"


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str, name: str = "run.tsv") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


rows = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(-1, 3),
        st.floats(0, 10) | st.sampled_from([0.0, 0.25, 0.5]),
    ),
    min_size=1,
    max_size=40,
).map(lambda r: tuple(Row(i, a, b, x * (b >= 0), a == b, "") for i, (a, b, x) in enumerate(r)))


@given(rows, st.lists(st.floats(0, 10) | st.sampled_from([0.0, 0.25, 0.5]), min_size=1))
def test_certified_accuracy_is_the_field_definition(rows, radii):
    # (correct & radius >= r).mean(), as every analysis script of the field has it
    correct = np.array([row.correct for row in rows])
    radius = np.array([row.radius for row in rows])
    expected = [(correct & (radius >= r)).mean() for r in radii]
    got = Results("run", rows).certified_accuracy(radii)
    np.testing.assert_allclose(got, expected, rtol=1e-15)  # one division either way


@given(rows)
def test_statistics_agree_with_each_other(rows):
    run = Results("run", rows)
    assert run.certified_accuracy(0.0) == run.clean_accuracy()
    # the average radius is the area under the curve: exact steps between the sorted radii
    edges = np.unique([0.0, *(row.radius for row in rows)])
    area = math.fsum(np.diff(edges) * run.certified_accuracy(edges[1:]))
    assert run.average_radius() == pytest.approx(area, rel=1e-12, abs=1e-300)
    assert run.clean_accuracy() + run.abstention() <= 1 + 1e-15
    parts = run.by_class().values()
    assert sum(len(part.rows) for part in parts) == len(rows)
    weighted = math.fsum(len(part.rows) * part.clean_accuracy() for part in parts)
    assert weighted / len(rows) == pytest.approx(run.clean_accuracy(), rel=1e-12)


@given(rows)
def test_a_file_is_read_back_as_written(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("tsv") / "run.tsv"
    lines = (f"{r.idx}\t{r.label}\t{r.predict}\t{r.radius!r}\t{r.correct:d}\t1.5\n" for r in rows)
    path.write_text(FIELD + "".join(lines))
    written = tuple(replace(row, time="1.5") for row in rows)
    assert report.read(path) == Results(str(path), written)


def test_files_of_the_field_are_read(write):
    """As Cohen's code writes them: radii of three digits, 0.0 for an abstention."""
    lines = "0\t3\t3\t1.12\t1\t0:00:12.5\n20\t8\t-1\t0.0\t0\t0:00:12.5\n"
    lines += "40\t0\t8\t0.358\t0\t0:00:12.5\n60\t6\t6\t1.2e+02\t1\t1 day, 0:00:01\n"
    found = report.read(write(FIELD + lines)).rows
    assert [(r.idx, r.predict, r.radius, r.correct) for r in found] == [
        (0, 3, 1.12, True),
        (20, -1, 0.0, False),
        (40, 8, 0.358, False),
        (60, 6, 120.0, True),
    ]


def test_own_file_carries_its_scopes(write):
    path = write(OWN + own(0, "fixed noise") + own(3, LOCAL) + own(6, "fixed noise"))
    assert report.read(path).scopes() == ["fixed noise", LOCAL]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1\t7\t7\t0.5\t1", "6 fields separated by tabs"),
        ("1 7 7 0.5 1 0:00:01", "6 fields separated by tabs"),
        ("x\t7\t7\t0.5\t1\t0:00:01", f"{WHOLE} idx"),
        ("9" * 5000 + "\t7\t7\t0.5\t1\t0:00:01", f"{WHOLE} idx"),
        ("1\t7.5\t7\t0.5\t1\t0:00:01", f"{WHOLE} label"),
        ("1\t0_7\t7\t0.5\t1\t0:00:01", f"{WHOLE} label"),
        ("1\t7\t-\t0.5\t1\t0:00:01", f"{WHOLE} predict"),
        ("1\t7\t\u0667\t0.5\t1\t0:00:01", f"{WHOLE} predict"),
        ("1\t7\t7\t1_0.5\t1\t0:00:01", "a number >= 0 in column radius"),
        ("1\t7\t7\t1e400\t1\t0:00:01", "a number >= 0 in column radius"),
        ("1\t7\t7\t0.5.1\t1\t0:00:01", "a number >= 0 in column radius"),
        ("1\t7\t7\tbig\t1\t0:00:01", "a number >= 0 in column radius"),
        ("1\t7\t7\tnan\t1\t0:00:01", "a number >= 0 in column radius"),
        ("1\t7\t7\t-0.5\t1\t0:00:01", "a number >= 0 in column radius"),
        ("1\t7\t7\t0.5\tyes\t0:00:01", "0 or 1 in column correct"),
        ("0\t7\t7\t0.5\t1\t0:00:01", "each idx once, 0 is on line 2 too"),
        ("1\t7\t-1\t5.0\t1\tx", "radius 0 and correct 0 where predict is -1"),
        ("1\t7\t-1\t5.0\t0\tx", "radius 0 and correct 0 where predict is -1"),
        ("1\t-1\t-1\t0.0\t1\tx", "radius 0 and correct 0 where predict is -1"),
        ("1\t7\t8\t0.5\t1\tx", "correct 1 where predict is the label, else 0"),
        ("1\t7\t7\t0.5\t0\tx", "correct 1 where predict is the label, else 0"),
    ],
)
def test_malformed_line_names_file_line_and_expectation(write, line, expected):
    good = "0\t7\t7\t0.5\t1\t0:00:01\n"
    path = write(FIELD + good + line + "\n" + "2" + good[1:])
    with pytest.raises(ValueError, match="expected") as error:
        report.read(path)
    message = str(error.value)
    assert message.startswith(f"{path}:3: expected {expected}; got ")
    assert "\n" not in message


@pytest.mark.parametrize(
    "header", ["idx,label,predict,radius,correct\n", "\n", "hello", FIELD[:20]]
)
def test_wrong_header(write, header):
    path = write(header)
    with pytest.raises(ValueError, match=r"run\.tsv:1: expected a header that starts with idx"):
        report.read(path)


def test_binary_file(tmp_path):
    path = tmp_path / "run.png"
    path.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ValueError, match="expected tab-separated text"):
        report.read(path)


@given(st.integers(1, 62))
def test_a_file_cut_anywhere_never_gains(tmp_path_factory, cut):
    # Whatever is left of the last line, the rows read are whole rows of the full file.
    text = OWN + own(0, LOCAL) + own(3, "fixed noise", radius=0.123456) + own(6, LOCAL)
    path = tmp_path_factory.mktemp("tsv") / "run.tsv"
    path.write_text(text)
    full = report.read(path).rows
    path.write_text(text[: len(OWN) + cut])
    kept = report.read(path)
    assert kept.rows == full[: len(kept.rows)]
    whole = text[: len(OWN) + cut].count("\n") - 1
    assert len(kept.rows) == whole or cut + 1 == len(own(0, LOCAL))


@pytest.mark.parametrize("cut", [" at this input only\n", LOCAL + "\n"])
def test_regression_scope_cut_to_a_better_one(write, cut):
    # "fixed noise at this input only" cut after "noise" is not the scope "fixed noise".
    path = write(OWN + own(0, LOCAL) + own(3, LOCAL).removesuffix(cut))
    results = report.read(path)
    assert len(results.rows) == 1
    assert results.note == "line 3 is cut short: left out"


def test_last_line_without_newline_counts_when_whole(write):
    results = report.read(write(FIELD + "0\t7\t7\t0.5\t1\t0:00:01"))
    assert len(results.rows) == 1
    assert results.note == ""


def test_windows_line_ends_and_byte_order_mark(write):
    text = "\ufeff" + FIELD + "0\t7\t7\t0.5\t1\t0:00:01\n"
    assert report.read(write(text.replace("\n", "\r\n"))).rows == (
        Row(0, 7, 7, 0.5, True, time="0:00:01"),
    )


@pytest.mark.parametrize(("text", "note"), [("", "empty file"), (FIELD, "")])
def test_no_rows(write, text, note):
    results = report.read(write(text))
    assert results.rows == ()
    assert results.note == note
    assert math.isnan(results.clean_accuracy())
    lines = report.table([results], [0.0, 1.0]).splitlines()
    assert lines[1].split() == ["run", *(["[1]"] if note else []), "all", "0", *"-----"]
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="at least one row"):
        report.plot([results], "unused.png")


def test_table_marks_what_is_not_a_certificate_of_the_classifier(write):
    files = [
        write(OWN + own(0, "fixed noise"), "fixed.tsv"),
        write(OWN + own(0, "sigma(x) with a proven envelope"), "envelope.tsv"),
        write(OWN + own(0, LOCAL), "local.tsv"),
        write(OWN + own(0, "memory-based"), "memory.tsv"),
        write(FIELD + "0\t7\t7\t0.5\t1\t0:00:01\n", "field.tsv"),
    ]
    text = report.table([report.read(path) for path in files], [0.0])
    names = [line.split("  ")[0] for line in text.splitlines()[1:6]]
    assert names == ["fixed", "envelope", "local [1]", "memory [2]", "field [3] [4]"]
    notes = text.split("\n\n")[1].splitlines()
    assert notes[0].startswith("[1] fixed noise at this input only: no certificate")
    assert notes[1].startswith("[2] memory-based")
    assert notes[2:] == ["[3] the file states no scope", "[4] n not stated"]


def under(name: str, alpha: float = 0.001, n: int = 1000, **more: Any) -> Results:
    row = Row(0, 1, 1, 0.5, True, "fixed noise", n=n, method="gaussian", **more)
    return Results(name, (row,), manifest=Manifest(procedure=Procedure(alpha=alpha, n=n)))


@pytest.mark.parametrize(
    ("files", "notes"),
    [
        ([under("a"), under("b")], []),
        ([under("a"), under("b", norm=math.inf)], ["[1] norm 2", "[2] norm inf"]),
        ([under("a"), under("b", alpha=0.01)], ["[1] alpha 0.001", "[2] alpha 0.01"]),
        ([under("a"), under("b", n=500), under("c")], ["[1] n 1000", "[2] n 500"]),
        ([under("a"), under("b", bound="anytime")], ["[1] bound clopper-pearson", "[2] bound any"]),
        ([under("a"), replace(under("b"), manifest=None)], ["[1] alpha not stated"]),
        ([under("a"), Results("empty", ())], []),
        (
            [under("a"), under("b", alpha=0.01, norm=1.0)],
            ["[1] norm 2, alpha 0.001", "[2] norm 1, alpha 0.01"],
        ),
    ],
)
def test_table_marks_what_cannot_be_compared(files, notes):
    """Radii in l2 and l_inf, and of levels .001 and .01, stood side by side without a word."""
    _, *said = report.table(files, [0.0]).split("\n\n")
    found = said[0].splitlines() if said else []
    assert len(found) == len(notes)
    assert all(map(str.startswith, found, notes))
    for file in files[: bool(files[1].rows) + 1]:
        assert summary(file)["norm"] == f"{file.rows[0].norm:g}"


def test_same_stem_in_two_folders_stays_apart(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.tsv").write_text(OWN + own(0, "fixed noise"))
    files = [report.read(tmp_path / folder / "run.tsv") for folder in ("a", "b")]
    lines = report.table(files, [0.0]).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == [f.name for f in files]


def test_styles_say_the_same(write):
    path = write(OWN + own(0, "fixed noise", 0.99999) + own(1, "fixed noise", 0.3, label=2))
    results = [report.read(path)]
    text = report.table(results, [0.0, 0.25], classes=True)
    markdown = report.table(results, [0.0, 0.25], classes=True, style="markdown")
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in markdown.splitlines()]
    assert [" ".join(row) for row in cells if row[0] != "---"] == [
        " ".join(line.split()) for line in text.splitlines()
    ]
    table = list(
        csv.DictReader(io.StringIO(report.table(results, [0.0, 0.25], style="csv", classes=True)))
    )
    assert {row["rows of"] for row in table} >= {"all", "class 2", "class 7", "class spread"}
    assert float(table[0]["ACR"]) == 0.99999 / 2
    assert table[0]["scope"] == "fixed noise"
    said = [table[0][name] for name in ("norm", "alpha", "n", "bound")]
    assert said == ["2", "-", "1000", "clopper-pearson"]
    assert table[0]["file"] == str(path)


def test_average_radius_is_cut_not_rounded_up():
    results = Results("run", (Row(0, 1, 1, 0.99999, True, "fixed noise"),))
    assert "0.9999" in report.table([results])
    assert "1.0000" not in report.table([results])


def test_infinite_radius():
    rows = (Row(0, 1, 1, math.inf, True, ""), Row(1, 2, 2, 0.5, True, ""))
    results = Results("run", rows)
    assert results.certified_accuracy([0.5, 0.6, math.inf]).tolist() == [1.0, 0.5, 0.5]
    assert "inf" in report.table([results])


def test_class_spread_and_deviation():
    rows = [Row(i, i % 2, 0, 1.0, i % 2 == 0, "") for i in range(4)]
    rows += [Row(4, 2, 2, 0.25, True, ""), Row(5, 2, -1, 0.0, False, "")]
    run = Results("run", tuple(rows))
    assert "class" not in report.table([run], [0.5], style="csv")
    table = report.table([run], [0.5], style="csv", classes=True)
    values = {r["rows of"]: r for r in csv.DictReader(io.StringIO(table))}
    # certified at 0.5: class 0 all, class 1 none, class 2 none; right: 1, 0, 1/2
    assert float(values["class spread"]["r=0.5"]) == 1.0
    assert float(values["class std"]["r=0.5"]) == pytest.approx(math.sqrt(2) / 3, rel=1e-15)
    assert float(values["class spread"]["accuracy"]) == 1.0


@given(st.floats(1e-6, 1e6))
def test_default_radii(largest):
    results = Results("run", (Row(0, 1, 1, largest, True, ""),))
    radii = report.default_radii([results])
    assert radii[0] == 0.0
    assert 2 <= len(radii) <= 8
    assert radii[-1] <= largest
    assert 2 * radii[-1] - radii[-2] > largest * (1 - 1e-12)  # one more step would pass it


@pytest.mark.parametrize("radii", [[-0.1], [math.nan], ["a"]])
def test_bad_radii(radii):
    with pytest.raises(ValueError, match="radii must be"):
        report.table([Results("run", ())], radii)


def test_bad_style():
    with pytest.raises(ValueError, match="style must be one of"):
        report.table([Results("run", ())], style="html")


def test_plot_draws_the_exact_steps(tmp_path, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    made = []
    original = figure.Figure.savefig
    monkeypatch.setattr(
        figure.Figure, "savefig", lambda self, *a, **k: (made.append(self), original(self, *a, **k))
    )
    rows = (Row(0, 1, 1, 0.5, True, ""), Row(1, 1, 1, 1.0, True, ""), Row(2, 1, 2, 2.0, False, ""))
    runs = [Results("a.tsv", rows), Results("b.tsv", rows[:1]), Results("empty.tsv", ())]
    report.plot(runs, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    axes = made[0].axes[0]
    curve = axes.patches[0].get_data()
    assert curve.values.tolist() == [2 / 3, 1 / 3, 0.0]
    assert curve.edges.tolist() == [0.0, 0.5, 1.0, 2.1]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["a [1] (average 0.500)", "b [1] (average 0.500)"]


def test_plot_takes_the_best_of_comparable_runs_alone(tmp_path, monkeypatch):
    figure, made = pytest.importorskip("matplotlib.figure"), []
    monkeypatch.setattr(figure.Figure, "savefig", lambda self, *a, **k: made.append(self))

    def best(*files):
        report.plot(files, tmp_path / "curves.png")
        legend = made[-1].axes[0].get_legend().get_texts()
        return [t.get_text() for t in legend if t.get_text().startswith("best")]

    one, two = under("one", sigma=0.25), under("two", sigma=0.5)
    assert best(one, two) == ["best constant level at each radius"]
    assert best(one, under("two", sigma=0.25)) == []
    assert best(one, under("two", sigma=0.5, norm=math.inf)) == []
    local = [replace(f, rows=(replace(f.rows[0], scope=LOCAL),)) for f in (one, two)]
    assert best(*local) == best(one, local[1]) == []


def test_plot_without_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match="pip install matplotlib"):
        report.plot([Results("run", (Row(0, 1, 1, 1.0, True, ""),))], "unused.png")
