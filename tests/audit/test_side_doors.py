"""Claims that once passed and should not: each way in, shut, by name."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from answer_runs import NOISE, RUNS, TRUTH, WEIGHTS, X, Y, positions, scores
from cli_models import (
    arguments,
    inputs,
    models,
    one_line,
    package,
    refused,
    savez,
    says,
)
from result_table import manifest, save, state, table
from scipy.stats import beta, norm

from rsbounds import certify_dataset
from rsbounds._numerics.files import SMALL, content_of
from rsbounds.audit import verify
from rsbounds.certify import Settings
from rsbounds.cli import main
from rsbounds.procedure import Procedure

pytest.importorskip("flint")

# --- files of others: what no count can have earned, and what contradicts itself

N, ALPHA, SIGMA = 1000, 0.001, 0.5
PAPER = ["--sigma", "0.5", "--n", "1000", "--alpha", "0.001"]
HEAD = "idx\tlabel\tpredict\tradius\tcorrect\ttime"


def earned(count):
    """The radius that a count earns, a little below it."""
    p = beta.ppf(ALPHA, count, N - count + 1)
    return float(SIGMA * norm.ppf(p) * (1 - 1e-12))


def published(*lines, head=HEAD):
    Path("paper.tsv").write_text("".join(f"{line}\n" for line in (head, *lines)))
    return ["verify", "paper.tsv", *PAPER]


def line(radius, *, idx=0, label=3, predict=3, correct=1):
    return f"{idx}\t{label}\t{predict}\t{radius}\t{correct}\t0:00:01"


GOOD = [line(repr(earned(count)), idx=count) for count in (700, 900, 950, N)]

PUBLISHED = {
    "an infinite radius": ([line("inf")], "radius is inf, more than any count shows"),
    "1e30": ([line("1e30")], "radius is 1e+30, more than any count shows"),
    "1e308": ([line("1e308")], "radius is 1e+308, more than any count shows"),
    "correct with another class": (
        [line("0.0", predict=4)],
        "correct is 1, but predict 4 and label 3",
    ),
    "a row twice": ([GOOD[0], GOOD[0]], "appears twice"),
    "a negative index": ([line("0.0", idx=-5)], "input -5: is no index"),
    "an abstention with a radius": (
        [line(repr(earned(900)), predict=-1, correct=0)],
        "predicts -1 with radius",
    ),
    "no rows": ([], "has no rows"),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_a_published_row_that_nothing_earns_is_a_finding(
    tmp_path, monkeypatch, capsys, case
):
    monkeypatch.chdir(tmp_path)
    assert main(published(*GOOD)) == 0
    lines, said = PUBLISHED[case]
    # among rows of all digits: three digits could be those of a count
    kept = [] if case == "no rows" else GOOD[1:]
    assert said in says(capsys, published(*lines, *kept), 1)


def test_published_radii_that_were_stretched_are_all_found(
    tmp_path, monkeypatch, capsys
):
    """Where all digits are printed, once only the largest was compared."""
    monkeypatch.chdir(tmp_path)
    counts = range(600, 990, 10)
    for factor, rows in ((1.0, 0), (1.3, len(counts))):
        lines = [line(repr(earned(k) * factor), idx=k) for k in counts]
        text = says(capsys, published(*lines), int(factor > 1))
        assert text.count("which no count of 1000 samples earns") == rows


def test_published_columns_are_compared_with_what_is_stated(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    head = f"{HEAD}\tsigma\tn\tnorm"
    row = line(repr(earned(900)))
    assert main(published(f"{row}\t0.5\t1000\t2.0", head=head)) == 0
    for columns, said in (
        ("0.25\t1000\t2.0", "sigma is 0.25, 0.5 as stated"),
        ("-\t1000\t2.0", "sigma is nan"),
        ("0.5\t100\t2.0", "n is 100, 1000 as stated"),
        ("0.5\t1000\tinf", "norm is inf, 2.0 as stated"),
    ):
        argv = published(f"{row}\t{columns}", head=head)
        assert said in says(capsys, argv, 1)


def test_a_file_with_counts_needs_its_manifest(finished, capsys):
    Path("out.tsv.manifest.json").unlink()
    one_line(capsys, ["verify", "out.tsv", *PAPER], "without its manifest out.tsv.")


# --- every column of every answer's rows, and every entry of its manifest


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


@pytest.fixture(params=RUNS)
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
    return set().union(*(STANDS_FOR[name] for name in stated))


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
    assert judged(truth=TRUTH) == (False, ("counts", "data", "classes", "times"))
    drawn = {"data": X, "model": positions, "rerun": 3}
    assert judged(truth=TRUTH, **drawn) == (False, ("times",))
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
    with pytest.raises(ValueError, match="truth is nothing that 'class' refers to"):
        verify(runs / "class.tsv", truth=TRUTH)


def test_the_answer_says_what_it_rests_on(run, capsys):
    """ "60 rows, no findings" did not."""
    word = "outputs" if run == "values" else "counts"
    text = says(capsys, "verify out.tsv")
    assert "3 rows, no findings; as the file states them: " in text
    assert f"the {word} (--rerun draws some again), labels and inputs (--data)" in text
    stated = json.loads(says(capsys, "verify out.tsv --json"))["stated"]
    assert stated[0] == word
    if run == "maps":
        np.save("truth.npy", TRUTH)
        assert "agreement with true maps (--truth)" in text
        text = says(capsys, "verify out.tsv --truth truth.npy")
        assert "agreement with true maps" not in text


# --- another model, a window, a history: claims around the rows


def is_other(model):
    """The same function with weights a little different."""
    other = WEIGHTS + 0.02 * np.random.default_rng(1).standard_normal(WEIGHTS.shape)
    if model is scores:
        return lambda batch: batch.reshape(len(batch), -1) @ other
    return lambda batch: model(batch + 0.05)


@pytest.mark.parametrize("name", RUNS)
def test_another_model_does_not_go_on(name, tmp_path):
    """Rows with further columns were not compared at all."""
    model, data, answer = RUNS[name]
    out = tmp_path / "out.tsv"
    numbers = {"out": out, "n0": 50, "n": 1000}
    described = {"spec": "a model whose weights nothing hashes"}
    numbers["settings"] = Settings(describe=described)
    certify_dataset(model, data, answer, **numbers)
    header, *lines = out.read_text().splitlines(keepends=True)
    place = out.with_name("out.tsv.manifest.json")
    stated = json.loads(place.read_text())
    stated["probe"] = {}  # a probe alone may be of inputs that are decided
    place.write_text(json.dumps(stated))
    out.write_text(header + "".join(lines[:2]))
    with pytest.raises(ValueError, match="the model has changed: input"):
        certify_dataset(is_other(model), data, answer, **numbers)
    assert out.read_text() == header + "".join(lines[:2])
    certify_dataset(model, data, answer, **numbers)
    assert len(out.read_text().splitlines()) == 4


def test_a_window_of_the_inputs_stands_everywhere(work, capsys):
    """Rows chosen afterwards made an accuracy of 1, and everything was clean."""
    assert main([*arguments(start=1, skip=3), "--commit"]) == 0
    words = "4 of 12 inputs: start 1, skip 3"
    assert words in says(capsys, "report out.tsv --card card.json --html page.html")
    for text in (
        says(capsys, "verify out.tsv"),
        says(capsys, "report out.tsv --json"),
        Path("page.html").read_text(),
        Path("card.md").read_text(),
    ):
        assert words in text
    assert words in json.loads(Path("card.json").read_text())["notes"]
    assert words in says(capsys, "report card.json --html cards.html --json")
    committed = json.loads(Path("out.tsv.commitment.json").read_text())
    assert committed["data"].items() >= {"start": 1, "skip": 3, "total": 12}.items()


def test_a_window_that_is_chosen_afterwards_is_told(finished, capsys):
    kept = [row for row in table() if row["correct"] == "1"][1:3]
    first, second = (int(row["idx"]) for row in kept)
    save(kept)
    window = {"start": first, "skip": second - first, "max": second + 1, "inputs": 2}
    data = manifest()["data"]
    state(data=data | window)
    assert "2 of 12 inputs: start " in says(capsys, "report out.tsv")
    assert "2 of 12 inputs: start " in says(capsys, "verify out.tsv")
    for total in (2, 11):
        state(data=data | window | {"total": total})
        says(capsys, "verify out.tsv --data data.npz", 1)
    state(data={k: v for k, v in (data | window).items() if k != "total"})
    assert "choose an unknown number of all" in says(capsys, "verify out.tsv", 1)
    state(data=data | {"inputs": 2})
    assert "where start, skip and max choose 12 of all" in says(
        capsys, "verify out.tsv", 1
    )


def test_a_history_does_not_silence_the_probe(finished, capsys):
    probe = dict.fromkeys(manifest()["probe"], "0:25,1:25")
    nothing = ([], [{"changes": []}], [{"changes": [" "], "rows": 3}])
    for history in (*nothing, [{"changes": ["versions.numpy was 1"], "rows": 0}]):
        state(probe=probe, history=history)
        text = says(capsys, "verify out.tsv", 1)
        assert text.count("in the manifest's probe") == len(probe)
    # this changes what report and verify tell
    state(history=[{"changes": ["versions.numpy was 1"], "rows": 3}])
    for command in ("verify", "report"):
        text = says(capsys, f"{command} out.tsv")
        assert "3 rows are from before a change: versions.numpy was 1" in text


# --- rules on the rows that chose them, and cards


@pytest.fixture
def fitted(work):
    """A rule that two runs of 12 inputs chose."""
    for level in (0.25, 0.5):
        assert main(arguments(out=f"{level}.tsv", sigma=level)) == 0
    assert main(["fit-rule", "0.25.tsv", "0.5.tsv", "--out", "rule.json"]) == 0


def longer(files):
    x, y = inputs()
    savez(x=np.concatenate([x, x + 1]), y=np.concatenate([y, y]))
    for name, level in zip(files, (0.25, 0.5), strict=True):
        Path(name).unlink()  # the same rows, and twelve more
        assert main(arguments(out=name, sigma=level)) == 0


def merged(files):
    for name in files:
        Path(name).rename("part.tsv")
        Path(f"{name}.manifest.json").rename("part.tsv.manifest.json")
        assert main(["merge", name, "part.tsv"]) == 0


def with_a_blank_line(files):
    for name in files:
        Path(name).write_text(Path(name).read_text() + "\n")


@pytest.mark.parametrize("change", [None, longer, merged, with_a_blank_line])
def test_a_rule_on_the_rows_that_chose_it_is_marked_in_any_file(fitted, capsys, change):
    """The files were compared, which a blank line makes others."""
    files = ["0.25.tsv", "0.5.tsv"]
    if change is not None:
        change(files)
    again = ["recertify", *files, "--rule", "rule.json", "--out", "out.tsv"]
    assert main(again) == 0
    assert "was fitted to the rows that it certifies" in says(
        capsys, "verify out.tsv", 1
    )
    assert "was fitted on the rows that it certifies" in says(capsys, "report out.tsv")


def test_a_run_of_a_rule_on_the_inputs_that_chose_it_is_told(fitted, capsys):
    """Its samples are fresh: its level holds, its accuracy is of these inputs."""
    assert main(arguments(sigma=None, rule="rule.json")) == 0
    assert main(["verify", "out.tsv"]) == 0
    words = "12 of these inputs chose the rule"
    assert words in says(capsys, "report out.tsv --card out.json")
    assert words in Path("out.md").read_text()
    x, y = inputs()
    savez(x=x + 1, y=y)  # the same indices, of other inputs
    Path("out.tsv").unlink()
    assert main(arguments(sigma=None, rule="rule.json")) == 0
    assert words not in says(capsys, "report out.tsv")


CARD = "report out.tsv --card out.json"


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("accuracy", [{"radius": 0.0, "accuracy": 1.0, "low": 0.9, "high": 1.0}]),
        (
            "verified",
            {"rows": 60, "proved": 60, "findings": 0, "first": [], "stated": []},
        ),
        ("unknown", []),
        ("hashes", {"rows": "0" * 64}),
        ("acr", 9.0),
        ("inputs", 60),
        ("notes", []),
    ],
)
def test_a_card_is_computed_again(finished, capsys, entry, value):
    """Any card reached the table of cards as it was."""
    save(table()[:11])
    assert main(CARD.split()) == 0
    # the file lacks a row: a finding of its own
    honest = says(capsys, "verify out.tsv --card out.json", 1)
    assert "the card's" not in honest
    board = "report out.json --html cards.html"
    assert main(board.split()) == 0
    assert "against its file" in Path("cards.html").read_text()
    made = json.loads(Path("out.json").read_text())
    Path("out.json").write_text(json.dumps(made | {entry: value}))
    assert f"the card's {entry} is" in says(capsys, "verify out.tsv --card out.json", 1)
    assert main(board.split()) == 0
    page = Path("cards.html").read_text()
    assert "its writer's word</td>" in page
    assert "against its file" not in page


def test_a_card_without_its_file_is_its_writers_word(finished):
    assert main(CARD.split()) == 0
    Path("out.tsv").unlink()
    assert main(["report", "out.json", "--html", "cards.html"]) == 0
    assert "its writer's word</td>" in Path("cards.html").read_text()


def test_a_card_s_entries_stand_once(finished, capsys):
    assert main(CARD.split()) == 0
    text = Path("out.json").read_text()
    Path("out.json").write_text(text.replace("{", '{"acr": 9.0,', 1))
    one_line(
        capsys,
        ["report", "out.json", "--html", "cards.html"],
        "can't be read as a card",
    )


# --- nothing is overwritten, nothing hangs


OUTPUTS = ("--html", "--plot", "--card")


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize(
    "name",
    [
        "out.tsv",
        "out.tsv.manifest.json",
        "notes.html",
        "notes.json",
        "notes.png",
        "run",
    ],
)
def test_a_report_replaces_no_file_that_it_did_not_write(
    finished, capsys, option, name
):
    """``report RUN.tsv --html RUN.tsv`` destroyed the run and ended with 0."""
    for module in ("plotly", "matplotlib"):
        package(module)
    for ending in ("html", "json", "md", "png"):
        Path(f"notes.{ending}").write_text("mine")
    Path("run").mkdir()
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    one_line(capsys, ["report", "out.tsv", option, name], name)
    assert before == {p: p.read_bytes() for p in Path().iterdir() if p.is_file()}


def test_a_card_replaces_no_readme(finished, capsys):
    Path("README.md").write_text("mine")
    one_line(capsys, ["report", "out.tsv", "--card", "README.json"], "README.md exists")
    assert Path("README.md").read_text() == "mine"
    assert not Path("README.json").exists()


def test_a_report_replaces_what_it_wrote(finished):
    for module in ("plotly", "matplotlib"):
        package(module)
    every = "report out.tsv --html a.html --plot a.png --card a.json"
    assert main(every.split()) == main(every.split()) == 0
    for ending in ("pdf", "svg"):
        picture = ["report", "out.tsv", "--plot", f"a.{ending}"]
        assert main(picture) == main(picture) == 0


def test_a_card_is_checked_before_anything_is_written(finished, capsys):
    """``--html --card`` wrote the page and refused the card."""
    package("plotly")
    header = Path("out.tsv").read_text().splitlines()[0]
    Path("out.tsv").write_text(f"{header}\n")
    both = "report out.tsv --html a.html --card a.json"
    one_line(capsys, both.split(), "at least one row to show")
    no_page = "report out.tsv --card a.json"
    one_line(capsys, no_page.split(), "inputs must be")
    one_line(capsys, ["report", "out.tsv", "--card", "a.txt"], "must end in .json")
    assert not list(Path().glob("a.*"))


@pytest.mark.parametrize(
    "words",
    [
        "report pipe",
        "verify pipe",
        "verify out.tsv --card pipe",
        "verify out.tsv --truth pipe",
        "report pipe.json --html a.html",
        "recertify out.tsv --rule pipe --out b.tsv",
        "recertify pipe --alpha 0.1 --out b.tsv",
        "certify --config pipe",
        "fit-rule pipe --out rule.json",
        "merge b.tsv pipe",
    ],
)
@pytest.mark.parametrize("kind", ["pipe", "zero"])
def test_files_without_an_end_are_refused(finished, capsys, words, kind):
    """A pipe hung; so did any device."""
    for name in ("pipe", "pipe.json", "pipe.tsv.manifest.json"):
        if kind == "pipe":
            os.mkfifo(name)
        else:
            Path(name).symlink_to("/dev/zero")
    one_line(capsys, words.split())
    assert not Path("b.tsv").exists()


@pytest.mark.parametrize("ending", ["manifest", "commitment"])
def test_what_lies_beside_a_file_has_an_end(work, capsys, ending):
    assert main([*arguments(max=2), "--commit"]) == 0
    place = Path(f"out.tsv.{ending}.json")
    place.unlink()
    os.mkfifo(place)
    assert "must be a regular file" in says(capsys, arguments(max=2), 2)


def test_files_have_a_limit(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(SMALL + 1)
    with pytest.raises(ValueError, match="must have at most 67108864 bytes"):
        content_of(path)


@pytest.mark.parametrize("k", [100_000, 10**10, 2.0, -1, "2", None])
def test_no_k_of_a_manifest_hangs(runs, tmp_path, monkeypatch, k):
    monkeypatch.chdir(tmp_path)
    for ending in (".tsv", ".tsv.manifest.json"):
        shutil.copy(runs / f"top-k{ending}", f"out{ending}")
    state(answer=manifest()["answer"] | {"k": k})
    assert judged()[0]
    assert main(["report", "out.tsv"]) == 0
    assert main(["recertify", "out.tsv", "--alpha", "0.01", "--out", "b.tsv"]) == 2


def test_a_label_of_a_row_does_not_fill_the_memory(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for ending in (".tsv", ".tsv.manifest.json"):
        shutil.copy(runs / f"top-k{ending}", f"out{ending}")
    first, *others = table()
    save([first | {"label": "9" * 12}, *others])
    assert judged()[0]


def test_a_rule_of_many_items_is_refused(finished, capsys):
    rule = {"format": 1, "sigmas": [0.25], "items": []}
    rule["items"] = 20_000 * [[{"kind": "margin", "stage": 0, "threshold": 0.0}]]
    Path("rule.json").write_text(json.dumps(rule))
    words = "recertify out.tsv --rule rule.json --out b.tsv"
    one_line(capsys, words.split(), "at most 1000 items; got 20000")


def test_what_is_refused_is_not_unpacked(work, capsys, monkeypatch):
    """A small file of zeros was unpacked for half a minute, and then refused."""
    array = np.zeros((4, 4), dtype=object)
    np.savez_compressed("data.npz", x=np.zeros((9, 9)), y=array, allow_pickle=True)

    def unpacked(*_):
        raise AssertionError("it was unpacked")

    monkeypatch.setattr(shutil, "copyfileobj", unpacked)
    one_line(capsys, arguments(), "pickled objects, which are never read")


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


def test_more_inputs_than_a_file_holds_are_refused_at_the_start(tmp_path):
    class Many:
        def __len__(self):
            return 10**7 + 1

        def __getitem__(self, i):
            raise AssertionError("it was begun")

    with pytest.raises(ValueError, match="at most 10000000 inputs for a file"):
        certify_dataset(scores, Many(), NOISE, out=tmp_path / "out.tsv")
    assert not list(tmp_path.iterdir())


def test_markdown_of_strangers_is_text(finished, capsys):
    name = "<img src=x onerror=alert(1)>|[a](b).tsv"
    shutil.copy("out.tsv", name)
    text = says(capsys, ["report", name, "out.tsv", "--style", "markdown"])
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;\\|\\[a\\](b)" in text


# --- ten messages


SAYS = {
    "two files and a card": (
        "report out.tsv other.tsv --card c.json",
        "--card takes one result file; got 2: make a card of each",
    ),
    "a result file and a card": (
        "report out.tsv card.json --radii 1",
        "out.tsv is a result file and card.json a card: give one kind",
    ),
    "a folder to verify": ("verify .", ".: is a folder, not a file"),
    "a folder to merge": ("merge new.tsv .", ".: is a folder, not a file"),
    "a card to verify": (
        "verify card.json",
        "card.json is no result file: verify takes RUN.tsv, and its card as --card",
    ),
    "maps in a plot": ("report empty.tsv --plot c.png", "at least one row to show"),
    "no true maps": ("verify out.tsv --truth empty.npy", "empty.npy must be an npy"),
    "no such folder": ("merge o/sub/new.tsv out.tsv", "o/sub: there is no such folder"),
    "no folder for a page": (
        "report out.tsv --html o/a.html",
        "o: there is no such folder",
    ),
    "no folder for a rule": ("fit-rule out.tsv --out o/r.json", "o: there is no such"),
    "no folder for rows": ("recertify out.tsv --out o/n.tsv", "o: there is no such"),
}


@pytest.mark.parametrize("case", SAYS)
def test_an_error_says_what_is_wrong(finished, capsys, case):
    words, said = SAYS[case]
    shutil.copy("out.tsv", "other.tsv")
    Path("card.json").write_text("{}")
    for name in ("empty.tsv", "empty.npy"):
        Path(name).write_text("")
    one_line(capsys, words.split(), said)


def test_an_output_in_no_folder_is_told_before_the_model_runs(work, capsys):
    one_line(capsys, arguments(out="o/sub/x.tsv"), "o/sub: there is no such folder")


@pytest.mark.parametrize(
    "words", ["certify --n", "verify out.tsv --n", "radius gaussian --sigma"]
)
def test_an_option_without_its_value_is_told(work, capsys, words):
    """The hint was: did you mean --n?"""
    flag = words.split()[-1]
    refused(capsys, words.split(), f"{flag} needs a value; see")


@pytest.mark.parametrize("module", ["models", "models.py"])
def test_a_name_that_a_module_lacks_is_told_by_its_file(work, capsys, module):
    """It was: module '_rsbounds_file_f985...' has no attribute."""
    argv = arguments(model=f"{module}:nothing")
    one_line(capsys, argv, f"--model {module}:nothing: {module} has no 'nothing'")


@pytest.mark.parametrize("text", ["", "{}", "[1]", "no JSON"])
def test_a_commitment_that_was_emptied_is_told(work, capsys, text):
    """Such a file "commits to another run", and verify didn't look at it."""
    assert main([*arguments(max=3), "--commit"]) == 0
    assert main(["verify", "out.tsv"]) == 0
    Path("out.tsv.commitment.json").write_text(text)
    one_line(capsys, arguments(max=3), "out.tsv.commitment.json is damaged")
    assert "out.tsv.commitment.json has the hash" in says(capsys, "verify out.tsv", 1)


def test_a_commitment_of_another_run_is_a_finding(work, capsys):
    assert main([*arguments(max=3), "--commit"]) == 0
    assert main([*arguments(max=3, out="b.tsv", seed=1), "--commit"]) == 0
    shutil.copy("b.tsv.commitment.json", "out.tsv.commitment.json")
    assert "out.tsv.commitment.json has the hash" in says(capsys, "verify out.tsv", 1)
    one_line(capsys, arguments(max=3), "commits to another run")


# --- what a commitment fixes


FUNCTIONS = """
import functools
import numpy as np
W = np.random.default_rng({seed}).standard_normal((36, 2))

def by_closure():
    w = np.random.default_rng({seed}).standard_normal((36, 2))
    return lambda batch: batch.reshape(len(batch), -1) @ w

def by_globals():
    return lambda batch: batch.reshape(len(batch), -1) @ W

def scored(w, batch):
    return batch.reshape(len(batch), -1) @ w

def by_partial():
    return functools.partial(scored, W)

class Model:
    def __init__(self):
        self.parts = {{"w": [W]}}

    def __call__(self, batch):
        return scored(self.parts["w"][0], batch)

def by_attributes():
    return Model()

def of_a_file():
    w = np.load("w.npy")
    return lambda batch: batch.reshape(len(batch), -1) @ w
"""
NOT_FIXED = "it does not fix the model's parameters: nothing in it could be hashed"


@pytest.mark.parametrize(
    "name", ["by_closure", "by_globals", "by_partial", "by_attributes", "of_a_file"]
)
def test_a_commitment_fixes_the_arrays_of_a_function(work, capsys, name):
    """Two models had one hash where the weights are not in the code."""
    digests = []
    for seed in (0, 1, 0):
        np.save("w.npy", np.random.default_rng(seed).standard_normal((36, 2)))
        models(FUNCTIONS.format(seed=seed))
        run = arguments(model=f"models:{name}", max=2, n=100, out=f"{len(digests)}.tsv")
        assert NOT_FIXED not in says(capsys, [*run, "--commit"])
        digests.append(manifest(f"{len(digests)}.tsv")["model"]["parameters"])
    assert digests[0] == digests[2] != digests[1]


def test_a_commitment_says_what_it_does_not_fix(work, capsys):
    models(
        "def sums():\n    return lambda batch: batch.reshape(len(batch), 2, -1).sum(2)"
    )
    run = [*arguments(model="models:sums", max=2, n=100), "--commit"]
    assert NOT_FIXED in says(capsys, run)
    assert NOT_FIXED in says(capsys, "verify out.tsv")
    committed = json.loads(Path("out.tsv.commitment.json").read_text())
    assert committed["not fixed"] == [NOT_FIXED.removeprefix("it does not fix ")]


@pytest.mark.parametrize("kind", ["torch", "sklearn", "keras"])
def test_parameters_are_hashed_wherever_a_framework_has_them(tmp_path, kind):
    pytest.importorskip(kind)
    digests = [framework_model(kind, seed) for seed in (0, 1, 0)]
    x = X.astype(np.float32)
    for i, model in enumerate(digests):
        out = tmp_path / f"{i}.tsv"
        certify_dataset(
            model,
            (x, Y % 2),
            NOISE,
            n0=10,
            n=50,
            out=out,
            settings=Settings(commit=True),
        )
        digests[i] = json.loads(out.with_name(f"{i}.tsv.manifest.json").read_text())[
            "model"
        ]["parameters"]
    assert digests[0] == digests[2] != digests[1]


def framework_model(kind, seed):
    """A classifier of two classes of inputs of 8 numbers."""
    if kind == "torch":
        import torch

        torch.manual_seed(seed)
        return torch.nn.Linear(8, 2).eval()
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((40, 8))
    if kind == "sklearn":
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(3, random_state=0)
        return forest.fit(x, (x[:, 0] > 0).astype(int))
    import keras

    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(2)])
    model.set_weights([rng.standard_normal((8, 2)), np.zeros(2)])
    return model
