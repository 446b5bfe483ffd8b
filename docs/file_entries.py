"""Write the tables of entries that docs/reference/result-files.md shows.

    python docs/file_entries.py

They are those that files are checked by: ``rsbounds.results._facts``.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

from rsbounds.results._entries import Fact
from rsbounds.results._facts import CARD, MANIFEST

FOLDER = Path(__file__).parent / "reference"
TABLES: dict[str, Sequence[Fact]] = {
    "manifest-entries.csv": MANIFEST,
    "card-entries.csv": CARD,
}


def rows(facts: Sequence[Fact]) -> list[list[str]]:
    """The head of a table and a row for each fact."""
    head = ["entry", "what it says", "it is"]
    return [head, *([f"`{fact.name}`", fact.about, f"{fact.by}"] for fact in facts)]


def main() -> None:
    for name, facts in TABLES.items():
        with (FOLDER / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows(facts))


if __name__ == "__main__":
    main()
