"""Locally biased classifiers in learned.py: class 8 against the rest, no samples."""

import time

import numpy as np
import torch
from learned_case import Data, Tensor
from torch import nn
from torch.nn.functional import softplus

from rsbounds import torch as rst

SIGMA = 0.5
LARGE = (0.5, 1.0, 2.0, 3.0)


def biased(data: Data) -> tuple[list[list[str]], list[str]]:
    """Rows, and what is proven of the gradients. Calibration images serve too: none is
    fitted.
    """
    rows = [["locally biased", "> 0", *(f"> {r:g}" for r in LARGE), "ACR", "s"]]
    sign = torch.where(data.train.y == 8, 1, -1)
    x, y = (
        torch.cat([getattr(s, part) for s in (data.held, data.calibration)])
        for part in ("pixels", "y")
    )
    eights, others = (torch.nonzero((y == 8) == is_eight)[:, 0] for is_eight in (1, 0))
    half = min(len(eights), len(others))
    held = x[torch.cat([eights[:half], others[:half]])].double().numpy()
    truth, lines = np.repeat([1, -1], half), []
    tall = nn.Linear(784, 8), nn.Softplus(), nn.Linear(8, 1)
    known = data.train.pixels[:4000], sign[:4000]
    for name, layers in (("linear", (nn.Linear(784, 1),)), ("softplus", tall)):
        torch.manual_seed(0)
        for layer in layers:
            if isinstance(layer, nn.Linear):
                layer.reset_parameters()
        g = nn.Sequential(*layers)

        def loss(x: Tensor, s: Tensor, g: nn.Module = g) -> Tensor:
            weight = torch.where(s > 0, 9.0, 1.0)  # as many eights as others
            return (weight * softplus(-s * g(rst.augment(x, SIGMA))[:, 0])).mean()

        rst.fit(g, loss, known, epochs=12, rate=5e-3)
        lip = rst.gradient_lipschitz_upper_bound(g, held[0])
        lines.append(f"Locally biased, {name}: Lipschitz bound of grad g {lip:.3g}.")
        rst.locally_biased(g, known[0], known[1].numpy(), 0.0).certify(
            held[:1]
        )  # compiles
        for alpha in (0.0, 0.5, 2.0, 1e9):
            start = time.perf_counter()
            label, radius = rst.locally_biased(
                g, known[0], known[1].numpy(), alpha
            ).certify(held)
            right = label == truth
            curve = [f"{np.mean((radius > r) & right):.3f}" for r in (0.0, *LARGE)]
            acr, seconds = float(np.mean(radius * right)), time.perf_counter() - start
            rows.append(
                [f"{name}, alpha = {alpha:g}", *curve, f"{acr:.3f}", f"{seconds:.1f}"]
            )
    return rows, lines
