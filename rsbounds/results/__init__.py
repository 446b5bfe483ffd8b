"""Result files: rows, manifests, and what they say.

A file is a TSV whose header starts with the columns the field has written since [C],
``idx label predict radius correct``; further columns are kept by every command, known
or not.
"""

# "X as X": for other rooms of the package; what users call is listed below
from rsbounds._numerics.decimals import dense_counts as dense_counts
from rsbounds._numerics.decimals import sparse_counts as sparse_counts
from rsbounds._numerics.decimals import truncated as truncated
from rsbounds.results._card import as_markdown as as_markdown
from rsbounds.results._card import card, read_card, write_card
from rsbounds.results._card import card_places as card_places
from rsbounds.results._card import require_card as require_card
from rsbounds.results._commitment import commit as commit
from rsbounds.results._compare import Comparison, compare
from rsbounds.results._difference import compared as compared
from rsbounds.results._difference import plot_difference
from rsbounds.results._entries import entries_of as entries_of
from rsbounds.results._entries import name_of as name_of
from rsbounds.results._entries import stated as stated
from rsbounds.results._entries import undeclared as undeclared
from rsbounds.results._facts import MANIFEST as MANIFEST
from rsbounds.results._facts import MOST_INPUTS as MOST_INPUTS
from rsbounds.results._facts import By as By
from rsbounds.results._facts import Status as Status
from rsbounds.results._file import Writer
from rsbounds.results._file import require_place as require_place
from rsbounds.results._fitted import digests as digests
from rsbounds.results._html import MARK as MARK
from rsbounds.results._html import board, html
from rsbounds.results._manifest import FORMAT as FORMAT
from rsbounds.results._manifest import Manifest, manifest_path
from rsbounds.results._manifest import commitment_path as commitment_path
from rsbounds.results._manifest import folded as folded
from rsbounds.results._merge import merge, write
from rsbounds.results._plot import PICTURE as PICTURE
from rsbounds.results._plot import picture_path as picture_path
from rsbounds.results._plot import plot
from rsbounds.results._read import load as load
from rsbounds.results._read import read, read_rows
from rsbounds.results._results import Results
from rsbounds.results._row import COLUMNS, Row
from rsbounds.results._row import holds as holds
from rsbounds.results._table import STYLES as STYLES
from rsbounds.results._table import TABLE as TABLE
from rsbounds.results._table import TABLES as TABLES
from rsbounds.results._table import aligned as aligned
from rsbounds.results._table import as_files as as_files
from rsbounds.results._table import default_radii as default_radii
from rsbounds.results._table import heading as heading
from rsbounds.results._table import summary, table
from rsbounds.results._table import with_accuracies as with_accuracies
from rsbounds.results._table import write_table as write_table
from rsbounds.results._text import plain as plain
from rsbounds.results._text import some as some

__all__ = [
    "COLUMNS",
    "Comparison",
    "Manifest",
    "Results",
    "Row",
    "Writer",
    "board",
    "card",
    "compare",
    "html",
    "manifest_path",
    "merge",
    "plot",
    "plot_difference",
    "read",
    "read_card",
    "read_rows",
    "summary",
    "table",
    "write",
    "write_card",
]


def __dir__() -> list[str]:
    return sorted(__all__)
