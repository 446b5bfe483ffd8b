"""The column ``sigma``: of discrete noise, how often it changes a coordinate."""

import csv
from functools import partial

import numpy as np
import pytest

from rsbounds import certify_dataset, schemes, semielastic

FLIPS = partial(schemes.flips, 0.25, 0.125)
#: A scheme, and the largest probability with which a coordinate changes; in l_1 half of
#: the width over which noise is uniform, or the scale of Laplace's law.
LEVELS = {
    "categorical": (partial(schemes.categorical, 0.7, 4), "0.3"),
    "categorical, of two values": (partial(schemes.categorical, 0.8, 2), "0.2"),
    "flips, mostly added": (FLIPS, "0.25"),
    "flips, mostly deleted": (partial(schemes.flips, 0.125, 0.5), "0.5"),
    "mask": (partial(schemes.mask, 8, 2), "0.75"),
    "mask of any length": (partial(schemes.mask, keep_probability=0.1), "0.9"),
    "deletion": (partial(schemes.deletion, 0.6), "0.6"),
    "blocks": (
        lambda: schemes.blocks(FLIPS(), schemes.categorical(0.6, 3), splits=[2]),
        "0.4",
    ),
    "blocks, the first the larger": (
        lambda: schemes.blocks(schemes.categorical(0.6, 3), FLIPS(), splits=[2]),
        "0.4",
    ),
    "blocks, one of them Gaussian": (
        lambda: schemes.blocks(
            schemes.categorical(0.6, 3), schemes.gaussian(0.25), splits=[2]
        ),
        "0.25",
    ),
    "uniform": (partial(schemes.uniform, 0.75), "0.75"),
    "exponential": (partial(schemes.exponential, 4.0), "0.25"),
    "transformed": (
        lambda: schemes.transformed(schemes.uniform(0.75), "contrast"),
        "0.75",
    ),
    "splitting": (partial(schemes.splitting, 0.5, 4), "0.5"),
}


def always_first(batch):
    return np.tile([1.0, 0.0], (len(batch), 1))


@pytest.mark.parametrize("name", LEVELS)
def test_rows_state_the_level_of_their_noise(name, tmp_path):
    make, level = LEVELS[name]
    scheme, out = make(), tmp_path / "run.tsv"
    numbers = {"n0": 10, "n": 1000}
    if name == "splitting":
        numbers = {"n": scheme.outcomes, "bound": "exact"}
    kind = np.float32 if not scheme.whole else np.int64
    data = (np.zeros((2, 8), kind), np.zeros(2, np.int64))
    results = certify_dataset(always_first, data, scheme, out=out, **numbers)
    assert [row.sigma for row in results.rows] == [float(level)] * 2
    with out.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["sigma"] for row in rows] == [level] * 2


def test_the_base_of_levels_that_follow_the_input_is_no_level_of_all_rows():
    """The command line states it as "sigma"; on a grid too, where noise is drawn."""
    knn = semielastic.KNNSigma(np.eye(4), sigma_base=0.25, rate=0.1, k=2)
    scheme = schemes.semielastic(knn, 4)
    scheme.parameters |= {"sigma": 0.25}
    for made in (scheme, scheme.on_grid()):
        again = schemes.METHODS["semi-elastic"].from_parameters(made.parameters)
        for stated in (made, again):
            assert stated.own_level is None
            assert stated.fixed_level(0.3) == 0.3
