"""The manifest beside a result file: everything that its rows depend on."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import instance, shard_of
from rsbounds._numerics.files import as_path, content_of
from rsbounds._numerics.json_files import as_text, parsed
from rsbounds._numerics.text import quoted, shown
from rsbounds.answers import ANSWERS
from rsbounds.procedure import Procedure
from rsbounds.results._entries import TREE, check_types
from rsbounds.results._fitted import chosen_on, is_fitted_on
from rsbounds.results._row import Row

#: The format of the files that are written and read.
FORMAT = 3


@dataclass(frozen=True)
class Manifest:
    """What the rows of a result file depend on.

    Parameters
    ----------
    model, data, engine, versions : mapping
        What the model was, the data, the device and its precision, the packages;
        ``data`` with ``total``, the number of its inputs, ``start``, ``skip``, ``max``,
        and ``inputs``, the number selected in all shards together.
    answer : mapping
        The answer: its ``name`` and its parameters, see
        :class:`rsbounds.answers.Answer`.
    method, scope, parameters
        The scheme: see :class:`rsbounds.schemes.Scheme`.
    procedure : Procedure
        In the file its entries stand among the others.
    shard : str
        ``i/N``: every N-th of the inputs selected, from the i-th.
    probe : mapping
        Selection counts of a few inputs (index as text): another model, another probe.
    history : list
        What was accepted or done to the file since: each an object.
    run, extra : mapping
        What the rows do not depend on: paths, times, batch; further entries of the
        file.

    Examples
    --------
    >>> from rsbounds.results import Manifest
    >>> Manifest(data={"inputs": 3}).places({0, 2})
    ([1], [])
    """

    model: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    answer: Mapping[str, Any] = field(default_factory=lambda: {"name": "class"})
    method: str = ""
    scope: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    procedure: Procedure = field(default_factory=Procedure)
    engine: Mapping[str, Any] = field(default_factory=dict)
    shard: str = "0/1"
    versions: Mapping[str, Any] = field(default_factory=dict)
    probe: Mapping[str, str] = field(default_factory=dict)
    history: list[Any] = field(default_factory=list)
    run: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Mapping[str, Any]) -> Self:
        """The manifest of a JSON object."""
        instance("entries", entries, Mapping, "a mapping by name")
        names = {f.name for f in fields(cls)} - {"extra", "procedure"}
        numbers = Procedure.__slots__
        known = {k: v for k, v in entries.items() if k in names}
        extra = {
            k: v for k, v in entries.items() if k not in {*names, *numbers, "format"}
        }
        return cls(**known, procedure=Procedure.from_dict(entries), extra=extra)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the manifest of a result file.

        ValueError if it has none, OSError if it isn't there.
        """
        path = as_path("path", path)
        place = manifest_path(path)
        try:
            content = content_of(place)
        except FileNotFoundError:
            path.stat()  # says so, if it is the file itself that isn't there
            raise ValueError(
                f"{path} has no manifest: expected {place.name} beside it, as rsbounds "
                "writes it (report and verify read files of other tools too)"
            ) from None
        try:
            entries = parsed(content)
        except ValueError as error:
            raise ValueError(f"{place} is not a manifest: {error}") from None
        try:
            if entries.get("format") != FORMAT:
                raise ValueError(
                    f"format must be {FORMAT}; got {quoted(entries.get('format'))}"
                )
            check_types(entries, free=_of_others(entries))
            shard_of("shard", entries.get("shard", "0/1"))
            return cls.of(entries)
        except ValueError as error:
            raise ValueError(f"the manifest of {path} is damaged: {error}") from None

    def entries(self) -> dict[str, Any]:
        """The JSON object."""
        entries: dict[str, Any] = {"format": FORMAT}
        for name in self.__dataclass_fields__:
            if name == "extra":
                continue
            value = getattr(self, name)
            entries |= value.to_dict() if name == "procedure" else {name: value}
        return entries | dict(self.extra)

    def text(self) -> str:
        """The file."""
        return as_text(self.entries())

    def indices(self) -> range:
        """Indices of this shard's inputs."""
        rank, size = shard_of("shard", self.shard)
        skip = int(self.data.get("skip", 1))
        start = int(self.data.get("start", 0))
        inputs = int(self.data.get("inputs", 0))
        return range(start + rank * skip, start + inputs * skip, size * skip)

    def selection(self) -> str:
        """Which of the data's inputs were chosen, in words; "" for all of them."""
        defaults = {"start": 0, "skip": 1, "max": -1}
        choices = [
            f"{name} {self.data[name]}"
            for name, default in defaults.items()
            if self.data.get(name, default) != default
        ]
        inputs = self.data.get("inputs", 0)
        total = self.data.get("total", inputs)
        if inputs == total:  # whatever was asked for
            return ""
        text = f"{inputs} of {total} inputs"
        return f"{text}: {', '.join(choices)}" if choices else text

    def selected(self) -> int | None:
        """How many inputs start, skip and max choose of all.

        None where it isn't said how many there are.
        """
        if "total" not in self.data:
            return None
        end = int(self.data["total"])
        if self.data.get("max", -1) >= 0:
            end = min(end, int(self.data["max"]))
        start, skip = int(self.data.get("start", 0)), int(self.data.get("skip", 1))
        return len(range(start, end, skip))

    def places(self, done: ArrayLike | set[int]) -> tuple[list[int], list[int]]:
        """Compare ``done`` with the indices of the run.

        Returns those that are missing from it, and those in it that don't belong there.

        Inputs that were left out because they can't be decoded are not missing.
        """
        selected = self.indices()
        indices = np.asarray(list(done) if isinstance(done, set) else done, np.int64)
        belongs = (indices >= selected.start) & (indices < selected.stop)
        if selected.step > 1:
            belongs &= (indices - selected.start) % selected.step == 0
        corrupt = [index for index in self.corrupt() if index in selected]
        is_missing = np.ones(len(selected), bool)
        # of millions of rows no copy, where all belong
        inside = indices if belongs.all() else indices[belongs]
        is_whole = selected.start == 0 and selected.step == 1
        for present in (inside, np.array(corrupt, np.int64)):
            is_missing[
                present if is_whole else (present - selected.start) // selected.step
            ] = False
        missing = selected.start + selected.step * np.flatnonzero(is_missing)
        strangers: list[int] = sorted(set(indices[~belongs].tolist()))
        return missing.tolist(), strangers

    def corrupt(self) -> set[int]:
        """Indices of the inputs that the history says were left out.

        They can't be decoded.
        """
        left = (entry for step in self.history for entry in step.get("corrupt", ()))
        return {entry["input"] for entry in left if "input" in entry}

    def after_looking(self) -> Iterator[str]:
        """What may have been chosen after the samples were seen, in words."""
        for step in self.history:
            if "recertified" in step:
                text = "certified again from the counts of another file"
                if "alpha" in step:
                    text += f", made with alpha {step['alpha']}, bound {step['bound']}"
                yield f"{text}: its terms may have been chosen after looking at them"
        yield from self.restated()
        if self.answer["name"] == "list" and "fitted" not in self.answer:
            yield (
                "how the rule was chosen is not recorded: it may have been on these "
                "inputs, and then its level does not hold"
            )

    def restated(self) -> Iterator[str]:
        """What holds of the options of the answer that were changed after looking."""
        name = self.answer["name"]
        options = ANSWERS[name].restated if name in ANSWERS else {}
        for option, text in options.items():
            if any(option in step for step in self.history):
                yield text

    def fitted_on(self, rows: Sequence[Row]) -> bool:
        """Whether rows hold counts that the rule of a list was fitted to."""
        fitted = self._fitted()
        return bool(fitted) and is_fitted_on(fitted, rows)

    def chosen_on(self, rows: Sequence[Row]) -> int:
        """How many rows are of inputs that the rule of a list was fitted to."""
        fitted = self._fitted()
        return chosen_on(fitted, rows) if fitted else 0

    def calibrated_on(self, rows: Sequence[Row]) -> int:
        """How many rows are of inputs that the threshold of a flag was chosen from."""
        inputs = {str(name) for name in self._calibrated().get("inputs", ())} - {"-"}
        return sum(row.input in inputs for row in rows) if inputs else 0

    def calibration(self) -> str:
        """What holds of a threshold that was chosen from benign inputs, in words."""
        record = self._calibrated()
        if not record:
            return ""
        procedure, share = self.procedure, record.get("share")
        procedure_values = {name: getattr(procedure, name) for name in _CALIBRATED}
        procedure_values["threshold"] = self.answer.get("threshold")
        for name, value in procedure_values.items():
            if record.get(name) != value:
                return (
                    f"the calibration of the threshold had {name} {record.get(name)}, "
                    f"here it is {value}: what it says of benign inputs does not hold"
                )
        return (
            f"the threshold was chosen from {len(record.get('inputs', ()))} benign "
            "inputs: a further one, exchangeable with them, fails to pass with "
            f"probability {share} at most (stated)"
        )

    def _calibrated(self) -> Mapping[str, Any]:
        record = self.answer.get("calibrated")
        return record if isinstance(record, Mapping) else {}

    def _fitted(self) -> list[str]:
        fitted = self.answer.get("fitted", [])
        return [text for text in fitted if isinstance(text, str)] if fitted else []

    def commitment(self) -> str:
        """The text by which a run is committed to before its first sample.

        It has all that is fixed then.

        It is always the same text: whoever has its SHA-256 sees whether a later
        manifest differs.
        """
        entries = json.loads(self.text())  # as a file holds them: lists for tuples
        # what was asked for, before the model had shown its number of classes
        entries.update(entries["run"].get("asked", {}))
        for name in (
            "history",
            "probe",
            "run",
            "shard",
        ):  # shown by samples, or not by rows
            del entries[name]
        entries["engine"].pop("tf32", None)
        if unfixed := self.unfixed():
            entries["not fixed"] = unfixed
        return json.dumps(entries, indent=2, sort_keys=True) + "\n"

    def unfixed(self) -> list[str]:
        """What a commitment of this run does not fix, in words."""
        unfixed = []
        models = self.model.get("stages", [self.model])
        are_hashed = [
            isinstance(model, Mapping) and model.get("parameters") for model in models
        ]
        if not all(are_hashed):
            unfixed.append("the model's parameters: nothing in it could be hashed")
        if not self.procedure.repeats:
            unfixed.append("the noise: it is of the operating system")
        return unfixed

    def uncommitted(self) -> Manifest:
        """The manifest of a file that is computed from a committed one."""
        committed = ("commitment", "asked")
        return replace(
            self, run={k: v for k, v in self.run.items() if k not in committed}
        )

    def differences(self, other: Manifest) -> dict[str, str]:
        """Compare the entries that rows depend on with those of ``other``.

        Returns those that differ: name -> in words.
        """
        a, b = dict(self._compared()), dict(other._compared())
        # probes of other inputs, or of none
        ignored = {f"probe.{key}" for key in self.probe.keys() ^ other.probe.keys()}
        keys = [
            key
            for key in sorted({*a, *b} - ignored)
            if not _same(a.get(key), b.get(key))
        ]
        # another probe follows from any other difference
        keys = [key for key in keys if not key.startswith("probe.")] or keys
        return {
            key: f"{shown(key)} was {json.dumps(a.get(key))} and is now "
            f"{json.dumps(b.get(key))}"
            for key in keys
        }

    def _compared(self) -> Iterator[tuple[str, Any]]:
        left = json.loads(self.text())  # as a file holds them: lists for tuples
        for name in ("format", "history", "run"):
            del left[name]
        left["data"].pop("inputs", None)
        return _flat(left)


#: The numbers of a procedure that a calibration rests on.
_CALIBRATED = ("n0", "n", "alpha", "bound")


def manifest_path(path: Path) -> Path:
    """Path of the manifest beside a result file, ``FILE.tsv.manifest.json``.

    IsADirectoryError where ``path`` is a folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rsbounds.results.internal import manifest_path
    >>> manifest_path(Path("run.tsv")).name
    'run.tsv.manifest.json'
    """
    path = as_path("path", path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", str(path))
    return path.with_name(path.name + ".manifest.json")


def commitment_path(path: Path) -> Path:
    """Where the commitment to a result file lies."""
    return path.with_name(path.name + ".commitment.json")


def folded(section: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    """Sort entries of a section as a manifest holds them.

    What the writer says besides those that are declared stands under ``described``.
    """
    if not entries:
        return {}
    declared = {name: value for name, value in entries.items() if name in TREE[section]}
    further = {name: value for name, value in entries.items() if name not in declared}
    return declared | (
        {"described": declared.get("described", {}) | further} if further else {}
    )


def _of_others(entries: Mapping[str, Any]) -> list[str]:
    """Sections of a manifest that another package fills, or that its method checks."""
    answer = entries.get("answer")
    name = answer.get("name") if isinstance(answer, dict) else None
    is_own = isinstance(name, str) and ANSWERS.is_own(name)
    return ["parameters"] if is_own else ["parameters", "answer"]


def _same(a: Any, b: Any) -> bool:
    """Tell whether two entries are equal.

    NaN, which parameters of others may hold, equals itself.
    """
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b or (a != a and b != b))


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
