"""A small run of each answer."""

import numpy as np

from rsbounds.answers import DecisionList, Flag, Maps, TopClass, TopK, Values
from rsbounds.composite import Cond, Rule
from rsbounds.schemes import gaussian

RNG = np.random.default_rng(0)

WEIGHTS = RNG.standard_normal((8, 4))

X = RNG.standard_normal((3, 8)).astype(np.float32)

Y = RNG.integers(0, 4, 3)

TRUTH = RNG.integers(0, 3, (3, 8))

NOISE = gaussian(0.5)


def scores(batch):
    return batch.reshape(len(batch), -1) @ WEIGHTS


def outputs(batch):
    return batch[:, :2].astype(float)


def positions(batch):
    return np.stack([batch, -batch, 0 * batch], axis=1)


LIST = Rule([1.0, 0.5], [[Cond("margin", 0, 0.0)], [Cond("margin", 1, 0.0)]])

RUNS = {
    "class": (scores, (X, Y), TopClass(NOISE)),
    "top-k": (scores, (X, Y), TopK(NOISE, 2)),
    "list": (scores, (X, Y), DecisionList(LIST)),
    "values": (outputs, X, Values(NOISE, [0.1, 0.2])),
    "maps": (positions, X, Maps(NOISE, 0.75, truth=TRUTH)),
    "flag": (scores, (X, Y), Flag(NOISE, 0.2, flagged=(1, 3))),
}
