"""What other rooms of the package take of this one besides its public names."""

from rsbounds.results._commitment import commit, digest
from rsbounds.results._entries import (
    card_schema,
    entries_of,
    name_of,
    stated_entries,
    status_of,
    undeclared,
)
from rsbounds.results._facts import (
    MANIFEST,
    MOST_INPUTS,
    Status,
    drawn_on,
    levels_of,
    plays_episodes,
)
from rsbounds.results._file import Writer, require_place
from rsbounds.results._fitted import digests
from rsbounds.results._foreign import Reading
from rsbounds.results._manifest import FORMAT, commitment_path, folded, manifest_path
from rsbounds.results._merge import write
from rsbounds.results._program import LEAD
from rsbounds.results._read import load, read_rows
from rsbounds.results._row import COLUMNS, holds
from rsbounds.results._schema import conform

__all__ = [
    "COLUMNS",
    "FORMAT",
    "LEAD",
    "MANIFEST",
    "MOST_INPUTS",
    "Reading",
    "Status",
    "Writer",
    "card_schema",
    "commit",
    "commitment_path",
    "conform",
    "digest",
    "digests",
    "drawn_on",
    "entries_of",
    "folded",
    "holds",
    "levels_of",
    "load",
    "manifest_path",
    "name_of",
    "plays_episodes",
    "read_rows",
    "require_place",
    "stated_entries",
    "status_of",
    "undeclared",
    "write",
]
