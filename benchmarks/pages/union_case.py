"""Networks of constants and of a list, and the counts of their votes: what union.py
certifies.

Everything of one data set and seed is trained and drawn once and kept in one file. 32
principal components are read, as in learned_case.py: radii hold for the pixels.
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
from union_choice import (
    GRID,
    LEAST,
    LEVELS,
    Floats,
    Key,
    chosen,
    curve,
    envelope,
    terms,
)

from rsbounds import composite, datasets
from rsbounds import torch as rst
from rsbounds.torch import training
from rsbounds.torch.training import Stage

COMPONENTS, HIDDEN, CLASSES = 32, 256, 10
N, ALPHA = 10_000, 0.001
N0, VOTES = 100, 2_500  # samples of an image to choose; of a calibration image
LISTS = "best constant", "list of constants", "trained list"
EPOCHS, BATCH = 10, 256  # of Gaussian noise first, then as many of a recipe
KEPT = 3  # largest classes of each count: all that a bound reads

Tensor = torch.Tensor
Split = tuple[Tensor, Tensor]
Scores = dict[Key, Floats]

#: The gated stages of the list: level, margin of the own inputs, attack, weight of the
#: others.
STAGES = {
    "MNIST": [Stage(1.5, 2.0, 2.0, 0.3), Stage(1.0, 1.5, 2.0, 0.3),
              Stage(1.0, 1.0, 1.5, 1.0), Stage(0.5, 1.0, 1.0, 0.2)],
    "Fashion-MNIST": [Stage(1.5, 1.5, 2.0, 0.3), Stage(1.5, 2.0, 2.0, 0.4),
                      Stage(1.0, 1.0, 2.0, 0.3), Stage(0.5, 0.5, 1.0, 0.3)],
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """What is stored: of each network the largest counts, and their classes."""

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
        order = {
            "labels": case.labels.astype(np.uint8),
            "top": case.top.astype(np.uint8),
        }
        np.savez_compressed(
            path, **order, counts=case.counts.astype(np.int32), about=about
        )
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
        (torch.from_numpy((a - middle) @ q).float(), torch.from_numpy(b))
        for a, b in flat
    )
    return first, second, third


def network(outputs: int = CLASSES) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(COMPONENTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs)
    )


def smoothadv(
    net: Any, u: Tensor, y: Tensor, sigma: float, times: float = 1.0
) -> Tensor:
    reach = times * (1.0 if sigma >= 1 else 0.5)
    return training.smooth_adversarial_loss(net, u, y, sigma, reach, samples=2, steps=3)


RECIPES: dict[str, Any] = {
    "Gaussian": gaussian,
    "MACER": macer,
    "consistency": consistency,
    "mean radius": mean_radius,
    "SmoothAdv": smoothadv,
    "SmoothAdv x 2": partial(smoothadv, times=2.0),
}


def constants(train: Split, seed: int) -> dict[Key, nn.Module]:
    """A network by each recipe at each level; those of a level from the same start."""
    known: dict[str, Any] = {
        "epochs": EPOCHS,
        "batch_size": BATCH,
        "rate": 4e-3,
        "seed": seed,
    }
    nets: dict[Key, nn.Module] = {}
    for sigma in LEVELS:
        torch.manual_seed(seed)
        start = network()
        rst.fit(
            start, lambda u, y, n=start, s=sigma: gaussian(n, u, y, s), train, **known
        )
        for name, loss in RECIPES.items():
            net = copy.deepcopy(start)
            rst.fit(
                net, lambda u, y, n=net, f=loss, s=sigma: f(n, u, y, s), train, **known
            )
            nets[name, sigma] = net
    return nets


@torch.no_grad()
def votes(net: Any, u: Tensor, sigma: float, n: int, seed: int) -> NDArray[np.int64]:
    """Counts of the classes and of no class; the same noise serves all images."""
    chunk, generator = min(n, 2500), torch.Generator().manual_seed(seed)
    (first, bias), (last, own) = ((net[k].weight, net[k].bias) for k in (0, 2))
    at = (u @ first.T + bias)[:, :, None]
    hidden, counts = (
        torch.empty(HIDDEN, chunk),
        torch.zeros(len(u), len(own), dtype=torch.int64),
    )
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


def scores(net: Any, u: Tensor, sigma: float, seed: int) -> Floats:
    """Plug-in normal scores of calibration images."""
    return np.asarray(ndtri((votes(net, u, sigma, VOTES, seed) + 0.5) / (VOTES + 1.0)))


def lists(known: Scores, y: Any, n: int) -> tuple[dict[str, Any], list[Key]]:
    """What calibration images choose for n samples, and the constants that matter."""
    largest = ndtri((ALPHA / 10) ** (1 / n))  # about what n samples can show
    cut = {key: np.minimum(z, largest) for key, z in known.items()}
    single = {key: z for key, z in cut.items() if key[0] in RECIPES}
    alone = {key: np.maximum(terms(key[1] * z, y)[0], 0.0) for key, z in single.items()}
    union, matter = curve(np.stack(list(alone.values()))).max(0), envelope(alone)
    owned = {key: z for key, z in cut.items() if key not in single}
    plain = {key: single[key] for key in matter}
    result = {
        "best constant": chosen({}, single, y, union, 0),
        "list of constants": chosen(plain, single, y, union, 2),
        "trained list": chosen(plain | owned, cut, y, union, 3),
    }
    keys, rule, _ = result["trained list"]
    own, of_recipe = (
        curve(composite.radius(rule, np.stack([cut[key] for key in keys], 1), y)),
        {},
    )
    for name in RECIPES:
        some = {key: z for key, z in single.items() if key[0] == name}
        union = curve(np.stack([alone[key] for key in some])).max(0)
        ratio = (own[union >= LEAST] / union[union >= LEAST]).min()
        of_recipe[name] = [chosen(some, some, y, union, 2)[2], float(ratio)]
    return result | {"recipes": of_recipe}, matter


def draw(name: str, seed: int, fashion: Path, n: int) -> Case:
    torch.set_num_threads(1)
    total, start = N0 + n, time.process_time()
    train, calibration, held = splits(name, seed, fashion)
    nets: dict[Key, Any] = dict(constants(train, seed))
    spent = {"constants": time.process_time() - start}
    start, stages = time.process_time(), STAGES[name]
    models = training.cascade(
        lambda: network(CLASSES + 1),
        stages,
        train,
        epochs=EPOCHS,
        batch_size=BATCH,
        seed=seed,
    )
    nets |= {
        ("stage {:g}/{:g}/{:g}/{:g}".format(*stage), stage.sigma): model
        for stage, model in zip(stages, models, strict=True)
    }
    known = {
        key: scores(net, calibration[0], key[1], seed) for key, net in nets.items()
    }
    choices, needed = {}, set()
    for size in {N, n}:
        result, matter = lists(known, calibration[1].numpy(), size)
        needed |= {*matter, *(key for of in LISTS for key in result[of][0])}
        choices[str(size)] = result, matter
    spent["list"] = time.process_time() - start
    networks = sorted(needed, key=lambda key: (key[0] not in RECIPES, key[1], key[0]))
    drawn, start = [], time.process_time()
    for k, key in enumerate(networks):
        drawn.append(votes(nets[key], held[0], key[1], total, 1000 * (seed + 1) + k))
        print(
            f"{name}, seed {seed}: network {k + 1} of {len(networks)} drawn", flush=True
        )
    spent["votes"] = time.process_time() - start
    counts, sigmas = np.stack(drawn, axis=1), np.array([sigma for _, sigma in networks])
    r = ndtri((counts + 0.5) / (total + 1.0)) * sigmas[:, None]
    top = np.sort(np.argsort(-counts, axis=-1, kind="stable")[..., :KEPT], axis=-1)
    about: dict[str, Any] = {
        "drawn": total,
        "networks": networks,
        "seconds": spent,
        "oracles": oracles(r, held[0].double().numpy(), held[1].numpy(), GRID[::5]),
    }
    for size, (result, matter) in choices.items():
        about[size] = {
            "recipes": result["recipes"],
            "constants": [networks.index(k) for k in matter],
        }
        for of in LISTS:
            keys, rule, ratio = result[of]
            about[size][of] = [
                [networks.index(key) for key in keys],
                rule.to_dict(),
                ratio,
            ]
    return Case(held[1].numpy(), top, np.take_along_axis(counts, top, -1), about)
