"""Cards: what a certification file shows, what was proved of it, and what no file can show."""

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import rsbounds
from rsbounds._numerics.text import shown
from rsbounds.certificate import SCOPES
from rsbounds.results._file import _replace, digest
from rsbounds.results._html import QUANTILES, cell, interval, noted, quantiles, sortable, write_page
from rsbounds.results._manifest import manifest_path
from rsbounds.results._results import Results
from rsbounds.results._table import _markdown, _radii, footnote, heading, setting
from rsbounds.results._text import as_path, conform, plain, quoted, truncated

_SCHEMA = Path(__file__).parent / "card.schema.json"
_RUNS = (
    "How many runs were made: the best of many seeds, models or noise levels looks like a single "
    "run."
)
_COMMITTED = (
    "Whether the commitment was published before the first sample, and how many others were made."
)
_COUNTS = "Whether the model drew the counts: rsbounds verify --rerun draws rows again."
_SEEN = "Whether the model was trained or chosen on these inputs."
_SHOWN = "states a commitment: when that was published shows when it was made"
_NOTES = (
    "Each card is its writer's word: rsbounds verify shows whether a result file is true, and "
    "its SHA-256 whether it is the card's. The intervals (95 %, Clopper-Pearson) are for inputs "
    "drawn at random from many.",
    "The best of several cards was chosen after looking: its accuracy is not that of one run.",
)


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
    commitment, model = entries.get("run", {}).get("commitment"), entries.get("model", {})
    spec = {"model": shown(model["spec"])} if isinstance(model.get("spec"), str) else {}
    hashes = {"rows": digest(path.read_bytes()), "commitment": commitment}
    hashes["manifest"] = digest(manifest_path(path).read_bytes()) if manifest else None
    made: dict[str, Any] = {
        "card": 1,
        "rsbounds": rsbounds.__version__,
        "name": path.name,
        "about": setting([file]) | spec,
        "model": model,
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
        "p_a": {str(q): _cut(p) for q, p in zip(QUANTILES, quantiles(file), strict=True)},
        "hashes": hashes,
        "verified": verified,
        "unknown": [_COMMITTED if commitment else _RUNS, _COUNTS, _SEEN],
        "notes": file.notes(),
    }
    made = plain(made)
    conform("", made, _schema())
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
    conform("", made, _schema())
    text = place.with_suffix(".md")
    _replace(place, json.dumps(made, indent=2) + "\n")
    _replace(text, _as_markdown(made))
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
        made: dict[str, Any] = json.loads(place.read_bytes())
        if isinstance(made, dict) and made.get("card", 1) != 1:
            raise ValueError(
                f"its version is {quoted(made['card'])}, this rsbounds reads version 1: make it "
                "again with rsbounds report --card"
            )
        conform("", made, _schema())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place} can't be read as a card: {error}") from None
    return made


def board(cards: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Write cards side by side as one self-contained HTML page, whose columns sort.

    Parameters
    ----------
    cards : sequence of mapping
        As :func:`card` and :func:`read_card` return them.
    path : path-like
        The page.

    Raises
    ------
    ValueError, OSError
        For a path that is none; if the page can't be written.

    Examples
    --------
    >>> board([read_card("a.json"), read_card("b.json")], "cards.html")  # doctest: +SKIP
    """
    place, marks = as_path("path", path), dict[str, str]()
    radii = sorted({own["radius"] for made in cards for own in made["accuracy"]})
    head = ["card", *map(heading, radii), "abstain", "ACR", "inputs", "p_A 50 %", "verified"]
    lines = [head]
    for own in cards:
        notes = [own["scope"]["footnote"], *own["notes"]]
        notes += [_SHOWN] if own["hashes"].get("commitment") else []
        here = (marks.setdefault(shown(n), f"[{len(marks) + 1}]") for n in notes if n)
        run = {"method": own["noise"]["method"], **own["about"]}
        about = shown(", ".join(f"{name} {text}" for name, text in run.items()))
        at = {r["radius"]: _accuracy(r) for r in own["accuracy"]}
        rest = f"{own['abstain']:.3f}", own["acr"], own["inputs"], own["p_a"].get("0.5", "-")
        lines.append([cell(" ".join([shown(own["name"]), *here]), about)])
        lines[-1] += [cell(*at.get(radius, "-")) for radius in radii]
        lines[-1] += map(cell, (*rest, _proof(own["verified"]).partition(";")[0]))
    footnotes = [f"{mark} {text}" for text, mark in marks.items()]
    each = [{"bound": made["procedure"].get("bound"), **made["about"]} for made in cards]
    terms = ("norm", "alpha", "n", "bound", "data")
    if apart := [name for name in terms if len({own.get(name) for own in each}) > 1]:
        text = f"The cards differ in {', '.join(apart)}: their numbers are not of one kind."
        footnotes.append(text)
    write_page(place, "cards", [sortable(lines), *noted([*footnotes, *_NOTES])])


def _accuracy(own: Mapping[str, float]) -> tuple[str, str]:
    """A certified accuracy and its interval."""
    return f"{own['accuracy']:.3f}", f"{own['low']:.3f} to {own['high']:.3f}"


def _as_markdown(made: Mapping[str, Any]) -> str:
    """The card as a section of a model's README."""
    lines = [["radius", "certified accuracy", "95 % interval"]]
    lines += [[f"{own['radius']:g}", *_accuracy(own)] for own in made["accuracy"]]
    about = {name: f"`{_code(text)}`" for name, text in made["about"].items()}
    about |= {
        "method": _code(made["noise"]["method"]),
        "bound": _code(made["procedure"].get("bound", "")),
    }
    scope = made["scope"]
    about |= {"scope": _code(". ".join(filter(None, (scope["text"], scope["footnote"]))))}
    about |= {"inputs": made["inputs"], "abstentions": f"{made['abstain']:.3f}"}
    about |= {"average certified radius": made["acr"]}
    shares = (f"{float(q):.0%}: {_code(p)}" for q, p in made["p_a"].items())
    about |= {"p_A of the true class, quantiles": ", ".join(shares)}
    about |= {"checked by rsbounds verify": _proof(made["verified"])}
    about |= {f"SHA-256 of its {k}": f"`{_code(v)}`" for k, v in made["hashes"].items() if v}
    rest = [f"- {name}: {value}" for name, value in about.items() if value]
    doubts = [f"- {_code(text)}" for text in (*made["unknown"], *made["notes"])]
    title = f"## Certified accuracy: {_code(made['name'])}"
    parts = [title, _markdown(lines), "\n".join(rest), "What this card can't show:"]
    return "\n\n".join([*parts, "\n".join(doubts)]) + "\n"


def _proof(verified: Mapping[str, Any] | None) -> str:
    """What an audit gave, in words."""
    if verified is None:
        return "no"
    parts = [f"{verified['proved']} of {verified['rows']} rows, {verified['findings']} findings"]
    parts += [*verified["first"][:3], "taken as stated: the counts"]
    return _code(", ".join(["; ".join(parts), *verified["stated"]]))


def _code(text: object) -> str:
    """A stranger's text with nothing in it that Markdown or HTML takes for its own."""
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", escape(shown(text), quote=False))


def _cut(value: float) -> float:
    return float(truncated(value, 6)) if math.isfinite(value) else value


@cache
def _schema() -> dict[str, Any]:
    entries: dict[str, Any] = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    return entries
