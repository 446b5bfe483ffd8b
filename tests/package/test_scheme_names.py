"""A scheme's name stands in its own files and in the lists: no other asks for it."""

import ast
import inspect
from functools import cache
from pathlib import Path

import pytest
from sources import tree_of

import rsbounds
from rsbounds.audit.schemes import RADII
from rsbounds.schemes import METHODS

ROOT = Path(rsbounds.__file__).parent
#: The lists, what checks the package from outside, and the guess of a table's noise.
EVERYWHERE = ("schemes/__init__.py", "audit/schemes/__init__.py")
OUTSIDE = ("oracle/", "testing/", "loading/tables.py")
#: Texts that are the same and name something else.
HOMONYMS = {
    "__init__.py": {"anisotropic", "composite", "gaussian", "lipschitz"},  # rooms
    "torch/radius/__init__.py": {"anisotropic", "gaussian", "lipschitz"},  # functions
    "torch/networks/_walk.py": {"lipschitz"},  # a function
    "torch/adaptive.py": {"mask"},  # an argument
    "sampling/sampler.py": {"generator"},  # an argument
    "frameworks/_episodes.py": {"generator"},  # an argument
    "cli/_engine.py": {"blocks"},  # an option of that scheme
    "demo.py": {"lipschitz", "semi-elastic"},  # captions of curves
}
#: What makes a scheme for its user.
MAKERS = {
    "art.py": {"gaussian"},
    "sklearn.py": {"gaussian"},
    "torch/smooth.py": {"gaussian"},
    "trust/__init__.py": {"semielastic", "transformed"},
    "demo.py": {"gaussian", "lipschitz", "semielastic"},
    "torch/adaptive.py": {"two_queries"},
}
OWN = [name for name in METHODS if METHODS.is_own(name)]
CONSTRUCTORS = {name.replace("-", "_") for name in OWN} | {"semielastic", "sigma_range"}


@cache
def said():
    """By the file: its whole texts, and what it takes from the room of schemes."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        if place not in EVERYWHERE and not place.startswith(OUTSIDE):
            tree = tree_of(path)
            found[place] = {*texts(tree)}, {*taken(tree)}
    return found


def homes(name):
    """The files of a scheme: its own and its proof's."""
    method = METHODS[name]
    classes = [method]
    if name in RADII:
        classes.append(type(RADII[name]))
    return {
        Path(inspect.getfile(each)).relative_to(ROOT).as_posix() for each in classes
    }


def texts(tree):
    """The whole texts of a file; what stands alone is a docstring."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in alone:
            yield node.value


def taken(tree):
    """The names that a file imports from the room of schemes, or takes of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "rsbounds.schemes":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "schemes":
            yield node.attr


@pytest.mark.parametrize("name", OWN)
def test_a_name_stands_in_its_own_files_and_the_lists(name):
    found = {place for place, (words, _) in said().items() if name in words}
    others = {place for place in found if name not in HOMONYMS.get(place, ())}
    assert others <= homes(name)


def test_no_other_file_makes_a_scheme_by_its_name():
    made = {place: names & CONSTRUCTORS for place, (_, names) in said().items()}
    assert {place: names for place, names in made.items() if names} == MAKERS


def test_each_proof_stands_in_the_file_of_its_scheme():
    for name, proof in RADII.items():
        stem = Path(inspect.getfile(type(proof))).stem
        assert stem == name.replace("-", "_")
        assert proof.method == name
