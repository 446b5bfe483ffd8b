"""Result files: rows, manifests, and what they say."""

from rsbounds.results._plot import plot
from rsbounds.results._results import Results, Row, read
from rsbounds.results._table import STYLES, default_radii, table

__all__ = ["STYLES", "Results", "Row", "default_radii", "plot", "read", "table"]
