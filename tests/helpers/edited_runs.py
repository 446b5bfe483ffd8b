"""Small honest runs of every scheme, answer and bound, whose files tests edit."""

import json
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rsbounds import certify_dataset, schemes
from rsbounds.answers import DecisionList, Flag, Maps, TopK, Values
from rsbounds.audit import Audit, verify
from rsbounds.composite import Cond, Rule
from rsbounds.frameworks import episodes
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.reports import card, write_card
from rsbounds.results import Results, read
from rsbounds.sampling import ArraySampler, as_sampler
from rsbounds.schemes import Scheme
from rsbounds.semielastic import KNNSigma

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 8)).astype(np.float32)
WHOLE = (X > 0).astype(np.int64)
GRID = np.round(4 * np.clip(np.abs(X), 0, 1)).astype(np.float32) / 4
BYTES = (np.round(255 * np.clip(np.abs(X), 0, 1)) / 255).astype(np.float32)
WEIGHTS = RNG.standard_normal((8, 4))
Y = np.append((X @ WEIGHTS).argmax(axis=1)[:3], 0)  # most of them are right
RULE = Rule([1.0, 0.5], [[Cond("margin", 0, 0.0)], [Cond("score", 1, 0.1)]])


def scores(batch):
    return np.asarray(batch, float).reshape(len(batch), -1) @ WEIGHTS


def outputs(batch):
    return batch[:, :2].astype(float)


def positions(batch):
    return np.stack([batch, -batch, 0 * batch], axis=1)


KNN = KNNSigma(X.astype(np.float64), 0.5, 0.01, 2, 0.0)


def anchored():
    return schemes.semielastic(KNN, 8)


def cone(x):
    return 0.4 + 0.01 * float(np.linalg.norm(x))


class Signal:
    """Two readings around a half."""

    def reset(self, seed):
        self.left = 2
        return np.array([0.5]), {}

    def step(self, action):
        self.left -= 1
        return np.array([0.5]), 1.0, not self.left, False, {}


def raised(steps):
    """How many of the two readings raise the alarm."""
    return sum(step.action for step in steps)


def lengths(batch):
    return np.array([[len(own), 3.0, 1.5] for own in batch])


WORDS = [[1, 2, 3, 1, 2, 3], [2, 2, 1], [1, 3, 3, 2, 1], [3, 1]]
PICTURES = np.abs(RNG.standard_normal((4, 1, 2, 4))).astype(np.float32)


def of_kinds():
    return schemes.blocks(
        schemes.categorical(0.7, 3), schemes.flips(0.1, 0.2), splits=[4]
    )


def calibrated():
    """A flag with the record of a calibration."""
    record = {"threshold": 0.2, "share": 0.5, "n0": 20, "n": 300, "alpha": 0.001}
    record |= {"bound": "clopper-pearson", "inputs": ["0123456789abcdef"]}
    stated = {"threshold": 0.2, "flagged": [1, 2], "calibrated": record}
    return Flag.from_parameters(stated, schemes.gaussian(0.5))


def adaptive():
    """A model of two queries, and a network whose level follows the input."""
    import torch

    from rsbounds.torch import Adaptive

    class Both(torch.nn.Module):
        def forward(self, first, second):
            return (first + second) @ torch.from_numpy(WEIGHTS).to(first.dtype)

    return Adaptive(torch.nn.Sigmoid(), Both(), 0.5, share=0.4)


def generated():
    """Noise that follows the input within proven bounds."""
    import torch

    from rsbounds.torch import CertifiedGenerator, Scale, SigmaNetwork

    torch.manual_seed(0)
    mean = torch.nn.Sequential(torch.nn.Linear(8, 8), Scale(0.05))
    level = torch.nn.Sequential(torch.nn.Linear(8, 1), Scale(0.01))
    shape = torch.linspace(0.8, 1.2, 8)
    return CertifiedGenerator(mean, SigmaNetwork(level, 0.25), shape).noise()


def linear():
    """``scores`` as a module."""
    import torch

    layer = torch.nn.Linear(8, 4, bias=False)
    layer.weight.data = torch.from_numpy(WEIGHTS.T.copy()).float()
    return layer


def of_torch() -> dict[str, tuple[Any, Any, Callable[[], Any], dict[str, Any]]]:
    """What is drawn by torch alone; nothing where it is missing."""
    if find_spec("torch") is None:
        return {}
    return {
        "two queries": (adaptive, (X, Y), lambda: adaptive().scheme(8), {}),
        "generator": (
            lambda: as_sampler(linear(), generated().scheme()),
            (X, Y),
            lambda: generated().scheme(),
            {},
        ),
    }


#: By name: model, data, question, and the numbers of the run.
RUNS: Mapping[str, tuple[Any, Any, Callable[[], Any], dict[str, Any]]] = {
    "gaussian": (scores, (X, Y), lambda: schemes.gaussian(0.5), {}),
    "no runner-up": (
        scores,
        (X, Y),
        lambda: schemes.gaussian(0.5),
        {"runner_up": False},
    ),
    "linf": (scores, (X, Y), lambda: schemes.gaussian(0.5, norm=np.inf, dim=8), {}),
    "staged": (scores, (X, Y), lambda: schemes.gaussian(0.5), {"bound": "staged"}),
    "target": (scores, (X, Y), lambda: schemes.gaussian(0.5), {"target_radius": 0.1}),
    "only correct": (
        scores,
        (X, Y),
        lambda: schemes.gaussian(0.5),
        {"only_correct": True},
    ),
    "margin": (scores, (X, Y), lambda: schemes.gaussian(0.5), {"margin": 0.01}),
    "laplace": (scores, (X, Y), lambda: schemes.laplace(0.5), {}),
    "uniform": (scores, (X, Y), lambda: schemes.uniform(0.5), {}),
    "splitting": (
        scores,
        (GRID, Y),
        lambda: schemes.splitting(0.5, 4),
        {"bound": "exact", "n": 4, "n0": 4},
    ),
    "categorical": (scores, (WHOLE, Y), lambda: schemes.categorical(0.7, 3), {}),
    "flips": (scores, (WHOLE, Y), lambda: schemes.flips(0.1, 0.2), {}),
    "mask": (scores, (X, Y), lambda: schemes.mask(keep_probability=0.25), {}),
    "blocks": (scores, (WHOLE, Y), of_kinds, {}),
    "semi-elastic": (scores, (X, Y), anchored, {}),
    "semi-elastic, sound": (
        scores,
        (BYTES, Y),
        lambda: schemes.semielastic(KNN, 8).on_grid(),
        {},
    ),
    "lipschitz": (scores, (X, Y), lambda: schemes.lipschitz(cone, 0.01, 0.4, 8), {}),
    "range": (scores, (X, Y), lambda: schemes.sigma_range(cone, 0.4, 0.5, 8), {}),
    "anisotropic": (
        scores,
        (X, Y),
        lambda: schemes.anisotropic(np.linspace(0.3, 0.6, 8)),
        {},
    ),
    "exponential": (scores, (X, Y), lambda: schemes.exponential(2.0), {}),
    "deletion": (lengths, (WORDS, np.zeros(4, int)), lambda: schemes.deletion(0.6), {}),
    "transformed": (
        scores,
        (PICTURES, Y),
        lambda: schemes.transformed(schemes.gaussian(0.5), "brightness"),
        {},
    ),
    "blocks of numbers": (
        scores,
        (WHOLE.astype(np.float32), Y),
        lambda: schemes.blocks(
            schemes.gaussian(0.5), schemes.flips(0.1, 0.2), splits=[4]
        ),
        {},
    ),
    "brightness and contrast": (
        scores,
        (PICTURES, Y),
        lambda: schemes.brightness_contrast(0.5, 0.4, contrast=0.1),
        {},
    ),
    "bits of the operating system": (
        ArraySampler(scores, noise=OnGrid()),
        (BYTES, Y),
        lambda: schemes.gaussian(0.5),
        {"seed": "os"},
    ),
    "orbit": (
        scores,
        (PICTURES, Y),
        lambda: schemes.orbit("shift", (1, 2, 4)),
        {"bound": "exact", "n": 8, "n0": 8},
    ),
    "double-masking": (
        scores,
        (PICTURES, Y),
        lambda: schemes.double_masking(1, 2, (1, 2, 4)),
        {"bound": "exact", "n": 10},
    ),
    "anytime": (scores, (X, Y), lambda: schemes.gaussian(0.5), {"bound": "anytime"}),
    "list": (scores, (X, Y), lambda: DecisionList(RULE), {}),
    "top-k of laplace": (scores, (X, Y), lambda: TopK(schemes.laplace(0.5), 2), {}),
    "top-k of categorical": (
        scores,
        (WHOLE, Y),
        lambda: TopK(schemes.categorical(0.7, 3), 2),
        {},
    ),
    "values of uniform": (outputs, X, lambda: Values(schemes.uniform(0.5), [0.1]), {}),
    "values of flips": (
        outputs,
        WHOLE,
        lambda: Values(schemes.flips(0.1, 0.2), [1.0]),
        {},
    ),
    "maps of mask": (
        positions,
        X,
        lambda: Maps(schemes.mask(keep_probability=0.5), 0.6),
        {},
    ),
    "top-k": (scores, (X, Y), lambda: TopK(schemes.gaussian(0.5), 2), {}),
    "values": (outputs, X, lambda: Values(schemes.gaussian(0.5), [0.1, 0.2]), {}),
    "maps": (positions, X, lambda: Maps(schemes.gaussian(0.5), 0.75), {}),
    "flag": (scores, (X, Y), lambda: Flag(schemes.gaussian(0.5), 0.2, (1, 2)), {}),
    "flag of episodes": (
        episodes(Signal(), lambda seen: seen[0] > 0, raised, 3),
        (np.zeros((4, 1)), np.array([0, 1, 2, 1])),
        lambda: Flag(schemes.gaussian(0.5), 0.2, (1, 2)),
        {},
    ),
    "class of episodes": (
        episodes(Signal(), lambda seen: seen[0] > 0, raised, 3),
        (np.zeros((4, 1)), np.array([0, 1, 2, 1])),
        lambda: schemes.gaussian(0.5),
        {},
    ),
    "flag of flips": (
        scores,
        (WHOLE, Y),
        lambda: Flag(schemes.flips(0.1, 0.2), 0.2, (1, 2)),
        {},
    ),
    "flag of semi-elastic": (
        scores,
        (X, Y),
        lambda: Flag(anchored(), 0.2, (1, 2)),
        {},
    ),
    "flag of kinds": (scores, (WHOLE, Y), lambda: Flag(of_kinds(), 0.2, (1, 2)), {}),
    "flag of numbers": (
        scores,
        (WHOLE.astype(np.float32), Y),
        lambda: Flag(
            schemes.blocks(schemes.gaussian(0.5), schemes.flips(0.1, 0.2), splits=[4]),
            0.2,
            (1, 2),
        ),
        {},
    ),
    "flag, calibrated": (scores, (X, Y), calibrated, {}),
    **of_torch(),
}


class Files(NamedTuple):
    """An honest file, what its audit says, and its card."""

    name: str
    path: Path
    rows: list[dict[str, str]]
    manifest: dict[str, Any]
    card: dict[str, Any]
    said: list[list[Any]]
    given: dict[str, Any]

    @classmethod
    def of(cls, folder: Path, name: str, *, given: bool = False) -> "Files":
        model, data, question, numbers = RUNS[name]
        if name in of_torch():
            model = model()
        path = folder / f"{name.replace(' ', '-')}.tsv"
        known = {"n0": 20, "n": 300} | numbers
        certify_dataset(model, data, question(), out=path, **known)
        header, *lines = (line.split("\t") for line in path.read_text().splitlines())
        rows = [dict(zip(header, line, strict=True)) for line in lines]
        beside: dict[str, Any] = {}
        if given:
            described = json.loads(place_of(path).read_text())["model"]
            beside = {"data": data}
            if numbers.get("seed") != "os":  # whose bits no seed repeats
                beside |= {"model": model, "rerun": 4, "describe": described}
            if isinstance(noise := question(), Scheme):
                beside["scheme"] = noise
        audit = verify(path, **beside)
        assert audit.findings == (), name
        made = card(read(path), verified=verify(path).on_card(path))
        write_card(made, path.with_suffix(".json"))
        own = json.loads(place_of(path).read_text())
        again = json.loads(path.with_suffix(".json").read_text())
        return cls(
            name, path, rows, own, again, said(read(path)), beside if given else {}
        )

    def restore(self) -> None:
        self.save(self.rows)
        place_of(self.path).write_text(json.dumps(self.manifest))
        self.path.with_suffix(".json").write_text(json.dumps(self.card))

    def save(self, rows: list[dict[str, str]]) -> None:
        lines = ["\t".join(rows[0]), *("\t".join(row.values()) for row in rows)]
        self.path.write_text("".join(f"{line}\n" for line in lines))


#: What a row claims: what it was computed from may be left out.
CLAIMS = ("idx", "label", "predict", "radius", "correct", "scope", "sigma", "method",
          "bound", "norm", "n", "count", "counts", "select")  # fmt: skip


def said(file: Results) -> list[list[Any]]:
    return [[getattr(row, name) for name in CLAIMS] for row in file.rows]


def place_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.manifest.json")


def audited(files: Files) -> Audit | None:
    """The audit of an edited file; None where it is refused."""
    try:
        return verify(files.path, **files.given)
    except ValueError:
        return None
