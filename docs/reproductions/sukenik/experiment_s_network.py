"""[S] Figures 5, 8 and 9 with a trained network: fixed noise of growing level.

A network of three layers, at most 20 wide, learns 500 points of each of two sectors;
100 more of each are certified. The narrow class recedes as the level grows.
"""

import time
from typing import Any

import numpy as np
import torch
from scipy import ndimage
from shared import Table, axes, columns, listed, publish, steps, unlisted
from torch import nn

import rsbounds.torch as rst
from rsbounds import schemes
from rsbounds.certify import certify

ANGLE, SCALE = np.pi / 8, 2.0  # half-angle of the narrow class; scale of the distances
TRAIN, TEST, SAMPLES = 500, 100, 100_000
SIGMAS, SEEDS = (0.25, 0.5, 1.0, 2.0, 4.0), 3
VIEW, STEP = 8.0, 0.1  # the plane is shown in [-VIEW, VIEW]


def points(rng: np.random.Generator, count: int) -> tuple[Any, Any]:
    """As many of each class; uniform angles, distances the root of a chi-square."""
    narrow = rng.uniform(-ANGLE, ANGLE, count)
    wide = rng.uniform(ANGLE, 2 * np.pi - ANGLE, count)
    angle, distance = (
        np.concatenate([narrow, wide]),
        SCALE * np.sqrt(rng.chisquare(2, 2 * count)),
    )
    x = np.stack([distance * np.cos(angle), distance * np.sin(angle)], axis=1)
    return torch.from_numpy(x).float(), torch.from_numpy(np.repeat([1, 0], count))


def trained(seed: int, quick: bool = False) -> tuple[nn.Module, Any, Any]:
    """The network, trained without noise, and points and labels that are held out."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    x, y = points(rng, TRAIN)
    net = nn.Sequential(
        *(nn.Linear(2, 20), nn.ReLU(), nn.Linear(20, 20), nn.ReLU()), nn.Linear(20, 2)
    )

    def loss(inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(net(inputs), labels)

    rst.fit(net, loss, (x, y), epochs=5 if quick else 60, rate=1e-2, seed=seed)
    return net, *points(rng, 5 if quick else TEST)


def narrow_shares(net: nn.Module) -> dict[float, Any]:
    """Probability of the narrow class over the view by level; 0 is the network's."""
    margin = 4 * max(SIGMAS)
    ends = np.arange(-VIEW - margin, VIEW + margin + STEP / 2, STEP)
    places = np.stack(np.meshgrid(ends, ends), axis=-1).reshape(-1, 2)
    with torch.no_grad():
        wins = net(torch.from_numpy(places).float()).argmax(dim=1).numpy()
    plane = wins.reshape(len(ends), len(ends)).astype(float)
    cut = slice(round(margin / STEP), -round(margin / STEP))
    smooth = {s: ndimage.gaussian_filter(plane, s / STEP) for s in SIGMAS}
    return {s: p[cut, cut] for s, p in ({0.0: plane} | smooth).items()}


def table(quick: bool = False) -> Table:
    rows = []
    for seed in range(1 if quick else SEEDS):
        net, x, y = trained(seed, quick)
        area = {s: float((p > 0.5).mean()) for s, p in narrow_shares(net).items()}
        with torch.no_grad():
            right = (net(x).argmax(dim=1) == y).numpy()
        shares = [float(right[y == k].mean()) for k in (1, 0)]
        rows.append((seed, 0.0, *shares, 0.0, area[0.0], np.nan, np.nan, ""))
        sampler = rst.TorchSampler(net, 2)
        for sigma in SIGMAS:
            scheme = schemes.gaussian(sigma)
            n = 1000 if quick else SAMPLES
            found = [
                certify(sampler, at, scheme, n=n, seed=seed, index=i, runner_up=False)
                for i, at in enumerate(x)
            ]
            predicted = np.array([c.predict for c in found])
            right = predicted == y.numpy()
            radii = np.array([c.radius for c in found]) * right
            shares = [float(right[y == k].mean()) for k in (1, 0)]
            lost = float((predicted < 0).mean())
            sums = float(radii.mean()), float(radii.max())
            rows.append((seed, sigma, *shares, lost, area[sigma], *sums, listed(radii)))
    names = "right_narrow right_wide abstains area_narrow average_radius largest_radius"
    return columns(f"seed sigma {names} radii", rows)


def figure(table: Table) -> Any:
    result, panels = axes(4, rows=2)
    net, x, y = trained(0)
    for panel, (sigma, share) in zip(panels, narrow_shares(net).items(), strict=False):
        ends = (-VIEW, VIEW, -VIEW, VIEW)
        look = {"cmap": "coolwarm", "vmin": 0, "vmax": 1, "alpha": 0.6}
        panel.imshow(share, origin="lower", extent=ends, **look)
        if share.max() > 0.5:
            panel.contour(share, [0.5], extent=ends, colors="k", linewidths=1)
        if sigma == 0:
            panel.scatter(*x.T.numpy(), c=y, cmap="coolwarm", s=4)
        name = "the network" if sigma == 0 else rf"$\sigma$ = {sigma:g}"
        panel.set(title=name, xlim=(-VIEW, VIEW), ylim=(-VIEW, VIEW))
        panel.grid(visible=False)
    for i in np.flatnonzero((table["seed"] == 0) & (table["sigma"] > 0)):
        label = rf"$\sigma$ = {table['sigma'][i]:g}"
        steps(panels[6], unlisted(table["radii"][i]), label=label)
    panels[6].set(xlabel="radius", title="certified accuracy", xlim=(0, 6))
    panels[6].legend(fontsize=7)
    panels[7].axis("off")
    return result


if __name__ == "__main__":
    start = time.perf_counter()
    publish(__file__, numbers := table(), figure(numbers))
    print(f"{time.perf_counter() - start:.0f} s")
