"""Inputs of five numbers, a linear model of them, and result files that are edited."""

import numpy as np

from rsbounds import certify_dataset, schemes
from rsbounds.sampling import ArraySampler

COUNT = 24

WEIGHTS = np.random.default_rng(0).standard_normal((5, 3))

INPUTS = np.random.default_rng(1).standard_normal((COUNT, 5))

LABELS = (INPUTS @ WEIGHTS).argmax(1)


def run(**known):
    model = ArraySampler(lambda batch: batch @ WEIGHTS)
    data = (INPUTS, LABELS)
    return certify_dataset(model, data, schemes.gaussian(0.25), n=50, **known)


def edited(path, change):
    """A result file whose rows were changed, each by the function of a dictionary."""
    header, *lines = path.read_text().splitlines()
    names = header.split("\t")
    for place, line in enumerate(lines):
        row = dict(zip(names, line.split("\t"), strict=True))
        lines[place] = "\t".join({**row, **change(row)}.values())
    path.write_text("\n".join([header, *lines]) + "\n")
