"""The inputs and the classifier of the honest runs: eight inputs of four numbers.

All numbers are multiples of an eighth, so that every machine computes the same.
"""

import numpy as np

WEIGHTS = np.array([[3, -1, 0], [-2, 2, 1], [1, 1, -3], [0, -2, 2]]) / 8


def inputs():
    """Pairs of an input and its label, of which two are not what is predicted."""
    i, j = np.mgrid[:8, :4]
    x = (((7 * i + 3 * j * j + i * j) % 11 - 5) / 4).astype(np.float32)
    x[4] = 0, 0.25, 0, 0  # about which the classifier cannot decide
    labels = (x @ WEIGHTS).argmax(axis=1)
    labels[[2, 5]] = (labels[[2, 5]] + 1) % 3
    return [(row, int(label)) for row, label in zip(x, labels, strict=True)]


def classifier():
    """The scores of three classes for a batch of inputs."""
    return lambda batch: np.asarray(batch, np.float64) @ WEIGHTS


def another():
    """Another classifier, whose counts are larger."""
    return lambda batch: 4 * (np.asarray(batch, np.float64) @ WEIGHTS) + [1, 0, 0]


def levels():
    """Noise levels that grow with an input's first number, by a sixteenth."""
    return lambda batch: 0.5 + np.abs(np.asarray(batch, np.float64)[:, 0]) / 16
