"""What every reproduction shares: a table beside the script as TSV, a figure beside it
as PNG.
"""

from pathlib import Path
from typing import Any

import numpy as np

DIGITS = 10  # significant digits of a committed number
LISTED = 5  # and of a number in a list of radii

Table = dict[str, Any]  # column name -> values


def columns(names: str, rows: list[tuple[Any, ...]]) -> Table:
    """A table from its column names and its rows."""
    return dict(
        zip(names.split(), (np.array(c) for c in zip(*rows, strict=True)), strict=True)
    )


def publish(script: str, table: Table, figure: Any = None) -> None:
    """Write SCRIPT.tsv and, with a figure, SCRIPT.png beside the script."""
    path = Path(script)
    path.with_suffix(".tsv").write_text(as_text(table))
    if figure is not None:
        figure.savefig(path.with_suffix(".png"), dpi=110, metadata={"Software": None})


def as_text(table: Table) -> str:
    """The table as TSV, numbers to ``DIGITS`` significant digits."""
    lines = ["\t".join(table)]
    lines += ["\t".join(map(_cell, row)) for row in zip(*table.values(), strict=True)]
    return "\n".join(lines) + "\n"


def read(path: Path) -> dict[str, list[str]]:
    """A committed TSV as columns of text."""
    header, *rows = (line.split("\t") for line in path.read_text().splitlines())
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def axes(count: int = 1, rows: int = 1, **options: Any) -> tuple[Any, Any]:
    """A figure with ``count`` axes in each row, the same look everywhere."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"axes.grid": True, "grid.alpha": 0.3, "font.size": 9})
    figure = Figure(figsize=(1.0 + 3.4 * count, 3.0 * rows), layout="constrained")
    return figure, figure.subplots(rows, count, squeeze=False, **options).ravel()


def steps(panel: Any, radii: Any, **style: Any) -> None:
    """Certified accuracy, which falls at each of the radii; they are 0 where the class
    is wrong.
    """
    at = np.unique([0.0, *radii])
    panel.step(at, [np.mean(np.asarray(radii) > r) for r in at], where="post", **style)


def listed(radii: Any) -> str:
    """The radii as one cell of a table, the largest first, to ``LISTED`` digits."""
    return " ".join(f"{r:.{LISTED}g}" for r in np.sort(radii)[::-1])


def unlisted(cell: str) -> Any:
    return np.array(cell.split(), dtype=float)


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.{DIGITS}g}"
    return str(value)
