"""What a new user reads in the first minutes: lines that help, and nothing else."""

import io
import sys
import urllib.error

import numpy as np
import pytest
from scipy import sparse

from rsbounds import certify_dataset
from rsbounds._numerics.progress import Progress
from rsbounds._numerics.text import abridged
from rsbounds.answers import Values
from rsbounds.audit import Audit, Finding, Kind
from rsbounds.certificate import ASSERTED_ENVELOPE
from rsbounds.certify import certify as certify_one
from rsbounds.cli import certify, main
from rsbounds.loading import _hf, as_data, open_data
from rsbounds.results import Results, Row, card, plot, read, read_card, write_card
from rsbounds.schemes import gaussian

RUN = Results("", (Row(0, 7, 7, 0.75, True, "fixed noise", sigma=0.5),))


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


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_next_lines_stand_at_a_terminal_alone(
    finished, capsys, monkeypatch, is_terminal
):
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal, raising=False)
    results = read(next(finished.glob("*.tsv")))
    certify._summary("o.tsv", results, certify.ANSWERS["class"], new=1, seconds=1.0)
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


def test_hashes_in_messages_are_short():
    whole = "0123456789abcdef" * 4
    assert abridged(f"was {whole}, now 'x'") == "was 0123456789ab..., now 'x'"
    assert abridged(whole[:-1]) == whole[:-1]


def test_without_a_network_a_download_is_told_at_once(tmp_path, monkeypatch):
    """It was tried six times, for 46 s, and then `--download` was advised."""
    hub = pytest.importorskip("huggingface_hub")
    asked = []

    def fetch(name, file, *, local_files_only):
        asked.append(local_files_only)
        raise OSError("not here")

    def unreachable(*_, **__):
        raise urllib.error.URLError(OSError("Name or service not known"))

    monkeypatch.setattr(hub, "hf_hub_download", fetch)
    monkeypatch.setattr("urllib.request.urlopen", unreachable)
    with pytest.raises(ValueError, match="cannot be reached from here") as caught:
        _hf.located("hf:a/b", "a/b", "config.json", download=True)
    assert asked == [True]  # the cache alone
    assert "download=True" not in str(caught.value)
    assert not _hf.reachable("hf:a/b", download=True)


def test_results_of_no_file_have_no_name():
    assert repr(RUN) == "<Results: 1 rows, sigma 0.5, accuracy 1.0000>"


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
    assert label == "mine [1]"
    assert "[1]" in axes.get_figure().get_supxlabel()
    with pytest.warns(UserWarning, match=r"marks stand for: \[1\]"):
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


def test_an_audit_in_a_notebook_is_escaped():
    finding = Finding(Kind.RADIUS, 3, "<b>", 5)
    shown = Audit((finding,), ("data",), 9, 8, 2, (), 0)._repr_html_()
    assert "9 rows, 8 of them proved" in shown
    assert "1 finding" in shown
    assert "&lt;b&gt;" in shown


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


@pytest.mark.parametrize(
    "y", [np.array([151.0, 75.0]), np.array([-1, 2]), [1.0, 2.0], np.zeros((2, 2))]
)
def test_targets_of_a_regression_are_refused_at_once(y):
    """Whole ones passed for labels, those of the first inputs that is."""
    x = np.zeros((2, 3), np.float32)
    answer = Values(gaussian(0.5), radii=[0.1])
    with pytest.raises(ValueError, match="'values': pass the inputs alone; got y of"):
        certify_dataset(lambda batch: batch, (x, y), answer, n=100)
    labelled = certify_dataset(
        lambda batch: batch, (x, np.array([3, 4])), answer, n=100
    )
    assert [row.label for row in labelled.rows] == [3, 4]  # kept, as the docs say


class NotebookStream(io.StringIO):
    """What a kernel has for standard error, by the name of its module."""

    __module__ = "ipykernel.iostream"


@pytest.mark.parametrize("stream", [NotebookStream, io.StringIO])
def test_a_notebook_without_widgets_has_a_bar_of_text(stream, monkeypatch):
    """There was none in the first minute: a kernel's stream is no terminal."""
    monkeypatch.setattr("sys.stderr", stream())
    assert list(Progress(2, "input").over("ab")) == ["a", "b"]
    assert ("100%" in sys.stderr.getvalue()) == (stream is NotebookStream)


def test_real_outputs_are_no_labels():
    data = as_data((np.zeros((2, 3), np.float32), np.array([1.5, 2.0])))
    with pytest.raises(ValueError, match="for real outputs pass the inputs alone"):
        data.item(0)


@pytest.mark.parametrize(
    ("store", "hint"),
    [
        (lambda p: np.savez(p, x=np.zeros((2, 3))), "zeros will do for values"),
        (
            lambda p: np.savez(p, x=np.array([[1], [2, 3]], dtype=object), y=[0, 1]),
            "stored as values, one after the other, with offsets",
        ),
        (lambda p: np.savez(p, x=np.ones((2, 3)), y=np.eye(2)), r"y\.argmax\(axis=1\)"),
        (lambda p: np.savez(p, x=np.ones((2, 3)), y=["a", "b"]), "model names none"),
        (
            lambda p: np.savez(p, x=np.array(["a good film"]), y=[0]),
            "give the numbers of its tokens",
        ),
        (
            lambda p: sparse.save_npz(p, sparse.coo_array(np.eye(3))),
            r"COO form: save matrix\.tocsr\(\)",
        ),
    ],
)
def test_a_file_that_is_refused_says_how_to_store_it(tmp_path, store, hint):
    store(tmp_path / "d.npz")
    with pytest.raises(ValueError, match=hint):
        open_data(tmp_path / "d.npz")


def test_inputs_without_labels_beside_them_are_told_where(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    with pytest.raises(FileNotFoundError, match=r"x\.labels\.npy; zeros will do"):
        open_data(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        ((np.zeros((2, 3)), np.zeros((2, 3), int)), r"Maps\(scheme, truth"),
        ((sparse.csr_array(np.eye(3)), [0]), "is one input, a graph"),
        ([("a good film", 0)], "give the numbers of its tokens"),
        ({"x": np.zeros((2, 3)), "y": [0, 1]}, r"two arrays \(x, y\).*got dict"),
        ((np.zeros((0, 3)), np.zeros(0)), "got arrays without any"),
        ((np.zeros((2, 3)), np.zeros((2, 1))), r"label for each input.*\(2, 1\)$"),
    ],
)
def test_data_that_are_refused_say_how_to_give_them(data, hint):
    with pytest.raises(ValueError, match=hint):
        as_data(data).item(0)


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (lambda b: {"out": b, "aux": b}, "dict of 'out', 'aux': return one of these"),
        (lambda b: np.zeros((len(b), 3, 4, 4)), "ask for maps"),
        (lambda b: b[:, :1], "return 1 - it beside it"),
        (lambda b: b[:, 0], "scores have a column for each class"),
    ],
)
def test_outputs_that_are_no_scores_are_named(model, hint):
    with pytest.raises(ValueError, match=hint) as caught:
        certify_one(model, np.zeros(3, np.float32), gaussian(0.5), n=100)
    assert "arrays.py" not in str(caught.value)  # a place in this package helps nobody


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
    assert "certifies nothing, however many samples" in capsys.readouterr().err
    assert main([*words, "--delete", "0.9", "--out", "strong.tsv"]) == 0
    assert "certif" not in capsys.readouterr().err.replace("rsbounds certify", "")


def test_a_margin_is_a_number_or_auto(capsys):
    words = ["certify", "--model", "m", "--data", "d", "--out", "o", "--sigma", "1"]
    error = refused(capsys, *words, "--margin", "automatic")
    assert "must be a number or auto; got 'automatic'" in error
    assert "_margin" not in error


def test_a_module_that_returns_more_than_scores_is_told(work):
    torch = pytest.importorskip("torch")

    class Two(torch.nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(ValueError, match="tuple of 2: return the scores alone"):
        certify_one(Two(), np.zeros(3, np.float32), gaussian(0.5), n=100)
