"""[A] Figures 1 and 2: a support vector machine on two spirals, biased towards its
anchors.

The gradient of g = sum c_i exp(-gamma |x - x_i|^2) + b has a proven Lipschitz constant:
in units of sqrt(2 gamma) the k-th directional derivative of the kernel is a Hermite
function, so its second derivatives are at most 2 gamma and its third at most 1.3802 (2
gamma)^1.5 in norm. The Hessian on a grid, plus the third derivative times the distance
to the grid, bounds it everywhere.
"""

import time
from typing import Any

import numpy as np
from shared import Table, axes, columns, publish
from sklearn.svm import SVC

from rsbounds import schemes
from rsbounds.certify import certify
from rsbounds.lbrs import LocallyBiased
from rsbounds.sampling import ArraySampler

TRAIN, HELD, COST = 300, 200, 1.0
BASES = {"linear": 0.0, "soft": 0.5, "sharp": 8.0}  # name: gamma of the kernel
ALPHAS = (0.0, 0.1, 0.2, 0.5, 1.0, 1e9)
SIGMAS = (0.05, 0.1, 0.2)
RADII = (0.02, 0.05, 0.1, 0.15)
THIRD = 1.3802  # sup |t^3 - 3t| exp(-t^2/2), rounded up


def spirals(count: int, seed: int) -> tuple[Any, Any]:
    """Two arms of one and a half turns, labels -1 and 1."""
    rng = np.random.default_rng(seed)
    label = rng.choice([-1, 1], count)
    turn = 3 * np.pi * np.sqrt(rng.uniform(0.05, 1, count))
    arm = turn / (3 * np.pi) * label
    x = np.stack([arm * np.cos(turn), arm * np.sin(turn)], axis=1)
    return x + 0.03 * rng.standard_normal(x.shape), label


class Machine:
    """The decision function of a trained SVC and its gradient; gamma = 0 is the linear
    one.
    """

    def __init__(self, x: Any, label: Any, gamma: float) -> None:
        kind = {"kernel": "rbf", "gamma": gamma} if gamma else {"kernel": "linear"}
        svm = SVC(C=COST, **kind).fit(x, label)
        self.gamma, self.offset = gamma, float(svm.intercept_[0])
        self.support, self.weight = svm.support_vectors_, svm.dual_coef_[0]

    def value_and_grad(self, x: Any) -> tuple[Any, Any]:
        if not self.gamma:
            slope = self.weight @ self.support
            return x @ slope + self.offset, np.tile(slope, (len(x), 1))
        away, term = self._terms(x)
        grad = -2 * self.gamma * np.einsum("ni,nij->nj", term, away)
        return term.sum(axis=1) + self.offset, grad

    def scores(self, batch: Any) -> Any:
        """As a base classifier for smoothing: the classes are -1 and 1."""
        parts = np.array_split(batch, -(-len(batch) // 500))
        value = np.concatenate([self.value_and_grad(part)[0] for part in parts])
        return np.stack([-value, value], axis=1)

    def lip_grad(self, ticks: int) -> float:
        """A Lipschitz constant of the gradient, from a grid of so many points on each
        axis.
        """
        if not self.gamma:
            return 0.0
        plain = 2 * self.gamma * float(np.abs(self.weight).sum())
        far = (
            5.0  # in units of the kernel, from the support vectors to the grid's border
        )
        extent = np.abs(self.support).max() + far / np.sqrt(2 * self.gamma)
        grid, step = np.linspace(-extent, extent, ticks, retstep=True)
        largest = 0.0
        for first in grid:
            away, term = self._terms(
                np.stack([np.full_like(grid, first), grid], axis=1)
            )
            hessian = 4 * self.gamma**2 * np.einsum("ni,nij,nik->njk", term, away, away)
            hessian -= 2 * self.gamma * term.sum(axis=1)[:, None, None] * np.eye(2)
            largest = max(largest, float(np.abs(np.linalg.eigvalsh(hessian)).max()))
        third = THIRD * np.sqrt(2 * self.gamma) * plain
        outside = plain * (far**2 + 1) * np.exp(-(far**2) / 2)  # falls beyond sqrt(3)
        return max(largest + third * step / np.sqrt(2), outside) * (1 + 1e-9)

    def _terms(self, x: Any) -> tuple[Any, Any]:
        away = x[:, None] - self.support
        return away, self.weight * np.exp(-self.gamma * np.sum(away**2, axis=2))


def flips(biased: LocallyBiased, x: Any, label: Any, radius: Any) -> int:
    """Certified points that a dense search of their disc misclassifies."""
    found = 0
    angle = np.linspace(0, 2 * np.pi, 96, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for point, own, r in zip(x, label, radius, strict=True):
        if r > 0:
            disc = np.concatenate(
                [point + 0.999999 * r * part * ring for part in (1, 0.8, 0.5)]
            )
            found += bool(np.any(biased.predict(disc) != own))
    return found


def table(quick: bool = False) -> Table:
    anchors, labels = spirals(TRAIN, 0)
    x, truth = spirals(30 if quick else HELD, 1)
    rows = []
    for base, gamma in BASES.items():
        machine = Machine(anchors, labels, gamma)
        lip = machine.lip_grad(100 if quick else 1200)
        for alpha in ALPHAS:
            biased = LocallyBiased(machine.value_and_grad, anchors, labels, alpha, lip)
            label, radius = biased.certify(x)
            broken = flips(biased, x, label, radius)
            rows.append(
                (
                    base,
                    f"biased {alpha:g}",
                    *scored(label == truth, radius),
                    broken,
                    lip,
                )
            )
        sampler = ArraySampler(machine.scores)
        for sigma in SIGMAS:
            n, scheme = 500 if quick else 5000, schemes.gaussian(sigma)
            found = [
                certify(sampler, point, scheme, n=n, index=i)
                for i, point in enumerate(x)
            ]
            right = np.array([c.predict for c in found]) == (truth + 1) // 2
            radius = np.array([c.radius for c in found])
            rows.append(
                (base, f"smoothed {sigma:g}", *scored(right, radius), np.nan, np.nan)
            )
    names = " ".join(f"above_{r:g}" for r in RADII)
    return columns(
        f"base classifier accuracy average_radius {names} flips lip_grad", rows
    )


def scored(right: Any, radius: Any) -> tuple[float, ...]:
    at = [float(np.mean(right & (radius > r))) for r in RADII]
    return float(np.mean(right)), float(np.mean(radius * right)), *at


def figure(table: Table) -> Any:
    anchors, labels = spirals(TRAIN, 0)
    ticks = np.linspace(-1.15, 1.15, 240)
    plane = np.stack(np.meshgrid(ticks, ticks), axis=2)
    machine = Machine(anchors, labels, BASES["soft"])
    result, panels = axes(3)
    for panel, alpha in zip(panels, (0.0, 0.5, 1e9), strict=True):
        biased = LocallyBiased(
            machine.value_and_grad, anchors, labels, alpha, 0.0
        )  # to predict
        panel.pcolormesh(
            ticks, ticks, biased.predict(plane), cmap="coolwarm", alpha=0.45
        )
        panel.scatter(*anchors.T, c=labels, cmap="coolwarm", s=4)
        name = r"\infty" if alpha > 1e6 else f"{alpha:g}"
        panel.set(title=rf"$\alpha = {name}$", aspect="equal")
        panel.grid(visible=False)
    return result


if __name__ == "__main__":
    start = time.perf_counter()
    publish(__file__, numbers := table(), figure(numbers))
    print(f"{time.perf_counter() - start:.0f} s")
