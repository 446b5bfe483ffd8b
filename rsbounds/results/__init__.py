"""Result files: rows, manifests, and what they say.

A file is a TSV whose header starts with the columns the field has written since [C],
``idx label predict radius correct``; further columns are kept by every command, known
or not.
"""

from rsbounds.results._manifest import Manifest
from rsbounds.results._merge import merge
from rsbounds.results._read import read
from rsbounds.results._results import Results
from rsbounds.results._row import Row

__all__ = [
    "Manifest",
    "Results",
    "Row",
    "merge",
    "read",
]


def __dir__() -> list[str]:
    return sorted(__all__)
