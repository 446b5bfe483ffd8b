"""Certified accuracy, tables and curves from certification files.

A file is a TSV whose header starts with the columns the field has written since [C],
``idx label predict radius correct``; of further columns only ``scope`` is read.
"""

from rsbounds.results import STYLES, Results, Row, default_radii, plot, read, table

__all__ = ["STYLES", "Results", "Row", "default_radii", "plot", "read", "table"]
