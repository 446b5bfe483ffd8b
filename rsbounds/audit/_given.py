"""A result file against the data and the noise that are given.

Bounds and radii follow from a row's counts and its level, so a file whose levels and
radii are scaled alike is consistent with itself: what its levels depend on has to be
compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rsbounds._numerics.answered import By
from rsbounds.audit._finding import Finding, Kind, Numbered
from rsbounds.audit._levels import SINGLE_LEVEL
from rsbounds.certificate import ASSERTED_ENVELOPE, without_asserted_noise
from rsbounds.loading import CorruptInput, Data
from rsbounds.noises.grid_noise import on_grid
from rsbounds.results import Manifest
from rsbounds.results.internal import MANIFEST, levels_of
from rsbounds.schemes import METHODS, Scheme

_SELECTION = {"inputs", "total", "start", "skip", "max"}
#: Another machine may have another version, and the same inputs may lie elsewhere:
#: nothing is wrong with a file where what their writer states differs.
_OF_WRITER = {
    kind: {
        fact.name.rpartition(".")[2]
        for fact in MANIFEST
        if fact.by is By.WRITER and fact.name.startswith(f"{kind}.")
    }
    for kind in (Kind.DATA, Kind.MODEL)
}
#: Entries of the data that not every way to hold the same inputs has.
_OF_SOME = frozenset({"labels", "shape", "preprocessing"})


def identity(
    kind: Kind, recorded: Mapping[str, Any], actual: Mapping[str, Any]
) -> Iterator[Finding]:
    """Entries of the manifest that the data or the model given have otherwise."""
    had = _comparable(recorded)
    has = _comparable(json.loads(json.dumps(actual, default=str)))
    for name in sorted(had.keys() - _SELECTION - _OF_WRITER[kind]):
        if had[name] != has.get(name):
            text = f"{kind}.{name} is {had[name]!r:.60} in the manifest"
            here = f"{has[name]!r:.60}" if name in has else "nothing"
            yield Finding(kind, None, f"{text}, {here} of the {kind} given")


def lacking(recorded: Mapping[str, Any], actual: Mapping[str, Any]) -> set[str]:
    """Entries that the manifest's data or the data given don't have, and may not.

    These are the labels of a sequence as a whole, or what pictures went through that
    are arrays for the other. The label and the content of each row's input are
    compared.
    """
    named = _OF_SOME & recorded.keys()
    return {
        name for name in named if recorded[name] is None or actual.get(name) is None
    }


def held_otherwise(
    recorded: Mapping[str, Any], actual: Mapping[str, Any]
) -> Iterator[str]:
    """Describe how the same inputs lie otherwise than those of the run did."""
    names = sorted(_OF_WRITER[Kind.DATA] & (recorded.keys() | actual.keys()))
    others = [name for name in names if recorded.get(name) != actual.get(name)]
    if others:
        here = [f"{name} {actual.get(name, 'nothing')!s:.30}" for name in others]
        there = [f"{name} {recorded.get(name, 'nothing')!s:.30}" for name in others]
        yield (
            f"the data given lie otherwise than the run's ({', '.join(here)}; there "
            f"{', '.join(there)}): inputs are compared as the model gets them"
        )


def _comparable(entry: Any, name: str = "") -> Any:
    """An entry with the names of files without their folders."""
    if isinstance(entry, Mapping):
        return {k: _comparable(v, k) for k, v in entry.items()}
    if isinstance(entry, list):
        return [_comparable(item, name) for item in entry]
    named = isinstance(entry, str) and name in ("spec", "for")
    return re.sub(r"[^:=]*[/\\]", "", entry) if named else entry


def check_noise(scheme: Scheme, manifest: Manifest, path: Path) -> None:
    """ValueError where the file's radii rest on another noise than this."""
    if scheme.name != manifest.method:
        raise ValueError(
            f"{path} is of method {manifest.method}; the noise given of {scheme.name}"
        )
    scope = without_asserted_noise(manifest.scope)
    if scheme.scope == ASSERTED_ENVELOPE != scope:
        raise ValueError(
            f"scope is {manifest.scope!r} in {path}: the noise given proves no bounds"
        )
    of_domain = METHODS[manifest.method].domains.keys()
    for name in sorted(
        (scheme.parameters.keys() & manifest.parameters.keys() | of_domain) - {"dim"}
    ):
        had, has = manifest.parameters.get(name), scheme.parameters.get(name)
        same = had == has or (
            name in of_domain
            and had
            and has
            and abs(had - has) <= SINGLE_LEVEL * abs(has)
        )
        if not same:
            text = f"the noise given is not what {path} was made with"
            raise ValueError(f"{text}: {name} was {had} and is {has}")


def left_out(manifest: Manifest, data: Data) -> Iterator[Finding]:
    """Inputs of the data that the run leaves out and should not."""
    inputs, skip = manifest.data["inputs"], int(manifest.data.get("skip", 1))
    start = int(manifest.data.get("start", 0))
    top = int(manifest.data.get("max", -1))
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
) -> Iterator[Finding]:
    """A row against its input: CorruptInput or IndexError where there is none."""
    line, row = numbered
    item = data.item(row.idx)
    for name, value in (("label", item.label), ("input", (item.digest or "-")[:16])):
        if (in_row := getattr(row, name)) != value:
            yield Finding(
                Kind.DATA, row.idx, f"{name} is {in_row}, {value} in the data", line
            )
    if item.x is None:
        return
    levels = levels_of(manifest.engine)
    if levels is not None:
        try:
            on_grid(item.x, levels)
        except ValueError as error:
            text = f"can't have had exact noise: {error}"
            yield Finding(Kind.DATA, row.idx, text, line)
    if (
        scheme is not None
        and not abs(row.sigma - (level := scheme.sigma(item.x))) <= SINGLE_LEVEL * level
    ):
        text = f"sigma is {row.sigma}, {level} at this input"
        yield Finding(Kind.LEVEL, row.idx, text, line)
    method = METHODS[manifest.method]
    if "dim" not in method.domains:
        return
    if not method.from_parameters(manifest.parameters).takes(item.x.size):
        dim = manifest.parameters.get("dim")
        text = f"has {item.x.size} numbers, dim is {dim} in the manifest"
        yield Finding(Kind.DATA, row.idx, text, line)
