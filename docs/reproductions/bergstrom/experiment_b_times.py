"""[B] Table 1: certification times of a sigma network beside those of fixed noise.

Times are of one run, input by input in turn; the numbers are of that machine.
"""

import time
from typing import Any

import numpy as np
import torch
from shared import Table, columns, publish
from torch import nn

import rsbounds.torch as rst
from rsbounds import schemes
from rsbounds.certify import certify

DIM, HIDDEN, N, INPUTS = 784, 200, 1000, 100
PRINTED = {"sigma(x)": 9.286, "0.25": 9.225, "0.5": 9.244, "1": 9.271, "0.7": np.nan}


def layers(out: int) -> list[nn.Module]:
    return [nn.Linear(DIM, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, out)]


def table(quick: bool = False) -> Table:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    sampler = rst.TorchSampler(nn.Sequential(*layers(10)), 10)
    level = rst.SigmaNetwork(nn.Sequential(*layers(1)), 0.65)
    ways: dict[str, Any] = {"sigma(x)": level.scheme(DIM)}
    ways |= {name: schemes.gaussian(float(name)) for name in PRINTED if name[0] != "s"}
    inputs = torch.rand(2 if quick else INPUTS, DIM)
    spent = {name: np.zeros(len(inputs)) for name in ways}
    for scheme in ways.values():  # what is done once is not timed
        certify(sampler, inputs[0], scheme, n=N)
    for i, x in enumerate(inputs):
        for name, scheme in ways.items():
            start = time.perf_counter()
            certify(sampler, x, scheme, n=N, index=i)
            spent[name][i] = 1000 * (time.perf_counter() - start)
    own = {name: float(np.median(times)) for name, times in spent.items()}
    rows = [
        (name, own[name], own[name] / own["1"], PRINTED[name], PRINTED[name] / 9.271)
        for name in ways
    ]
    return columns("noise ms ratio_to_1 printed_ms printed_ratio_to_1", rows)


if __name__ == "__main__":
    publish(__file__, table())
