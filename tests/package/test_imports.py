"""Imports between the files of the package: one order, in which each goes up.

Lazy imports count too: a file that imports another inside a function still needs it.
"""

import ast

from sources import PACKAGE, for_types_alone, last_name, sources, statements


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
    trees = {module_of(p): ast.parse(p.read_text()) for p in sources()}
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
    texts = {path: path.read_text() for path in sources() if path not in lazy}
    for path in [path for path in texts if "import_module" in texts[path]]:
        for node in ast.walk(ast.parse(texts[path])):
            if isinstance(node, ast.Call) and last_name(node.func) == "import_module":
                assert "rsbounds." not in ast.unparse(node), path
