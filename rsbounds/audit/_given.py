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

from rsbounds.audit._finding import Finding, Kind, Numbered
from rsbounds.audit._levels import SINGLE_LEVEL
from rsbounds.certificate import ASSERTED_ENVELOPE
from rsbounds.loading import CorruptInput, Data
from rsbounds.results import MANIFEST, By, Manifest
from rsbounds.sampling.grid_noise import LEVELS, on_grid
from rsbounds.schemes import METHODS, Scheme

_SELECTION = {"inputs", "total", "start", "skip", "max"}
#: Another machine may have another version: nothing compares what their writer states.
_OF_WRITER = {
    fact.name.rpartition(".")[2]
    for fact in MANIFEST
    if fact.by is By.WRITER and fact.name.startswith(("model.", "data."))
}


def identity(
    kind: Kind, stated: Mapping[str, Any], own: Mapping[str, Any]
) -> Iterator[Finding]:
    """Entries of the manifest that the data or the model given have otherwise."""
    had = _comparable(stated)
    has = _comparable(json.loads(json.dumps(own, default=str)))
    for name in sorted(had.keys() - _SELECTION - _OF_WRITER):
        if had[name] != has.get(name):
            text = f"{kind}.{name} is {had[name]!r:.60} in the manifest"
            given = f"{has[name]!r:.60}" if name in has else "nothing"
            yield Finding(kind, None, f"{text}, {given} of the {kind} given")


def _comparable(entry: Any, name: str = "") -> Any:
    """An entry with the names of files without their folders."""
    if isinstance(entry, Mapping):
        return {k: _comparable(v, k) for k, v in entry.items()}
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
            name in own and had and has and abs(had - has) <= SINGLE_LEVEL * abs(has)
        )
        if not same:
            text = f"the noise given is not what {path} was made with"
            raise ValueError(f"{text}: {name} was {had} and is {has}")


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
    if as_seen and manifest.engine.get("sound_noise"):
        try:
            on_grid(item.x, manifest.engine.get("grid", LEVELS))
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
    if not as_seen or "dim" not in method.domains:
        return
    if not method.from_parameters(manifest.parameters).takes(item.x.size):
        dim = manifest.parameters.get("dim")
        text = f"has {item.x.size} numbers, dim is {dim} in the manifest"
        yield Finding(Kind.DATA, row.idx, text, line)
