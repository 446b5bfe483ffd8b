"""A result file against the data, the noise and the model that are given.

Bounds and radii follow from a row's counts and its level, so a file whose levels and
radii are scaled alike is consistent with itself: what its levels depend on has to be
compared.
"""

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from rsbounds._numerics.decimals import sparse_counts
from rsbounds.answers import ANSWERS
from rsbounds.audit._finding import Finding, Kind
from rsbounds.audit._proof import answer_of, own_level
from rsbounds.audit._proofs import PROOFS
from rsbounds.audit._radii import ABSOLUTE, DISCRETE
from rsbounds.certificate import ASSERTED_ENVELOPE, PROVEN
from rsbounds.certify import Job
from rsbounds.certify._run import drawn_columns
from rsbounds.loading import CorruptInput, Data, guarded
from rsbounds.results import Manifest, Row
from rsbounds.sampling import Phase, as_sampler
from rsbounds.sampling.margins import Difference, require_compared
from rsbounds.schemes import METHODS, Scheme

_SINGLE_LEVEL = 1e-6  # relative: what levels computed in float32 may be off by
_WORK, _MOST = 5e9, 2000  # differences of numbers that are taken, and rows, at most
_SINGLE = 2.0**-23  # relative: inputs in float32, distances of them
Numbered = tuple[int, Row]  # line
_SELECTION = {"inputs", "total", "start", "skip", "max"}
#: Another machine may have another version: rows that depend on it are drawn otherwise.
_VERSIONS = {
    "datasets",
    "diffusers",
    "onnxruntime",
    "pillow",
    "providers",
    "timm",
    "torchvision",
}
_VERSIONS |= {"scikit-learn", "transformers"}
#: Samples of a row that are compared with those of other settings, at most.
MOST_COMPARED = 10_000
_CERTIFIED = (
    "sigma",
    "norm",
)  # what is certified, where other parameters bound what it rests on


def identity(
    kind: Kind, stated: Mapping[str, Any], own: Mapping[str, Any]
) -> Iterator[Finding]:
    """Entries of the manifest that the data or the model given have otherwise."""
    had, has = (
        _comparable(stated),
        _comparable(json.loads(json.dumps(own, default=str))),
    )
    for name in sorted(had.keys() - _SELECTION):
        if had[name] != has.get(name):
            text = f"{kind}.{name} is {had[name]!r:.60} in the manifest"
            given = f"{has[name]!r:.60}" if name in has else "nothing"
            yield Finding(kind, None, f"{text}, {given} of the {kind} given")


def _comparable(entry: Any, name: str = "") -> Any:
    """An entry without versions, and names of files without their folders."""
    if isinstance(entry, Mapping):
        return {k: _comparable(v, k) for k, v in entry.items() if k not in _VERSIONS}
    if isinstance(entry, list):
        return [_comparable(each, name) for each in entry]
    named = isinstance(entry, str) and name in ("spec", "for")
    return re.sub(r"[^:=]*[/\\]", "", entry) if named else entry


def check_noise(given: Scheme, manifest: Manifest, path: Path) -> None:
    """ValueError where the file's radii rest on another noise than this."""
    if given.name != manifest.method:
        raise ValueError(
            f"{path} is of method {manifest.method}; the noise given of {given.name}"
        )
    if given.scope == ASSERTED_ENVELOPE != manifest.scope:
        raise ValueError(
            f"scope is {manifest.scope!r} in {path}: the noise given proves no bounds"
        )
    own = METHODS[manifest.method].domains.keys()
    for name in sorted(
        (given.parameters.keys() & manifest.parameters.keys() | own) - {"dim"}
    ):
        had, has = manifest.parameters.get(name), given.parameters.get(name)
        same = had == has or (
            name in own and had and has and abs(had - has) <= _SINGLE_LEVEL * abs(has)
        )
        if not same:
            text = f"the noise given is not what {path} was made with"
            raise ValueError(f"{text}: {name} was {had} and is {has}")


@dataclass(frozen=True)
class Compared:
    """What a file was compared with: data, these as the model sees them, true maps,
    and samples drawn again.
    """

    data: bool
    as_seen: bool
    truth: bool
    redrawn: bool


def unshown(
    manifest: Manifest, given: Scheme | None, what: Compared
) -> tuple[str, ...]:
    """What the file rests on and nothing shows: the names of ``Audit.stated``."""
    proof = PROOFS[manifest.answer["name"]]
    domains = METHODS[manifest.method].domains
    rests_on = [
        name
        for name in domains
        if name in manifest.parameters and not _is_certified(manifest.method, name)
    ]
    # rows are compared with a level that the manifest states
    if own_level(manifest) is None and not proof.states_levels:
        rests_on.append("sigma")
    if not what.redrawn:
        rests_on += ["sound_noise"] if manifest.engine.get("sound_noise") else []
        if not manifest.procedure.repeats:
            rests_on.append("noise_source")
        rests_on += proof.stated
    # that scores are as near to those of exact arithmetic as that
    if manifest.procedure.void_against:
        rests_on.append("margin")
    if not what.data:
        rests_on.append("data")
    if "truth" in manifest.answer and not what.truth:
        rests_on.append("truth")
    elif "truth" in manifest.answer and not what.redrawn:
        rests_on.append("classes")
    rests_on.append("times")
    compared = {"dim"} if what.as_seen else set()
    if given is not None:
        compared.add("sigma")
        if given.scope != ASSERTED_ENVELOPE:  # its bounds are proven
            compared |= domains.keys() - {"dim"}
    return tuple(name for name in rests_on if name not in compared)


def _is_certified(method: str, name: str) -> bool:
    """Whether a parameter says what is certified, and is nothing that it rests on."""
    of_a_law = method in (*ABSOLUTE, *DISCRETE) and name != "dim"
    return name in _CERTIFIED or of_a_law


def left_out(manifest: Manifest, data: Data) -> Iterator[Finding]:
    """Inputs of the data that the run leaves out and should not."""
    inputs, skip = manifest.data["inputs"], int(manifest.data.get("skip", 1))
    start, top = (int(manifest.data.get(*own)) for own in (("start", 0), ("max", -1)))
    selected = len(range(start, len(data) if top < 0 else min(top, len(data)), skip))
    total = manifest.data.get("total", len(data))
    if total != len(data):
        text = f"the manifest names {total} inputs of the data, which have {len(data)}"
        yield Finding(Kind.DATA, None, text)
    if inputs < selected:
        text = (
            f"is left out: the manifest names {inputs} inputs, {selected} are in the "
            "data"
        )
        yield Finding(Kind.DATA, start + inputs * skip, text)
    for index in sorted(manifest.corrupt()):
        with suppress(CorruptInput, IndexError):
            data.item(index)
            yield Finding(
                Kind.DATA, index, "is left out as corrupt, but can be decoded"
            )


def at_input(
    numbered: Numbered,
    manifest: Manifest,
    data: Data,
    scheme: Scheme | None,
    as_seen: bool,
) -> Iterator[Finding]:
    """A row against its input: CorruptInput or IndexError where there is none."""
    line, row = numbered
    item = data.item(row.idx)
    for name, value in (("label", item.label), ("input", (item.digest or "-")[:16])):
        if (own := getattr(row, name)) != value:
            yield Finding(
                Kind.DATA, row.idx, f"{name} is {own}, {value} in the data", line
            )
    if item.x is None:
        return
    if (
        scheme is not None
        and not abs(row.sigma - (level := scheme.sigma(item.x)))
        <= _SINGLE_LEVEL * level
    ):
        text = f"sigma is {row.sigma}, {level} at this input"
        yield Finding(Kind.LEVEL, row.idx, text, line)
    method = METHODS[manifest.method]
    if not as_seen or "dim" not in method.domains:
        return
    if not method.from_parameters(manifest.parameters).takes(item.x.size):
        dim = manifest.parameters.get("dim")
        text = f"has {item.x.size} numbers, dim is {dim} in the manifest"
        yield Finding(Kind.DATA, row.idx, text, line)


class Placed(NamedTuple):
    """A row of a line, and its input as a vector."""

    line: int
    row: Row
    x: NDArray[Any]


def refuted(
    rows: Sequence[Numbered],
    manifest: Manifest,
    input_of: Callable[[int], Any] | None = None,
) -> Iterator[Finding]:
    """Rows whose levels are further above another's than the bound of sigma(x) allows.

    A bound that allows no difference needs no inputs, and is compared only without
    them. Of more than some two thousand rows those are compared whose levels are the
    least, the largest and evenly between in order.
    """
    domains = METHODS[manifest.method].domains
    bounds = {k: v for k, v in manifest.parameters.items() if k in domains}
    # levels are at most exp(rate d) or lip d apart
    name = "rate" if "rate" in domains else "lip"
    if name not in bounds or manifest.scope not in (*PROVEN, ASSERTED_ENVELOPE):
        return
    if bounds.get("norm", 2.0) != 2:
        return  # in other norms the shape of a generator's noise is not known
    constant = bounds[name]
    if (constant == 0) != (input_of is None):
        return
    placed = _placed(rows, input_of or (lambda _: np.zeros(1)))
    if not placed:
        return
    # a generator's level is a function of x/shape, "inner" the least axis of the shape
    unit = bounds.get("inner", 1.0)
    points = np.stack([each.x for each in placed]).astype(np.float64) / unit
    norms = np.linalg.norm(points, axis=1)
    apart = cdist(points, points) + _SINGLE * (norms[:, None] + norms)
    levels = np.array([each.row.sigma for each in placed])
    with np.errstate(over="ignore"):
        step = constant * apart
        reach = levels * np.exp(step) if name == "rate" else levels + step
        # computed levels may be off by the slack, in logarithms
        room = math.exp(bounds.get("slack", 0.0)) * (1 + _SINGLE_LEVEL)
        share = levels[:, None] / (reach * room)
    worst = share.argmax(axis=1)
    for i in np.flatnonzero(share.max(axis=1) > 1):
        row, other = placed[i].row, placed[worst[i]].row
        distance = apart[i, worst[i]] * unit
        away = f", {distance:.6g} away" if constant else ""
        text = (
            f"sigma is {row.sigma}, and {other.sigma} at input {other.idx}{away}: more "
            f"than {name} = {constant} allows"
        )
        yield Finding(Kind.LEVEL, row.idx, text, placed[i].line)


def _placed(rows: Sequence[Numbered], input_of: Callable[[int], Any]) -> list[Placed]:
    """The rows that are compared with each other, by their levels, with their inputs.

    All inputs have the size of the first one that is there.
    """
    ordered = sorted(
        (numbered for numbered in rows if numbered[1].sigma > 0),
        key=lambda numbered: numbered[1].sigma,
    )
    inputs = (input_of(row.idx) for _, row in ordered)
    size = next((np.size(x) for x in inputs if x is not None), 1)
    most = min(int(math.sqrt(_WORK / size)), _MOST, len(ordered))
    places = np.linspace(0, len(ordered) - 1, most).round().astype(int)
    chosen = []
    for line, row in (ordered[place] for place in places):
        x = np.ravel(input_of(row.idx))
        if x.size == size and x.dtype != object:
            chosen.append(Placed(line, row, x))
    return chosen


def redrawn(
    rows: Sequence[Numbered],
    manifest: Manifest,
    data: Data,
    model: Any,
    given: Scheme | None,
    truth: Any = None,
) -> Iterator[Finding]:
    """Rows whose samples the model doesn't draw again; ``given`` is the noise, and
    ``truth`` what the answer refers to, if they are given.
    """
    if "stages" in (manifest.model if isinstance(manifest.model, dict) else {}):
        raise ValueError(
            "counts of a rule on several runs can't be drawn again: draw those"
        )
    drawer = _drawer(model, manifest, given)
    for line, row in rows:
        job = _job_of(row, manifest, drawer, truth)
        draw = partial(job.certify, data.input(row.idx), row.idx, row.label)
        certificate, columns = guarded(f"input {row.idx}", draw)
        again = Row.of(row.idx, row.label, certificate, 0.0, extra=columns)
        for name, stated, drawn in drawn_columns(row, again):
            if stated != drawn:
                text = f"{name} is {stated:.200}, and drawn again {drawn:.200}"
                yield Finding(Kind.COUNTS, row.idx, text, line)
                break  # the class is another, and with it all counts


def votes_changed(
    rows: Sequence[Numbered],
    manifest: Manifest,
    data: Data,
    model: Any,
    given: Scheme | None,
) -> Difference:
    """The samples of rows drawn again, beside those of other settings."""
    margin = manifest.procedure.margin or 0.0
    difference = Difference(margin=margin)
    drawer = _drawer(model, manifest, given)
    for _, row in rows:
        job = _job_of(row, manifest, drawer, None)
        draws = job.draws(data.input(row.idx), row.idx)
        for stage, sampler in enumerate(job.samplers):
            compared = partial(
                require_compared(sampler).compared,
                draws.x,
                draws.levels[stage],
                min(row.n or manifest.procedure.n, MOST_COMPARED),
                draws.generator(
                    Phase.ESTIMATE, stage if len(job.samplers) > 1 else None
                ),
            )
            difference.merge(guarded(f"input {row.idx}", compared))
    return difference


def of_several_models(manifest: Manifest) -> bool:
    """Whether rows are from before a change: they have the probe of another model, and
    every report says that there are such.
    """
    for step in manifest.history:
        told = any(text.strip() for text in step.get("changes", ()))
        if told and step.get("rows", 0) > 0:
            return True
    return False


def probed_again(
    rows: Sequence[Numbered],
    manifest: Manifest,
    data: Data,
    model: Any,
    given: Scheme | None,
) -> Iterator[Finding]:
    """An input of the manifest's probe whose selection samples the model doesn't draw
    again, where rows don't hold them.
    """
    if of_several_models(manifest):
        return
    drawer = _drawer(model, manifest, given)
    for line, row in rows:
        stated = manifest.probe.get(str(row.idx))
        if stated is None:
            continue
        job = _job_of(row, manifest, drawer, None)
        if job.recorded_fingerprint(row) is not None:
            return  # every row was compared with it
        fingerprint = partial(job.fingerprint, data.input(row.idx), row.idx)
        drawn = sparse_counts(guarded(f"input {row.idx}", fingerprint))
        if drawn != stated:
            text = f"the probe is {stated!r:.60}, and drawn again {drawn:.60}"
            yield Finding(Kind.COUNTS, row.idx, text, line)
        return


def _drawer(model: Any, manifest: Manifest, given: Scheme | None) -> Any:
    """The model's sampler, or those of several; of real outputs the model itself."""
    if not ANSWERS[manifest.answer["name"]].classifies:
        return model
    if isinstance(model, Sequence):
        return [as_sampler(expert) for expert in model]
    ready = as_sampler(model)
    if ready is model:
        return ready
    # noise of a shape is not made of parameters: it has to be given
    noise = answer_of(manifest).scheme if given is None else given
    return ready if noise.drawn is None and given is None else noise.sampler(model)


def _job_of(row: Row, manifest: Manifest, drawer: Any, truth: Any) -> Job:
    """What the row's samples were drawn by, at the level that the row states."""
    answer: Any = answer_of(manifest, level=lambda _: row.sigma)
    if truth is not None:
        answer.truth = truth
    if not answer.scheme.law:  # that of a shape is said by what draws it
        answer.scheme.law = getattr(drawer, "law", "")
    with warnings.catch_warnings():  # what runs are told of n, a file needs no more
        warnings.simplefilter("ignore")
        return Job.of(drawer, answer, manifest.procedure)
