"""Imports between the files of the package: one order, in which each goes up.

Lazy imports count too: a file that imports another inside a function still needs it.
"""

import ast
from importlib import import_module
from importlib.util import find_spec

import pytest
from sources import (
    PACKAGE,
    for_types_alone,
    last_name,
    sources,
    statements,
    tree_of,
)


def module_of(path):
    """The dotted name of a file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree):
    """Pairs (module, name) of a file's imports, wherever they stand; name is None for
    ``import module``.
    """
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if for_types_alone(node):  # such imports are never run
            nodes.extend(node.orelse)
            continue
        nodes.extend(statements(node))
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from ((node.module, alias.name) for alias in node.names)


def files_imported(own, tree, modules):
    """The files of the package that a file imports.

    ``from rsbounds.room import name`` is an import of the file of that name, if there
    is one, else of the room's ``__init__``. Importing a file of another room runs that
    room's ``__init__`` first, which therefore counts; one's own room has begun already.
    """
    found = set()
    for module, name in imports(tree):
        file = f"{module}.{name}" if f"{module}.{name}" in modules else module
        if file not in modules:
            continue
        found.add(file)
        room = file.rpartition(".")[0]
        while room not in ("", "rsbounds"):
            if not f"{own}.".startswith(f"{room}."):
                found.add(room)
            room = room.rpartition(".")[0]
    return found - {own}


def graph():
    trees = {module_of(path): tree_of(path) for path in sources()}
    return {own: files_imported(own, tree, trees) for own, tree in trees.items()}


def components(edges):
    """Tarjan's strongly connected components of more than one node."""
    number, low, stack, result = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(edges[node]):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            place = stack.index(node)
            circle = stack[place:]
            del stack[place:]
            if len(circle) > 1:
                result.append(sorted(circle))

    for node in sorted(edges):
        if node not in number:
            visit(node)
    return result


def test_components_are_found():
    edges = {
        "a": {"b"},
        "b": {"c"},
        "c": {"a", "d"},
        "d": {"e"},
        "e": {"d"},
        "f": {"a"},
    }
    assert components(edges) == [["d", "e"], ["a", "b", "c"]]
    assert components({"a": {"b"}, "b": set()}) == []


def test_imports_between_files_have_no_circle():
    edges = graph()
    assert sum(map(len, edges.values())) > 300  # it has seen the package
    assert components(edges) == []


def test_lazy_imports_count():
    tree = ast.parse(
        "def f():\n    from rsbounds.cli import main\n    import rsbounds.art"
    )
    modules = ("rsbounds.cli", "rsbounds.art", "rsbounds.cli.certify")
    assert files_imported("x", tree, modules) == {"rsbounds.cli", "rsbounds.art"}
    tree = ast.parse("from rsbounds.cli import certify")
    assert files_imported("x", tree, modules) == {
        "rsbounds.cli.certify",
        "rsbounds.cli",
    }
    own = "rsbounds.cli.merge"
    assert files_imported(own, tree, modules) == {"rsbounds.cli.certify"}


def test_no_import_is_hidden_in_a_string():
    """Only the package's and the command line's lazy attributes name modules so."""
    lazy = {PACKAGE / "__init__.py", PACKAGE / "cli" / "__init__.py"}
    for path in sources():
        if path in lazy or "import_module" not in path.read_text(encoding="utf-8"):
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and last_name(node.func) == "import_module":
                assert "rsbounds." not in ast.unparse(node), path


def test_no_name_is_imported_as_itself_for_another_room():
    """A room hands others what they need through its module ``internal``."""
    hoisted = {
        (module_of(path), alias.name)
        for path in sources()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    # public names, which special hides from type checkers as it makes its list
    public = {("rsbounds.special", name) for name in ("error_bound", "errstate")}
    assert hoisted == public


def test_no_two_classes_have_one_name():
    homes = {}
    for path in sources():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(module_of(path))
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


@pytest.mark.parametrize("folder", ["benchmarks", "docs"])
def test_scripts_that_no_test_runs_import_names_that_exist(folder):
    """A name that moved breaks them, and nobody sees it."""
    missing = []
    for path in (PACKAGE.parent / folder).rglob("*.py"):
        for module, name in imports(tree_of(path)):
            if name is None or module.split(".")[0] != "rsbounds":
                continue
            try:
                there = hasattr(import_module(module), name)
            except ModuleNotFoundError as error:  # of a package that is not here
                there = not (error.name or "").startswith("rsbounds")
            if not there and find_spec(f"{module}.{name}") is None:
                missing.append((path.name, module, name))
    assert missing == []
