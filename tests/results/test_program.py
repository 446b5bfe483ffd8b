"""What a report says of how noise was drawn is what its sampler does, for each kind."""

import numpy as np
import pytest
from listed_schemes import SCHEMES

from rsbounds.certify import certify_dataset
from rsbounds.results import read

FLOATS = "in floating point"
#: The words for each kind of noise that chance draws.
KINDS = {
    "gaussian": FLOATS,
    "laplace": FLOATS,
    "uniform": FLOATS,
    "exponential": FLOATS,
    "transformed": FLOATS,
    "brightness-contrast": FLOATS,
    "range": FLOATS,
    "categorical": "exactly its probabilities",
    "flips": "exactly its probabilities",
    "mask": "exactly its probabilities",
    "mask of any length": "exactly its probabilities",
    "deletion": "exactly its probabilities",
    "blocks": "exactly its probabilities",
    "blocks of numbers and values": "values with exactly",
}
INPUT = np.arange(4.0) / 255


def scores(batch):
    total = np.asarray(batch, np.float64).reshape(len(batch), -1).sum(axis=1)
    return np.stack([total, 0.5 - total], axis=1)


def ran(name, out, *, on_grid=False):
    scheme, options = SCHEMES[name]()
    x = np.asarray(options.get("x", INPUT))
    model = options.get("model", scores)
    if on_grid:
        scheme = scheme.on_grid()
    settings = {"n0": 8, "n": 20, "alpha": 0.1, "margin": 0.0}
    certify_dataset(model, ([x], [0]), scheme, out=out, **settings)
    return read(out).program()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_how_noise_is_drawn_is_said_for_its_kind(name, tmp_path):
    said, words = ran(name, tmp_path / "run.tsv"), KINDS[name]
    assert words in said
    assert (FLOATS in said) == (words == FLOATS or words.startswith("values"))


@pytest.mark.filterwarnings("ignore")
def test_noise_on_a_grid_is_said_to_be_exact(tmp_path):
    said = ran("gaussian", tmp_path / "run.tsv", on_grid=True)
    assert "exactly on its grid" in said
    assert FLOATS not in said
