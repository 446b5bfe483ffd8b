"""[S] Figure 4: fixed noise against levels from the nearest images, on images."""

from collections.abc import Iterator
from typing import Any

import torch
from images import Data, as_table, certified, curves, every, row, run, trained
from shared import Table

from rsbounds import schemes
from rsbounds.semielastic import KNNSigma

SIGMAS, RATES, NEIGHBOURS = (0.12, 0.25, 0.5), (0.005, 0.01, 0.02), 20
OWN_RATE = 0.01  # of the training whose noise depends on the image too


def rows(data: Data, sigma: float) -> Iterator[tuple[Any, ...]]:
    """The rows of one base level."""
    net, fixed = trained(data, sigma), schemes.gaussian(sigma)
    found = certified(data, net, fixed)
    yield data.name, sigma, 0.0, "fixed", *row(data, found, fixed.radius)
    base = KNNSigma(data.flat, sigma, OWN_RATE, NEIGHBOURS, "mean")
    own = trained(data, torch.from_numpy(base.sigma(data.flat)))
    for rate in RATES:
        knn = KNNSigma(data.flat, sigma, rate, NEIGHBOURS, base.shift)
        scheme = schemes.semielastic(knn, data.dim)
        for training, module in (("fixed", net), ("own", own)):
            if training == "fixed" or rate == OWN_RATE:
                found = certified(data, module, scheme)
                cells = row(data, found, scheme.radius)
                yield data.name, sigma, rate, training, *cells


def table(quick: bool = False, folder: str | None = None) -> Table:
    found: list[tuple[Any, ...]] = []
    for data in every(quick, folder):
        for sigma in SIGMAS[-1:] if quick else SIGMAS:
            found += rows(data, sigma)
    return as_table("data sigma0 rate training", found)


def figure(table: Table) -> Any:
    def label(i: int) -> str | None:
        if table["training"][i] == "own" or table["rate"][i] in (0.005, 0.02):
            return None
        sigma, rate = table["sigma0"][i], table["rate"][i]
        return f"fixed noise {sigma:g}" if rate == 0 else f"{sigma:g}, rate {rate:g}"

    return curves(table, label, 1.5)


if __name__ == "__main__":
    run(__file__, table, figure)
