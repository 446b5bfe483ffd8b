"""Every column of every answer's rows, and every entry of its manifest."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from answer_runs import RUNS, TRUTH, X, positions
from cases import slow_but
from cli_models import (
    one_line,
    says,
)
from result_table import manifest, save, state, table

from rsbounds import certify_dataset
from rsbounds.audit import verify
from rsbounds.cli import main
from rsbounds.procedure import Procedure

COUNTS = {"select", "counts", "stage_select", "stage_counts", "chosen", "hits", "void"}


#: What an audit calls stated, and what stands for it: columns, or manifest entries.
STANDS_FOR = {
    "counts": COUNTS | {"seed", "n0", "margin"},
    "outputs": {"low", "high", "quantile", "void", "seed", "n0"},
    "data": {"label", "input"},
    "truth": {"right", "overlap", "union", "truth"},
    "classes": {"overlap", "union"},
    "times": {"time"},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    for name, (model, data, answer) in RUNS.items():
        out = folder / f"{name}.tsv"
        certify_dataset(model, data, answer, out=out, n0=50, n=1000)
    return folder


@pytest.fixture(params=slow_but(["class"], RUNS))
def run(request, runs, tmp_path, monkeypatch):
    """The name of an answer; out.tsv is a run of it."""
    monkeypatch.chdir(tmp_path)
    for ending in (".tsv", ".tsv.manifest.json"):
        shutil.copy(runs / f"{request.param}{ending}", f"out{ending}")
    return request.param


def numbers_changed(text, change):
    """A text whose numbers are others."""
    return re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", lambda n: change(n[0]), text)


def edited(text):
    """Other entries in the place of one, most of its own form."""
    raised = numbers_changed(text, lambda n: repr(float(n) * 1.01 + 0.01))
    others = {
        raised,
        numbers_changed(text, lambda n: str(int(float(n)) + 1)),
        re.sub(r"\d+", lambda n: str(int(n[0]) + 3), text, count=1),
        re.sub(r"^[^,;]*[,;]", "", text),
        text.rpartition(",")[0],
        f"{text}x",
    }
    others |= {"inf", "-inf", "-", "", "0", "-1", "9" * 17}
    return sorted(other for other in others if not is_same(other, text))


def is_same(other, text):
    """Whether two texts are one, or one number."""
    try:
        return other == text or float(other) == float(text)
    except ValueError:
        return False


def judged(**given):
    """Whether an audit finds something, and what it takes as stated."""
    try:
        result = verify("out.tsv", seed=0, **given)
    except ValueError:
        return True, ()
    return bool(result.findings), result.stated


def stood_for(stated):
    """Columns and entries that these names stand for: others than those above are
    entries themselves.
    """
    each = (STANDS_FOR.get(name, {name.rpartition(".")[2]}) for name in stated)
    return set().union(*each)


def test_every_column_of_every_row_is_checked_or_called_stated(run):
    """Of other answers than a class, norm, p_a, scores, counts and void were free."""
    honest, stated = judged()
    assert not honest
    rows = table()
    free = set()
    for place, column in enumerate(rows[0]):
        i = place % len(rows)
        for other in edited(rows[i][column]):
            save([*rows[:i], rows[i] | {column: other}, *rows[i + 1 :]])
            free |= set() if judged()[0] else {column}
    assert free <= stood_for(stated)
    assert free >= {"time"}


PROVED_ALIKE = {("values", "alpha"), ("maps", "alpha"), ("values", "p")}


def test_every_entry_of_a_manifest_is_checked_or_called_stated(run):
    """Answers that have their own bounds took any bound, runner_up or target."""
    _, stated = judged()
    said = manifest()
    place = Path("out.tsv.manifest.json")
    honest = place.read_text()
    free = set()
    for part in ("answer", "parameters", ""):
        entries = said[part] if part else said
        names = entries if part else {*Procedure.__slots__, "method", "scope"}
        for name in names:
            for other in (None, True, 0, 1, 7, 2.0, 0.1, 1e-4, 1e300, "x", [], {}, [1]):
                if entries.get(name) == other and type(entries.get(name)) is type(
                    other
                ):
                    continue
                changed = entries | {name: other}
                place.write_text(honest)  # without entries of others before it
                state(**({part: changed} if part else changed))
                if judged()[0]:
                    continue
                free.add(name)
    place.write_text(honest)
    # other levels may prove the same ranks, or reject the same positions
    proved = {name for answer, name in PROVED_ALIKE if answer == run}
    assert free <= stood_for(stated) | proved
    assert free >= {"seed"}


def test_true_maps_are_compared_where_they_are_given(runs, tmp_path, monkeypatch):
    """mIoU 99999 was printed after "no findings"."""
    monkeypatch.chdir(tmp_path)
    for ending in (".tsv", ".tsv.manifest.json"):
        shutil.copy(runs / f"maps{ending}", f"out{ending}")
    of_itself = ("counts", "data", "classes", "times")
    assert judged(truth=TRUTH) == (False, (*of_itself, "versions", "run"))
    drawn = {"data": X, "model": positions, "rerun": 3}
    beside = ("times", "data.kind", "versions", "run")
    assert judged(truth=TRUTH, **drawn) == (False, beside)
    assert judged(truth=TRUTH[::-1])[0]
    rows = table()
    for column in ("right", "overlap", "union"):
        for other in edited(rows[0][column]):
            save([rows[0] | {column: other}, *rows[1:]])
            assert judged(truth=TRUTH)[0], (column, other)
    # a class that is nowhere chosen, left out of all rows, raises the mIoU
    pairs = {}
    for column in ("overlap", "union"):
        pairs[column] = [row[column].rpartition(",")[0] for row in rows]
    save(
        [
            row | {"overlap": overlap, "union": union}
            for row, overlap, union in zip(rows, *pairs.values(), strict=True)
        ]
    )
    assert judged(truth=TRUTH, **drawn)[0]
    with pytest.raises(ValueError, match=r"truth.*'class'"):
        verify(runs / "class.tsv", truth=TRUTH)


def test_the_answer_says_what_it_rests_on(run, capsys):
    """ "60 rows, no findings" did not."""
    word = "outputs" if run == "values" else "counts"
    text = says(capsys, "verify out.tsv")
    assert "3 rows, no findings. Not checked, taken from the file: " in text
    assert f"{word} (--rerun K checks some), labels and inputs (--data)" in text
    stated = json.loads(says(capsys, "verify out.tsv --json"))["stated"]
    assert stated[0] == word
    if run == "maps":
        np.save("truth.npy", TRUTH)
        assert "agreement with true maps (--truth)" in text
        text = says(capsys, "verify out.tsv --truth truth.npy")
        assert "agreement with true maps" not in text


@pytest.mark.parametrize("k", [100_000, 10**10, 2.0, -1, "2", None])
def test_no_k_of_a_manifest_hangs(runs, tmp_path, monkeypatch, k):
    monkeypatch.chdir(tmp_path)
    for ending in (".tsv", ".tsv.manifest.json"):
        shutil.copy(runs / f"top-k{ending}", f"out{ending}")
    state(answer=manifest()["answer"] | {"k": k})
    assert judged()[0]
    is_one = type(k) is int and k >= 1
    assert main(["report", "out.tsv"]) == (0 if is_one else 2)
    assert main(["recertify", "out.tsv", "--alpha", "0.01", "--out", "b.tsv"]) == 2


def test_a_label_of_a_row_does_not_fill_the_memory(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for ending in (".tsv", ".tsv.manifest.json"):
        shutil.copy(runs / f"top-k{ending}", f"out{ending}")
    first, *others = table()
    save([first | {"label": "9" * 12}, *others])
    assert judged()[0]


@pytest.mark.parametrize("run", ["values", "maps"], indirect=True)
def test_rows_without_their_answer_s_columns_are_one_line(run, capsys):
    columns = {"values": "low", "maps": "chosen"}
    save(
        [
            {name: text for name, text in row.items() if name != columns[run]}
            for row in table()
        ]
    )
    for options in ([], ["--html", "a.html"], ["--card", "a.json"], ["--json"]):
        one_line(capsys, ["report", "out.tsv", *options], "out.tsv")
    assert says(capsys, "verify out.tsv", 1)
