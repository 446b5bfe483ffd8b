"""docs/theory/proofs.md lists each constant of an error bound once, and each proof
program.
"""

import re
from collections import Counter
from pathlib import Path

import pytest
from proofs.claims import CLAIMS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "theory" / "proofs.md").read_text(encoding="utf-8")
HEADERS = ROOT / "rsbounds_ext" / "include" / "rsbounds"
KERNEL = r"\b(\w+_(?:error|room)) = [-\d.]"
PYTHON = r"^(_?(?:[A-Z_]*ERROR|ROUNDING|SUM)) = "
BOUNDS = r"(_(?:LOW_)?(?:TAIL|LOG|SCORE|INVERSE))(?=[, ])"


def table(heading):
    part = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [
        line.strip("|").split(" | ")
        for line in part.splitlines()
        if line.startswith("| `")
    ]
    return [[cell.strip(" `") for cell in row] for row in rows]


def test_each_constant_is_in_the_ledger_once():
    found = Counter(
        (name, path.name)
        for path in HEADERS.glob("*.hpp")
        for statement in re.findall(
            r"constexpr double[^;]*;", path.read_text(encoding="utf-8")
        )
        for name in re.findall(KERNEL, statement)
    )
    package = ROOT / "rsbounds"
    for path in package.rglob("*.py"):
        text, name = (
            path.read_text(encoding="utf-8"),
            path.relative_to(package).as_posix(),
        )
        if name.startswith(("cli/", "sampling/", "oracle/", "audit/")):
            continue  # no bound of an error, or independent of all others
        found.update(
            (constant, name) for constant in re.findall(PYTHON, text, re.MULTILINE)
        )
        if name == "special/_bounds.py":
            lines = [v for v in text.splitlines() if re.match(r"_[A-Z_, ]+ = \(", v)]
            found.update((v, name) for line in lines for v in re.findall(BOUNDS, line))
    listed = Counter((row[0], row[1]) for row in table("Constants"))
    assert found == listed
    assert set(listed.values()) == {1}


@pytest.mark.parametrize(
    "row", table("Constants"), ids=lambda row: f"{row[1]}:{row[0]}"
)
def test_each_constant_says_how_it_is_known(row):
    assert re.match(r"(paper|program|measured|assumed)\b", row[3])


def test_each_program_is_in_the_ledger_with_its_bound():
    assert {row[0]: float(row[3]) for row in table("Programs")} == {
        c.name: c.bound for c in CLAIMS
    }
