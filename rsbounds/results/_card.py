"""Cards: what a certification file shows, what was proved of it, and what no file can show."""

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import rsbounds
from rsbounds._numerics.text import shown
from rsbounds.certificate import SCOPES
from rsbounds.results._file import _replace
from rsbounds.results._html import QUANTILES, interval, true_class
from rsbounds.results._manifest import manifest_path
from rsbounds.results._results import Results
from rsbounds.results._table import _markdown, _radii, footnote, setting
from rsbounds.results._text import as_path, plain, quoted, truncated

_SCHEMA = Path(__file__).parent / "card.schema.json"
_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
_RUNS = (
    "How many runs were made: the best of many seeds, models or noise levels looks like a single "
    "run."
)
_COMMITTED = (
    "Whether the commitment was published before the first sample, and how many others were made."
)
_COUNTS = "Whether the model drew the counts: rsbounds verify --rerun draws rows again."
_SEEN = "Whether the model was trained or chosen on these inputs."


def card(
    file: Results,
    radii: Sequence[float] | None = None,
    *,
    verified: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The card of a certification file, as JSON can hold it.

    Parameters
    ----------
    file : Results
        As :func:`read` returns it; its file is hashed again.
    radii
        As in `table`.
    verified : mapping, optional
        What an audit of the file gave: rows, proved, findings (their numbers), first (the first
        findings as text), stated (what it took as stated).

    Raises
    ------
    ValueError
        If the file has no rows, or rows of another answer than a class.
    OSError
        If the file can't be read.

    Examples
    --------
    >>> card(read("run.tsv"), [0, 0.5])["accuracy"][1]["radius"]  # doctest: +SKIP
    0.5
    """
    manifest, path = file.manifest, Path(file.name)
    entries = manifest.entries() if manifest else {}
    own = manifest.procedure.to_dict() if manifest else {}
    if not file.rows or entries.get("parameters", {}).get("answer", "top-k") != "top-k":
        raise ValueError(f"{file.name}: a card needs rows of classes")
    count, scopes, at = len(file.rows), file.scopes(), _radii([file], radii)
    held = [round(share * count) for share in file.certified_accuracy(at).tolist()]
    ends = [interval(number, count) for number in held]
    levels = [row.sigma for row in file.rows if math.isfinite(row.sigma)]
    commitment = entries.get("run", {}).get("commitment")
    hashes = {"rows": _sha256(path), "manifest": manifest and _sha256(manifest_path(path))}
    p_a = np.quantile(true_class(file) or [math.nan], QUANTILES, method="lower").tolist()
    made = {
        "card": 1,
        "rsbounds": rsbounds.__version__,
        "name": path.name,
        "about": setting([file]) | _named(entries.get("model", {})),
        "model": entries.get("model", {}),
        "data": entries.get("data", {}),
        "noise": {
            "method": ", ".join(dict.fromkeys(row.method for row in file.rows)),
            "sigma": [min(levels), max(levels)] if levels else [],
            "parameters": entries.get("parameters", {}),
        },
        "procedure": {name: value for name, value in own.items() if value is not None},
        "scope": {
            "text": "; ".join(scopes),
            "valid": all(scope in SCOPES and SCOPES[scope].valid for scope in scopes),
            "footnote": "; ".join(filter(None, map(footnote, scopes))),
        },
        "inputs": count,
        "missing": len(file.missing()),
        "accuracy": [
            {"radius": radius, "accuracy": number / count, "low": low, "high": high}
            for radius, number, (low, high) in zip(at, held, ends, strict=True)
            if math.isfinite(radius)
        ],
        "abstain": file.abstention(),
        "acr": _cut(file.average_radius()),
        "p_a": {str(q): _cut(p) for q, p in zip(QUANTILES, p_a, strict=True)},
        "hashes": {**hashes, "commitment": commitment},
        "verified": None if verified is None else dict(verified),
        "unknown": [_COMMITTED if commitment else _RUNS, _COUNTS, _SEEN],
        "notes": file.notes(),
    }
    made = {name: _plain(value) for name, value in made.items()}
    _check("the card", made, _schema())
    return made


def write_card(made: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write a card as JSON, and as Markdown beside it: the path of this.

    Parameters
    ----------
    made : mapping
        As :func:`card` returns it.
    path : path-like
        The JSON file.

    Raises
    ------
    ValueError
        If it is no card; if the path doesn't end in .json.
    OSError
        If a file can't be written.

    Examples
    --------
    >>> write_card(card(read("run.tsv")), "card.json")  # doctest: +SKIP
    PosixPath('card.md')
    """
    place = as_path("path", path)
    if place.suffix != ".json":
        raise ValueError(f"a card's path must end in .json; got {quoted(str(place))}")
    _check("the card", made, _schema())
    text = place.with_suffix(".md")
    _replace(place, json.dumps(made, indent=2) + "\n")
    _replace(text, markdown(made))
    return text


def read_card(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The card of a JSON file.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    ValueError
        If it is no card, or one of another version of the schema.
    OSError
        If it can't be read.

    Examples
    --------
    >>> read_card("card.json")["card"]  # doctest: +SKIP
    1
    """
    place = as_path("path", path)
    try:
        made = json.loads(place.read_bytes(), parse_constant=_refuse)
        if not isinstance(made, dict) or "card" not in made:
            raise ValueError("must be an object with the entry card")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place} is not a card: {error or 'nested too deep'}") from None
    if made["card"] != 1:
        raise ValueError(
            f"{place} is a card of version {quoted(made['card'])}, this rsbounds reads version 1: "
            "make it again with rsbounds report --card"
        )
    try:
        _check("the card", made, _schema())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place} is damaged: {error}") from None
    return made


def markdown(made: Mapping[str, Any]) -> str:
    """The card as a section of a model's README."""
    verified, hashes = made["verified"], made["hashes"]
    lines = [["radius", "certified accuracy", "95 % interval"]]
    for own in made["accuracy"]:
        ends = f"{own['low']:.3f} to {own['high']:.3f}"
        lines.append([f"{own['radius']:g}", f"{own['accuracy']:.3f}", ends])
    about = {name: f"`{_code(text)}`" for name, text in made["about"].items()}
    about |= {"method": _code(made["noise"]["method"]), "bound": made["procedure"].get("bound")}
    scope = made["scope"]
    about |= {"scope": _code(". ".join(filter(None, (scope["text"], scope["footnote"]))))}
    about |= {"inputs": made["inputs"], "abstentions": f"{made['abstain']:.3f}"}
    about |= {"average certified radius": made["acr"]}
    quantiles = (f"{float(q):.0%}: {_code(p)}" for q, p in made["p_a"].items())
    about |= {"p_A of the true class, quantiles": ", ".join(quantiles)}
    about |= {"checked by rsbounds verify": proof(verified)}
    about |= {f"SHA-256 of its {k}": f"`{_code(v)}`" for k, v in hashes.items() if v}
    rest = [f"- {name}: {value}" for name, value in about.items() if value]
    doubts = [f"- {_code(text)}" for text in (*made["unknown"], *made["notes"])]
    title = f"## Certified accuracy: {_code(made['name'])}"
    parts = [title, _markdown(lines), "\n".join(rest), "What this card can't show:"]
    return "\n\n".join([*parts, "\n".join(doubts)]) + "\n"


def proof(verified: Mapping[str, Any] | None) -> str:
    """What an audit gave, in words."""
    if verified is None:
        return "no"
    text = f"{verified['proved']} of {verified['rows']} rows, {verified['findings']} findings"
    first = "".join(f"; {_code(finding)}" for finding in verified["first"][:3])
    stated = ", ".join(map(_code, verified["stated"]))
    return (
        text
        + first
        + (
            f"; taken as stated: the counts, {stated}"
            if stated
            else "; taken as stated: the counts"
        )
    )


def _named(model: Mapping[str, Any]) -> dict[str, str]:
    """The model by the name that the command line gave it."""
    spec = model.get("spec")
    return {"model": shown(spec)} if isinstance(spec, str) else {}


def _code(text: object) -> str:
    """A stranger's text with nothing in it that Markdown or HTML takes for its own."""
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", escape(shown(text), quote=False))


def _cut(value: float) -> float:
    return float(truncated(value, 6)) if math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """The value as strict JSON: no NaN, no infinity."""
    if isinstance(value, Mapping):
        return {str(name): _plain(own) for name, own in value.items()}
    return [_plain(own) for own in value] if isinstance(value, list | tuple) else plain(value)


@cache
def _schema() -> dict[str, Any]:
    entries: dict[str, Any] = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    return entries


def _check(name: str, value: Any, schema: Mapping[str, Any]) -> None:
    """ValueError unless the value is what the schema says, as far as the card's schema goes."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {kind for kind, type_ in _TYPES.items() if isinstance(value, type_)}
    fits |= {"number"} if number else set()
    fits |= {"integer"} if number and isinstance(value, int) else set()
    if kinds and not fits & set(kinds):
        raise ValueError(f"{name} must be {' or '.join(kinds)}; got {quoted(value)}")
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if number and not low <= value <= high:
        raise ValueError(f"{name} must be in [{low}, {high}]; got {value!r:.40}")
    if isinstance(value, dict):
        if missing := [key for key in schema.get("required", []) if key not in value]:
            raise ValueError(f"{name} lacks {', '.join(missing)}")
        own, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        for key, each in value.items():
            _check(shown(key), each, own.get(key, others))
    if isinstance(value, list):
        for each in value:
            _check(f"an entry of {name}", each, schema.get("items", {}))


def _refuse(text: str) -> None:
    raise ValueError(f"it holds {text}")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
