"""What other rooms of the package take of this one besides its public names."""

from rsbounds.reports._card import as_markdown, card_places, require_card
from rsbounds.reports._compare import Comparison
from rsbounds.reports._difference import compared, plot_difference
from rsbounds.reports._draw import PICTURE, picture_path
from rsbounds.reports._maps import are_maps
from rsbounds.reports._page import MARK, board
from rsbounds.reports._table import (
    STYLES,
    TABLE,
    TABLES,
    aligned,
    as_files,
    default_radii,
    heading,
    with_accuracies,
    write_table,
)

__all__ = [
    "MARK",
    "PICTURE",
    "STYLES",
    "TABLE",
    "TABLES",
    "Comparison",
    "aligned",
    "are_maps",
    "as_files",
    "as_markdown",
    "board",
    "card_places",
    "compared",
    "default_radii",
    "heading",
    "picture_path",
    "plot_difference",
    "require_card",
    "with_accuracies",
    "write_table",
]
