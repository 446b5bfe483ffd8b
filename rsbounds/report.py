"""Certified accuracy, tables and curves from certification files.

The part of :mod:`rsbounds.results` that ``rsbounds report`` shows.
"""

from rsbounds.results import STYLES, Results, Row, default_radii, plot, read, table

__all__ = ["STYLES", "Results", "Row", "default_radii", "plot", "read", "table"]
