"""The picture of maps: where they are certified, where they abstain, where wrong."""

import numpy as np
import pytest

from rsbounds import certify_dataset
from rsbounds.answers import Maps
from rsbounds.cli import main
from rsbounds.reports import plot
from rsbounds.reports._maps import map_states
from rsbounds.results import Results, Row, read
from rsbounds.schemes import gaussian

X = np.array([[[2.0, -2.0, 0.0], [1.0, 1.0, -1.0]]] * 2, np.float32)
TRUTH = np.array([[[0, 1, 0], [0, 1, 1]]] * 2)


@pytest.fixture
def maps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("truth.npy", TRUTH)
    answer = Maps(gaussian(0.25), 0.75)
    model = lambda batch: np.stack([batch, -batch], 1)  # noqa: E731
    certify_dataset(model, X, answer, out="maps.tsv", progress=False)
    return read("maps.tsv")


def test_states_are_those_of_labels_and_truth_in_the_shape_of_the_input(maps):
    assert map_states(maps).tolist() == [[[0, 0, 1], [0, 0, 0]]] * 2
    assert map_states(maps, TRUTH).tolist() == [[[0, 0, 1], [0, 2, 0]]] * 2


def test_the_command_draws_them(maps, tmp_path):
    pytest.importorskip("matplotlib")
    words = ["report", "maps.tsv", "--plot", "maps.png"]
    assert main([*words, "--truth", "truth.npy"]) == 0
    assert (tmp_path / "maps.png").read_bytes().startswith(b"\x89PNG")
    assert main(words) == 0
    titles = [ax.get_title() for ax in plot([maps], "again.png").flat]
    assert titles == ["input 0", "input 1"]


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        (np.zeros((2, 5), int), r"maps of 6 positions in one or two dimensions"),
        (np.zeros((2, 1, 2, 3), int), r"got shape \(1, 2, 3\)"),
    ],
)
def test_true_maps_of_another_shape_are_named(maps, truth, said):
    with pytest.raises(ValueError, match=said):
        map_states(maps, truth)


def test_truth_has_no_meaning_for_classes(tmp_path):
    pytest.importorskip("matplotlib")
    file = Results("a", (Row(0, 0, 0, 0.5, True),))
    with pytest.raises(ValueError, match="truth goes with one file of the answer maps"):
        plot([file], tmp_path / "a.png", truth=TRUTH)
