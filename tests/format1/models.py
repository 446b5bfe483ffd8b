"""The model of run.tsv: a linear classifier of fixed weights."""

import numpy as np

W = np.random.default_rng(0).standard_normal(20).astype(np.float32)


def linear():
    return lambda batch: batch @ np.stack([W, -W], axis=1) / 4
