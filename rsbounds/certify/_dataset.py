"""The inputs of a data set: the public function that makes a run of its arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from rsbounds._numerics.checks import flag, instance
from rsbounds.answers import asked
from rsbounds.certify._begin import Selection, begin, described
from rsbounds.certify._job import Job
from rsbounds.certify._margin import BY_USER, ENTRY, measure_margin, recorded_margin
from rsbounds.certify._placed import placed
from rsbounds.certify._run import Settings
from rsbounds.certify._stopping import job_of
from rsbounds.certify._work import source_of
from rsbounds.frameworks.internal import labels_of, require_columns
from rsbounds.procedure import Procedure
from rsbounds.results import Results
from rsbounds.results.internal import require_place

DEFAULTS = Settings()


def certify_dataset(
    model: Any,
    data: Any,
    scheme: Any,
    *,
    out: str | os.PathLike[str] | None = None,
    n0: int | None = None,
    n: int | None = None,
    alpha: float = 0.001,
    seed: int | str = 0,
    bound: str | None = None,
    runner_up: bool = True,
    target_radius: float | None = None,
    tolerance: float | None = None,
    only_correct: bool = False,
    margin: float | Literal["auto"] | None = None,
    start: int = 0,
    skip: int = 1,
    max: int = -1,
    shard: str = "0/1",
    batch_size: int | None = None,
    device: Any = None,
    progress: bool = True,
    settings: Settings = DEFAULTS,
) -> Results:
    """Certify the inputs of a data set.

    With ``out`` into a file, which a second call goes on with.

    Rows are functions of seed and index, but for noise of the operating system: they
    depend neither on shards nor on interruptions.

    Parameters
    ----------
    model : Sampler, torch.nn.Module, callable or rsbounds.cluster.Workers
        As :func:`rsbounds.sampling.as_sampler` takes it; for a rule also a list of
        them, one for each level. Workers certify in other processes; this one appends
        the rows.
    data : sequence of (x, y), tuple of arrays (x, y), str, or rsbounds.loading.Data
        As :func:`rsbounds.loading.open_data` takes it; whole-numbered pixels need its
        ``scale``. An estimator's labels other than 0, 1, 2, ... are numbered in its
        order. For values and maps an array of inputs is enough.
    scheme : Scheme, rsbounds.composite.Rule or rsbounds.answers.Answer
        Noise level and radius, such as ``rsbounds.schemes.gaussian(0.5)``; a decision
        list over several levels; or another question than one class, such as
        ``rsbounds.answers.TopK(scheme, 5)``.
    out : path-like, optional
        The result file; its manifest is written beside it.
    n0, n, bound : optional
        As in :class:`Procedure`; by default those of the answer, 100 and 100,000 for a
        class, or all outcomes of noise that is not drawn by chance.
    alpha, seed, runner_up, target_radius, tolerance, only_correct
        As in :class:`Procedure`. The seed "os" needs noise that bits decide alone:
        sound noise, or another law than Gaussian. A run that goes on keeps the rows
        that are there and draws the others fresh.
    margin : float or "auto", optional
        As in :class:`Procedure`; "auto" measures it, see :func:`measure_margin`, or
        takes the one measured for the file that is gone on with.
    start, skip, max : int
        Certify every ``skip``-th input from index ``start``, below index ``max`` (-1:
        all).
    shard : str
        ``i/N``: of these every N-th, from the i-th.
    batch_size : int, optional
        Noisy copies that a torch module gets at once, at least a block of them: by
        default 1000, and fewer where memory runs out. Rows do not depend on it.
    device : str or torch.device, optional
        Where a copy of the torch module runs and its noise is drawn, such as "cuda"; by
        default where its parameters are. A file goes on on the same kind of device.
    progress : bool
        Show the progress on standard error: a bar at a terminal or in a notebook, a
        line a minute elsewhere.
    settings : Settings
        What programs set: descriptions for the manifest, a commitment, whether a change
        is accepted, corrupt inputs are skipped, and who is told.

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
    >>> results = certify_dataset(lambda b: b, (x, y), schemes.gaussian(0.25), n=1000)
    >>> [row.predict for row in results.rows], results.clean_accuracy()
    ([0, 1], 1.0)
    """
    answer = asked(scheme)
    instance("settings", settings, Settings, "Settings(...)")
    require_columns(model, data)
    selection = Selection(start=start, skip=skip, max=max, shard=shard)
    shown = flag("progress", progress)
    place = None if out is None else require_place(out)
    measures = isinstance(margin, str) and margin == "auto"
    procedure = Procedure(
        n0=answer.n0 if n0 is None else n0,
        n=answer.n if n is None else n,
        alpha=alpha,
        seed=seed,
        bound=answer.bound if bound is None else bound,
        runner_up=runner_up,
        target_radius=target_radius,
        tolerance=tolerance,
        only_correct=only_correct,
        margin=cast("float | None", None if measures else margin),
    )
    job = job_of(answer, procedure)
    job.check()
    if out is not None and not settings.describe:  # of the model, not of its sampler
        settings = replace(settings, describe=described(model))
    model = placed(answer, model, batch_size, device)
    return carry_out(
        model,
        data,
        job,
        selection,
        settings,
        place,
        measures=measures,
        progress=shown,
    )


def carry_out(
    model: Any,
    data: Any,
    job: Job,
    selection: Selection,
    settings: Settings,
    out: Path | None = None,
    *,
    measures: bool = False,
    progress: bool = True,
) -> Results:
    """The results of a job that was checked, about a model and the inputs selected.

    ``measures``: its votes count by a margin that is measured first, or was measured
    for the file that is gone on with. Parameters as of :func:`certify_dataset`.
    """
    basis: Mapping[str, Any] = BY_USER
    if measures:
        measured = recorded_margin(out)
        if measured is None:
            answer, seed = job.answer, job.procedure.seed
            indices = selection.of(len(source_of(data, answer, labels_of(model))))
            measured = measure_margin(model, data, answer, indices, seed=seed)
        margin, basis = measured
        settings.say(f"margin {margin:.3g}, measured")
        job = job_of(job.answer, replace(job.procedure, margin=margin))
    if job.procedure.margin is not None:
        settings = replace(settings, engine={**settings.engine, ENTRY: basis})
    run = begin(model, data, job, selection, settings, out)
    return replace(run, progress=progress).results()
