"""Arguments of all radii and their factors: refused by name outside the domain, NaN in,
NaN out.
"""

import ast

import numpy as np
import pytest
from radius_calls import CALLS
from sources import PACKAGE, tree_of

from rsbounds import (
    envelope,
    gaussian,
    lipschitz,
)
from rsbounds.confidence import lower_bound

OUTSIDE = {
    "p_a": 1.5,
    "p": 1.5,
    "sigma1": np.inf,
    "value": np.inf,
    "p_min": 0.7,
    "sigma": np.inf,
}
REFUSE_NAN = {"norm", "rate", "n", "n_classes"}
PAIRS = [(name, argument) for name, (_, values) in CALLS.items() for argument in values]


def outside(argument, value):
    bad = OUTSIDE.get(argument, -1)
    return [bad, *value[1:]] if isinstance(value, list) else bad


@pytest.mark.parametrize(("name", "argument"), PAIRS)
def test_values_outside_are_refused_by_name(name, argument):
    call, values = CALLS[name]
    assert np.all(np.isfinite(call(**values)))
    for bad in (outside(argument, values[argument]), "high", True):
        with pytest.raises(ValueError, match=rf"^{argument} must "):
            call(**{**values, argument: bad})


@pytest.mark.parametrize(("name", "argument"), PAIRS)
def test_nan_gives_nan_and_the_flag(name, argument):
    call, values = CALLS[name]
    value = values[argument]
    nan = [np.nan, *value[1:]] if isinstance(value, list) else np.nan
    if argument in REFUSE_NAN or (name == "exact" and argument in ("lip", "sigma_min")):
        with pytest.raises(ValueError, match=rf"^{argument} must be"):
            call(**{**values, argument: nan})
        return
    with np.errstate(invalid="ignore"):
        assert np.isnan(call(**{**values, argument: nan}))
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        call(**{**values, argument: nan})


@pytest.mark.parametrize("name", CALLS)
def test_shapes_that_do_not_broadcast_are_refused(name):
    call, values = CALLS[name]
    first, second = list(values)[:2]
    wide = (
        [[1.0, 1.0]] * 3 if isinstance(values[second], list) else [values[second]] * 3
    )
    with pytest.raises(ValueError, match="broadcast"):
        call(**{**values, first: [values[first]] * 2, second: wide})


# What a check returns is what is used: these look at an argument and return it as
# float64 or int64, rounded to its safe side.
CHECKS = {"as_floats", "as_integers", "count", "number", "operand", "score_of"}
# what asks an argument for its type or shape alone
ASKS = {"hasattr", "isinstance", "len", "ndim", "shape", "type"}


def is_check(node):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in CHECKS
        and len(node.args) >= 2
    )


def harmless(function):
    """The nodes that read no more of an argument than its type or its text."""
    nodes = set()
    for node in ast.walk(function):
        asks = isinstance(node, ast.Call) and (
            getattr(node.func, "id", getattr(node.func, "attr", None)) in ASKS
        )
        is_none = isinstance(node, ast.Compare) and all(
            isinstance(op, ast.Is | ast.IsNot) for op in node.ops
        )
        if asks or is_none or isinstance(node, ast.JoinedStr):
            nodes.update(ast.walk(node))
    return nodes


def read_again(function):
    """Arguments that are checked and read again as they were given."""
    if not any(map(is_check, ast.walk(function))):
        return
    parameters = {argument.arg for argument in ast.walk(function.args)
                  if isinstance(argument, ast.arg)}  # fmt: skip
    aside = harmless(function)
    for statement in ast.walk(function):
        if not isinstance(statement, ast.stmt):
            continue
        if isinstance(statement, ast.Expr) and is_check(statement.value):
            yield statement.lineno, "the result of a check is dropped"
        if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return):
            continue
        targets = {
            node.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for call in filter(is_check, ast.walk(statement)):
            given = call.args[1]
            name = getattr(given, "id", None)
            if name not in parameters or name in targets:
                continue
            for node in ast.walk(function):
                later = getattr(node, "lineno", 0) > statement.end_lineno
                if later and getattr(node, "id", None) == name and node not in aside:
                    yield node.lineno, f"{name} is read as it was given"


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        # the checks themselves, and what looks at one part of an array
        if path.name not in ("checks.py", "_call.py")
    ],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_no_argument_that_was_checked_is_read_again_unconverted(path):
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef):
            found += list(read_again(node))
    assert not found, found


def test_an_argument_that_is_read_again_is_found():
    dropped = "def f(x):\n    as_floats('x', x)\n    return 2 * x\n"
    other = "def f(x):\n    y = number('x', x)\n    return y * x\n"
    kept = "def f(x):\n    y = number('x', x)\n    return y, np.shape(x), f'{x}'\n"
    for source, lines in ((dropped, [2]), (other, [3]), (kept, [])):
        (function,) = ast.parse(source).body
        assert [line for line, _ in read_again(function)] == lines


def test_arguments_that_numpy_would_bend_are_refused():
    masked = np.ma.masked_array([0.5, 0.9, 0.7], mask=[0, 1, 0])
    with pytest.raises(ValueError, match=r"p_a.*masked"):
        gaussian.radius(masked, 1.0)
    with np.errstate(invalid="ignore"):
        assert gaussian.radius(masked.filled(np.nan), 1.0)[2] > 0
    with pytest.raises(ValueError, match=r"^n must.*2\^63"):
        gaussian.max_radius(2**63, 0.001, 1.0)
    with pytest.raises(ValueError, match=r"^count must.*2\^63"):
        lower_bound(np.uint64(2**64 - 5), 1000, 0.001)
    with pytest.raises(ValueError, match=r"envelope.*None"):
        envelope.radius(0.9, 0.15, None, 3)
    with pytest.raises(ValueError, match=r"two classes.*0"):
        lipschitz.normalize_scores(np.zeros((2, 0)), 0.1)
    with pytest.raises(ValueError, match="dim must"):
        lipschitz.p_min_search([3, 0.5])
