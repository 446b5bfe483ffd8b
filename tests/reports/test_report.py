"""Reading certification files and what a report says of them."""

import csv
import io
import json
import math
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from cli_models import says
from hypothesis import given
from hypothesis import strategies as st

from rsbounds.certificate import ASSERTED_ENVELOPE
from rsbounds.cli import main
from rsbounds.loading import load_model
from rsbounds.procedure import Procedure
from rsbounds.reports import plot, summary, table
from rsbounds.reports._table import default_radii
from rsbounds.results import Manifest, Results, Row, read

FIELD = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
OWN = (
    "idx\tlabel\tpredict\tradius\tcorrect\ttime\tcount\tn\tp_a\tsigma\tmethod\tscope\n"
)
INTEGER = "a whole number of at most 18 digits in column"
LOCAL = "fixed noise at this input only"


def own(idx, scope, radius=0.5, label=7, predict=7):
    correct = int(label == predict)
    first = f"{idx}\t{label}\t{predict}\t{radius}\t{correct}\t0:00:01"
    return f"{first}\t990\t1000\t0.98\t0.25\tgaussian\t{scope}\n"


@pytest.fixture
def write(tmp_path):
    def write(text, name="run.tsv"):
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
).map(
    lambda r: tuple(
        Row(i, a, b, x * (b >= 0), a == b, "") for i, (a, b, x) in enumerate(r)
    )
)


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
    # the average radius is the area under the curve: exact steps between the sorted
    # radii
    edges = np.unique([0.0, *(row.radius for row in rows)])
    area = math.fsum(np.diff(edges) * run.certified_accuracy(edges[1:]))
    assert run.average_radius() == pytest.approx(area, rel=1e-12, abs=1e-300)
    assert run.clean_accuracy() + run.abstention() <= 1 + 1e-15
    parts = run.by_class().values()
    assert sum(len(part.rows) for part in parts) == len(rows)
    weighted = math.fsum(len(part.rows) * part.clean_accuracy() for part in parts)
    assert weighted / len(rows) == pytest.approx(run.clean_accuracy(), rel=1e-12)


def test_files_of_the_field_are_read(write):
    """As Cohen's code writes them: radii of three digits, 0.0 for an abstention."""
    lines = "0\t3\t3\t1.12\t1\t0:00:12.5\n20\t8\t-1\t0.0\t0\t0:00:12.5\n"
    lines += "40\t0\t8\t0.358\t0\t0:00:12.5\n60\t6\t6\t1.2e+02\t1\t1 day, 0:00:01"
    expected = [
        (0, 3, 1.12, True),
        (20, -1, 0.0, False),
        (40, 8, 0.358, False),
        (60, 6, 120, True),
    ]
    for end, text in (("\n", FIELD), ("", FIELD), ("\r\n\r\n", "\ufeff" + FIELD)):
        text = (text + lines).replace("\n", "\r\n" if "\r" in end else "\n") + end
        found = read(write(text)).rows
        assert [(r.idx, r.predict, r.radius, r.correct) for r in found] == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1\t7\t7\t0.5\t1", "6 fields separated by tabs"),
        ("x\t7\t7\t0.5\t1\t0:00:01", f"{INTEGER} idx"),
        ("9" * 5000 + "\t7\t7\t0.5\t1\t0:00:01", f"{INTEGER} idx"),
        ("1\t7.5\t7\t0.5\t1\t0:00:01", f"{INTEGER} label"),
        ("1\t7\t\u0667\t0.5\t1\t0:00:01", f"{INTEGER} predict"),
        ("1\t7\t7\t1_0.5\t1\t0:00:01", "a number >= 0 in column radius"),
        ("1\t7\t7\t1e400\t1\t0:00:01", "a number >= 0 in column radius"),
        ("1\t7\t7\tnan\t1\t0:00:01", "a number >= 0 in column radius"),
        ("1\t7\t7\t-0.5\t1\t0:00:01", "a number >= 0 in column radius"),
        ("1\t7\t7\t0.5\tyes\t0:00:01", "0 or 1 in column correct"),
        ("0\t7\t7\t0.5\t1\t0:00:01", "each idx once, 0 is on line 2 too"),
        ("1\t7\t-1\t5.0\t0\tx", "radius 0 and correct 0 where predict is -1"),
        ("1\t-1\t-1\t0.0\t1\tx", "radius 0 and correct 0 where predict is -1"),
        ("1\t7\t8\t0.5\t1\tx", "correct 1 where predict is the label, else 0"),
    ],
)
def test_malformed_line_names_file_line_and_expectation(write, line, expected):
    good = "0\t7\t7\t0.5\t1\t0:00:01\n"
    path = write(FIELD + good + line + "\n" + "2" + good[1:])
    with pytest.raises(ValueError, match="expected") as error:
        read(path)
    message = str(error.value)
    assert message.startswith(f"{path}:3: expected {expected}; got ")
    assert "\n" not in message


@pytest.mark.parametrize(
    "header",
    [
        "idx,label,predict,correct\n",
        "\n",
        FIELD[:20],
        FIELD[:-1] + "\tn\tn",
    ],
)
def test_wrong_header(write, header):
    path = write(header)
    with pytest.raises(ValueError, match=r"run\.tsv:1.*distinct"):
        read(path)
    path.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ValueError, match="expected tab-separated text"):
        read(path)


@given(st.integers(1, 62))
def test_a_file_cut_anywhere_never_gains(tmp_path_factory, cut):
    # "fixed noise at this input only" cut after "noise" is not the scope "fixed noise"
    text = OWN + own(0, LOCAL) + own(3, LOCAL, radius=0.123456)
    path = tmp_path_factory.mktemp("tsv") / "run.tsv"
    path.write_text(text)
    full = read(path).rows
    path.write_text(text[:-cut])
    kept = read(path)
    assert kept.rows == full[:1]
    assert kept.note == "line 3 is cut short: left out"


@pytest.mark.parametrize(
    ("text", "note"), [("", "empty file"), (FIELD, "a header alone: no rows")]
)
def test_no_rows(write, text, note):
    results = read(write(text))
    assert (results.rows, results.note) == ((), note)
    assert math.isnan(results.clean_accuracy())
    lines = table([results], [0.0, 1.0]).splitlines()
    assert lines[1].split() == ["run", *(["[1]"] if note else []), "all", "0", *"-----"]
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="at least one row"):
        plot([results], "unused.png")


def test_table_marks_what_is_not_a_certificate_of_the_classifier(write):
    files = [
        write(OWN + own(0, "fixed noise"), "fixed.tsv"),
        write(OWN + own(0, "sigma(x) with a proven envelope"), "envelope.tsv"),
        write(OWN + own(0, LOCAL), "local.tsv"),
        write(OWN + own(0, "two queries"), "queries.tsv"),
        write(FIELD + "0\t7\t7\t0.5\t1\t0:00:01\n", "field.tsv"),
    ]
    text = table([read(path) for path in files], [0.0])
    names = [line.split("  ")[0] for line in text.splitlines()[1:6]]
    assert names == ["fixed", "envelope", "local [1]", "queries [2]", "field [3] [4]"]
    notes = text.split("\n\n")[1].splitlines()
    assert notes[0].startswith("[1] fixed noise at this input only: no certificate")
    assert notes[1].startswith("[2] two queries")
    assert notes[2:] == ["[3] the file states no scope", "[4] n not stated"]


def under(name, alpha=0.001, n=1000, **more):
    row = Row(0, 1, 1, 0.5, True, "fixed noise", n=n, method="gaussian", **more)
    manifest = Manifest(procedure=Procedure(alpha=alpha, n=n), data={"inputs": 1})
    return Results(name, (row,), manifest=manifest)


@pytest.mark.parametrize(
    ("files", "notes"),
    [
        ([under("a"), under("b")], []),
        ([under("a"), under("b", norm=math.inf)], ["[1] norm 2", "[2] norm inf"]),
        ([under("a"), under("b", alpha=0.01)], ["[1] alpha 0.001", "[2] alpha 0.01"]),
        ([under("a"), under("b", n=500), under("c")], ["[1] n 1000", "[2] n 500"]),
        (
            [under("a"), under("b", bound="anytime")],
            ["[1] bound clopper-pearson", "[2] bound any"],
        ),
        ([under("a"), replace(under("b"), manifest=None)], ["[1] alpha not stated"]),
        ([under("a"), Results("empty", ())], []),
        (
            [under("a"), under("b", alpha=0.01, norm=1.0)],
            ["[1] norm 2, alpha 0.001", "[2] norm 1, alpha 0.01"],
        ),
    ],
)
def test_table_marks_what_cannot_be_compared(files, notes):
    """Radii in l2 and l_inf, and of levels .001 and .01, stood side by side without a
    word.
    """
    _, *said = table(files, [0.0]).split("\n\n")
    found = said[0].splitlines() if said else []
    assert len(found) == len(notes)
    assert all(map(str.startswith, found, notes))
    for file in files[: bool(files[1].rows) + 1]:
        assert summary(file)["norm"] == f"{file.rows[0].norm:g}"


def test_a_run_that_is_not_finished_says_how_far_it_is():
    done = [Row(i, 1, 1, 0.5, True, "fixed noise", "0:00:02", n=9) for i in (0, 2, 3)]
    run = Results("run", tuple(done), manifest=Manifest(data={"inputs": 12}))
    assert run.notes() == [
        "3 of 12 rows, 0.5 a second for one worker, 0:00:18 left for one: "
        "inputs 1, 4, 5, 6, 7 and 4 more missing"
    ]
    assert summary(run)["missing"] == [1, *range(4, 12)]
    assert summary(run)["rate"] == 0.5
    assert "[1] 3 of 12 rows" in table([run])
    corrupt = Manifest(data={"inputs": 2}, history=[{"corrupt": [{"input": 1}]}])
    run = Results("run", tuple(done[:1]), manifest=corrupt)
    assert run.notes() == ["1 inputs left out: they are said to be corrupt (stated)"]


def test_same_stem_in_two_folders_stays_apart(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.tsv").write_text(OWN + own(0, "fixed noise"))
    files = [read(tmp_path / folder / "run.tsv") for folder in ("a", "b")]
    lines = table(files, [0.0]).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == [f.name for f in files]


def test_styles_say_the_same(write):
    path = write(
        OWN + own(0, "fixed noise", 0.99999) + own(1, "fixed noise", 0.3, label=2)
    )
    results = [read(path)]
    text = table(results, [0.0, 0.25], classes=True)
    markdown = table(results, [0.0, 0.25], classes=True, style="markdown")
    cells = [
        [c.strip() for c in line.strip("|").split("|")]
        for line in markdown.splitlines()
    ]
    assert [" ".join(row) for row in cells if row[0] != "---"] == [
        " ".join(line.split()) for line in text.splitlines()
    ]
    found = list(
        csv.DictReader(
            io.StringIO(table(results, [0.0, 0.25], style="csv", classes=True))
        )
    )
    assert {row["rows of"] for row in found} >= {
        "all",
        "class 2",
        "class 7",
        "class spread",
    }
    assert float(found[0]["ACR"]) == 0.99999 / 2
    names = ("scope", "norm", "alpha", "n", "bound", "file")
    said = [found[0][name] for name in names]
    assert said == ["fixed noise", "2", "-", "1000", "clopper-pearson", str(path)]


def test_average_radius_is_infinite_or_cut_off():
    rows = (Row(0, 1, 1, math.inf, True, ""), Row(1, 2, 2, 0.99999, True, ""))
    results = Results("run", rows)
    assert results.certified_accuracy([0.5, 1.0, math.inf]).tolist() == [1.0, 0.5, 0.5]
    assert "inf" in table([results])
    assert "  0.9999  " in table(
        [replace(results, rows=rows[1:])]
    )  # cut, not rounded up


def test_class_spread_and_deviation():
    rows = [Row(i, i % 2, 0, 1.0, i % 2 == 0, "") for i in range(4)]
    rows += [Row(4, 2, 2, 0.25, True, ""), Row(5, 2, -1, 0.0, False, "")]
    run = Results("run", tuple(rows))
    assert "class" not in table([run], [0.5], style="csv")
    text = table([run], [0.5], style="csv", classes=True)
    values = {r["rows of"]: r for r in csv.DictReader(io.StringIO(text))}
    # certified at 0.5: class 0 all, class 1 none, class 2 none; right: 1, 0, 1/2
    assert float(values["class spread"]["r=0.5"]) == 1.0
    assert float(values["class std"]["r=0.5"]) == pytest.approx(
        math.sqrt(2) / 3, rel=1e-15
    )
    assert float(values["class spread"]["accuracy"]) == 1.0


@given(st.floats(1e-6, 1e6))
def test_default_radii(largest):
    results = Results("run", (Row(0, 1, 1, largest, True, ""),))
    radii = default_radii([results])
    assert radii[0] == 0.0
    assert 2 <= len(radii) <= 8
    assert radii[-1] <= largest
    assert 2 * radii[-1] - radii[-2] > largest * (
        1 - 1e-12
    )  # one more step would pass it


@pytest.fixture
def drawn(monkeypatch):
    figure, figures = pytest.importorskip("matplotlib.figure"), []
    save = figure.Figure.savefig
    monkeypatch.setattr(
        figure.Figure,
        "savefig",
        lambda self, *a, **k: (figures.append(self), save(self, *a, **k)),
    )
    return figures


def test_plot_draws_the_exact_steps(tmp_path, drawn):
    rows = (
        Row(0, 1, 1, 0.5, True, ""),
        Row(1, 1, 1, 1.0, True, ""),
        Row(2, 1, 2, 2.0, False, ""),
    )
    runs = [
        Results("a.tsv", rows),
        Results("b.tsv", rows[:1], "x"),
        Results("empty.tsv", ()),
    ]
    plot(runs, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    axes = drawn[0].axes[0]
    curve = axes.patches[0].get_data()
    assert curve.values.tolist() == [2 / 3, 1 / 3, 0.0]
    assert curve.edges.tolist() == [0.0, 0.5, 1.0, 2.1]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend[:2] == ["a [1] (average 0.500)", "b [1] [2] (average 0.500)"]


def test_plot_shows_the_accuracy_at_exactly_zero(tmp_path, drawn):
    """Of whole radii many are 0: the step that ends at 1 does not have them."""
    rows = [Row(i, 1, 1, float(radius), True) for i, radius in enumerate((0, 0, 1, 2))]
    run = Results("a.tsv", tuple(rows))
    plot([run], tmp_path / "curves.png")
    axes = drawn[0].axes[0]
    assert axes.patches[0].get_data().values.tolist() == [0.5, 0.25, 0.0]
    (point,) = axes.lines
    assert (point.get_xdata(), point.get_ydata()) == ([0.0], [1.0])
    assert not point.get_clip_on()
    plot([Results("b.tsv", tuple(rows[2:]))], tmp_path / "more.png")
    assert not drawn[1].axes[0].lines


def test_plot_names_what_files_share_and_shows_curves_that_coincide(tmp_path, drawn):
    plot([under(name, sigma=0.5) for name in "ab"], tmp_path / "curves.png")
    plot([under("a", sigma=0.5), under("b", 0.01, sigma=1.0)], tmp_path / "curves.png")
    titles = [figure.axes[0].get_title() for figure in drawn]
    assert titles[0] == "l2 norm, sigma = 0.5, n = 1000, alpha = 0.001"
    assert titles[1] == "l2 norm, n = 1000"
    below, above = drawn[0].axes[0].patches
    assert below.get_linewidth() > above.get_linewidth()
    assert (below.get_linestyle(), above.get_linestyle()) == ("-", "--")


@pytest.mark.parametrize(
    ("use", "module", "extra"),
    [
        (partial(plot, [under("run")], "unused"), "matplotlib.figure", "plot"),
        (partial(load_model, "sklearn:model.skops"), "skops.io", "sklearn"),
    ],
)
def test_an_extra_that_is_missing_is_named(tmp_path, monkeypatch, use, module, extra):
    monkeypatch.chdir(tmp_path)
    Path("model.skops").write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'pip install "rsbounds\[{extra}\]"'):
        use()


def test_json_is_json_without_rows_and_at_infinity(write, capsys):
    def found(text):
        assert main(["report", str(write(text)), "--json", "--radii", "1,inf"]) == 0
        said = capsys.readouterr().out
        return json.loads(
            said, parse_constant=lambda name: pytest.fail(f"{name} is no JSON")
        )[0]

    assert found(FIELD)["clean"] is None
    infinite = found(FIELD + "0\t1\t1\tinf\t1\tx\n1\t1\t1\t1.0\t1\tx\n")
    assert (infinite["acr"], infinite["certified"]) == ("inf", {"1.0": 1.0, "inf": 0.5})


@pytest.mark.parametrize("radius", [1e300, 1.7e308, 5e-324, 1e-300, math.inf])
def test_radii_of_any_size_are_shown_in_few_characters(write, capsys, radius):
    path = write(
        FIELD + "".join(f"{i}\t1\t1\t{radius / 3**i!r}\t1\tx\n" for i in range(3))
    )
    for style in ("text", "markdown"):
        assert (
            max(
                map(
                    len,
                    says(capsys, ["report", str(path), "--style", style]).splitlines(),
                )
            )
            < 200
        )
    if radius in (1.7e308, 5e-324):
        pytest.importorskip("matplotlib")
        pictures = ["--html", f"{path}.html", "--plot", f"{path}.png"]
        assert main(["report", str(path), *pictures]) == 0


def test_a_table_for_latex():
    row = Row(0, 7, 7, 0.75, True, ASSERTED_ENVELOPE, sigma=0.25)
    files = [Results("50%_run", (row,))]
    lines = table(files, [0.5], style="latex").splitlines()
    assert lines[0] == r"\begin{tabular}{lrrrrrr}"
    assert lines[1::2][:2] == [r"\toprule", r"\midrule"]
    heads = r"Run & Inputs & $\sigma$ & Accuracy & Abstentions & ACR & $r = 0.5$ \\"
    assert lines[2] == heads
    assert lines[4].startswith(r"50\%\_run [1] & 1 & 0.25 & 1.000")
    assert lines[6] == r"\end{tabular}"
    assert lines[8].startswith("[1]")
    assert lines[8].endswith(r"\par")
    classes = table(files, [0.5], style="latex", classes=True)
    assert "Run & Rows of & Inputs" in classes


def test_a_table_without_notes_has_no_marks_and_keeps_them_as_comments():
    row = Row(0, 7, 7, 0.75, True, ASSERTED_ENVELOPE)
    files = [Results("run", (row,)), Results("other", (replace(row, scope=""),))]
    for style in ("text", "markdown", "latex"):
        text = table(files, [0.5], style=style, notes=False)
        *lines, last = text.splitlines()
        assert "[1]" not in text
        if style == "latex":
            assert lines[-1].startswith("% run: ")
            assert last.startswith("% other: the file states no scope")


def test_a_figure_of_ones_own(tmp_path):
    pytest.importorskip("matplotlib")
    rows = (Row(0, 7, 7, 0.75, True, "fixed noise"),)
    files = [Results("run", rows)]
    axes = plot(files, tmp_path / "a.pdf", figsize=(3.3, 2.4), labels=["ours"])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ours"]
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert plot(files, ax=axes, best=False) is axes
    with pytest.raises(ValueError, match=r"labels.*list"):
        plot(files, labels=["a", "b"])


def test_narrow_axes_of_a_wide_figure_are_drawn_as_a_column():
    """Two runs side by side had titles over each other and type of a whole page."""
    plt = pytest.importorskip("matplotlib.pyplot")
    run = Results("run", (Row(0, 7, 7, 0.75, True, "fixed noise"),))
    _, (left, _) = plt.subplots(1, 2, figsize=(7, 2.5))
    alone = plot([run], figsize=(3.3, 2.4))
    beside = plot([run], ax=left)
    assert left.get_title() == ""
    size = alone.get_legend().get_texts()[0].get_fontsize()
    assert beside.get_legend().get_texts()[0].get_fontsize() == size
    _, whole = plt.subplots(figsize=(7, 4.5))
    assert plot([run], ax=whole).get_title() != ""
    part, _ = plt.figure(figsize=(7, 2.5)).subfigures(1, 2)
    assert plot([run], ax=part.subplots()).get_title() == ""
    plt.close("all")


def test_arrays_of_radii_are_read_with_their_norm(tmp_path):
    scores = [[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.9, 0.1]]
    np.save(tmp_path / "radius_l1.npy", np.array([0.5, -1.0, 0.25, 0.0]))
    np.save(tmp_path / "labels.npy", np.array([1.0, 0.0, 0.0, 0.0]))
    np.save(tmp_path / "preds.npy", np.array(scores))
    rows = read(tmp_path / "radius_l1.npy").rows
    assert [(r.label, r.predict, r.radius, r.correct, r.norm) for r in rows] == [
        (1, 1, 0.5, True, 1.0),
        (0, -1, 0.0, False, 1.0),
        (0, 1, 0.25, False, 1.0),
        (0, -1, 0.0, False, 1.0),
    ]
    for bad in (
        np.array(["a", "b", "c"]),
        np.array([1j, 0, 0, 0]),
        np.array([np.nan, 0, 0, 0]),
    ):
        np.save(tmp_path / "radius_l1.npy", bad)
        with pytest.raises(ValueError, match=r"radius_l1\.npy.*numbers"):
            read(tmp_path / "radius_l1.npy")
    np.save(tmp_path / "radius_l1.npy", np.zeros(4))
    np.save(tmp_path / "labels.npy", np.array([1.0]))
    with pytest.raises(ValueError, match=r"radius_l1\.npy"):
        read(tmp_path / "radius_l1.npy")


@pytest.mark.parametrize(
    "text",
    [
        "0\t3\t3\t0.25\t1\t0:00:01\n1\t5\t5\t0.10\t1\t0:00:01\n",
        "0 0.25\n1 0.5\n",
        "0\t3\n1\t5\n",
    ],
)
def test_columns_without_a_header_are_not_guessed(write, text):
    """A log without its header is no list of indices and radii: labels stand second."""
    path = write(text)
    with pytest.raises(
        ValueError, match=r"run\.tsv:1: is the header missing.*write"
    ) as no:
        read(path)
    assert "\n" not in str(no.value)


def test_indices_and_radii_are_read_below_their_names(write):
    rows = read(write("idx radius\n4 0.25\n\n7\t0\n9 inf\n")).rows
    assert [(row.idx, row.radius, row.correct) for row in rows] == [
        (4, 0.25, True),
        (7, 0.0, False),
        (9, math.inf, True),
    ]
    for bad in ("4 0.25 1", "x 0.25", "4 -0.25", "4"):
        with pytest.raises(ValueError, match=r"run\.tsv:3: expected an index and a"):
            read(write(f"idx radius\n3 0.5\n{bad}\n"))
    with pytest.raises(ValueError, match="each index once"):
        read(write("idx radius\n3 0.5\n3 0.5\n"))


def test_a_header_that_stands_again_is_named(write):
    row = "0\t7\t7\t0.5\t1\t0:00:01\n"
    with pytest.raises(ValueError, match=r"run\.tsv:3: a second.*started again"):
        read(write(FIELD + row + FIELD + row))


def test_arrays_of_radii_are_not_read_beside_labels_or_scores_of_another_kind(tmp_path):
    np.save(tmp_path / "radius_l2.npy", np.array([0.5, 0.25]))
    for labels, preds, word in (
        ([0.5, 1.0], [[0.1, 0.9]] * 2, "numbers of classes"),
        ([0, 0], [[0.9], [0.2]], "two classes"),
    ):
        np.save(tmp_path / "labels.npy", np.array(labels))
        np.save(tmp_path / "preds.npy", np.array(preds))
        with pytest.raises(ValueError, match=word):
            read(tmp_path / "radius_l2.npy")


def test_radii_that_count_changes_are_shown_at_whole_numbers():
    rows = [Row(i, 0, 0, float(r), True, norm=0.0) for i, r in enumerate([1, 2, 3])]
    file = Results("masks", tuple(rows))
    head = table([file]).splitlines()[0].split()
    assert head[-4:] == ["r=0", "r=1", "r=2", "r=3"]
    assert file.counted.whole
    [*_, last] = table([file], style="csv").splitlines()[0].split(",")
    assert last == "r=3"
    beyond = Results("far", (Row(0, 0, 0, 12.0, True, norm="edit"),))
    assert [name for name in table([beyond]).split() if "r=" in name] == [
        f"r={radius}" for radius in range(0, 14, 2)
    ]
