"""The result files of TSS (Li et al. 2021): what each is of, and which counts earn it.

Which transformation, noise and interval a file is of stands in its path alone, n and
alpha nowhere. Radii are compared with those that counts earn by the formula of its
transformation; n is the least of ``SAMPLES`` whose full count reaches the largest
radius, as printed. Rotations and scalings were gone through step by step, with samples
and bounds of interpolation that no file holds: of them nothing can be computed again.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from rsbounds.audit._printing import Printing
from rsbounds.confidence import lower_bound
from rsbounds.results import Results, read

REPOSITORY = "AI-secure+semantic-randomized-smoothing"
FOLDERS = ("data", "new_data")
ALPHA = 0.001
SAMPLES = (1_000, 10_000, 50_000, 100_000)
HEADER = "idx\tlabel\tpredict\tradius\tcorrect\ttime"
DATA = {"cifar10": "cifar-10", "imagenet": "imagenet", "mnist": "mnist"}
#: The relative error of a radius computed here.
_NEAR = 1e-12

Law = Callable[[Any, Mapping[str, float]], Any]


def _chained(p: Any, level: float, power: float, log_contrast: Any) -> Any:
    """Scores left by two bounds: brightness' noise scaled, then both of them shifted.

    ``power``: of the contrast that scales, which is 1.
    """
    scale = np.exp(power * np.asarray(log_contrast))
    more = 2 - 2 * ndtr(scale * ndtri(1 - p / 2))
    less = 2 * ndtr(scale * ndtri((1 + p) / 2)) - 1
    least = np.where(scale >= 1, more, less)
    left = ndtri(np.maximum(least, 0.5)) ** 2 - (log_contrast / level) ** 2
    return np.sqrt(np.maximum(left, 0))


def _ends(contrast: float) -> tuple[float, float]:
    return math.log(1 - contrast), math.log(1 + contrast)


def _chain(p: Any, given: Mapping[str, float], power: float, factor: Any) -> Any:
    each = [
        factor(math.exp(-end)) * _chained(p, given["sigma"], power, end)
        for end in _ends(given["contrast"])
    ]
    return given["sigma"] * np.minimum(*each)


def chain(p: Any, given: Mapping[str, float]) -> Any:
    """Brightness for contrasts 1 - c and 1 + c, by two bounds one after the other."""
    return _chain(p, given, 1, lambda ratio: min(ratio, 1))


def second_chain(p: Any, given: Mapping[str, float]) -> Any:
    """The same before a factor was mended, which was above 1 for less contrast."""
    return _chain(p, given, 1, lambda ratio: ratio)


def first_chain(p: Any, given: Mapping[str, float]) -> Any:
    """The formula before that, without the factor and with the root of the contrast."""
    return _chain(p, given, 0.5, lambda ratio: 1)


def contrasts(p: Any, given: Mapping[str, float]) -> Any:
    """The largest c for which contrasts from 1 - c to 1 + c are certified."""
    p = np.asarray(p)
    reached = []
    for sign in (-1.0, 1.0):
        low, high = np.zeros_like(p), np.full_like(p, math.log(10))
        for _ in range(50):
            between = (low + high) / 2
            held = _chained(p, given["sigma"], 1, sign * between) > 0
            low, high = np.where(held, between, low), np.where(held, high, between)
        reached.append(abs(np.expm1(sign * low)))
    return np.where(p > 0.5, np.minimum(*reached), 0)


def gaussian(p: Any, given: Mapping[str, float]) -> Any:
    return given["sigma"] * np.maximum(ndtri(p), 0)


def exponential(p: Any, given: Mapping[str, float]) -> Any:
    """One-sided: the variance of a blur, which noise of this mean only adds to."""
    return np.maximum(-given["sigma"] * np.log(2 - 2 * np.asarray(p)), 0)


def uniform(p: Any, given: Mapping[str, float]) -> Any:
    return math.sqrt(12) * given["sigma"] * np.maximum(np.asarray(p) - 0.5, 0)


def folded(p: Any, given: Mapping[str, float]) -> Any:
    level = given["sigma"] / math.sqrt(1 - 2 / math.pi)
    return np.maximum(level * (ndtri((1 + np.asarray(p)) / 2) - ndtri(0.75)), 0)


def _root(law: Law) -> Law:
    """The standard deviation of a blur, where noise is in its variance."""
    return lambda p, given: np.sqrt(law(p, given))


def _of_width(p: Any, given: Mapping[str, float]) -> Any:
    return given["sigma"] ** 2 * np.maximum(np.asarray(p) - 0.5, 0)


class Kind(NamedTuple):
    """Files of one transformation: their paths, threat and law.

    ``laws``: of which the one that fits best is taken. ``extent``: what is certified as
    a whole, where the file has margins and no radii.
    """

    path: str
    threat: str
    method: str
    laws: tuple[Law, ...] = ()
    kernels: bool = False
    extent: float = 0.0


_OLD = r"data/main_results/(?P<data>\w+)/(?:resnet110|resnet50|convnet)/"
_NEW = r"new_data/(?P<data>cifar10|imagenet|mnist)/(?:resnet110|resnet50|mnist_43)/"
_END = r"(?P<training>cohen|consistency)(?:/result)?\.txt"
_SIGMA = r"(?:pretrain_)?noise_(?P<sigma>[\d.]+)"
_TWICE = r"(?:pretrain_)?noise_(?P<sigma>[\d.]+)_(?P=sigma)"
_CHAINS = (chain, second_chain, first_chain)
_OF = r"(?P<training>cohen|consistency)"


def _interval(path: str, threat: str, extent: float) -> Kind:
    return Kind(path, threat, "gaussian", extent=extent)


def _both(contrast: str, old: str, new: str) -> Iterator[Kind]:
    threat = f"brightness-contrast-{contrast}"
    if old:
        yield Kind(
            rf"{_OLD}brightness_contrast/{old}", threat, "brightness-contrast", _CHAINS
        )
    if new:
        path = rf"{_NEW}brightness_contrast/(?P<sigma>[\d.]+)_(?P=sigma)/{new}"
        yield Kind(rf"{path}(?:_right)?/{_END}", threat, "brightness-contrast", _CHAINS)


KINDS = (
    Kind(rf"{_OLD}l2/{_SIGMA}", "l2", "gaussian", (gaussian,)),
    Kind(rf"{_OLD}brightness/{_TWICE}(?:_by_k_0\.0)?", "brightness", "gaussian",
         (gaussian,)),
    Kind(rf"{_NEW}brightness/[\d.]+/scale_(?P<sigma>[\d.]+)/{_END}", "brightness",
         "gaussian", (gaussian,)),
    Kind(rf"{_OLD}contrast/{_TWICE}", "contrast-factor", "brightness-contrast",
         (contrasts,)),
    *_both("0.2", rf"{_TWICE}(?:_by)?_k_0\.2", ""),
    *_both("0.3", rf"{_TWICE}", r"scale_b_0\.5_c_0\.3"),
    *_both("0.4", "", r"scale_0\.4"),
    *_both("0.5", "", r"scale_b_0\.[57]_c_0\.5"),
    Kind(rf"{_OLD}gaussian_blur_exponential_dist/{_SIGMA}", "blur-deviation",
         "exponential", (_root(exponential),), kernels=True),
    Kind(rf"{_OLD}gaussian_blur_uniform_dist/{_SIGMA}", "blur-deviation", "uniform",
         (_root(_of_width),), kernels=True),
    Kind(rf"{_NEW}gaussian_blur/lamb(?P<sigma>\d+)/{_END}", "blur-variance",
         "exponential", (exponential,), kernels=True),
    Kind(rf"{_NEW}gaussian_blur/unifgaussian/var(?P<variance>\d+)/{_END}",
         "blur-variance", "uniform", (uniform,), kernels=True),
    Kind(rf"{_NEW}gaussian_blur/foldgaussian/var(?P<variance>\d+)/{_END}",
         "blur-variance", "folded Gaussian", (folded,), kernels=True),
    Kind(rf"{_OLD}translation_reflectpad/{_SIGMA}", "translation", "gaussian",
         (gaussian,)),
    Kind(rf"{_NEW}translation/{_SIGMA}/{_END}", "translation", "gaussian",
         (gaussian,)),
    Kind(rf"{_OLD}translation_reflectpad_enumeration/{_SIGMA}", "translation",
         "enumeration"),
    Kind(rf"{_NEW}translation_enumeration/{_SIGMA}/{_END}", "translation",
         "enumeration"),
    Kind(rf"{_OLD}translation_blackpad_enumeration/{_SIGMA}", "translation-black",
         "enumeration"),
    _interval(rf"{_OLD}rotation/noise_(?P<sigma>[\d.]+)_r_35_p_30", "rotation", 30),
    _interval(rf"{_OLD}rotation/pretrain_noise_(?P<sigma>[\d.]+)_r_12\.5", "rotation",
              10),
    _interval(rf"{_NEW}rotation/{_OF}/r_10/{_SIGMA}/result\.txt", "rotation", 10),
    _interval(rf"{_NEW}rotation/{_OF}/(?:r|angle)_30/{_SIGMA}(?:/result|_r_30)\.txt",
              "rotation", 30),
    _interval(rf"{_NEW}rotation/{_OF}/r_50/{_SIGMA}_r_55\.txt", "rotation", 50),
    _interval(rf"{_OLD}scaling/noise_(?P<sigma>[\d.]+)_0\.75_1\.25_by_0\.8_1\.2.*",
              "scaling", 0.2),
    _interval(rf"{_OLD}scaling/noise_(?P<sigma>[\d.]+)_p_0\.25_t_0\.2", "scaling",
              0.2),
    _interval(rf"{_OLD}scaling/pretrain_noise_(?P<sigma>[\d.]+)_p0\.15", "scaling",
              0.1),
    _interval(rf"{_NEW}resize/{_OF}/(?:r|scale)_0\.3/(?:.*/)?{_SIGMA}.*\.txt",
              "scaling", 0.3),
    _interval(rf"{_NEW}rotation-brightness/{_OF}/.*{_SIGMA}.*b_0\.1\.txt",
              "rotation-brightness-0.1", 10),
    _interval(rf"{_NEW}rotation-brightness/{_OF}/(?:r_10/)?{_SIGMA}_r_10_.*b_0\.2\.txt",
              "rotation-brightness-0.2", 10),
    _interval(rf"{_NEW}rotation-brightness/{_OF}/(?:r|angle)_30/{_SIGMA}.*b_0\.2\.txt",
              "rotation-brightness-0.2", 30),
    _interval(rf"{_NEW}rotation-brightness/{_OF}/r_50/{_SIGMA}.*b_0\.2\.txt",
              "rotation-brightness-0.2", 50),
    _interval(rf"{_NEW}resize-brightness/{_OF}/(?:r|scale)_0\.2/{_SIGMA}.*b_0\.3\.txt",
              "scaling-brightness-0.3", 0.2),
    _interval(rf"{_NEW}resize-brightness/{_OF}/(?:r|scale)_0\.3/.*{_SIGMA}.*\.txt",
              "scaling-brightness-0.3", 0.3),
    _interval(rf"{_NEW}resize-brightness/{_OF}/r_0\.5/.*{_SIGMA}.*\.txt",
              "scaling-brightness-0.5", 0.5),
)  # fmt: skip


class File(NamedTuple):
    """A file, what its path says, and which of them its rows are of."""

    path: str
    kind: Kind
    data: str
    given: Mapping[str, float]
    training: str


def files_of(root: Path) -> list[Path]:
    """The files with the field's header, of which there are 215."""
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.read_bytes().startswith(HEADER.encode()):
                found.append(path)
    return found


def file_of(path: str) -> File | None:
    """What a path says its file is of; None where that is too little."""
    for kind in KINDS:
        found = re.fullmatch(kind.path, path)
        if found is None:
            continue
        named = found.groupdict()
        level = float(
            named.get("sigma") or math.sqrt(float(named.get("variance") or 0))
        )
        given = {"sigma": level}
        if kind.threat.startswith("brightness-contrast-"):
            given["contrast"] = float(kind.threat.rpartition("-")[2])
        return File(path, kind, DATA[named["data"]], given, named.get("training") or "")
    return None


def rows_of(path: Path, file: File) -> Results:
    """The rows; what is certified as a whole has its extent for a radius."""
    held = read(path)
    if not file.kind.extent:
        return held
    rows = [
        row if not row.radius else _replaced(row, file.kind.extent) for row in held.rows
    ]
    return Results(held.name, tuple(rows), held.note)


def _replaced(row: Any, radius: float) -> Any:
    return dataclasses.replace(row, radius=radius)


class Earned(NamedTuple):
    """Which counts a file's radii fit: n, their radii by the formula that fits."""

    n: int
    radii: Any
    law: Law
    printing: Printing
    lost: int


_KNOWN: dict[str, Earned | None] = {}  # by the file's path


def earned(held: Results, file: File) -> Earned | None:
    """As ``_earned``, once for each file."""
    if file.path not in _KNOWN:
        _KNOWN[file.path] = _earned(held, file)
    return _KNOWN[file.path]


def _earned(held: Results, file: File) -> Earned | None:
    """The least n whose full count reaches the largest radius, by the law that fits."""
    largest = max((row.radius for row in held.rows), default=0)
    cells = held.printed["radius"]
    best: Earned | None = None
    for law in file.kind.laws:
        for n in SAMPLES:
            most = float(lower_bound(n, n, ALPHA))
            (top,) = np.atleast_1d(law(np.array([most]), file.given))
            if float(f"{top:.3}") < largest:
                continue
            p = np.asarray(lower_bound(np.arange(n // 2, n + 1), n, ALPHA))
            radii = np.asarray(law(p, file.given))
            printing = Printing.of_radii(cells, radii)
            numbers = np.array([row.radius for row in held.rows if row.radius])
            lost = int((printing.counts(numbers, radii) < 0).sum())
            if best is None or lost < best.lost:
                best = Earned(n, radii, law, printing, lost)
            break
    return best


def findings(held: Results, found: Earned) -> dict[str, Any]:
    """What printing lifted and no count prints as, as a card tells of an audit."""
    first: list[str] = []
    kinds = {"large": 0, "rounded": 0, "unearned": 0}
    for line, row in enumerate(held.rows, start=2):
        if not row.radius:
            continue
        count = found.printing.count(row.radius, found.radii)
        most = found.radii[-1 if count is None else count]
        if count is None:
            kind = "large" if row.radius > found.radii[-1] else "unearned"
            text = f"radius is {row.radius}, which no count of {found.n} samples earns"
        elif row.radius > most * (1 + _NEAR):
            kind, text = (
                "rounded",
                f"radius is {row.radius}, rounded up from {most:.9f}",
            )
        else:
            continue
        kinds[kind] += 1
        first.append(f"line {line}: input {row.idx}: {text}")
    return _told(held, first, kinds)


def enumerated(held: Results) -> dict[str, Any]:
    """The same of lengths of whole displacements, of which the first failed."""
    first: list[str] = []
    kinds = {"rounded": 0, "unearned": 0}
    side = math.ceil(max((row.radius for row in held.rows), default=0)) + 1
    squares = np.arange(side + 1) ** 2
    lengths = np.sqrt(np.unique(squares[:, None] + squares))
    longest = {f"{length:.3}": length for length in lengths}  # of those that print so
    for line, row in enumerate(held.rows, start=2):
        length = longest.get(f"{row.radius:.3}")
        if length is None:
            kind, text = "unearned", "which is no displacement's length"
        elif row.radius > length * (1 + _NEAR):
            kind, text = "rounded", f"rounded up from {length:.9f}"
        else:
            continue
        kinds[kind] += 1
        first.append(f"line {line}: input {row.idx}: radius is {row.radius}, {text}")
    return _told(held, first, kinds)


def _told(held: Results, first: list[str], kinds: Mapping[str, int]) -> dict[str, Any]:
    return {
        "rows": len(held.rows),
        "proved": 0,
        "findings": sum(kinds.values()),
        "first": first[:5],
        "stated": ["sigma", "n", "alpha"],
        "rounded": kinds["rounded"],
        "unearned": kinds["unearned"],
    }


# Where the noise of the brightness is integrated, in its own levels; weights.
_NODES = np.linspace(-9, 9, 1201)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()
#: How many contrasts from the least to the largest are tried.
GRID = 21


def kept(p: Any, level: float, log_contrast: float, brightness: Any) -> Any:
    """What is left at least of probabilities p, by Neyman and Pearson's lemma.

    Copies are e^k (x + b), the attack is e^kappa (x + beta): it adds kappa to k, and b
    is divided by e^kappa before beta is added. The logarithm of the ratio of both laws
    is linear in k, so that one integral over b is left; a quadrature of plain weights.
    """
    p = np.atleast_1d(p).astype(float)
    reach = np.broadcast_to(np.asarray(brightness) / level, p.shape)[:, None]
    if log_contrast == 0:
        return ndtr(ndtri(p) - reach[:, 0])
    shift, scale = log_contrast / level, math.exp(log_contrast)
    sign = math.copysign(1, shift)

    def cut(b: Any, threshold: Any) -> Any:
        bent = ((b - reach) * scale) ** 2 / 2 - b**2 / 2
        return (threshold[:, None] + shift**2 / 2 - log_contrast + bent) / shift

    low, high = np.full(p.shape, -400.0), np.full(p.shape, 400.0)
    for _ in range(70):
        between = (low + high) / 2
        below = (_WEIGHTS * ndtr(sign * cut(_NODES, between))).sum(axis=1) < p
        low, high = np.where(below, between, low), np.where(below, high, between)
    moved = cut(reach + _NODES / scale, low) - shift
    return (_WEIGHTS * ndtr(sign * moved)).sum(axis=1)


def _reached(brightness: Any, log_contrast: float, law: Law) -> Any:
    """The beta of e^kappa (x + beta); the mended chain is for e^kappa x + beta too."""
    longer = max(1.0, math.exp(-log_contrast)) if law is chain else 1.0
    return longer * np.asarray(brightness)


def exact(held: Results, found: Earned, file: File) -> tuple[float, int]:
    """The exact brightness of all samples for a file's contrasts, and how many radii
    are above that of their own count.
    """
    level, ends = file.given["sigma"], _ends(file.given["contrast"])
    grid = np.linspace(*ends, GRID)
    radii, many = np.unique(
        [row.radius for row in held.rows if row.radius], return_counts=True
    )
    counts = np.maximum(found.printing.counts(radii, found.radii), 0) + found.n // 2
    p = np.asarray(lower_bound(counts, found.n, ALPHA))
    least = np.ones_like(p)
    for end in grid:
        reach = _reached(radii, end, found.law)
        least = np.minimum(least, kept(p, level, float(end), reach))
    top = np.full(GRID, float(lower_bound(found.n, found.n, ALPHA)))
    most = math.inf
    for one, end in zip(top, grid, strict=True):
        low, high = 0.0, 8 * level
        for _ in range(30):
            between = (low + high) / 2
            reach = _reached(between, end, found.law)
            good = kept(one, level, float(end), reach)[0] >= 0.5
            low, high = (between, high) if good else (low, between)
        most = min(most, low)
    return most, int(many[least < 0.5].sum())


def of_intervals(held: Results) -> dict[str, Any]:
    """What can be said of intervals gone through in steps: nothing is computed."""
    told = _told(held, [], {"rounded": 0, "unearned": 0})
    return told | {"stated": [*told["stated"], "steps", "interpolation"]}
