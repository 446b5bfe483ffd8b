"""The entries of a file by their table: checked, told apart by status, listed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from rsbounds._numerics.answered import By
from rsbounds._numerics.text import shown
from rsbounds.results._facts import ABOUT, CARD, MANIFEST, Fact, Status
from rsbounds.results._schema import Schema, conform

OBJECT: Schema = {"type": "object"}
Tree = dict[str, Any]  # of a name: a fact, or the tree below it


def tree_of(facts: Sequence[Fact]) -> Tree:
    """The facts by their names, a level for each dot."""
    tree: Tree = {}
    for fact in facts:
        *above, last = fact.name.split(".")
        below = tree
        for part in above:
            below = below.setdefault(part, {})
        below[last] = fact
    return tree


#: What is declared of a manifest.
TREE = tree_of(MANIFEST)


def entries_of(
    entries: Mapping[str, Any], tree: Tree | None = None, above: str = ""
) -> Iterator[tuple[str, Any, Fact | None]]:
    """The entries of a manifest with their places, and what is declared of each.

    Raises
    ------
    ValueError
        For a section that is no object, or no array of objects.
    """
    declared = TREE if tree is None else tree
    for key, value in entries.items():
        name = f"{above}{shown(key)}"
        if (node := declared.get(f"{key}[]")) is not None:
            conform(name, value, {"type": "array"})
            for i, entry in enumerate(value):
                conform(f"{name}[{i}]", entry, OBJECT)
                yield from entries_of(entry, node, f"{name}[{i}].")
            continue
        node = declared.get(key, declared.get("*"))
        if isinstance(node, dict):
            conform(name, value, OBJECT)
            yield from entries_of(value, node, f"{name}.")
        else:
            yield name, value, node


def check_types(entries: Mapping[str, Any], *, free: Collection[str] = ()) -> None:
    """ValueError for an entry of a manifest of another type, or one that is missing.

    ``free``: sections that other packages fill.
    """
    conform("", entries, OBJECT)
    required: dict[str, list[str]] = {}
    for fact in MANIFEST:
        section, _, name = fact.name.rpartition(".")
        if fact.required:
            required.setdefault(section, []).append(name)
    sections = [section for section in required if section]
    conform("", entries, {"required": [*required[""], *sections]})
    for section in sections:
        conform(section, entries[section], {**OBJECT, "required": required[section]})
    for name, value, declared in entries_of(entries):
        if declared is None:
            continue
        if declared.required or name.partition(".")[0] not in free:
            conform(name, value, declared.schema)


def undeclared(entries: Mapping[str, Any]) -> list[str]:
    """Names of a manifest's entries that are not declared."""
    return [name for name, _, fact in entries_of(entries) if fact is None]


def stated_entries(entries: Mapping[str, Any], available: Collection[By]) -> list[str]:
    """What an audit takes as stated: names of entries, or of whole sections.

    An entry that says nothing (null, or empty) is left out.
    """
    names: dict[str, list[bool]] = {}
    sections: dict[str, list[bool]] = {}
    for place, value, fact in entries_of(entries):
        if fact is None or value in (None, "", [], {}):
            continue
        name = name_of(place)
        is_stated = fact.status(available) is Status.STATED
        names.setdefault(name, []).append(is_stated)
        sections.setdefault(name.partition(".")[0], []).append(is_stated)
    short = {}
    for name, are_stated in names.items():
        section = name.partition(".")[0]
        # a method's parameters are named one by one: others of them are certified
        is_whole = section != "parameters" and all(sections[section])
        if any(are_stated):
            short[section if is_whole else name] = True
    return list(short)


def name_of(place: str) -> str:
    """The name of an entry wherever in an array it stands: history.changes."""
    return re.sub(r"\[\d+\]", "", place)


def status_of(name: str, verified: Mapping[str, Any] | None) -> Status:
    """The status of an entry of a card, by what its audit took as stated."""
    entry = ABOUT.get(name)
    if entry is None or verified is None:
        return Status.STATED
    section, _, last = entry.rpartition(".")
    if {entry, section, last} & {*verified["stated"]}:
        return Status.STATED
    return _BY_NAME[entry].status(frozenset(By))


_BY_NAME = {fact.name: fact for fact in MANIFEST}


def card_schema() -> dict[str, Any]:
    """The form of a card, as JSON Schema."""
    schema = _schema_of(tree_of(CARD))
    title = "Card of a certification file, as rsbounds report --card writes it"
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": title, **schema}


def _schema_of(tree: Tree) -> dict[str, Any]:
    properties = {
        name: _schema_of(node)
        if isinstance(node, dict)
        else {**node.schema, "description": node.about}
        for name, node in tree.items()
    }
    required = [
        name for name, node in tree.items() if isinstance(node, dict) or node.required
    ]
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }
