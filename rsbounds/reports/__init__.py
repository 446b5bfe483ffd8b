"""What result files show: tables, plots, pages, cards and comparisons."""

from rsbounds.reports._card import card, read_card, write_card
from rsbounds.reports._compare import compare
from rsbounds.reports._flags import plot_flags
from rsbounds.reports._page import html
from rsbounds.reports._plot import plot
from rsbounds.reports._table import summary, table

__all__ = [
    "card",
    "compare",
    "html",
    "plot",
    "plot_flags",
    "read_card",
    "summary",
    "table",
    "write_card",
]


def __dir__() -> list[str]:
    return sorted(__all__)
