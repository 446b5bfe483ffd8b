"""Certify with bits from the operating system."""

import numpy as np
from small_run import COUNT, INPUTS, LABELS, WEIGHTS

from rsbounds import certify_dataset, schemes
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.sampling import ArraySampler

model = ArraySampler(lambda batch: batch @ WEIGHTS, noise=OnGrid())
grid = ((INPUTS - INPUTS.min()) / np.ptp(INPUTS) * 255).round() / 255
data = (grid.astype(np.float32), LABELS)
run = certify_dataset(model, data, schemes.gaussian(0.25), n=50, seed="os")
assert len(run.rows) == COUNT
