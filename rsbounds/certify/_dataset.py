"""A data set, row by row, into a result file that resumes; signs of life meanwhile."""

import builtins
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from rsbounds import results
from rsbounds._numerics.checks import as_integers, count
from rsbounds.certificate import ABSTAIN
from rsbounds.certify._work import Counts, Here, Question, Work, facts, task
from rsbounds.composite import Rule
from rsbounds.confidence import BOUNDS
from rsbounds.frameworks import labels_of
from rsbounds.loading import Data, as_data, check_labels
from rsbounds.loading.rows import CorruptInput
from rsbounds.procedure import Procedure
from rsbounds.results import Manifest, Results, Row, Writer, sparse_counts
from rsbounds.schemes import Scheme

PROBES, MOST_PROBES = 4, 16  # inputs whose selection counts tell one model from another
T = TypeVar("T")
INTERVAL, LIVE = 60.0, 0.2  # seconds between lines of progress, also on a terminal
COMPARED = 256  # rows of a file whose inputs are hashed again before it is gone on with


def certify_dataset(
    model: Any,
    data: Any,
    scheme: Scheme | Rule | Question,
    *,
    out: str | os.PathLike[str] | None = None,
    n0: int = 100,
    n: int = 100_000,
    alpha: float = 0.001,
    seed: int = 0,
    bound: str = "clopper-pearson",
    runner_up: bool = True,
    target_radius: float | None = None,
    start: int = 0,
    skip: int = 1,
    max: int = -1,
    shard: str = "0/1",
    describe: Mapping[str, Any] | None = None,
    engine: Mapping[str, Any] | None = None,
    run: Mapping[str, Any] | None = None,
    commit: bool = False,
    accept_change: bool = False,
    skip_corrupt: bool = False,
    notify: Callable[[str], object] | None = None,
) -> Results:
    """Certify the inputs of a data set; with ``out``, into a file that a second call
    goes on with.

    Rows are functions of seed and index: they depend neither on shards nor on
    interruptions.

    Parameters
    ----------
    model : Sampler, torch.nn.Module, callable or rsbounds.cluster.Workers
        As :func:`rsbounds.sampling.as_sampler` takes it; for a rule also a list of
        them, one for each level. Workers certify in other processes; this one appends
        the rows.
    data : sequence of (x, y), tuple of arrays (x, y), str, or rsbounds.loading.Data
        As :func:`rsbounds.loading.as_data` takes it; whole-numbered pixels need its
        ``scale``. An estimator's labels other than 0, 1, 2, ... are numbered in its
        order.
    scheme : Scheme, rsbounds.composite.Rule or rsbounds.answers.TopK
        Noise level and radius, such as ``rsbounds.schemes.gaussian(0.5)``, a decision
        list over several levels, or another question than one class.
    out : path-like, optional
        The result file; its manifest is written beside it.
    n0, n, alpha, seed, bound, runner_up, target_radius
        As in :class:`Procedure`.
    start, skip, max : int
        Certify every ``skip``-th input from index ``start``, below index ``max`` (-1:
        all).
    shard : str
        ``i/N``: of these every N-th, from the i-th.
    describe, engine, run : mapping, optional
        What the manifest says of the model, of the engine, and of what rows do not
        depend on.
    commit : bool
        Write ``OUT.commitment.json`` before the first sample: what is to be run, and no
        other.
    accept_change : bool
        Go on with a file although the model, an engine or a version changed, and record
        it.
    skip_corrupt : bool
        Leave out inputs that can't be decoded, and record them.
    notify : callable, optional
        Called with a line of text: the base accuracies after the first ten inputs.

    Returns
    -------
    Results
        All rows of the file, or of this call.

    Raises
    ------
    ValueError, OSError
        If an argument is out of its domain, an input or the model fails, the file
        belongs to another run or model, or can't be written.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import certify_dataset, schemes
    >>> x, y = np.array([[0.5, 0.0], [0.0, 0.9]], np.float32), np.array([0, 1])
    >>> results = certify_dataset(lambda batch: batch, (x, y), schemes.gaussian(0.25), n=1000)
    >>> [row.predict for row in results.rows], results.clean_accuracy()
    ([0, 1], 1.0)
    """
    path = None if out is None else require_place(out)
    procedure = Procedure(n0, n, alpha, seed, bound, runner_up, target_radius)
    count("start", start), count("skip", skip, 1), as_integers("max", max, -1)
    if path is not None and BOUNDS[procedure.bound].evidence != "counts":
        raise ValueError(
            f"bound {bound!r} needs more than a row's counts to be verified again"
        )
    labels = None if hasattr(model, "begin") else labels_of(model)
    source = as_data(data, labels=labels)
    selected = range(start, len(source) if max < 0 else min(max, len(source)), skip)
    if start and not selected:
        raise ValueError(
            f"start must be below the end of the inputs, {selected.stop}; got {start}"
        )
    work: Work
    if hasattr(model, "begin"):  # rsbounds.cluster.Workers
        job = task(_elsewhere, scheme, procedure)
        work = model.begin(procedure, facts(job, source), skip_corrupt)
    else:
        job = task(model, scheme, procedure)
        work = Here(job, source, skip_corrupt)
    chosen = {"start": start, "skip": skip, "max": max}
    manifest = Manifest(
        model={**({"labels": labels} if labels else {}), **(describe or {})},
        data={**source.identity, **chosen, "inputs": len(selected)},
        method=job.method,
        scope=job.scope,
        parameters=dict(job.parameters),
        procedure=procedure,
        shard=shard,
        versions=_versions(),
        engine=dict(engine or {}),
    )
    committed = dict[str, str]()
    if path is not None:
        committed = results.commit(path, manifest, new=commit, accept=accept_change)
        if committed and notify is not None:
            place = results.commitment_path(path).name
            notify(f"committed as sha256 {committed['commitment']}: {place}")
    elif commit:
        raise ValueError("commit needs out, the result file")
    indices = list(manifest.indices())
    # The model runs on a few inputs now: that tells its classes, its machine's
    # arithmetic, and whether it is the model that a file was begun with.
    probe = dict(_probed(work, selected, skip_corrupt))
    votes = probe if job.classes else {}
    if votes and not any(map(any, votes.values())):
        raise ValueError(
            f"the model must return numbers; got NaN for input {next(iter(votes))}"
        )
    classes = builtins.max(map(len, votes.values()), default=2**62)
    check_labels(source, classes, indices)
    machines = work.machines()
    manifest = replace(
        manifest,
        probe={index: sparse_counts(counts) for index, counts in probe.items()},
        engine={**(engine or {}), **_arithmetic(machines)},
        run={**(run or {}), "machines": machines, **committed},
    )
    corrupt: list[dict[str, Any]] = []

    def rows(before: Sequence[Row]) -> Iterator[Row]:
        done = {row.idx for row in before}
        todo = [i for i in indices if i not in done]
        tally = Tally(len(indices), len(indices) - len(todo), before, notify)
        for outcome in tally.over(work.outcomes(todo, tally.wants_alone)):
            if outcome.row is None:
                corrupt.append({"input": outcome.index, "problem": outcome.problem})
                continue
            if not (label := outcome.row.label) < classes:
                text = (
                    f"the label must be below the model's number of classes, {classes}"
                )
                raise ValueError(f"input {outcome.index}: {text}; got {label}")
            tally.add(outcome.row, outcome.alone)
            yield outcome.row

    if path is None:
        return Results("", tuple(rows([])), "", manifest)

    def check(before: Sequence[Row]) -> None:
        _same_inputs(path, before, source)
        if not accept_change:
            _same_model(path, before, len(source), work)

    further, accept = job.further, accept_change
    with Writer(
        path, manifest, further=further, accept_change=accept, check=check
    ) as writer:
        kept = list(writer.rows)
        for row in rows(writer.rows):
            writer.append(row)
            kept.append(row)
        if corrupt:
            writer.record(
                {"corrupt": sorted(corrupt, key=lambda entry: entry["input"])}
            )
    return Results(
        str(path), tuple(sorted(kept, key=lambda row: row.idx)), "", manifest
    )


def require_place(out: str | os.PathLike[str]) -> Path:
    """Where the file goes; an error now, rather than after the model has run, if none
    can be.
    """
    if not isinstance(out, str | os.PathLike):
        raise ValueError(f"out must be a path; got {out!r}")
    path = Path(out)
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a regular file: choose another output file")
    if not path.parent.is_dir():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    return path


def _versions() -> dict[str, str]:
    versions = {}
    for name in ("rsbounds", "numpy", "scipy", "torch"):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _probed(
    work: Work, selected: Sequence[int], skip_corrupt: bool
) -> Iterator[tuple[str, Counts]]:
    """Selection counts of some inputs, which tell one model from another.

    Where no model decides otherwise they tell nothing, so more are drawn until one is
    undecided.
    """
    few, more = (
        selected[:: len(selected) // most + 1] for most in (PROBES, MOST_PROBES)
    )
    undecided = False
    for index in dict.fromkeys([*few, *more]):
        if undecided and index not in few:
            return
        try:
            counts = work.select(index)
        except CorruptInput:
            if not skip_corrupt:
                raise
            continue
        undecided |= sum(count > 0 for count in counts) > 1
        yield str(index), counts


def _elsewhere(x: Any, sigma: float, n: int, generator: Any) -> Any:
    raise TypeError("the model is with the workers")


def _arithmetic(machines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What rows depend on of the machines."""
    settings = [machine["tf32"] for machine in machines if "tf32" in machine]
    if any(tf32 != settings[0] for tf32 in settings):
        raise ValueError(f"workers must have the same settings of TF32; got {settings}")
    return {"tf32": settings[0]} if settings else {}


def _same_inputs(path: Path, rows: Sequence[Row], source: Data) -> None:
    """ValueError unless the inputs of rows spread over the file are still those of the
    data.
    """
    for row in rows[:: len(rows) // COMPARED + 1]:
        with suppress(CorruptInput, IndexError):
            if (digest := (source.item(row.idx).digest or "-")[:16]) != row.input:
                raise ValueError(
                    f"{path}: the data have changed: the hash of input {row.idx} was {row.input} "
                    f"and is now {digest}; choose another output file"
                )


def _same_model(path: Path, rows: Sequence[Row], inputs: int, work: Work) -> None:
    """ValueError unless the model draws the counts of the most undecided row again."""
    drawn = [row for row in rows if row.select and row.idx < inputs and not row.extra]
    if not drawn:
        return

    def lead(row: Row) -> int:
        *_, second, first = sorted((0, *row.select))
        return first - second

    row = min(drawn, key=lead)
    before, again = sparse_counts(row.select), sparse_counts(work.select(row.idx))
    if again != before:
        raise ValueError(
            f"{path}: the model has changed: input {row.idx} drew the selection counts {before} "
            f"and now draws {again}; choose another output file, or --accept-change"
        )


class Progress:
    """Counts items on standard error as they are taken: ``done`` of ``total`` were
    before.
    """

    def __init__(self, total: int, unit: str, done: int = 0) -> None:
        self.total, self.done, self.unit = total, done, unit
        self.note = ""
        self._start = self._printed = time.monotonic()
        self._before = done
        self._live = bool(sys.stderr) and sys.stderr.isatty()

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, counted."""
        try:
            for item in items:
                yield item
                self.step()
        finally:
            if self._live:
                self._print("\n")

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        if time.monotonic() - self._printed >= (LIVE if self._live else INTERVAL):
            self._print("\r" if self._live else "\n")

    def line(self) -> str:
        """How far it is, at what rate, for how long still."""
        elapsed = time.monotonic() - self._start
        rate = (self.done - self._before) / elapsed if elapsed > 0 else 0.0
        left = (
            timedelta(seconds=round((self.total - self.done) / rate)) if rate else "?"
        )
        text = f"{self.done} of {self.total} {self.unit}s, {rate:.3g} a second, {left} left"
        return f"{text}, {self.note}" if self.note else text

    def _print(self, end: str) -> None:
        self._printed = time.monotonic()
        clear = (
            "\x1b[K" if self._live else ""
        )  # to the line's end, of a longer one before
        with suppress(OSError):  # a full or closed log must not end the run
            print(f"{self.line()}{clear}", end=end, file=sys.stderr, flush=True)


class Tally(Progress):
    """Progress with accuracy, void samples, and the base accuracies of the first
    inputs.
    """

    FIRST = 10

    def __init__(
        self, total: int, done: int, before: Sequence[Row], notify: Any
    ) -> None:
        super().__init__(total, "input", done)
        self._notify = notify
        self._rows, self._which = len(before), "next" if before else "first"
        self._correct = sum(row.correct for row in before)
        self._abstained = sum(row.predict == ABSTAIN for row in before)
        self._void = False
        self._base: list[
            tuple[float, float]
        ] = []  # shares without noise and under noise

    def wants_alone(self) -> bool:
        """Whether counts without noise are asked for: of the first inputs of this call."""
        return self._notify is not None and len(self._base) < self.FIRST

    def add(self, row: Row, alone: Sequence[int] | None) -> None:
        """One more row, and the counts of its input without noise."""
        if row.void and not self._void:
            self._void = True
            text = f"{row.void} samples are void (their scores hold NaN) and count for no class"
            warnings.warn(f"input {row.idx}: {text}", RuntimeWarning, stacklevel=2)
        self._rows += 1
        self._correct += row.correct
        self._abstained += row.predict == ABSTAIN
        share = f"accuracy {self._correct / self._rows:.3f}"
        self.note = f"{share}, {self._abstained / self._rows:.3f} abstain"
        if self._notify is None or alone is None or not self.wants_alone():
            return
        clean, noisy = (
            counts[row.label] if row.label < len(counts) else 0
            for counts in (alone, row.counts)
        )
        self._base.append((clean, noisy / row.n))
        if len(self._base) == self.FIRST:
            clean, noisy = (
                sum(shares) / self.FIRST for shares in zip(*self._base, strict=True)
            )
            text = f"base accuracy {clean:.3f} without noise, {noisy:.3f} under noise"
            self._notify(f"{self._which} {self.FIRST} inputs: {text}")
