"""Every way of learned smoothing in one table, on MNIST and Fashion-MNIST: writes the
page.

python benchmarks/pages/learned.py docs/benchmarks/learned.md
"""

import argparse
import csv
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from composite_case import projected
from learned_biased import biased
from learned_case import (
    CALIBRATION,
    COMPONENTS,
    EPOCHS,
    LEVELS,
    PIXELS,
    SIZES,
    Data,
    Tensor,
    expert,
    fit,
    gate,
    load,
    network,
    noise_conditional,
    recipes,
    under,
)
from learned_levels import NEIGHBOURS, P_MIN, SIGMA, nearest, sigma_networks
from learned_one_input import Memory, by_ascent, by_search
from learned_rows import (
    ALPHA,
    N0,
    RADII,
    SHARE,
    Bench,
    Floats,
    Row,
    Stage,
    against,
    columns,
    listed,
    table,
)
from learned_text import HEAD, LISTS, PRICES, TAIL
from machine import machine
from torch import nn

import rsbounds
from rsbounds import datasets, schemes
from rsbounds import torch as rst
from rsbounds.composite import Rule
from rsbounds.procedure import Procedure
from rsbounds.sampling import as_sampler
from rsbounds.schemes import Scheme

GENERATOR_FLOOR = 0.45
SHOWN = (
    "Gaussian, 0.5",
    "Gaussian, 1",
    "Gaussian, 1.5",
    "MACER, 1",
    "MACER, 1.5",
    "SmoothAdv, 1",
    "noise-conditional, 1",
    "certified generator",
    "list, SmoothAdv",
    "list, soft labels",
)  # on the page itself, beside the two unions; the CSV files have all rows

# and of their columns
_TOP = ("scheme", "> 0", "> 0.5", "> 1", "> 2", "ACR")
_PRICES = ("scheme", "sigma(x)", "ACR", "without price", f"d = {PIXELS}", "gain, %")

Nets = dict[str, dict[float, nn.Module]]


def constants(bench: Bench) -> tuple[Nets, dict[str, dict[float, Row]]]:
    """Every recipe at every level; of Gaussian noise also without the runner-up."""
    nets: Nets = {}
    rows: dict[str, dict[float, Row]] = {}
    for sigma in LEVELS:
        for name, net in recipes(bench.data, sigma).items():
            row = bench.constant(name, net, sigma)
            nets.setdefault(name, {})[sigma] = net
            rows.setdefault(name, {})[sigma] = row
            if name == "Gaussian":
                bench.without_runner_up(row, sigma)
    conditional = noise_conditional(bench.data)
    for sigma in LEVELS:
        nets.setdefault("noise-conditional", {})[sigma] = conditional.at(sigma).eval()
        row = bench.constant(
            "noise-conditional", nets["noise-conditional"][sigma], sigma
        )
        rows.setdefault("noise-conditional", {})[sigma] = row
    for sigma in (0.5, 1.0):
        short, q = projected(under(bench.data, sigma, pixels=True))
        held = (bench.data.held.pixels.double() @ q).float()
        name = f"Gaussian on all pixels, {sigma:g}"
        bench.under(name, short, schemes.gaussian(sigma), held)
    return nets, rows


def best(rows: Iterable[Row]) -> Floats:
    """The largest certified accuracy at each radius."""
    return np.asarray(np.max([row.curve for row in rows], axis=0))


def maps(bench: Bench) -> str:
    """A level for every component: fixed, by proven maps, for each image."""
    data = bench.data

    def joint(generator: nn.Module) -> nn.Module:
        net = network()

        def loss(u: Tensor, y: Tensor) -> Tensor:
            return rst.generator_loss(
                net, generator, u, y, target=SIGMA, variance_weight=10.0
            )

        both = nn.ModuleList([net, generator])
        fit(both, loss, data.train.u, data.train.y, epochs=2 * data.epochs)
        return net

    fixed = rst.NoiseMaps((COMPONENTS,), SIGMA)
    net = joint(fixed)
    noise = fixed.noise()
    bench.under(
        "fixed maps",
        net,
        noise.scheme(),
        sampler=as_sampler(net, noise.scheme(), num_classes=10),
    )
    torch.manual_seed(2)
    mean = nn.Sequential(nn.Linear(COMPONENTS, COMPONENTS), nn.Tanh(), rst.Scale(0.05))
    h = nn.Sequential(nn.Linear(COMPONENTS, 1), rst.Scale(0.01))
    shape = (noise.sigma / noise.sigma.log().mean().exp()).clamp(0.9, 1.1)
    proven = rst.CertifiedGenerator(mean, rst.SigmaNetwork(h, GENERATOR_FLOOR), shape)
    net = joint(proven)
    certified = proven.noise()
    scheme = certified.scheme()
    bench.under(
        "certified generator",
        net,
        scheme,
        sampler=as_sampler(net, certified.scheme(), num_classes=10),
    )
    layers = nn.Linear(COMPONENTS, 64), nn.ReLU(), nn.Linear(64, 2 * COMPONENTS)
    free = rst.NoiseGenerator(nn.Sequential(*layers), 0.1)
    net = joint(free)
    each(bench, "generator", lambda u, _: chosen_noise(free, net, u))
    bounds = [scheme.parameters[name] for name in ("mean_lip", "lip")]
    return (
        f"Fixed maps: levels {noise.sigma.min():.3f} to {noise.sigma.max():.3f}, "
        f"geometric mean {noise.sigma.log().mean().exp():.3f}. Certified generator: "
        f"proven bounds {bounds[0]:.4f} of the mean map, {bounds[1]:.4f} of sigma."
    )


def chosen_noise(
    generator: rst.NoiseGenerator, net: nn.Module, u: Tensor
) -> tuple[Any, Scheme]:
    noise = generator.at(u)
    return as_sampler(net, noise.scheme(), num_classes=10), noise.scheme()


def each(
    bench: Bench, name: str, at: Callable[[Tensor, int], tuple[Any, Scheme]]
) -> Row:
    """A sampler and a scheme for each image."""
    held = bench.data.held.u
    known: dict[str, Any] = {"n0": N0, "n": bench.n, "alpha": ALPHA}

    def one(index: int) -> Any:
        sampler, scheme = at(held[index], index)
        return rsbounds.certify.certify(
            sampler, held[index], scheme, index=index, **known
        )

    return bench.row(name, one)


def for_each_image(bench: Bench, net: nn.Module) -> str:
    sampler = rst.TorchSampler(net, 10)

    def ascent(u: Tensor, index: int) -> Any:
        known: Any = {"steps": 50, "samples": 16, "rate": 1e-2, "seed": index}
        return sampler, schemes.this_input(by_ascent(net, u, SIGMA, **known))

    def search(u: Tensor, index: int) -> Any:
        return sampler, schemes.this_input(
            by_search(sampler, u, LEVELS, Procedure(n=200), index)
        )

    row = each(bench, "level by ascent", ascent)
    memory = Memory()
    held = bench.data.held.u.numpy()
    kept = [memory.correct(u, c) for u, c in zip(held, row.found, strict=True)]
    bench.add("level by ascent, with memory", kept, row.samples, row.seconds)
    each(bench, "level by search", search)
    cut = sum(
        a.radius < b.radius or a.predict != b.predict
        for a, b in zip(kept, row.found, strict=True)
    )
    return f"Memory changed {cut} of {len(kept)} certificates."


def composites(
    bench: Bench, nets: Nets, rows: dict[str, dict[float, Row]]
) -> list[list[str]]:
    """Lists over each recipe's levels; then the first with a stage that is trained for
    it.
    """
    body: list[list[str]] = []

    def compare(row: Row, first: Row, name: str, other: Floats, acr: float) -> None:
        body.append(
            [
                row.name,
                first.name,
                *against(row, first.curve),
                f"{row.acr / first.acr:.3f}",
            ]
        )
        body.append(["", name, *against(row, other), f"{row.acr / acr:.3f}"])

    found: dict[str, tuple[Row, Rule]] = {}
    for recipe in ("Gaussian", "noise-conditional", "SmoothAdv"):
        stages = [Stage(nets[recipe][s], s) for s in reversed(LEVELS)]
        row, rule = found[recipe] = listed(bench, f"list, {recipe}", stages)
        alone = rows[recipe]
        largest = max(r.acr for r in alone.values())
        union = best(alone.values())
        compare(row, alone[rule.sigmas[0]], "best at each radius", union, largest)
    plain, (base, rule) = nets["Gaussian"], found["Gaussian"]
    high, low = rule.sigmas
    first, last = Stage(plain[high], high), Stage(plain[low], low)
    taught = {
        how: [Stage(gate(bench.data, plain[high], high, how), high), last]
        for how in ("soft labels", "reject class")
    }
    tuned = expert(bench.data, plain[high], high, plain[low], low)
    taught["expert"] = [first, Stage(tuned, low)]
    for how, stages in taught.items():
        row, _ = listed(bench, f"list, {how}", stages)
        compare(row, rows["Gaussian"][high], base.name, base.curve, base.acr)
    return body


def training_size(name: str) -> str:
    size = SIZES[name]
    moved = (
        f", each as it is and moved by a pixel {size.shifts - 1} ways,"
        if size.shifts > 1
        else ""
    )
    return f"{size.train:,}{moved}"


def save(file: Path, rows: list[list[str]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows(rows)


def shown(row: list[str]) -> bool:
    """Whether the page itself has this row."""
    return row[0].split(":")[0] in SHOWN or row[0].startswith("**")


def section(name: str, count: int, n: int, epochs: int, folder: Path) -> str:
    """One data set's part of the page; all its rows go into a file of the folder."""
    torch.set_num_threads(1)
    data: Data = load(name, count, epochs)
    bench = Bench(data, n)
    nets, rows = constants(bench)
    levels = [*sigma_networks(bench), *nearest(bench)]
    lines = [maps(bench), for_each_image(bench, nets["Gaussian"][SIGMA])]
    body = composites(bench, nets, rows)
    unions = {
        "best Gaussian constant at each radius": list(rows["Gaussian"].values()),
        "best constant of any recipe at each radius": [
            row for each in rows.values() for row in each.values()
        ],
    }
    top = [["scheme", *(f"> {r:g}" for r in RADII), "ACR", "samples", "s"]]
    top += [row.cells() for row in bench.rows]
    for title, parts in unions.items():
        acr = f"{max(r.acr for r in parts):.3f}"
        top.append([f"**{title}**", *(f"{v:.3f}" for v in best(parts)), acr, "", ""])
    file = folder / f"{name.lower()}.csv"
    save(file, top)
    two, proven = biased(data)
    price_head = [
        "scheme",
        "sigma(x)",
        "mean",
        "ACR",
        "without price",
        f"d = {PIXELS}",
        "constant",
        "gain, %",
        "free gain, %",
    ]
    list_head = ["list", "against", *(f"> {r:g}" for r in RADII), "ACR, ratio"]
    prices = folder / f"{name.lower()}-levels.csv"
    priced = [price_head, *(level.cells() for level in levels)]
    save(prices, priced)
    lists = folder / f"{name.lower()}-lists.csv"
    save(lists, [list_head, *body])
    biases = folder / f"{name.lower()}-biased.csv"
    save(biases, two)
    largest = max(two[1:], key=lambda row: float(row[-2]))
    text = [
        f"\n## {name}\n",
        f"{len(data.held.y)} images to certify; {training_size(name)} to train on.\n",
        table(columns([top[0], *filter(shown, top[1:])], _TOP)),
        f"\n[All {len(top) - 1} rows]({folder.name}/{file.name}).",
        f"\n{PRICES.format(file=f'{folder.name}/{prices.name}')}\n",
        table(columns(priced, _PRICES)),
        f"\n{LISTS.format(file=f'{folder.name}/{lists.name}')}\n",
        "\n**Locally biased**, class 8 against the rest, deterministic "
        f"([all rows]({folder.name}/{biases.name})):\nthe largest average radius is "
        f"{largest[-2]}, of {largest[0]}.",
        "\n" + " ".join([*lines, *proven]) + "\n",
    ]
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    options = parser.parse_args()
    command = f"python benchmarks/pages/learned.py docs/benchmarks/{options.page.name}"
    for name in ("count", "n", "epochs"):
        if getattr(options, name) != parser.get_default(name):
            command += f" --{name} {getattr(options, name)}"
    names = [
        name for name in SIZES if name == "MNIST" or datasets.FASHION_FOLDER.exists()
    ]
    start = time.perf_counter()
    with ProcessPoolExecutor(len(names), mp_context=get_context("spawn")) as pool:
        folder = options.page.with_suffix("")
        folder.mkdir(exist_ok=True)
        work = partial(
            section,
            count=options.count,
            n=options.n,
            epochs=options.epochs,
            folder=folder,
        )
        parts = list(pool.map(work, names))
    text = HEAD.format(
        command=command,
        components=COMPONENTS,
        pixels=PIXELS,
        count=options.count,
        n0=N0,
        n=options.n,
        share=round(SHARE * options.n),
        calibration=CALIBRATION,
        minutes=f"{(time.perf_counter() - start) / 60:.1f}",
        machine=machine("torch", "mlxtend"),
        version=rsbounds.__version__,
    )
    tail = TAIL.format(
        pixels=PIXELS,
        neighbours=NEIGHBOURS,
        floor=GENERATOR_FLOOR,
        p_min=P_MIN,
        target=SIGMA,
    )
    options.page.write_text(text + "".join(parts) + tail)


if __name__ == "__main__":
    main()
