"""Logs as other tools write them: read by name, and nothing guessed in silence."""

import json
import math
import shlex

import pytest

from rsbounds.cli import main
from rsbounds.results import merge, read

FIELD = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
ROW = "0\t7\t7\t0.5\t1\t0:00:01\n"


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="log.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
        return name

    return write


def rows(name, **options):
    return [
        (row.idx, row.label, row.predict, row.radius, row.correct)
        for row in read(name, **options).rows
    ]


@pytest.mark.parametrize(
    "text",
    [
        "label\tidx\tnote\tpredict\tradius\tcorrect\n3\t5\tx\t3\t0.25\t1\n"
        "4\t6\ty\t-1\t0.0\t0\n",
        "idx,label,predict,radius,correct,time\n5,3,3,0.25,1,0:00:01\n"
        '6,4,-1,0,0,"1 day, 0:00:01"\n',
        "idx;label;predict;radius;correct\r\n5;3;3;0.25;1\r\n6;4;-1;0.0;0\r\n",
        "idx  label predict radius correct\n5 3 3 0.25 1\n6 4 -1 0.0 0\n",
        ",idx,label,predict,radius,correct\n0,5,3,3,0.25,1\n1,6,4,-1,0.0,0\n",
        "  idx label predict radius correct\n0 5 3 3 0.25 1\n1 6 4 -1 0 0\n",
        "idx\tlabel\tpredict\tradius\tcorrect\n"
        "tensor(5)\ttensor([3])\ttensor([3], device='cuda:0')\ttensor(0.25)\tTrue\n"
        "6\t[4]\tnp.int64(-1)\t-1.0\tFalse\n",
        "idx\tlabel\tpredict\tradius\tcorrect\n5.0\t3.0\t3.\t0.25\t1.0\n"
        "6.0\t4.0\t-1.0\t-1\t0.0\n",
        "idx\tlabel\tpredict\tradius\n5\t3\t3\t0.25\n6\t4\t-1\t0.0\n",
    ],
    ids=(
        "order",
        "commas",
        "semicolons",
        "spaces",
        "index first",
        "index in print",
        "tensors",
        "floats",
        "no flags",
    ),
)
def test_the_same_rows_are_read_however_they_are_written(work, text):
    expected = [(5, 3, 3, 0.25, True), (6, 4, -1, 0.0, False)]
    assert rows(work(text)) == expected


def test_columns_that_are_named_are_taken_and_the_others_said_to_be_unused(work):
    text = "label\tpredict\tradius_L1\tradius_L2\tcorrect\traw_count\n"
    text += "3\t3\t0.5\t0.25\t1\t900\n4\t-1\t0\t0\t0\t600\n"
    named = {"idx": "#", "radius": "radius_L2", "count": "raw_count"}
    held = read(work(text), columns=named)
    assert [(row.idx, row.radius, row.count) for row in held.rows] == [
        (0, 0.25, 900),
        (1, 0.0, 600),
    ]
    assert held.notes() == ["columns that are not used: radius_L1"]
    # one that is named goes before one of the field's own name
    both = work(text.replace("radius_L1", "radius"))
    assert read(both, columns=named).rows[0].radius == 0.25


def test_a_norm_that_no_column_says_is_said(work):
    name = work(FIELD + ROW)
    assert [read(name, norm=norm).rows[0].norm for norm in (math.inf, 1, "brightness")]
    assert read(name, norm=math.inf).rows[0].norm == math.inf
    assert read(name).rows[0].norm == 2


def test_true_and_false_are_flags_unless_the_table_shows_margins(work):
    """A margin is one on evidence: below 0 beside a class, or the table's summary."""
    line = "0\t7\t7\t0.5\tTrue\t0:00:01\n"
    abstains = "1\t7\t-1\t-1.0\tFalse\t0:00:01\n"
    held = read(work(FIELD + line + abstains))
    assert [row.radius for row in held.rows] == [0.5, 0.0]
    assert "radii are taken as radii" in held.note
    shown = FIELD + line + "1\t7\t7\t-0.5\tTrue\t0:00:01\n"
    assert [row.radius for row in read(work(shown)).rows] == [math.inf, 0.0]
    ended = FIELD + line + "CleanACC = 1/1 = 1.0 RACC = 1/1 = 1.0\n"
    assert [row.radius for row in read(work(ended)).rows] == [math.inf]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (FIELD + ROW + "1\t7\t7\t0.2", 1),
        (FIELD + ROW + "1\t7\t7\t0.25\t1\t0:00", 2),  # a time, which nothing needs
        ("idx,label,predict,correct,radius\n0,7,7,1,0.5\n1,7,7,1,1.2e-05", 1),
        ("idx,label,predict,correct,radius\n0,7,7,1,0.5\n1,7,7,1,", 1),
    ],
)
def test_a_row_that_is_cut_short_certifies_nothing(work, text, kept):
    """1.2e-05 cut short is 1.2: a last number without its line end is left out."""
    held = read(work(text))
    assert len(held.rows) == kept
    assert ("cut short: left out" in held.note) is (kept == 1)


def test_a_header_alone_is_said_to_be_one(work):
    for header in (FIELD, FIELD[:-1], "idx,label,predict,radius,correct\n"):
        assert read(work(header)).note == "a header alone: no rows"


@pytest.mark.parametrize("separator", ["\t", ",", " "])
def test_rows_behind_carriage_returns_alone_are_not_none(work, separator):
    """All of the table was its header, and the file said to have no rows."""
    text = (FIELD + ROW).replace("\t", separator).replace("\n", "\r")
    with pytest.raises(ValueError, match=r"log\.txt:1: .* a carriage return within"):
        read(work(text))
    within = FIELD + ROW.replace("\n", "\r" + ROW)
    with pytest.raises(ValueError, match=r"log\.txt:2: .* a carriage return within"):
        read(work(within))


def test_pieces_without_manifests_are_joined_as_they_are_printed(work, capsys):
    work(FIELD + "2\t7\t7\t0.500\t1\t0:00:01\n", "b/log.txt")
    work(FIELD + ROW + "1\t7\t-1\t0.0\t0\t0:00:01\n", "a/log.txt")
    assert main(shlex.split("merge all.txt b/log.txt a/log.txt --json")) == 0
    assert json.loads(capsys.readouterr().out)["compared"] is False
    assert [row[0] for row in rows("all.txt")] == [0, 1, 2]
    assert list(read("all.txt").printed["radius"]) == ["0.5", "0.0", "0.500"]
    assert main(shlex.split("merge again.txt b/log.txt a/log.txt")) == 0
    assert "only columns and inputs were compared" in capsys.readouterr().out


def test_pieces_that_share_an_input_or_no_columns_are_refused(work):
    first = work(FIELD + ROW, "a.txt")
    again = work(FIELD + ROW.replace("0.5", "0.25"), "b.txt")
    with pytest.raises(ValueError, match=r"b\.txt and a\.txt both have 0"):
        merge("all.txt", [first, again])
    other = work("idx,label,predict,radius,correct\n1,7,7,0.5,1\n", "c.txt")
    with pytest.raises(ValueError, match=r"c\.txt must have the columns of a\.txt"):
        merge("all.txt", [first, other])


def test_reports_of_equal_names_in_two_folders_keep_them_apart(work, capsys):
    names = [work(FIELD + ROW, f"{folder}/log.txt") for folder in ("a", "b")]
    assert main(["report", *names]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in names)
