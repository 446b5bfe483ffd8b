"""``rsbounds verify``: every row of a result file against the mpmath oracle."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from rsbounds import loading as _load
from rsbounds._numerics.checks import choice, one, real, whole
from rsbounds.certificate import ABSTAIN
from rsbounds.cli._progress import progress
from rsbounds.confidence.counts import MAX_N
from rsbounds.results._records import Row, read_manifest, read_rows

_DIGITS = 20
_LOST = 1e-6  # a radius this much (relative to itself plus sigma) too small is a finding
_PARAMETERS = {
    "gaussian": ("sigma",),
    "semi-elastic": ("rate", "dim"),
    "lipschitz": ("lip", "sigma_min", "dim"),
}
_DOMAINS = {  # lower end, upper end, and which are included
    **dict.fromkeys(("sigma", "sigma_min", "target_radius"), (0.0, math.inf, "neither")),
    **dict.fromkeys(("rate", "lip"), (0.0, math.inf, "left")),
    "dim": (1.0, 1e8, "left"),
    "alpha": (0.0, 1.0, "neither"),
    "n": (1, MAX_N, "both"),
    "skip": (1, 1e18, "both"),
    "max": (-1, 1e18, "both"),
}


def add_parser(subparsers: Any) -> None:
    """Add the ``verify`` command."""
    parser = subparsers.add_parser(
        "verify",
        help="check every radius of a result file with the oracle",
        description="Compute every radius again from its counts and the manifest, in mpmath "
        "and not by the code that wrote it, and report rows above the truth, rows that don't "
        "fit the manifest and duplicates. Exit status 1 on a finding (extra: test).",
    )
    parser.add_argument("file", metavar="FILE.tsv", type=Path)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print what is wrong."""
    try:
        from mpmath import mp
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "verify needs mpmath; install it with: pip install mpmath"
        ) from None
    manifest = read_manifest(args.file)
    try:
        _check(manifest)
    except ValueError as error:
        raise ValueError(f"the manifest of {args.file} is damaged: {error}") from None
    rows = read_rows(args.file)
    fixed = manifest.get("target_radius") is None
    evidence = _Fixed(manifest) if fixed else _Sequential(manifest)
    findings = 0
    seen: set[int] = set()
    for number, row in enumerate(progress(rows, "row"), start=2):
        said = [*_mismatches(row, manifest)]
        try:
            with mp.workdps(_DIGITS):
                said += evidence.findings(row)
        except (ValueError, ArithmeticError, TypeError) as error:  # numbers beyond all measure
            raise ValueError(f"{args.file}:{number}: the oracle can't tell: {error}") from error
        if row.idx in seen:
            said.append("appears twice")
        seen.add(row.idx)
        for finding in said:
            print(f"{args.file}:{number}: input {row.idx}: {finding}")
        findings += len(said)
    print(f"{args.file}: {len(rows)} rows, {findings or 'no'} finding{'s' * (findings != 1)}")
    return int(findings > 0)


def _check(manifest: Mapping[str, Any]) -> None:
    """ValueError unless the manifest has what the rows are checked against."""
    method = choice("method", manifest.get("method"), tuple(_PARAMETERS))
    if not isinstance(manifest.get("scope"), str):
        raise ValueError(f"scope must be text; got {manifest.get('scope')!r}")
    for section, needed in (("parameters", _PARAMETERS[method]), ("data", ())):
        part = manifest.get(section, {})
        if not isinstance(part, dict):
            raise ValueError(f"{section} must be an object; got {part!r}")
        for name in sorted(_DOMAINS.keys() & {*needed, *part}):
            _number(f"{section}.{name}", part.get(name), *_DOMAINS[name])
    target = () if manifest.get("target_radius") is None else ("target_radius",)
    for name in ("n", "alpha", *target):
        _number(name, manifest.get(name), *_DOMAINS[name])
    _load.parts("shard", manifest.get("shard", "0/1"))


def _number(name: str, value: Any, low: float, high: float, closed: str) -> None:
    if closed == "both":
        whole(name, value, int(low))
    one(name, real(name, value, low, high, closed=closed, nan=False))


def _mismatches(row: Row, manifest: Mapping[str, Any]) -> Iterator[str]:
    """What contradicts the manifest or the row itself."""
    for key in ("method", "scope"):
        if getattr(row, key) != manifest[key]:
            yield f"{key} is {getattr(row, key)!r}, {manifest[key]!r} in the manifest"
    parameters = manifest["parameters"]
    if manifest["method"] == "gaussian" and row.sigma != parameters["sigma"]:
        yield f"sigma is {row.sigma}, {parameters['sigma']} in the manifest"
    if not row.sigma >= parameters.get("sigma_min", 0.0):
        yield f"sigma is {row.sigma}, below the manifest's sigma_min"
    if not 0 <= row.count <= row.n:
        yield f"count is {row.count} of {row.n}"
    if row.correct != (row.predict == row.label):
        yield f"correct is {row.correct}, but predict {row.predict} and label {row.label}"
    if row.predict == ABSTAIN and row.radius:
        yield f"abstains with radius {row.radius}"
    data = manifest.get("data", {})
    rank, size = map(int, manifest.get("shard", "0/1").split("/"))
    place, rest = divmod(row.idx, data.get("skip", 1))
    if rest or place % size != rank or 0 <= data.get("max", -1) <= row.idx:
        yield "is not one of the inputs the manifest names"


class _Fixed:
    """Rows whose number of samples was fixed in advance: Clopper-Pearson."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self._manifest = manifest
        self._bound = cache(partial(self._lower, float(manifest["alpha"])))

    @staticmethod
    def _lower(alpha: float, count: int, n: int) -> tuple[Any, Any]:
        from rsbounds import oracle

        q = oracle.lower_complement(count, n, alpha, dps=_DIGITS)
        return oracle.lower_score(count, n, alpha, dps=_DIGITS), q

    def findings(self, row: Row) -> Iterator[str]:
        if row.n != self._manifest["n"]:
            yield f"n is {row.n}, {self._manifest['n']} in the manifest"
        if not 0 <= row.count <= row.n:
            return
        score, q = self._bound(row.count, row.n)
        if not _exact(row.p_a) <= 1 - q:
            yield f"p_a is {row.p_a}, above the truth 1 - {q}"
        if (row.predict == ABSTAIN) != (score <= 0):
            yield f"predicts {row.predict}, but the class's score is {score}"
        above = _excess(self._manifest, row.sigma)
        if row.radius > 0 and not above(row.radius, score) <= 0:
            yield f"radius is {row.radius}, above the truth"
        least = row.radius + _LOST * (row.radius + row.sigma)
        if row.predict != ABSTAIN and not above(least, score) > 0:
            yield f"radius is {row.radius}, below what the counts show"


class _Sequential:
    """Rows of ``--target-radius``: the wealth of the sequential test."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self._manifest = manifest
        self._target = float(manifest["target_radius"])
        self._needed = cache(self._score)

    def _score(self, sigma: float) -> Any:
        from mpmath import mp

        above = _excess(self._manifest, sigma)
        guess = self._target / sigma
        return mp.findroot(
            lambda score: above(self._target, score), (guess, guess * 1.01), tol=1e-16
        )

    def findings(self, row: Row) -> Iterator[str]:
        if not 0 <= row.n <= self._manifest["n"]:
            yield f"n is {row.n}, at most {self._manifest['n']} in the manifest"
        if row.radius not in (0.0, self._target):
            yield f"radius is {row.radius}, neither 0 nor the target {self._target}"
        if not 0 <= row.count <= row.n or not row.n:
            return
        if row.radius > 0 and not self._proved(row, self._needed(row.sigma)):
            yield f"radius is {row.radius}, not proved by {row.count} of {row.n}"
        if row.p_a > 0:
            from rsbounds import oracle

            if not self._proved(row, oracle.ndtri(row.p_a, dps=_DIGITS)):
                yield f"p_a is {row.p_a}, above the truth"

    def _proved(self, row: Row, score: Any) -> bool:
        from mpmath import mp

        from rsbounds import oracle

        wealth = oracle.log_wealth(row.count, row.n, score, dps=_DIGITS)
        return bool(wealth >= -mp.log(_exact(self._manifest["alpha"])))


def _excess(manifest: Mapping[str, Any], sigma: float) -> Callable[[float, Any], Any]:
    """A function of (radius, score) that is positive where the radius exceeds the truth."""
    from rsbounds import oracle

    parameters = manifest["parameters"]
    method = manifest["method"]
    if method == "gaussian":
        return lambda r, z: _exact(r) - oracle.gaussian_radius(z, sigma, dps=_DIGITS)
    if method == "semi-elastic":
        envelope = oracle.semi_elastic(sigma, parameters["rate"])
    else:
        envelope = oracle.lipschitz_sigma(sigma, parameters["lip"], parameters["sigma_min"])

    def excess(r: float, z: Any) -> Any:
        if not parameters.get("rate", 0) * r < 1e4:  # sigma(x) changes by a factor exp(rate r)
            raise ValueError(f"radius {r} is too large for the rate")
        return max(
            oracle.worst_score(r, -z, sigma, bound(_exact(r)), parameters["dim"], dps=_DIGITS)
            for bound in envelope
        )

    return excess


def _exact(value: float) -> Any:
    from mpmath import mp

    return mp.mpf(value)
