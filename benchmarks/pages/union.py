"""One valid certificate against the best noise level at every radius: writes the page.

python benchmarks/pages/union.py docs/benchmarks/union.md
"""

import argparse
import csv
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from union_case import (
    ALPHA,
    CLASSES,
    COMPONENTS,
    EPOCHS,
    HIDDEN,
    LISTS,
    N0,
    RECIPES,
    STAGES,
    Case,
    N,
    load,
)
from union_choice import GRID, LEAST, LEVELS, curve
from union_gaussian import table as gaussian_table
from union_text import HEAD, TAIL

import rsbounds
from rsbounds import composite, datasets, schemes
from rsbounds.certify import certify_counts
from rsbounds.composite import Rule
from rsbounds.procedure import Procedure

RADII = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
DRAWS = 400  # of the bootstrap

Floats = NDArray[np.float64]
ONE, PLAIN, LIST = LISTS


@dataclass(frozen=True)
class Bench:
    """Radii of one seed's images, 0 where the class is wrong, by certificate."""

    labels: NDArray[np.int64]
    constants: dict[str, Floats]
    lists: dict[str, Floats]
    why: list[str]  # of the trained list, image by image
    about: dict[str, Any]

    @property
    def union(self) -> Floats:
        return np.stack(list(self.constants.values()))


def thinned(case: Case, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts of N0 and of n samples, drawn from all of them without replacement."""
    rng, total = np.random.default_rng(n), case.about["drawn"]
    images, nets, kept = case.counts.shape
    shape = (images, nets, CLASSES)
    select, counts = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for i, k in np.ndindex(images, nets):
        own = case.counts[i, k]
        whole = np.append(own, total - own.sum())
        first = rng.multivariate_hypergeometric(whole, N0)
        rest = whole - first
        second = rest if n == total - N0 else rng.multivariate_hypergeometric(rest, n)
        select[i, k, case.top[i, k]], counts[i, k, case.top[i, k]] = (
            first[:kept],
            second[:kept],
        )
    return select, counts


def bench(case: Case, n: int) -> Bench:
    select, counts = thinned(case, n)
    networks, about = case.about["networks"], case.about[str(n)]

    def certified(rule: Rule, used: list[int]) -> list[Any]:
        pairs = zip(select[:, used], counts[:, used], strict=True)
        return [
            composite.certify_counts(rule, *pair, Procedure(n=n, alpha=ALPHA))
            for pair in pairs
        ]

    constants = {}
    for k in about["constants"]:
        name, sigma = networks[k]
        pairs = zip(select[:, k], counts[:, k], strict=True)
        procedure = Procedure(n0=N0, n=n, alpha=ALPHA)
        found = [
            certify_counts(
                schemes.gaussian(sigma), sigma, chosen, whole(of, n), procedure
            )
            for chosen, of in pairs
        ]
        constants[f"{name}, {sigma:g}"] = right(found, case.labels)
    by_name = {
        of: certified(Rule.from_dict(about[of][1]), about[of][0]) for of in LISTS
    }
    lists = {of: right(found, case.labels) for of, found in by_name.items()}
    why = [reason(c, y) for c, y in zip(by_name[LIST], case.labels, strict=True)]
    return Bench(case.labels, constants, lists, why, case.about)


def whole(counts: Any, n: int) -> list[int]:
    """Counts with the votes that the file leaves out: they are of classes that have no
    more than the least of those it keeps, and no void samples.
    """
    rest = n - int(sum(counts))
    least = int(min((count for count in counts if count), default=n))
    return [*counts, *[least] * (rest // least), rest % least]


def right(found: list[Any], labels: NDArray[np.int64]) -> Floats:
    return np.array(
        [c.radius * (c.predict == y) for c, y in zip(found, labels, strict=True)]
    )


def reason(c: Any, label: int) -> str:
    """What keeps a certificate from reaching further."""
    if c.predict >= 0 and c.predict != label:
        return f"item {c.item} fires for another class"
    words = c.binding.split()
    if words[0] != "item":
        return "no item certifies a class"
    what = (
        "may still fire for another class" if words[2] == "blocks" else "is not surer"
    )
    return f"item {words[1]} {what}"


def ratios(benches: list[Bench], name: str, rng: Any = None) -> tuple[Floats, Floats]:
    """Mean certified accuracy over the seeds, relative to their union's mean; and the
    latter.

    With ``rng`` of images drawn with replacement: the same of every certificate.
    """
    own, union, draws = [], [], None
    for b in benches:
        of = len(b.labels)
        if draws is None or not np.array_equal(b.labels, benches[0].labels):
            draws = np.arange(of) if rng is None else rng.integers(0, of, of)
        radii = np.concatenate([b.lists[name][None], b.union])[:, draws]
        each = curve(radii)
        own.append(each[0]), union.append(each[1:].max(0))
    top = np.mean(union, axis=0)
    return np.mean(own, axis=0) / np.maximum(top, 1e-9), top


def intervals(benches: list[Bench], name: str) -> tuple[Floats, list[float]]:
    """The ratio at each radius, and the least ratio with its 95 % interval."""
    rng = np.random.default_rng(0)
    ratio, top = ratios(benches, name)
    counted = top >= LEAST
    drawn = np.stack([ratios(benches, name, rng)[0] for _ in range(DRAWS)])
    low, high = np.quantile(drawn[:, counted].min(1), [0.025, 0.975])
    return ratio, [float(ratio[counted].min()), low, high]


def main_rows(benches: list[Bench]) -> list[list[str]]:
    """Curves, means over the seeds, with their head."""
    rows = [["certificate", *(f"> {r:g}" for r in RADII), "ACR"]]
    at = np.array(RADII)

    def add(name: str, of: Callable[[Bench], Floats]) -> None:
        values = np.mean([curve(of(b), at) for b in benches], axis=0)
        acr = np.mean([of(b).mean() for b in benches])
        rows.append([name, *(f"{v:.3f}" for v in values), f"{acr:.3f}"])

    names = {key for b in benches for key in b.constants}
    for name in sorted(names, key=lambda each: (float(each.split()[-1]), each)):
        if all(name in b.constants for b in benches):
            add(name, lambda b, name=name: b.constants[name])
    for name in LISTS:
        add(name, lambda b, name=name: b.lists[name])
    union = np.mean([curve(b.union, at).max(0) for b in benches], axis=0)
    rows.append(["union of the constants", *(f"{v:.3f}" for v in union), ""])
    return rows


def ratio_rows(benches: list[Bench]) -> list[list[str]]:
    """Certificates relative to the union, with the head of the table."""
    rows = [["relative to the union", *(f"> {r:g}" for r in RADII), "least ratio"]]
    at = np.searchsorted(GRID, np.array(RADII) - 1e-9)
    top = ratios(benches, LIST)[1]
    for name in LISTS:
        ratio, least = intervals(benches, name)
        cells = [f"{ratio[k]:.3f}" if top[k] >= LEAST else "" for k in at]
        rows.append([name, *cells, "{:.3f} ({:.3f}, {:.3f})".format(*least)])
    return rows


def limits(benches: list[Bench]) -> list[list[str]]:
    """Images that the union's best constant certifies and the list does not."""
    rows = [
        [
            "beyond",
            "lost, % of images",
            "won, % of images",
            "why the lost ones are lost, most often",
        ]
    ]
    for radius in RADII:
        lost, won, union, why = [], [], [], Counter()
        for b in benches:
            best = b.union[np.argmax((b.union > radius).mean(1))] > radius
            own = b.lists[LIST] > radius
            union.append(best.mean())
            lost.append((best & ~own).mean())
            won.append((own & ~best).mean())
            why.update(b.why[i] for i in np.flatnonzero(best & ~own))
        if np.mean(union) < LEAST:
            continue
        reasons = why.most_common(1)
        share = 100 * reasons[0][1] / sum(why.values()) if reasons else 0.0
        rows.append(
            [
                f"{radius:g}",
                f"{100 * np.mean(lost):.1f}",
                f"{100 * np.mean(won):.1f}",
                f"{reasons[0][0]}: {share:.0f} %" if reasons else "",
            ]
        )
    return rows


def bounds(benches: list[Bench]) -> str:
    """Oracles that see the labels, relative to the union."""
    rows = [["no more than", *(f"> {r:g}" for r in RADII), "least ratio"]]
    grid = GRID[::5]
    top = np.mean([curve(b.union, grid).max(0) for b in benches], axis=0)
    sums = np.sum([b.about["oracles"] for b in benches], axis=0)
    names = "any list over these networks", "any classifier"
    for name, each in zip(names, sums, strict=True):
        ratio = each / len(benches) / np.maximum(top, 1e-9)
        at = [int(np.searchsorted(grid, r - 1e-9)) for r in RADII]
        cells = [f"{ratio[k]:.3f}" if top[k] >= LEAST else "" for k in at]
        rows.append([name, *cells, f"{ratio[top >= LEAST].min():.3f}"])
    return table(rows)


def table(rows: list[list[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def recipes(cases: list[Case]) -> list[list[str]]:
    """Lists against the union of the constants of one recipe, on calibration images."""
    rows = [["least ratio to the union of", "the best list of these constants", LIST]]
    abouts = [case.about[str(N)] for case in cases]
    every = {
        of: np.mean([about["recipes"][of] for about in abouts], axis=0)
        for of in RECIPES
    }
    every["all"] = np.mean(
        [[about[of][2] for of in (PLAIN, LIST)] for about in abouts], axis=0
    )
    return [
        *rows,
        *([of, *(f"{value:.3f}" for value in pair)] for of, pair in every.items()),
    ]


def section(name: str, cases: list[Case], folder: Path) -> str:
    """A data set's part of the page; its curves go into a file."""
    parts, rest = [], []
    file = name.lower()

    def saved(title: str, rows: list[list[str]], stem: str) -> str:
        """Write a table beside the page; the link to it."""
        path = folder / f"{stem}.csv"
        with path.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows(rows)
        return f"[{title}]({folder.name}/{path.name})"

    for n in sorted({N, *(case.about["drawn"] - N0 for case in cases)}):
        able = [k for k, case in enumerate(cases) if case.about["drawn"] >= N0 + n]
        benches = [bench(cases[k], n) for k in able]
        ratio = ratio_rows(benches)
        title = (
            f"n = {n:,}, "
            f"{'one seed' if len(able) == 1 else f'mean of {len(able)} seeds'}"
        )
        if n != N:  # more samples: the ratios alone
            parts += [f"### {title}", table(ratio)]
            continue
        own = saved("Certified accuracies of all rows", main_rows(benches), file)
        parts += [
            f"### {title}",
            f"{own}, {saved('relative to the union', ratio, f'{file}-ratios')}.",
            f"The trained list of the first seed: {describe(cases[0], n)}.",
        ]
        rest = rest or [
            f"### What limits it, n = {n:,}",
            saved("Images lost and won, and why", limits(benches), f"{file}-limits")
            + ".",
            bounds(benches),
        ]
    head = f"\n## {name}\n\n{len(cases[0].labels)} images of each seed.\n\n"
    title = "Least ratios to the union of one recipe"
    rest.append(saved(title, recipes(cases), f"{file}-recipes") + ".")
    return head + "\n\n".join([*parts, *rest]) + "\n"


def describe(case: Case, n: int) -> str:
    """The items of a trained list, with the margins of their gates."""
    used, data, _ = case.about[str(n)][LIST]
    rule, names = Rule.from_dict(data), [case.about["networks"][k][0] for k in used]
    words = [f"{name} at {s:g}" for name, s in zip(names, rule.sigmas, strict=True)]
    gates = [
        item[1].threshold / s
        for item, s in zip(rule.items[:-1], rule.sigmas, strict=False)
    ]
    words = [f"{w} > {t:.2f}" for w, t in zip(words, gates, strict=False)] + words[-1:]
    return ", ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(STAGES), choices=list(STAGES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument(
        "--n", type=int, default=N, help="samples of an image, where none are kept"
    )
    parser.add_argument("--fashion", type=Path, default=datasets.FASHION_FOLDER)
    options = parser.parse_args()
    text = HEAD.format(
        components=COMPONENTS,
        hidden=HIDDEN,
        recipes=", ".join(RECIPES),
        epochs=EPOCHS,
        n0=N0,
        levels=", ".join(f"{s:g}" for s in LEVELS),
        seeds=", ".join(map(str, options.seeds)),
        draws=DRAWS,
        version=rsbounds.__version__,
    )
    parts, folder = [], options.page.with_suffix("")
    for name in options.sets:
        cases = [
            load(folder, name, seed, options.fashion, options.n)
            for seed in options.seeds
        ]
        parts.append(section(name, cases, folder))
    text = text.replace("GAUSSIAN", gaussian_table(folder))
    options.page.write_text(text + "".join(parts) + TAIL)


if __name__ == "__main__":
    main()
