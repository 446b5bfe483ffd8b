"""The public names of the package: how many a reader of the reference meets.

    python benchmarks/pages/public_names.py [--names]

A name is public where it stands in the `__all__` of a module that the reference shows.
One that several modules show counts once. The oracle, the suites for entries, the
adapters to other libraries and the derivatives, which repeat names of `special` by a
rule, don't count. --names lists the names.
"""

import importlib
import re
import sys
from pathlib import Path

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
#: Modules whose names repeat those of others, or of another library.
APART = (
    *("art", "frameworks", "jax", "oracle", "sklearn", "special.derivatives"),
    *("stats", "testing", "torch"),
)


def modules() -> list[str]:
    """The modules that the reference shows, in its order of pages."""
    pages = sorted(REFERENCE.glob("*.md"))
    shown = [re.findall(r"automodule:: (\S+)", page.read_text()) for page in pages]
    return [module for page in shown for module in page]


def first_met() -> list[str]:
    """The dotted names on the reference's first page."""
    page = (REFERENCE / "names.md").read_text()
    return re.findall(r"^   ~(rsbounds\.\S+)$", page, re.MULTILINE)


def public_names() -> dict[str, list[str]]:
    """By module the names that it is the first to show, outside of those apart."""
    names: dict[str, list[str]] = {}
    seen: set[tuple[str, int]] = set()
    for module in modules():
        if f"{module}.".startswith(tuple(f"rsbounds.{part}." for part in APART)):
            continue
        room = importlib.import_module(module)
        shown = {name: (name, id(getattr(room, name))) for name in room.__all__}
        names[module] = [name for name, key in shown.items() if key not in seen]
        seen |= {*shown.values()}
    return names


def main() -> None:
    """Print the number of names of each module, and their sum."""
    names = public_names()
    for module, shown in names.items():
        listed = f"  {' '.join(shown)}" if "--names" in sys.argv else ""
        print(f"{len(shown):4} {module}{listed}")
    print(f"{sum(map(len, names.values())):4} in all")
    print(f"{len(first_met()):4} of them on the first page of the reference")


if __name__ == "__main__":
    main()
