"""Values and maps over a data set, into a result file that resumes; what such files
say.
"""

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array, as_floats, number
from rsbounds.answers._maps import from_runs
from rsbounds.answers._questions import Maps, Values
from rsbounds.answers._values import beyond, table
from rsbounds.certify import certify_dataset
from rsbounds.loading import Data, as_data
from rsbounds.procedure import Procedure
from rsbounds.results import Results, truncated
from rsbounds.schemes import Scheme


def certify_values(
    model: Any,
    data: Any,
    scheme: Scheme,
    *,
    radii: Sequence[float] = (0.0,),
    p: float = 0.5,
    n0: int = 16,
    n: int = 10_000,
    alpha: float = 0.001,
    **run: Any,
) -> Results:
    """Where the outputs of a model stay within some radii, for each input of a data
    set.

    Parameters
    ----------
    model : torch.nn.Module, callable or sampler
        Maps a batch to real outputs (count,) or (count, outputs); a sampler of your
        own, called as ``sampler(x, sigma, n, generator)``, returns an array (n,
        outputs).
    data : array of inputs, or as in :func:`rsbounds.certify_dataset`
        Labels are kept in the rows and have no part in the intervals.
    scheme, p, alpha
        As in :func:`value_interval`.
    radii : sequence of float
        Where the intervals are given, each >= 0.
    n0, n : int
        Samples that tell one model from another, and that make the intervals.
    **run
        ``out``, ``seed`` and all else, as for :func:`rsbounds.certify_dataset`.

    Returns
    -------
    rsbounds.results.Results
        Its rows predict no class; their columns ``quantile``, ``low``, ``high`` hold
        the answers (:func:`intervals`), ``ranks`` the order statistics that they are. A
        RuntimeWarning says, once, that n samples can't show an interval at one of the
        radii.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.answers import certify_values, intervals
    >>> from rsbounds.schemes import gaussian
    >>> x = np.array([[0.5], [2.0]], np.float32)
    >>> run = certify_values(lambda b: b, x, gaussian(0.25), radii=[0.1], n=1000)
    >>> low, high = intervals(run)  # shape (inputs, radii, outputs)
    >>> bool(0.3 < low[0, 0, 0] < 0.4 < 0.6 < high[0, 0, 0] < 0.7)
    True
    """
    at = tuple(as_floats("radii", radii, 0.0, nan=False).ravel().tolist())
    if not at:
        raise ValueError("radii must hold at least one; got none")
    asked = Values(scheme, at, number("p", p, 0.0, 1.0, closed="neither"))
    level = getattr(getattr(scheme, "noise", None), "level", None)
    ranks = asked.ranks(Procedure(n0=n0, n=n, alpha=alpha), scheme.fixed_level(level))
    if far := [r for r, each in zip(at, ranks, strict=True) if 0 in each]:
        warnings.warn(beyond(n, far[0]), RuntimeWarning, stacklevel=2)
    return certify_dataset(model, _inputs(data), asked, n0=n0, n=n, alpha=alpha, **run)


def certify_maps(
    model: Any,
    data: Any,
    scheme: Scheme,
    *,
    tau: float = 0.75,
    n0: int = 10,
    n: int = 100,
    alpha: float = 0.001,
    **run: Any,
) -> Results:
    """The classes of each position of each input of a data set, such as the pixels of
    images.

    Parameters
    ----------
    model : torch.nn.Module, callable or sampler
        Maps a batch to scores (count, classes, *positions); a sampler of your own
        returns counts (positions, classes).
    data : array of inputs, or (inputs, maps)
        The true maps, one for each input with its positions, are what accuracies refer
        to.
    scheme, tau, alpha
        As in :func:`certify_map`: any position of an input is wrong with probability
        alpha.
    n0, n, **run
        As in :func:`certify_values`; n0 samples choose the classes, n others bound
        them.

    Returns
    -------
    rsbounds.results.Results
        Its rows predict no class; ``chosen`` and ``hits`` hold the class of each
        position and its count. :func:`map_summary` sums them up.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.answers import certify_maps, map_summary
    >>> from rsbounds.schemes import gaussian
    >>> x = np.array([[2.0, -2.0, 0.0]], np.float32)
    >>> truth = np.array([[0, 1, 0]])
    >>> run = certify_maps(lambda b: np.stack([b, -b], 1), (x, truth), gaussian(1.0))
    >>> summary = map_summary(run)
    >>> round(summary["accuracy"], 3), round(summary["abstain"], 3)
    (0.667, 0.333)
    """
    inputs, truth = data if isinstance(data, tuple) and len(data) == 2 else (data, None)
    source = _inputs(inputs)
    if truth is not None:
        if len(inputs) != len(truth):
            raise ValueError(
                f"inputs and maps must have one length; got {len(inputs)} and {len(truth)}"
            )
        digest = hashlib.sha256()
        for each in truth:
            digest.update(np.ascontiguousarray(each, dtype="<i8").tobytes())
        source.identity = {**source.identity, "maps": digest.hexdigest()}
    asked = Maps(scheme, tau, truth)
    return certify_dataset(model, source, asked, n0=n0, n=n, alpha=alpha, **run)


def _inputs(data: Any) -> Data:
    """Data as the loop takes them; bare inputs get the label 0."""
    if hasattr(data, "shape"):
        data = data, np.zeros(len(data), dtype=np.int64)
    return as_data(data)


def intervals(results: Results) -> tuple[Array, Array]:
    """The ends of all intervals of a file of values, each of shape (inputs, radii,
    outputs).
    """
    _require(results, "values")
    low, high = (
        np.array([table(row.extra[name]) for row in results.rows])
        for name in ("low", "high")
    )
    return low, high


def map_summary(results: Results) -> dict[str, float]:
    """What a file of maps says: certified accuracy and mIoU at its radius, share that
    abstains.

    A position that abstains is of no class. ``accuracy`` and ``miou`` are NaN without
    true maps.
    """
    stated = _require(results, "map")
    rows = [row.extra for row in results.rows]
    positions = sum(from_runs(row["chosen"]).size for row in rows)
    certified = sum(int(row["certified"]) for row in rows)
    summary = {
        "radius": float(stated["map_radius"]),
        "abstain": 1 - certified / positions,
    }
    if all(row["right"] for row in rows):
        overlap, union = (
            np.sum([[int(v) for v in row[name].split(",")] for row in rows], axis=0)
            for name in ("overlap", "union")
        )
        summary["accuracy"] = sum(int(row["right"]) for row in rows) / positions
        summary["miou"] = float(np.mean(overlap[union > 0] / union[union > 0]))
    return {"accuracy": np.nan, "miou": np.nan} | summary


def _stated(results: Results) -> Mapping[str, Any]:
    return results.manifest.parameters if results.manifest and results.rows else {}


def _require(results: Results, answer: str) -> Mapping[str, Any]:
    stated = _stated(results)
    if stated.get("answer") != answer:
        raise ValueError(
            f"{results.name or 'results'} must hold the answer {answer!r}, and rows"
        )
    return stated


def report(results: Results) -> str | None:
    """What to print of a file of values or maps; None for other files."""
    stated = _stated(results)
    if stated.get("answer") not in ("values", "map"):
        return None
    name = f"{results.name}: {len(results.rows)} inputs"
    if stated["answer"] == "map":
        own = map_summary(results)
        lines = [f"{name}, maps certified at radius {truncated(own['radius'], 4)}"]
        lines += [
            f"  {part:<10}{own[part]:.4f}" for part in ("accuracy", "miou", "abstain")
        ]
        return "\n".join(lines)
    low, high = intervals(results)
    lines = [f"{name}, {low.shape[2]} outputs, quantile {stated['p']:g}"]
    lines.append("  radius    finite    median width  largest width")
    for radius, widths in zip(
        stated["radii"], np.moveaxis(high - low, 1, 0), strict=True
    ):
        finite, middle = (
            np.isfinite(widths).mean(),
            np.sort(widths, axis=None)[widths.size // 2],
        )
        lines.append(f"  {radius:<10g}{finite:<10.4f}{middle:<14.6g}{widths.max():.6g}")
    return "\n".join(lines)
