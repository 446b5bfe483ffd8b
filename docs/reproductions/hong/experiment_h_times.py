"""[H] 7.2: certification times with a generator of noise beside those of fixed noise.

Times are of one run, input by input in turn; the numbers are of that machine.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from shared import Table, columns, publish
from torch import nn

import rsbounds.torch as rst
from rsbounds import schemes
from rsbounds.certify import certify
from rsbounds.sampling import as_sampler

SHAPE, SIGMA, N, INPUTS = (1, 28, 28), 0.5, 2000, 20
PRINTED = {"fixed": 27.09, "levels": np.nan, "generator": 27.43}  # seconds an input


def classifier() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU()),
        *(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(32 * 49, 10)),
    )


def ways() -> dict[str, Callable[[torch.Tensor], Any]]:
    """From an input to the scheme of its noise."""
    fixed = schemes.gaussian(SIGMA)
    levels = rst.NoiseMaps(SHAPE, SIGMA).noise().scheme()
    dense = rst.DenseMaps(1, 8)
    generator = rst.NoiseGenerator(dense, 0.1, sigma_max=2.0, mean_max=1.0)
    return {
        "fixed": lambda x: fixed,
        "levels": lambda x: levels,
        "generator": lambda x: generator.at(x).scheme(),
    }


def table(quick: bool = False) -> Table:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = classifier()
    chosen = ways()
    inputs = torch.rand(2 if quick else INPUTS, *SHAPE)
    spent = {name: np.zeros((len(inputs), 2)) for name in chosen}

    def once(name: str, x: torch.Tensor, index: int) -> tuple[float, float]:
        """Seconds in all, and those until the noise is known."""
        start = time.perf_counter()
        scheme = chosen[name](x)
        known = time.perf_counter()
        certify(as_sampler(net, scheme, num_classes=10), x, scheme, n=N, index=index)
        return time.perf_counter() - start, known - start

    for name in chosen:  # what is done once is not timed
        once(name, inputs[0], 0)
    for i, x in enumerate(inputs):
        for name in chosen:
            spent[name][i] = once(name, x, i)
    medians = {name: np.median(times, axis=0) for name, times in spent.items()}
    fixed = medians["fixed"][0]
    rows = [
        (
            name,
            *1000 * medians[name],
            medians[name][0] / fixed,
            PRINTED[name],
            PRINTED[name] / PRINTED["fixed"],
        )
        for name in chosen
    ]
    ratios = "ratio_to_fixed printed_s printed_ratio_to_fixed"
    return columns(f"noise ms noise_known_ms {ratios}", rows)


if __name__ == "__main__":
    publish(__file__, table())
