"""Cards of certification files.

What a file shows, what was proved of it, and what no file can show.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import rsbounds
from rsbounds._numerics.decimals import short, truncated
from rsbounds._numerics.files import (
    LARGE,
    as_path,
    content_of,
    replace_file,
    require_writable,
)
from rsbounds._numerics.json_files import as_json, parsed
from rsbounds._numerics.notebook import listed, table_of
from rsbounds._numerics.text import quoted, shown
from rsbounds.certificate import SCOPES
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.reports._table import _markdown, _radii
from rsbounds.reports._templates import Markup, card_template
from rsbounds.reports._terms import footnote, setting
from rsbounds.reports._text import literal
from rsbounds.results import Results
from rsbounds.results.internal import (
    LEAD,
    Status,
    card_schema,
    conform,
    digest,
    manifest_path,
    status_of,
)

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_TAIL = 0.025  # on either side of an interval
_RUNS = (
    "How many runs were made: the best of many seeds, models or noise levels looks "
    "like a single run."
)
_COMMITTED = (
    "Whether the commitment was published before the first sample, and how many others "
    "were made."
)
_COUNTS = "Whether the model drew the counts: rsbounds verify can draw rows again."
_DOUBTS = "What this card can't show:"
_SEEN = "Whether the model was trained or chosen on these inputs."


class Card(dict[str, Any]):
    """A card as JSON can hold it: a dict that a notebook shows as the card's text.

    Examples
    --------
    >>> from rsbounds.reports import card
    >>> from rsbounds.results import Results, Row
    >>> run = Results("run", (Row(0, 7, 7, 0.75, True, "fixed noise"),))
    >>> "<h3>Certified accuracy: run</h3>" in card(run)._repr_html_()
    True
    """

    def _repr_html_(self) -> str | None:
        """HTML for a notebook; None if invalid: the dictionary is shown as it is."""
        try:
            require_card(self)
        except ValueError:  # without rows, or changed by hand
            return None
        return _as_html(self)


def card(
    file: Results,
    radii: Sequence[float] | None = None,
    *,
    verified: Mapping[str, Any] | None = None,
) -> Card:
    """What a certification file says, as JSON can hold it: its card.

    Parameters
    ----------
    file : Results
        As :func:`read` returns it; its file is hashed again, if it is there.
    radii
        As in `table`; infinite ones are left out.
    verified : mapping, optional
        What an audit of the file gave: rows, proved, findings (their numbers), first
        (the first findings as text), stated (what it took as stated).

    Returns
    -------
    Card
        A dict of the form that :func:`card_schema` gives, if the file has rows: else
        shares are None.

    Raises
    ------
    ValueError
        As `table`.

    Examples
    --------
    >>> from rsbounds.reports import card
    >>> from rsbounds.results import Results, Row
    >>> run = Results("run", (Row(0, 7, 7, 0.75, True, "fixed noise"),))
    >>> card(run, [0.5])["accuracy"][0]["accuracy"]
    1.0
    """
    if not isinstance(file, Results):
        raise ValueError(f"file must be Results, as read returns; got {quoted(file)}")
    manifest, path = file.manifest, Path(file.name)
    entries = manifest.entries() if manifest else {}
    procedure = manifest.procedure.to_dict() if manifest else {}
    counted = file.counted
    levels = [sigma for sigma in counted.sigmas if math.isfinite(sigma)]
    commitment = entries.get("run", {}).get("commitment")
    model = entries.get("model", {})
    spec = {"model": shown(model["spec"])} if isinstance(model.get("spec"), str) else {}
    line = file.program().removeprefix(f"{LEAD}: ")
    program = {LEAD: line} if line else {}
    places = dict[str, Path]()
    if file.name:  # results of a run without a file have none
        places = {"rows": path, "manifest": manifest_path(path)}
    hashes = {
        name: digest(content_of(p, LARGE)) for name, p in places.items() if p.is_file()
    }
    scopes = counted.scopes
    made: dict[str, Any] = {
        "card": 1,
        "rsbounds": rsbounds.__version__,
        "name": path.name,
        "about": setting([file]) | spec | program,
        "model": model,
        "data": entries.get("data", {}),
        "answer": entries.get("answer", {"name": file.answer}),
        "noise": {
            "method": ", ".join(counted.methods),
            "sigma": [min(levels), max(levels)] if levels else [],
            "parameters": entries.get("parameters", {}),
        },
        "procedure": {k: value for k, value in procedure.items() if value is not None},
        "scope": {
            "text": "; ".join(scopes),
            "valid": all(scope in SCOPES and SCOPES[scope].valid for scope in scopes),
            "footnote": "; ".join(filter(None, map(footnote, scopes))),
        },
        "inputs": counted.rows,
        "missing": len(file.missing()),
        **_measured(file, radii),
        "hashes": {**hashes, "commitment": commitment},
        "verified": verified,
        "unknown": [_COMMITTED if commitment else _RUNS, _COUNTS, _SEEN],
        "notes": [note for note in file.notes() if not note.startswith(LEAD)],
    }
    return Card(as_json(made))


def _measured(file: Results, radii: Sequence[float] | None) -> dict[str, Any]:
    """What the rows show: certified accuracies, or the report of another answer."""
    report = file.report()
    if report is not None:
        return {
            "accuracy": [],
            "abstain": None,
            "acr": None,
            "p_a": {},
            "report": {
                "title": report.title,
                "table": report.table,
                "figures": report.figures,
            },
        }
    finite = [radius for radius in _radii([file], radii) if math.isfinite(radius)]
    bounds = zip(QUANTILES, _p_a(file), strict=True)
    return {
        "accuracy": [_share(file, radius) for radius in finite if file.rows],
        "abstain": file.abstention(),
        "acr": _cut(file.average_radius()),
        "p_a": {str(quantile): _cut(p) for quantile, p in bounds},
        "report": None,
    }


def _share(file: Results, radius: float) -> dict[str, float]:
    """Return a certified accuracy with its Clopper-Pearson interval.

    For inputs drawn from many.
    """
    n = len(file.rows)
    hits = round(float(file.certified_accuracy(radius)) * n)
    share, low, high = share_of(hits, n)
    return {"radius": radius, "accuracy": share, "low": low, "high": high}


def share_of(hits: int, n: int) -> tuple[float, float, float]:
    """A share with its Clopper-Pearson interval of 95 %."""
    low, high = lower_bound(hits, n, _TAIL), upper_bound(hits, n, _TAIL)
    return hits / n, float(low), float(high)


def _p_a(file: Results) -> list[float]:
    """Quantiles of the lower bounds of the true class's probability.

    NaN where there are none.
    """
    bounds: Any = np.quantile(file.p_a() or [math.nan], QUANTILES, method="lower")
    values: list[float] = bounds.tolist()
    return values


def write_card(made: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write a card as JSON, and as Markdown beside it: the path of this.

    Parameters
    ----------
    made, path : mapping, path-like
        What :func:`card` returns, and the JSON file.

    Raises
    ------
    ValueError, OSError
        If it is no card or the path doesn't end in .json; if a file can't be written.

    Examples
    --------
    >>> write_card(card(read("run.tsv")), "card.json")  # doctest: +SKIP
    PosixPath('card.md')
    """
    require_card(made)
    place, text = card_places(path)
    replace_file(place, json.dumps(made, indent=2) + "\n")
    replace_file(text, as_markdown(made))
    return text


def require_card(made: Mapping[str, Any]) -> None:
    """ValueError unless it is a card after the schema."""
    conform("", dict(made), _schema())
    if made["card"] != 1:
        raise ValueError(f"its version is {quoted(made['card'])}, not 1")


def card_places(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Where a card is written, as JSON and as Markdown; ValueError where it can't be.

    Files that are there are replaced only if they are cards.
    """
    place = as_path("path", path)
    if place.suffix != ".json":
        raise ValueError(f"a card's path must end in .json; got {quoted(str(place))}")
    text = place.with_suffix(".md")
    require_writable(place, b'{\n  "card": ')
    require_writable(text, _DOUBTS.encode())
    return place, text


def read_card(path: str | os.PathLike[str]) -> Card:
    """The card of a JSON file.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    ValueError, OSError
        If it is no card, or one of another version of the schema; if it can't be read.

    Examples
    --------
    >>> read_card("card.json")["card"]  # doctest: +SKIP
    1
    """
    place = as_path("path", path)
    try:
        made = parsed(content_of(place), nan=False)
        if made.get("card", 1) != 1:
            raise ValueError(
                f"its version is {quoted(made['card'])}, this rsbounds reads version "
                "1: make it again with rsbounds report"
            )
        conform("", made, _schema())
        if isinstance(made["acr"], str) and made["acr"] != "inf":
            raise ValueError(f"acr must be a number or inf; got {quoted(made['acr'])}")
    except ValueError as error:
        raise ValueError(f"{place} can't be read as a card: {error}") from None
    return Card(made)


def accuracy_of(point: Mapping[str, float]) -> tuple[str, str]:
    """A certified accuracy and its interval."""
    return f"{point['accuracy']:.3f}", f"{point['low']:.3f} to {point['high']:.3f}"


def as_markdown(made: Mapping[str, Any]) -> str:
    """The card as a section of a model's README."""
    table = [[literal(cell) for cell in line] for line in _lines(made)]
    parts = {name: made[name] for name in ("name", "inputs", "report", "abstain")}
    text: str = card_template().render(
        parts,
        what=_what(made),
        table=Markup(_markdown(table)),
        about=_about(made),
        acr=made["acr"],
        p_a=made["p_a"],
        checked=proof(made["verified"]),
        hashes=made["hashes"],
        lead=Markup(_DOUBTS),
        doubts=[*made["unknown"], *made["notes"]],
    )
    return text


def _as_html(made: Mapping[str, Any]) -> str:
    """The card as a notebook shows it: its table, what it is about, its doubts."""
    about = {
        **_about(made),
        "inputs": made["inputs"],
        "checked by rsbounds verify": proof(made["verified"]),
    }
    facts = [f"{name}: {value}" for name, value in about.items() if value]
    doubts = [*made["unknown"], *made["notes"]]
    title = f"{_what(made)}: {made['name']}"
    return (
        f"<h3>{escape(shown(title))}</h3>"
        f"{table_of(_lines(made))}{listed(facts)}<p>{_DOUBTS}</p>{listed(doubts)}"
    )


def _what(made: Mapping[str, Any]) -> str:
    """What the card's table says, in words."""
    if made["report"] is None:
        return "Certified accuracy"
    return f"Certified {made['answer']['name']}"


def _lines(made: Mapping[str, Any]) -> list[Sequence[str]]:
    """The lines of the card's table, the first its head."""
    if made["report"] is not None:
        return list(made["report"]["table"])
    head = ["radius", "certified accuracy", "95 % interval"]
    return [head, *([short(at["radius"]), *accuracy_of(at)] for at in made["accuracy"])]


def _about(made: Mapping[str, Any]) -> dict[str, str]:
    """What the run was, each fact behind its status."""
    facts = {**made["about"], "method": made["noise"]["method"], "scope": _scope(made)}
    return {
        f"{name} ({status_of(name, made['verified'])})": text
        for name, text in facts.items()
        if text
    }


def settings_of(made: Mapping[str, Any]) -> dict[str, tuple[str, Status]]:
    """The settings of a card for a table, each with its status."""
    facts = {"method": made["noise"]["method"], **made["about"]}
    return {
        name: (text, status_of(name, made["verified"]))
        for name, text in facts.items()
        if text
    }


def _scope(made: Mapping[str, Any]) -> str:
    """For which classifier the card's certificates hold, with its footnote."""
    scope = made["scope"]
    return ". ".join(filter(None, (scope["text"], scope["footnote"])))


def proof(verified: Mapping[str, Any] | None) -> str:
    """What an audit gave, in words."""
    if verified is None:
        return "no"
    parts = [
        f"{verified['proved']} of {verified['rows']} rows, {verified['findings']} "
        "findings"
    ]
    parts += verified["first"][:3]
    taken = ", ".join(verified["stated"]) or "nothing"
    return "; ".join([*parts, f"taken as stated: {taken}"])


def _cut(value: float) -> float:
    return float(truncated(value, 6)) if math.isfinite(value) else value


@cache
def _schema() -> dict[str, Any]:
    return card_schema()
