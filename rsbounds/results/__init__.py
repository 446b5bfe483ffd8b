"""Result files: rows, manifests, and what they say.

A file is a TSV whose header starts with the columns the field has written since [C],
``idx label predict radius correct``; further columns are kept by every command, known
or not.
"""

# "X as X": for other rooms of the package; what users call is listed below
from rsbounds._numerics.decimals import dense_counts, sparse_counts
from rsbounds._numerics.decimals import truncated as truncated
from rsbounds.results._card import card, card_places, read_card, write_card
from rsbounds.results._file import Writer, merge, write
from rsbounds.results._file import commit as commit
from rsbounds.results._file import commitment_path as commitment_path
from rsbounds.results._html import board, html
from rsbounds.results._manifest import FORMAT, Manifest, manifest_path
from rsbounds.results._plot import plot
from rsbounds.results._read import read, read_rows
from rsbounds.results._results import Results
from rsbounds.results._row import COLUMNS, Row
from rsbounds.results._table import STYLES, summary, table
from rsbounds.results._text import naming as naming
from rsbounds.results._text import plain as plain
from rsbounds.results._text import some as some

__all__ = [
    "COLUMNS",
    "FORMAT",
    "STYLES",
    "Manifest",
    "Results",
    "Row",
    "Writer",
    "board",
    "card",
    "card_places",
    "dense_counts",
    "html",
    "manifest_path",
    "merge",
    "plot",
    "read",
    "read_card",
    "read_rows",
    "sparse_counts",
    "summary",
    "table",
    "write",
    "write_card",
]


def __dir__() -> list[str]:
    return sorted(__all__)
