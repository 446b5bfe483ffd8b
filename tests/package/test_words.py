"""A name says what it holds; a docstring opens with a sentence that stands alone."""

import ast
import re
from importlib import import_module
from typing import NamedTuple

import pytest
from sources import PACKAGE, tree_of

#: Words that say how something came about and not what it is.
VAGUE = {"own", "each", "given", "held", "kept", "stated", "said", "some", "one"}
#: How many such names are left: numbers, public arguments, words of a file's format.
#: It may only fall, but for the argument "given" of a new scheme's from_options.
LEFT = 26
FRAGMENT = re.compile(r"(The same|That|Those|Of|With|Beside)\b")
REFERENCE = re.compile(r":(?:func|class):`rsbounds\.([\w.]+)`")
DOCUMENTED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


class Words(NamedTuple):
    """The vague names that a file binds, and its docstrings by what they are of."""

    names: list[str]
    docstrings: list[tuple[str, str]]


def words_of(tree):
    names, docstrings = [], []
    for node in ast.walk(tree):
        name = bound(node)
        if name.strip("_").lower() in VAGUE:
            names.append(name)
        if isinstance(node, DOCUMENTED):
            docstrings.append((name, ast.get_docstring(node) or ""))
    return Words(names, docstrings)


def bound(node):
    """The name that a node binds: a variable, an attribute, an argument or a type."""
    if isinstance(node, ast.Name | ast.Attribute):
        is_bound = isinstance(node.ctx, ast.Store)
        return getattr(node, "id", "") or getattr(node, "attr", "") if is_bound else ""
    if isinstance(node, ast.arg):
        return node.arg
    return getattr(node, "name", "") if isinstance(node, DOCUMENTED) else ""


def fragments(words):
    """Names of what has a docstring that opens with a part of a sentence."""
    return [name for name, text in words.docstrings if FRAGMENT.match(text)]


@pytest.fixture(scope="module")
def files():
    return {
        path.relative_to(PACKAGE).as_posix(): words_of(tree_of(path))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def test_names_say_what_they_hold(files):
    left = {file: words.names for file, words in files.items() if words.names}
    assert sum(map(len, left.values())) <= LEFT, left


def test_docstrings_open_with_a_sentence_of_their_own(files):
    found = {file: fragments(words) for file, words in files.items()}
    assert {file: names for file, names in found.items() if names} == {}


def test_the_oracle_says_what_it_computes_and_repeats_no_parameter(files):
    """An entry's arguments are described once, by the fast function of its name."""
    repeated = [
        (file, name)
        for file, words in files.items()
        for name, text in words.docstrings
        if file.startswith("oracle/") and "Parameters\n---" in text
    ]
    assert repeated == []


def test_the_oracle_refers_to_what_there_is(files):
    texts = [
        text
        for file, words in files.items()
        for _, text in words.docstrings
        if file.startswith("oracle/")
    ]
    named = set(REFERENCE.findall("\n".join(texts)))
    assert len(named) > 20
    for name in named:
        module, _, entry = name.rpartition(".")
        assert entry in import_module(f"rsbounds.{module}").__all__, name


@pytest.mark.parametrize(
    "code",
    [
        "held = 1",
        "x.kept = 1",
        "def f(given): pass",
        "class _Stated: pass",
        "[one for one in x]",
        "STATED = 1",
    ],
)
def test_every_kind_of_name_is_counted(code):
    assert len(words_of(ast.parse(code)).names) == 1
    assert words_of(ast.parse("householder = x.held")).names == []


def test_a_part_of_a_sentence_is_found():
    code = 'def f():\n    """{}"""'
    assert fragments(words_of(ast.parse(code.format("The same of arrays.")))) == ["f"]
    assert fragments(words_of(ast.parse(code.format("Values of arrays.")))) == []
