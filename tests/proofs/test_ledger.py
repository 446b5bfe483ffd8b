"""docs/theory/proofs.md lists each constant of an error bound once, with its value, and
each proof program; borders.csv beside it each border of a formula as the code has it.
"""

import ast
import csv
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from .balls import HEADERS
from .claims import CLAIMS

ROOT = Path(__file__).parents[2]
THEORY = ROOT / "docs" / "theory"
PACKAGE = ROOT / "rsbounds"
KERNEL = re.compile(r"constexpr double (\w+_(?:error|room)) = ([^;]*);")
NAMES = re.compile(r"_?(?:[A-Z_]*ERROR|ROUNDING|SUM)")
BOUNDS = re.compile(r"_(?:LOW_)?(?:TAIL|LOG|SCORE|INVERSE|GAP)")
# no bound of an error, or independent of all others
OTHERS = ("cli/", "sampling/", "oracle/", "audit/", "testing/")


def table(heading):
    """The rows of the table under a heading of the ledger, without its head."""
    page = (THEORY / "proofs.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.split("\n") if line.startswith("|")]
    # a pipe inside a cell is written \|
    cells = [re.split(r"(?<!\\)\|", row)[1:-1] for row in rows[2:]]
    return [[cell.replace(r"\|", "|").strip(" `") for cell in row] for row in cells]


def borders():
    """The rows of the list of borders, without its head."""
    with (THEORY / "borders.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def assigned(module):
    """The names that a module assigns at its top, with the text of what they get."""
    for statement in module.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        [target] = statement.targets
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            yield from zip(target.elts, statement.value.elts, strict=True)
        else:
            yield target, statement.value


@cache
def of_package():
    found = []
    for path in PACKAGE.rglob("*.py"):
        file = path.relative_to(PACKAGE).as_posix()
        if file.startswith(OTHERS):
            continue
        for target, value in assigned(ast.parse(path.read_text(encoding="utf-8"))):
            name = target.id if isinstance(target, ast.Name) else ""
            of_special = file == "special/_bounds.py" and BOUNDS.fullmatch(name)
            if NAMES.fullmatch(name) or of_special:
                found.append(((name, file), ast.unparse(value)))
    return found


def constants():
    """(name, file): value, of all constants of error bounds in the code."""
    found = list(of_package())
    for path in HEADERS.glob("*.hpp"):
        for name, value in KERNEL.findall(path.read_text(encoding="utf-8")):
            found.append(((name, path.name), value))
    assert len(dict(found)) == len(found)
    return dict(found)


def number(text):
    """A value as Python reads it: 2e-15 and (0.0, 2e-15); or the text, 40 * EPS."""
    try:
        return ast.literal_eval(text)
    except ValueError:
        return text


def test_each_constant_is_in_the_ledger_once_with_its_value():
    listed = [
        ((name, file), number(value)) for name, file, value, *_ in table("Constants")
    ]
    assert {key: number(value) for key, value in constants().items()} == dict(listed)
    assert set(Counter(key for key, _ in listed).values()) == {1}


@pytest.mark.parametrize(
    "row", table("Constants"), ids=lambda row: f"{row[1]}:{row[0]}"
)
def test_each_constant_says_how_it_is_known(row):
    assert re.match(r"(paper|program|measured)\b", row[4])
    if "paper" in row[4]:
        assert re.search(r"; C: (4u|none)$", row[4]), "what it assumes of the C library"


@pytest.mark.parametrize("row", borders(), ids=lambda row: f"{row[1]}:{row[0]}")
def test_each_border_stands_in_the_code_once(row):
    code, file, _, proof = row
    folder = HEADERS if file.endswith(".hpp") else PACKAGE
    text = " ".join((folder / file).read_text(encoding="utf-8").split())
    assert text.count(" ".join(code.split())) == 1
    assert re.match(r"(paper|program|nothing)", proof)


def test_each_proof_of_a_border_leads_to_a_heading():
    for *_, proof in borders():
        for page, anchor in re.findall(r"\(([\w-]+\.md)#?([\w-]*)\)", proof):
            text = (THEORY / page).read_text(encoding="utf-8")
            titles = re.findall(r"^#+ (.*)$", text, re.M)
            plain = [re.sub(r"[^\w -]", "", title.lower()) for title in titles]
            slugs = {title.replace(" ", "-") for title in plain}
            assert not anchor or anchor in slugs, (page, anchor)


def test_each_program_is_in_the_ledger_with_its_bound():
    assert {row[0]: float(row[3]) for row in table("Programs")} == {
        c.name: c.bound for c in CLAIMS
    }


def test_each_program_that_a_row_names_exists():
    named = {
        name
        for row in table("Constants") + borders()
        for part in re.findall(r"programs?:? (.*?)(?:;|$)", row[-1])
        for name in re.findall(r"`([^`]+)`", part)
    }
    families = {"ndtri_tail[i]"}
    constants_too = {row[0] for row in table("Constants")}
    assert named <= {c.name for c in CLAIMS} | families | constants_too
