"""Which model and which data a manifest says they were, against those that are given."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rsbounds.audit._finding import Finding, Kind

_SELECTION = ("inputs", "start", "skip", "max")
#: Another machine may have another version: rows that depend on it are drawn otherwise.
_VERSIONS = {"datasets", "diffusers", "onnxruntime", "pillow", "providers", "timm", "torchvision"}
_VERSIONS |= {"scikit-learn", "transformers"}


def differences(
    kind: Kind, what: str, stated: Mapping[str, Any], own: Mapping[str, Any]
) -> Iterator[Finding]:
    """Entries of the manifest that the data or the model given have otherwise.

    Versions and the folders of files are not compared: others have them elsewhere.
    """
    had, has = _comparable(stated), _comparable(json.loads(json.dumps(own, default=str)))
    for name in sorted(had.keys() - {*_SELECTION}):
        if had[name] != has.get(name):
            given = f"{has[name]!r:.60}" if name in has else "nothing"
            text = (
                f"{what}.{name} is {had[name]!r:.60} in the manifest, {given} of the {what} given"
            )
            yield Finding(kind, None, text)


def _comparable(entry: Any) -> Any:
    if isinstance(entry, Mapping):
        names = sorted(entry.keys() - _VERSIONS)
        return {
            k: _placeless(entry[k]) if k in ("spec", "for") else _comparable(entry[k])
            for k in names
        }
    return [_comparable(each) for each in entry] if isinstance(entry, list) else entry


def _placeless(spec: Any) -> Any:
    """The names of models without the folders of their files."""
    if isinstance(spec, list):
        return [_placeless(each) for each in spec]
    return re.sub(r"[^:=]*[/\\]", "", spec) if isinstance(spec, str) else spec
