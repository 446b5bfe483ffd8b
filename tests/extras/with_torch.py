"""Certify a module, and bound one."""

import torch
from small_run import INPUTS, WEIGHTS

from rsbounds.torch import Smooth, lipschitz_upper_bound

layer = torch.nn.Linear(5, 3, bias=False)
layer.weight.data = torch.tensor(WEIGHTS.T, dtype=torch.float32)
for x in torch.tensor(INPUTS, dtype=torch.float32):
    label, radius = Smooth(layer, 3, 0.25).certify(
        x, n0=10, n=50, alpha=0.01, batch_size=50
    )
    assert label in (-1, 0, 1, 2)
    assert radius >= 0
assert lipschitz_upper_bound(layer, 5) > 0
