"""A margin of votes, measured on a few inputs before a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rsbounds._numerics.checks import as_integers, check
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers import asked
from rsbounds.certify._work import source_of
from rsbounds.frameworks.internal import labels_of
from rsbounds.loading import CorruptInput
from rsbounds.loading.internal import guarded
from rsbounds.results import Manifest
from rsbounds.results.internal import manifest_path
from rsbounds.sampling import Phase
from rsbounds.sampling.internal import stream
from rsbounds.sampling.margins import MULTIPLE, Difference, require_compared

#: Inputs, and samples of each.
INPUTS = 3
SAMPLES = 100
#: The entry of a manifest's engine that says where a margin comes from.
ENTRY = "margin"
#: The entry of a margin that was not measured.
BY_USER = {"basis": "stated"}


class Measured(NamedTuple):
    """A margin, and what the manifest says of it."""

    margin: float
    record: Mapping[str, Any]


def measure_margin(
    model: Any,
    data: Any,
    question: Any,
    indices: Sequence[int] | None = None,
    *,
    seed: int | str = 0,
) -> Measured:
    """A margin from scores of the run's arithmetic beside those of other settings.

    The margin is 16 times the largest difference of two scores: it covers errors of 8
    times that. It is **measured**, on a few samples, and not proved.

    Parameters
    ----------
    model, data, question
        As :func:`rsbounds.certify_dataset` takes them; of workers the model that they
        build is measured in this process.
    indices : sequence of int, optional
        Of the inputs of the run; three of them are measured on. By default all.
    seed : int or "os"
        Names the samples, as that of a procedure does.

    Returns
    -------
    Measured
        The margin, and what a manifest records: ``basis``, ``largest``, ``multiple``,
        ``settings``, ``inputs`` and ``samples``.

    Raises
    ------
    ValueError
        If the model returns no scores of classes to compare, or scores that differ by
        infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import measure_margin
    >>> from rsbounds.schemes import gaussian
    >>> x, y = np.array([[0.5, 0.0]], np.float32), np.array([0])
    >>> margin, record = measure_margin(lambda b: b / 3, (x, y), gaussian(0.25))
    >>> 0 < margin < 1e-5, record["basis"], record["settings"][-1]
    (True, 'measured', 'float64')
    """
    if hasattr(model, "begin"):  # rsbounds.cluster.Workers
        model, _, _ = model.build()
    answer = asked(question)
    source = source_of(data, answer, labels_of(model))
    chosen: Sequence[int] = range(len(source))
    if indices is not None:
        places = np.ravel(as_integers("indices", indices))
        check("indices", places, places < len(source), "places of the data")
        chosen = places.tolist()
    chosen = chosen[:: len(chosen) // INPUTS + 1]
    difference = Difference(margin=0.0)
    for stage, sampler in enumerate(answer.samplers(model)):
        for index in chosen:
            try:
                x = source.input(index)
            except CorruptInput:  # which the run itself reports
                continue
            compared = partial(
                require_compared(sampler).compared,
                x,
                answer.levels(x)[stage],
                SAMPLES,
                stream(seed, index, Phase.SELECT),
            )
            difference.merge(guarded(f"input {index}", compared))
    if not difference.samples:
        raise ArgumentError("margin", "needs an input to be measured on")
    record = {
        "basis": "measured",
        "largest": difference.largest,
        "multiple": MULTIPLE,
        "settings": list(difference.settings),
        "inputs": list(chosen),
        "samples": difference.samples,
    }
    return Measured(difference.times(MULTIPLE), record)


def recorded_margin(out: Path | None) -> Measured | None:
    """The measured margin of a file that is there already; a run goes on with it."""
    if out is None or not manifest_path(out).is_file():
        return None
    manifest = Manifest.read(out)
    record = manifest.engine.get(ENTRY)
    margin = manifest.procedure.margin
    if margin is None or not isinstance(record, Mapping):
        return None
    return Measured(margin, record) if record.get("basis") == "measured" else None
