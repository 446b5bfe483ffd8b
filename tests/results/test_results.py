"""Results as Python and notebooks show them: text, tables, figures."""

import numpy as np
import pytest

from rsbounds import results
from rsbounds.certificate import ASSERTED_ENVELOPE
from rsbounds.reports import card, plot, read_card, write_card
from rsbounds.results import Results, Row

RUN = Results("", (Row(0, 7, 7, 0.75, True, "fixed noise", sigma=0.5),))


def test_results_of_no_file_have_no_name():
    assert (
        repr(RUN)
        == "<Results: 1 rows, sigma 0.5, accuracy 1.0000, average radius 0.7500>"
    )


def test_an_average_radius_is_not_rounded_up():
    """The line said 0.5736 of 0.57358..., the report .5735."""
    run = Results("", (Row(0, 7, 7, 0.57358, True),))
    assert repr(run).endswith("average radius 0.5735>")


def test_rows_as_a_data_frame():
    pytest.importorskip("pandas")
    frame = RUN.to_pandas()
    assert frame.shape[0] == 1
    assert frame["radius"].tolist() == [0.75]
    assert np.array_equal(frame["sigma"], [0.5])


def test_footnotes_of_a_figure_do_not_vanish():
    """With figsize, or without a path, or on axes of one's own, they did."""
    pytest.importorskip("matplotlib")
    run = Results("run", (Row(0, 7, 7, 0.75, True, ASSERTED_ENVELOPE, sigma=0.5),))
    axes = plot([run], figsize=(3.3, 2.4), labels=["mine"])
    (label,) = axes.get_legend_handles_labels()[1]
    assert label == "mine"
    assert axes.get_figure().get_supxlabel().startswith("mine: ")
    with pytest.warns(UserWarning, match=r"must say.*\[1\]"):
        plot([run], ax=axes)


def test_a_figure_without_a_path_is_one_that_notebooks_show(tmp_path):
    """They show those of pyplot alone."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums()
    figure = plot([RUN]).get_figure()
    assert pyplot.get_fignums() == [*before, figure.number]
    plot([RUN], tmp_path / "curves.png")
    pyplot.close(figure)
    assert pyplot.get_fignums() == before


def test_results_in_a_notebook_have_their_table():
    shown = RUN._repr_html_()
    assert "<th>radius</th><th>0</th><th>0.1</th>" in shown
    assert "<td>certified accuracy</td><td>1.000</td>" in shown
    assert "<table>" not in Results("none", ())._repr_html_()


def test_a_card_in_a_notebook_is_escaped(tmp_path):
    made = card(RUN, [0.5])
    made["notes"].append("<b>")
    shown = made._repr_html_()
    assert "<td>0.5</td><td>1.000</td><td>0.025 to 1.000</td>" in shown
    assert "<li>checked by rsbounds verify: no</li>" in shown
    assert "&lt;b&gt;" in shown
    write_card(made, tmp_path / "card.json")
    assert read_card(tmp_path / "card.json")._repr_html_() == shown
    del made["scope"]
    assert made._repr_html_() is None  # no card: a notebook shows the dict


def test_a_log_of_adaptive_smoothing_is_read(tmp_path):
    """Names between spaces, a radius in linf, and scores below one half."""
    log = tmp_path / "log.txt"
    log.write_text(
        "idx \t label \t predict \t linf_radius \t prob_lb \t correct \t time\n"
        "0 \t 3 \t 3 \t 0.0031 \t 0.75 \t 1 \t 0:01:05.79\n"
        "50 \t 9 \t -1 \t -0.0019 \t 0.33 \t 0 \t 0:01:06.01\n"
        "100 \t 4 \t 2 \t 0.0117 \t 0.99 \t 0 \t 0:01:07.54\n"
    )
    file = results.read(log)
    assert [row.radius for row in file.rows] == [0.0031, 0.0, 0.0117]
    assert [row.p_a for row in file.rows] == [0.75, 0.33, 0.99]
    assert {row.norm for row in file.rows} == {np.inf}
    assert [row.correct for row in file.rows] == [True, False, False]
    assert file.abstention() == pytest.approx(1 / 3)
    # a prediction has no radius below 0
    log.write_text(log.read_text().replace("0.0117", "-0.0117"))
    with pytest.raises(ValueError, match="radius"):
        results.read(log)


_OF_INTERVALS = (
    "idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
    "0\t3\t3\t0.0387\tTrue\t0:01:07.97\n"
    "20\t7\t7\t-0.306\tTrue\t0:01:08.04\n"
    "40\t6\t-1\tinf\tFalse\t0:00:00.29\n"
    "60\t2\t0\t-1.0\tFalse\t0:00:00.90\n"
    "CleanACC = 2/4 = 0.5 RACC = 1/4 = 0.25\n"
)


def test_margins_of_intervals_certify_all_or_nothing(tmp_path):
    """TSS's rotations and scalings: what is left below 0 is no certificate."""
    file = tmp_path / "rotation"
    file.write_text(_OF_INTERVALS)
    held = results.read(file)
    assert [row.radius for row in held.rows] == [np.inf, 0, 0, 0]
    assert [row.predict for row in held.rows] == [3, -1, -1, -1]
    assert [row.extra["class"] for row in held.rows] == ["3", "7", "-1", "0"]
    assert held.rows[1].extra["margin"] == "-0.306"
    assert {row.norm for row in held.rows} == {"any transformation"}
    assert held.clean_accuracy() == 0.25  # as its last line has it
    assert "margins" in held.note


@pytest.mark.parametrize(
    "change",
    [
        ("60\t2\t0\t-1.0\tFalse", "60\t2\t2\t0.5\t1"),  # one row of the field's
        ("3\t3\t0.0387\tTrue", "3\t3\t0.0387\tYes"),
        ("3\t3\t0.0387\tTrue", "3\t4\t0.0387\tTrue"),
        ("0.0387", "nan"),
        ("0.0387", "much"),
        ("\tTrue\t0:01:08.04", "\tTrue"),
    ],
)
def test_margins_beside_anything_else_are_refused(tmp_path, change):
    file = tmp_path / "rotation"
    assert change[0] in _OF_INTERVALS
    file.write_text(_OF_INTERVALS.replace(*change))
    with pytest.raises(ValueError, match="rotation:"):
        results.read(file)
