"""The files of the package, and where imports stand in them."""

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "rsbounds"
#: What holds statements; no expression holds an import.
INNER = ast.stmt | ast.excepthandler | ast.match_case


def sources():
    return sorted(PACKAGE.rglob("*.py"))


@cache
def tree_of(path):
    """What a file says, read once for all tests that ask; none of them changes it."""
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(node):
    """The statements right below a node, and what holds further ones."""
    return [each for each in ast.iter_child_nodes(node) if isinstance(each, INNER)]


def last_name(node):
    """The last part of a dotted name; None for anything else."""
    return getattr(node, "attr", getattr(node, "id", None))


def for_types_alone(node):
    return isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING"
