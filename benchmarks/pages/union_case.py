"""Networks of constants and of a list, and the counts of their votes: what union.py certifies.

Everything of one data set and seed is trained and drawn once and kept in one file. 32 principal
components are read, as in learned_case.py: radii hold for the pixels.
"""

import copy
import json
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from learned_case import consistency, gaussian, macer, mean_radius
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import nn
from union_bound import oracles
from union_choice import GRID, LEVELS, Key, Scores, chosen_list, envelope, plain_list, radii_of

from rsbounds import datasets
from rsbounds import torch as rst
from rsbounds.composite import Rule
from rsbounds.torch import training

COMPONENTS, HIDDEN, CLASSES = 32, 128, 10
N0, VOTES = 100, 2_500  # samples of an image to choose; of a calibration image
EPOCHS, BATCH = 5, 256  # of Gaussian noise first, then as many of a recipe
ROUNDS = 10
KEPT = 3  # largest classes of each count: all that a bound reads

Tensor = torch.Tensor
Split = tuple[Tensor, Tensor]

#: The stages of the list, large noise first, and the recipes that they start from.
STAGES: dict[str, list[Key]] = {
    "MNIST": [("SmoothAdv x 2", 1.5), ("SmoothAdv x 2", 1.0), ("SmoothAdv x 2", 0.5)],
    "Fashion-MNIST": [("SmoothAdv x 2", 1.5), ("MACER", 1.0), ("MACER", 0.5), ("Gaussian", 0.25)],
}


@dataclass(frozen=True)
class Case:
    """What is stored: of each network the largest counts, and the classes they are of."""

    labels: NDArray[np.int64]
    top: NDArray[np.int64]  # images, networks, KEPT
    counts: NDArray[np.int64]
    about: dict[str, Any]


def load(folder: Path, name: str, seed: int, fashion: Path, n: int) -> Case:
    """The counts in a file, drawn and written first if there is none."""
    path = folder / f"{name.lower()}-{seed}.npz"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        case = draw(name, seed, fashion, n)
        about = np.frombuffer(json.dumps(case.about).encode(), np.uint8)
        order = {"labels": case.labels.astype(np.uint8), "top": case.top.astype(np.uint8)}
        np.savez_compressed(path, **order, counts=case.counts.astype(np.int32), about=about)
    with np.load(path) as file:
        arrays = (file[key].astype(np.int64) for key in ("labels", "top", "counts"))
        return Case(*arrays, json.loads(bytes(file["about"])))


def splits(name: str, seed: int, fashion: Path) -> tuple[Split, Split, Split]:
    """Principal components and labels: to train on, to choose by, to certify."""
    rng = np.random.default_rng(seed)
    if name == "MNIST":
        x, y = datasets.mnist_digits()
        order = rng.permutation(len(x))
        parts = [(x[rows], y[rows]) for rows in np.split(order, [3000, 4000])]
        shifts = ((0, 0), (0, 1), (0, -1), (1, 0))
        moved = np.concatenate([np.roll(parts[0][0], by, (-2, -1)) for by in shifts])
        parts[0] = moved, np.tile(parts[0][1], len(shifts))
    else:
        x, y = datasets.fashion_mnist("train", fashion)
        order = rng.permutation(len(x))
        held, truth = (part[:2000] for part in datasets.fashion_mnist("test", fashion))
        parts = [(x[rows], y[rows]) for rows in (order[:12_000], order[12_000:14_000])]
        parts.append((held, truth))
    flat = [(a.reshape(len(a), -1).astype(float), b) for a, b in parts]
    middle = flat[0][0].mean(0)
    _, axes = np.linalg.eigh(np.cov(flat[0][0].T))
    q = axes[:, ::-1][:, :COMPONENTS]
    first, second, third = (
        (torch.from_numpy((a - middle) @ q).float(), torch.from_numpy(b)) for a, b in flat
    )
    return first, second, third


def network(outputs: int = CLASSES) -> nn.Sequential:
    return nn.Sequential(nn.Linear(COMPONENTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs))


def smoothadv(net: Any, u: Tensor, y: Tensor, sigma: float, times: float = 1.0) -> Tensor:
    reach = times * (1.0 if sigma >= 1 else 0.5)
    return training.smooth_adversarial_loss(net, u, y, sigma, reach, samples=2, steps=3)


RECIPES: dict[str, Any] = {
    "Gaussian": gaussian, "MACER": macer, "consistency": consistency, "mean radius": mean_radius,
    "SmoothAdv": smoothadv, "SmoothAdv x 2": partial(smoothadv, times=2.0),
}  # fmt: skip


def constants(train: Split, seed: int) -> dict[Key, nn.Module]:
    """A network by each recipe at each level; those of a level from the same start."""
    known: dict[str, Any] = {"epochs": EPOCHS, "batch_size": BATCH, "rate": 4e-3, "seed": seed}
    nets: dict[Key, nn.Module] = {}
    for sigma in LEVELS:
        torch.manual_seed(seed)
        start = network()
        rst.fit(start, lambda u, y, n=start, s=sigma: gaussian(n, u, y, s), train, **known)
        for name, loss in RECIPES.items():
            net = copy.deepcopy(start)
            rst.fit(net, lambda u, y, n=net, f=loss, s=sigma: f(n, u, y, s), train, **known)
            nets[name, sigma] = net
    return nets


def with_reject(net: Any) -> nn.Sequential:
    """The same network with one more output, for no class, that is rarely the largest yet."""
    wide, last = network(CLASSES + 1), net[2]
    wide[0].load_state_dict(net[0].state_dict())
    with torch.no_grad():
        wide[2].weight[:CLASSES], wide[2].bias[:CLASSES] = last.weight, last.bias
        wide[2].weight[CLASSES], wide[2].bias[CLASSES] = 0.0, last.bias.mean() - 1.0
    return wide


@torch.no_grad()
def votes(net: Any, u: Tensor, sigma: float, n: int, seed: int) -> NDArray[np.int64]:
    """Counts of the classes and of no class; the same noise serves all images."""
    chunk, generator = min(n, 2500), torch.Generator().manual_seed(seed)
    (first, bias), (last, own) = ((net[k].weight, net[k].bias) for k in (0, 2))
    at = (u @ first.T + bias)[:, :, None]
    hidden, counts = torch.empty(HIDDEN, chunk), torch.zeros(len(u), len(own), dtype=torch.int64)
    for size in [chunk] * (n // chunk) + [n % chunk] * (n % chunk > 0):
        noise = sigma * (first @ torch.randn(COMPONENTS, size, generator=generator))
        for i in range(len(u)):
            torch.add(noise, at[i], out=hidden[:, :size])
            scores = torch.addmm(own[:, None], last, hidden[:, :size].relu_())
            leads = (scores == scores.amax(0)).sum(1)
            if int(leads.sum()) > size:  # a tie
                leads = torch.bincount(scores.argmax(0), minlength=len(own))
            counts[i] += leads
    return counts.numpy()[:, :CLASSES]


def scores(net: Any, u: Tensor, sigma: float, seed: int) -> Scores:
    """Plug-in normal scores of calibration images."""
    counts = votes(net, u, sigma, VOTES, seed)
    return np.asarray(ndtri((counts + 0.5) / (VOTES + 1.0)))


def draw(name: str, seed: int, fashion: Path, n: int) -> Case:
    torch.set_num_threads(1)
    total = N0 + n
    start = time.process_time()
    train, calibration, held = splits(name, seed, fashion)
    u, y = calibration[0], calibration[1].numpy()
    nets = constants(train, seed)
    spent = {"constants": time.process_time() - start}
    known = {key: scores(net, u, key[1], seed) for key, net in nets.items()}
    alone = {key: radii_of(z, y, key[1]) for key, z in known.items()}
    plain, of_plain = plain_list(known, y, alone)
    stages = STAGES[name]
    sigmas = [sigma for _, sigma in stages]
    models = [copy.deepcopy(nets[key]) if k == len(stages) - 1 else with_reject(nets[key])
              for k, key in enumerate(stages)]  # fmt: skip
    first, start = chosen_list(sigmas), time.process_time()
    half, some = (u[:1000], calibration[1][:1000]), np.stack([r[:1000] for r in alone.values()])
    history = training.cascade(
        models, first, train, half, some, rounds=ROUNDS, batch_size=BATCH, seed=seed,
    )  # fmt: skip
    spent["list"] = time.process_time() - start
    z = np.stack([scores(m, u, s, seed) for m, s in zip(models, sigmas, strict=True)], axis=1)
    rule: Rule = chosen_list(sigmas, z, y, np.stack(list(alone.values())))
    kept = sorted({*envelope(alone), *plain, *stages}, key=lambda key: (key[1], key[0]))
    drawn, start = [], time.process_time()
    for k, net in enumerate([*(nets[key] for key in kept), *models]):
        sigma = kept[k][1] if k < len(kept) else sigmas[k - len(kept)]
        drawn.append(votes(net, held[0], sigma, total, 1000 * (seed + 1) + k))
        print(f"{name}, seed {seed}: network {k + 1} drawn", flush=True)
    spent["votes"] = time.process_time() - start
    counts = np.stack(drawn, axis=1)
    z = ndtri((counts[:, len(kept) :] + 0.5) / (total + 1.0))
    r = z * np.array(sigmas)[:, None]
    bound = oracles(r, held[0].double().numpy(), held[1].numpy(), GRID[::5])
    top = np.sort(np.argsort(-counts, axis=-1, kind="stable")[..., :KEPT], axis=-1)
    about = {
        "drawn": total, "constants": kept, "oracles": bound,
        "plain": [plain, of_plain.to_dict()], "list": rule.to_dict(),
        "history": [h.ratio for h in history], "seconds": spent,
    }  # fmt: skip
    return Case(held[1].numpy(), top, np.take_along_axis(counts, top, -1), about)
