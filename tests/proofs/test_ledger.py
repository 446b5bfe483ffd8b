"""The tables of docs/theory/proofs.md list each constant of an error bound once, with
its value, each border of a formula as the code has it, and each proof program.
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
    """The rows of a table of the ledger, which the page shows from a file."""
    path = THEORY / f"proofs-{heading.lower()}.csv"
    with path.open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    return [[cell.strip(" `") for cell in row] for row in rows]


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


@pytest.mark.parametrize("row", table("Borders"), ids=lambda row: f"{row[1]}:{row[0]}")
def test_each_border_stands_in_the_code_once(row):
    code, file, _, proof = row
    folder = HEADERS if file.endswith(".hpp") else PACKAGE
    text = " ".join((folder / file).read_text(encoding="utf-8").split())
    assert text.count(" ".join(code.split())) == 1
    assert re.match(r"(paper|program|nothing)", proof)


def test_each_program_is_in_the_ledger_with_its_bound():
    assert {row[0]: float(row[3]) for row in table("Programs")} == {
        c.name: c.bound for c in CLAIMS
    }


def test_each_program_that_a_row_names_exists():
    named = {
        name
        for row in table("Constants") + table("Borders")
        for part in re.findall(r"programs?:? (.*?)(?:;|$)", row[-1])
        for name in re.findall(r"`([^`]+)`", part)
    }
    families = {"ndtri_tail[i]"}
    constants_too = {row[0] for row in table("Constants")}
    assert named <= {c.name for c in CLAIMS} | families | constants_too


def rational_code():
    """The functions and classes that compute in whole numbers alone."""
    names = ("Regions", "product_of_powers", "times", "_sum")
    yield from defined("_regions.py", lambda node: node.name in names, len(names))
    for kind in ("categorical", "flips", "mask", "deletion", "blocks"):
        yield from defined(f"{kind}.py", lambda node: node.name.endswith("Curve"), 1)


def defined(file, wanted, number):
    """The functions and classes of a file of noises that are wanted, so many."""
    module = ast.parse((PACKAGE / "noises" / file).read_text(encoding="utf-8"))
    nodes = [
        node
        for node in module.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and wanted(node)
    ]
    assert len(nodes) == number, file
    return nodes


def floating(tree):
    """What in a piece of code computes in floating point."""
    for node in ast.walk(tree):
        is_float = isinstance(node, ast.Constant) and isinstance(node.value, float)
        is_quotient = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        is_call = isinstance(node, ast.Name) and node.id == "float"
        of_numpy = isinstance(node, ast.Attribute) and (
            ast.unparse(node).startswith(("np.", "math."))
            and ast.unparse(node)
            not in ("np.ndarray", "math.lcm", "math.perm", "math.inf")
        )
        if is_float or is_quotient or is_call or of_numpy:
            yield ast.unparse(node)


def test_exact_curves_compute_in_whole_numbers_alone():
    """That is why the ledger has no line for them."""
    for tree in rational_code():
        assert list(floating(tree)) == [], tree.name
    assert list(floating(ast.parse("a / 2 + 0.5 * np.exp(float(b))")))
