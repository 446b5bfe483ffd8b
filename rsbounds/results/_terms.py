"""What radii rest on besides model and data, and which files can be compared by them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from rsbounds.certificate import SCOPES
from rsbounds.results._results import Results

NAMES = ("norm", "alpha", "n", "bound")
UNKNOWN = "-"
_SEVERAL = "several"


def terms(file: Results) -> dict[str, str]:
    """Norm, alpha, number of samples and bound of a file; "-" where it doesn't say."""
    rows, manifest = file.rows, file.manifest
    samples = {row.n for row in rows} if manifest is None else {manifest.procedure.n}
    return {
        "norm": _one(_short(row.norm) for row in rows),
        "alpha": UNKNOWN if manifest is None else _short(manifest.procedure.alpha),
        "n": _one(str(n) if n else UNKNOWN for n in samples),
        "bound": _one(row.bound for row in rows),
    }


def _inputs(file: Results) -> str:
    """Which inputs of which data they are, as a hash; "-" where the file doesn't say."""
    if file.manifest is None:
        return UNKNOWN
    data = {name: part for name, part in file.manifest.data.items() if name != "inputs"}
    if not data:
        return UNKNOWN
    told = json.dumps([data, file.manifest.shard], sort_keys=True, default=repr)
    return hashlib.sha256(told.encode()).hexdigest()[:8]


def _short(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _one(found: Iterable[str]) -> str:
    distinct = set(found)
    return (distinct.pop() if len(distinct) == 1 else _SEVERAL) if distinct else UNKNOWN


def differences(files: Sequence[Results]) -> list[str]:
    """For each file what of its terms and inputs not all others share, in words; "" if nothing."""
    each = [terms(file) | {"inputs": _inputs(file)} if file.rows else {} for file in files]
    names = (*NAMES, "inputs")
    values = {name: {found.get(name, UNKNOWN) for found in each} - {UNKNOWN} for name in names}
    return [
        ", ".join(
            f"{name} {value}" if value != UNKNOWN else f"{name} not stated"
            for name, value in found.items()
            if len(values[name]) > (value != UNKNOWN)
        )
        for found in each
    ]


def comparable(files: Sequence[Results]) -> list[tuple[str, str, list[Results]]]:
    """Several runs of one method whose certificates say the same: method, terms, and the files.

    Method, scope, terms and inputs are equal, and the scope is that of a certificate of the
    classifier that is run, or none is stated: only then the best of the runs at a radius says
    something. The terms are those that tell groups of one method apart, "" for a method's only
    group.
    """
    groups: dict[tuple[str, ...], list[Results]] = {}
    for file in files:
        kinds = {(row.method, row.scope) for row in file.rows}
        if len(kinds) != 1:
            continue
        ((method, scope),) = kinds
        if not scope or (scope in SCOPES and SCOPES[scope].valid):
            key = (method, scope, *terms(file).values(), _inputs(file))
            groups.setdefault(key, []).append(file)
    methods = [method for method, *_ in groups]
    apart = differences([group[0] for group in groups.values()])
    return [
        (method, said if methods.count(method) > 1 else "", group)
        for (method, *_), group, said in zip(groups, groups.values(), apart, strict=True)
        if len(group) > 1
    ]
