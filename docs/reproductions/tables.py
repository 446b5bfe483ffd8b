"""Writes the tables of the reproductions' pages from the files beside them.

    python docs/reproductions/tables.py

A table stands between ``<!-- table: FILE.tsv -->`` and ``<!-- end of table -->``.
Numbers are rounded down to five digits, and a long table is cut; the file has all of
both, and the line under the table leads to it.
"""

import re
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from pathlib import Path

FOLDER = Path(__file__).parent
LONGEST = 16
TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end of table -->)", re.S)
SHORT = Context(prec=5, rounding=ROUND_FLOOR)


def rounded(cell: str) -> str:
    """A number with a point, in at most five digits and not above itself; other text as
    it is.
    """
    if "." not in cell:
        return cell
    try:
        number = Decimal(cell)
    except InvalidOperation:
        return cell
    if len(number.as_tuple().digits) <= SHORT.prec:
        return cell
    return f"{float(SHORT.plus(number)):.5g}"


def table(file: Path) -> str:
    """The rows of a file as a Markdown table, with a link to the file."""
    header, *rows = (line.split("\t") for line in file.read_text().splitlines())
    shown = [[rounded(cell) for cell in row] for row in rows[:LONGEST]]
    lines = [header, ["---"] * len(header), *shown]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    cut = f"The first {LONGEST} of {len(rows)} rows" if len(rows) > LONGEST else "Rows"
    return (
        f"{text}\n\n{cut}, rounded down to five digits: [{file.name}]({file.name}).\n"
    )


def page(path: Path) -> str:
    """The text of a page with its tables as their files have them."""

    def written(found: re.Match[str]) -> str:
        begin, name, end = found.groups()
        return f"{begin}\n{table(path.parent / name)}\n{end}"

    return TABLE.sub(written, path.read_text())


if __name__ == "__main__":
    for path in FOLDER.glob("*/index.md"):
        path.write_text(page(path))
