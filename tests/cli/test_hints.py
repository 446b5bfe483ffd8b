"""Lines of ``rsbounds certify`` that say what to do next."""

from argparse import Namespace

import numpy as np
import pytest
from cli_models import arguments, inputs, one_line, savez

from rsbounds.cli import certify, main
from rsbounds.results import read


def refused(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    assert left.value.code == 2
    return capsys.readouterr().err


def test_what_is_missing_is_in_the_help_that_is_named(work, capsys):
    words = ["certify", "--model", "m:f", "--data", "data.npz", "--out", "o.tsv"]
    error = refused(capsys, *words, "--method", "semi-elastic", "--sigma", "0.25")
    assert "--anchors, --rate; see rsbounds certify --method semi-elastic" in error
    with pytest.raises(SystemExit):
        main(error.rstrip().rpartition("see rsbounds ")[2].split())
    shown = capsys.readouterr().out
    assert "--anchors" in shown
    assert "--rate" in shown


def test_a_command_that_is_misspelt_is_guessed(capsys):
    assert "reprot; did you mean report?" in refused(capsys, "reprot", "a.tsv")
    assert "did you mean" not in refused(capsys, "xxxxxxxx")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_next_lines_stand_at_a_terminal_alone(
    finished, capsys, monkeypatch, is_terminal
):
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal, raising=False)
    results = read(next(finished.glob("*.tsv")))
    args, answer = Namespace(json=False), certify.ANSWERS["class"]
    certify._tell(args, "o.tsv", results, answer, new=1, seconds=1.0)
    said = capsys.readouterr().out
    lines = "next: rsbounds report o.tsv\n      rsbounds verify o.tsv\n"
    assert said.endswith(lines) == is_terminal
    assert ("next:" in said) == is_terminal


def test_an_import_that_fails_shows_nothing_of_python_s_own(work, capsys):
    for spec in ("no_such_module:load", "no_such_file.py:load"):
        words = ["certify", "--model", spec, "--data", "data.npz"]
        assert main([*words, "--sigma", "0.5", "--out", "o.tsv"]) == 2
        said = capsys.readouterr().err
        assert "frozen" not in said
        assert "importlib" not in said
        assert "no_such" in said


@pytest.mark.filterwarnings("default:this noise")
def test_a_noise_that_certifies_nothing_is_not_blamed_on_n(work, capsys):
    (work / "m.py").write_text(
        "import numpy as np\n"
        "def load():\n"
        "    return lambda seqs: np.array([[len(s), 0.5] for s in seqs])\n"
    )
    np.savez("t.npz", values=np.arange(20), offsets=[0, 10, 20], y=[0, 0])
    words = ["certify", "--model", "m.py:load", "--data", "t.npz", "--method"]
    words += ["deletion", "--n", "1000", "--max", "1"]
    assert main([*words, "--delete", "0.5", "--out", "weak.tsv"]) == 0
    assert capsys.readouterr().err.count("certifies nothing, however many samples") == 1
    assert main([*words, "--delete", "0.9", "--out", "strong.tsv"]) == 0
    assert "certif" not in capsys.readouterr().err.replace("rsbounds certify", "")


def test_a_margin_is_a_number_or_auto(capsys):
    words = ["certify", "--model", "m", "--data", "d", "--out", "o", "--sigma", "1"]
    error = refused(capsys, *words, "--margin", "automatic")
    assert "must be a number" in error
    assert "_margin" not in error


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ([], "--scale 255"),
        (["--rerun", "2", "--model", "no_such:model"], "--scale 255"),
        (
            ["--scale", "255", "--rerun", "2", "--model", "no_such:model"],
            "--sound-noise",
        ),
    ],
)
def test_verify_names_what_is_missing_before_any_work(work, capsys, given, missing):
    """Before the model is loaded, the data are read and a row is proved."""
    savez(x=np.arange(inputs()[0].size, dtype=np.uint8).reshape(inputs()[0].shape))
    assert main([*arguments(scale=255, n=100, max=2), "--sound-noise"]) == 0
    one_line(capsys, ["verify", "out.tsv", "--data", "data.npz", *given], missing)
