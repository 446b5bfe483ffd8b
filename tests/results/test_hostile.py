"""Result files that are damaged, forged or not what they seem: refused in one line, or
marked.
"""

import errno
import gzip
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from cli_models import arguments, one_line, says
from result_table import save, state, table

from rsbounds import reports, results
from rsbounds.procedure import Procedure
from rsbounds.reports.internal import STYLES
from rsbounds.results import Manifest, Results, Row, read
from rsbounds.results.internal import Writer, read_rows, write

MANIFEST = Manifest(data={"inputs": 4}, model={"spec": "m"}, parameters={"sigma": 0.5})


def rows(count=4, **more):
    own = {"sigma": 0.5, "n": 1000, "method": "gaussian", **more}
    return [Row(i, 0, 0, 0.5, True, "fixed noise", **own) for i in range(count)]


@pytest.fixture
def path(tmp_path):
    write(tmp_path / "run.tsv", MANIFEST, rows())
    return tmp_path / "run.tsv"


def entries(path, **changes):
    place = results.internal.manifest_path(path)
    place.write_text(json.dumps(json.loads(place.read_text()) | changes))


@pytest.mark.parametrize("command", ["report", "merge", "certify"])
@pytest.mark.parametrize("idx", ["-1", "1000000", "0"])
def test_rows_of_no_input_and_rows_twice_are_refused(finished, capsys, command, idx):
    """Negative indices once passed, and raised the report's accuracy."""
    save([*table(), table()[0] | {"idx": idx}])
    rule = {
        "-1": "idx >= 0",
        "1000000": "idx of an input that the manifest selects",
        "0": "each idx once, 0 is on line 2 too",
    }[idx]
    expected = f"out.tsv:14: expected {rule}"
    argv = {"report": ["report", "out.tsv"], "merge": ["merge", "all.tsv", "out.tsv"]}
    if command == "certify":
        with pytest.raises(ValueError, match=re.escape(expected)):
            Writer(Path("out.tsv"), Manifest.read(Path("out.tsv")))
    else:
        one_line(capsys, argv[command], expected)


@pytest.mark.parametrize("header", ["idx", "ixd"])
def test_a_last_line_without_its_end_is_no_row_for_anyone(path, capsys, header):
    """A report once counted a row of infinite radius that verify never saw."""
    text = path.read_text()
    if (
        header == "ixd"
    ):  # of a file that looks like one of the field, but for its manifest
        lines = [line.split("\t")[:5] for line in text.splitlines()]
        text = "".join("\t".join(line) + "\n" for line in lines)
    last = text.splitlines()[-1].split("\t")
    path.write_text(text + "\t".join(["3000000", "0", "0", "inf", "1", *last[5:]]))
    assert len(read_rows(path)) == len(read(path).rows) == 4
    assert read(path).average_radius() == 0.5
    assert "line 6 is cut short: left out" in reports.table([read(path)])
    assert results.merge(path.with_name("all.tsv"), [path])[0] == 4


@pytest.mark.parametrize("command", ["report", "verify", "merge"])
def test_a_file_without_a_format_is_refused(finished, capsys, command):
    place = Path("out.tsv.manifest.json")
    known = json.loads(place.read_text())
    del known["format"]
    place.write_text(json.dumps(known))
    files = ["all.tsv", "out.tsv"] if command == "merge" else ["out.tsv"]
    one_line(capsys, [command, *files], "format must be 3; got None")


def test_counts_of_classes_that_nobody_has_are_refused(finished, capsys):
    """Twenty thousand characters once took 11.8 GB."""
    save([row | {"counts": "9999999:1"} for row in table()])
    for argv in (["report", "out.tsv"], ["verify", "out.tsv"]):
        one_line(
            capsys, argv, "out.tsv:2: expected classes below 100000 in column counts"
        )


def test_counts_of_all_rows_together_are_bounded(path, monkeypatch):
    write(path, MANIFEST, rows(counts=(*[0] * 99, 1)))
    monkeypatch.setattr(results._read, "_MOST_COUNTS", 250)
    with pytest.raises(ValueError, match=r"run\.tsv:4.*250"):
        read(path)


SCHEMA = [
    ({"n": 10**18}, "n must be in [1, 1000000000000000]; got 1000000000000000000"),
    (
        {"data": {"inputs": 10**8}},
        "data.inputs must be in [0, 10000000]; got 100000000",
    ),
    ({"data": {"inputs": 4, "skip": {}}}, "data.skip must be a JSON integer; got {}"),
    (
        {"data": {"inputs": 4, "start": -1}},
        "data.start must be in [0, 4611686018427387904]; got -1",
    ),
    ({"shard": "3/2"}, "shard must be i/N"),
    ({"data": 5}, "data must be a JSON object"),
    ({"engine": None}, "engine must be a JSON object"),
    ({"history": 5}, "history must be a JSON array; got 5"),
    ({"alpha": [0.001, 0.1]}, "alpha must be a JSON number; got [0.001, 0.1]"),
    ({"runner_up": 1}, "runner_up must be a JSON boolean; got 1"),
    ({"bound": ["anytime"]}, "bound must be a JSON string"),
    ({"probe": {"0": {"a": 1}}}, "probe.0 must be a JSON string; got {'a': 1}"),
    ({"versions": {"numpy": 2}}, "versions.numpy must be a JSON string; got 2"),
    ({"history": [{"corrupt": 5}]}, "history[0].corrupt must be a JSON array; got 5"),
    (
        {"history": [{"corrupt": [{"input": "x"}]}]},
        "history[0].corrupt[0].input must be",
    ),
]


@pytest.mark.parametrize(
    ("change", "said"), SCHEMA, ids=[said[:40] for _, said in SCHEMA]
)
def test_a_manifest_s_entries_have_their_types(path, change, said):
    entries(path, **change)
    for use in (
        read,
        Manifest.read,
        lambda p: results.merge(p.with_name("all.tsv"), [p]),
    ):
        with pytest.raises(
            ValueError, match=re.escape(f"of {path} is damaged: {said}")
        ) as error:
            use(path)
        assert len(str(error.value)) < 400


def test_rows_that_cannot_be_sorted_for_want_of_room_are_kept(path, monkeypatch):
    """A full disk once failed the run although all of its rows were there."""
    path.unlink()

    def full(place, text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def command(room):
        with Writer(path, MANIFEST) as writer:
            for row in rows()[::-1] if not writer.rows else ():
                writer.append(row)
            monkeypatch.setattr(results._file, "replace_file", room)

    there_is = results._file.replace_file
    with pytest.warns(RuntimeWarning, match=r"run\.tsv.*order"):
        command(full)
    assert [row.idx for row in read(path).rows] == [3, 2, 1, 0]
    command(there_is)
    assert [row.idx for row in read(path).rows] == [0, 1, 2, 3]


def run(name, sigma=0.5, **more):
    parameters = {"sigma": sigma}
    return Results(
        name,
        tuple(rows(sigma=sigma)),
        manifest=replace(MANIFEST, parameters=parameters, **more),
    )


def test_runs_that_differ_in_their_seed_alone_are_marked():
    one, two, wide = (
        run("one"),
        run("two", procedure=Procedure(seed=1)),
        run("wide", 1.0),
    )
    assert "seed" not in reports.table([one, wide])
    text = reports.table([one, two, wide])
    assert (
        "[1] runs that differ in their seed alone: the best of them is chosen by luck"
        in text
    )
    assert [line.count("[1]") for line in text.splitlines()[1:4]] == [1, 1, 0]
    ((label, _),) = reports._terms.comparable([one, two, wide])
    assert label == "best of 3 runs, gaussian"


MARKS = [
    ({"shard": "1/3"}, "shard 1/3 alone: a part of its run"),
    (
        {
            "history": [
                {"changes": ["engine.sound_noise was null and is now true"], "rows": 3}
            ]
        },
        "3 rows are from before a change: engine.sound_noise was null and is now true",
    ),
    ({"history": [{"changes": ["\x1b[2J"], "rows": 1}]}, "before a change: \\x1b[2J"),
]


@pytest.mark.parametrize(("change", "said"), MARKS)
def test_how_a_file_came_about_is_marked(change, said):
    """Old rows were once passed off as sound, the best of many shards as a run."""
    assert said in reports.table([run("run", **change)])
    assert any(said in note for note in reports.summary(run("run", **change))["notes"])


def test_text_of_strangers_reaches_no_terminal(path, capsys):
    write(
        path,
        MANIFEST,
        [replace(row, scope="\x1b[2J", bound="\x1b[31m") for row in rows()],
    )
    for style in STYLES:
        assert "\x1b" not in says(capsys, ["report", str(path), "--style", style])
    other = path.with_name("other.tsv")
    for changes in ({"\x1b[2J": 1}, {"probe": {"\x1b[2J": 5}}):
        write(other, MANIFEST, rows())
        entries(other, **changes)
        assert "\\x1b[2J" in says(
            capsys, ["merge", str(path.with_name("all.tsv")), str(path), str(other)], 2
        )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: results.read(5), "path must be a path; got 5"),
        (lambda: reports.table(run("a")), "files must be a list"),
        (lambda: reports.table([run("a")], "x"), "radii must be real numbers"),
        (lambda: reports.table([run("a")], style="html"), "style must be one of"),
        (
            lambda: reports.html([Results("run", ())], "a.html"),
            "files must have at least",
        ),
        (lambda: results.merge("a.tsv", "b.tsv"), "files must be a list"),
    ],
)
def test_arguments_out_of_their_domain_are_one_line(call, said):
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        call()
    assert "\n" not in str(error.value)


def test_a_damaged_manifest_is_one_line_in_every_command(finished, capsys):
    state(data={"skip": 1, "max": -1})
    for argv in (
        ["report", "out.tsv"],
        ["verify", "out.tsv"],
        ["merge", "all.tsv", "out.tsv"],
        ["recertify", "out.tsv", "--out", "new.tsv"],
        arguments(),
    ):
        one_line(capsys, argv, "out.tsv", "data lacks inputs")


@pytest.mark.parametrize(
    ("packed", "said"),
    [
        (gzip.compress, "UTF-8; got a gzip archive: unpack it first"),
        (lambda content: content.decode().encode("utf-16"), "UTF-8; got UTF-16: save"),
        (lambda content: content + b"\xff", "UTF-8$"),
    ],
)
def test_text_that_is_packed_is_told_how_to_unpack(path, packed, said):
    path.write_bytes(packed(path.read_bytes()))
    with pytest.raises(ValueError, match=said):
        read(path)
