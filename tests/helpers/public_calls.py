"""Calls of everything public, taken from the examples of docstrings.

Every public function, constructor and method that an example passes through is recorded
with its arguments. One of them at a time is then made wrong: what comes back must be a
ValueError that names the argument, or a result. A function that is new is found by
itself, through its example.
"""

import copy
import doctest
import inspect
import io
import re
import signal
import sys
import types
from contextlib import contextmanager, redirect_stdout
from enum import Enum
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from rsbounds.testing._wrong import WRONG as WRONG

#: The same of an example that takes long.
FEW = ("text", "None", "object", "ragged", "nan")
#: What loads the entries of the lists, whose files have examples.
EXAMPLES = ("rsbounds.schemes", "rsbounds.answers")
#: A call ends within this, or hangs.
SECONDS = 10.0


class Late(BaseException):
    """A call has not ended in time; no handler of exceptions stops it."""


class Recorded(NamedTuple):
    """One public callable, and the arguments that an example gave it."""

    name: str
    outer: Any
    code: types.CodeType
    values: dict[str, Any]


def in_time(call, seconds=SECONDS):
    """What a call returns; raises ``Late`` where it goes on."""

    def stop(*_):
        raise Late

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def public_modules(package="rsbounds"):
    """Names of the modules that say what is public, without importing them."""
    import pkgutil

    root = import_module(package)
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        parts = found.name.split(".")[1:]
        if any(part.startswith("_") or part == "internal" for part in parts):
            continue  # ``internal`` is for other rooms of the package
        source = found.module_finder.find_spec(found.name).origin
        with open(source, encoding="utf-8") as file:
            if "__all__" in file.read():
                yield found.name


def callables(module):
    """Name and function of every public callable of a module."""
    for name in getattr(module, "__all__", ()):
        made = getattr(module, name)
        if not inspect.isclass(made):
            if callable(made):
                yield f"{module.__name__}.{name}", made
            continue
        for key in dir(made):
            raw = inspect.getattr_static(made, key)
            if isinstance(raw, classmethod | staticmethod):
                raw = raw.__func__
            theirs = not str(getattr(raw, "__module__", "")).startswith("rsbounds")
            if theirs and (key != "__init__" or issubclass(made, Enum)):
                continue  # inherited from elsewhere
            public = not key.startswith("_") or key in ("__init__", "__call__")
            if public and isinstance(raw, types.FunctionType):
                yield f"{module.__name__}.{name}.{key}", raw


def recorded(module_name):
    """Every public callable of a module with arguments; names of those without."""
    module = import_module(module_name)
    for name in EXAMPLES:  # where functions of more than one room are called
        import_module(name)
    wanted = {}
    homes = {module_name}
    for name, function in callables(module):
        inner = inspect.unwrap(function)
        homes.add(inner.__module__)
        if inspect.isclass(inner):  # a maker of what a class makes
            inner = inner.__init__
        code = getattr(inner, "__code__", None)
        if code is not None:
            wanted.setdefault(code, (name, function))
    seen = {}

    def watch(frame, event, _):
        code = frame.f_code
        if event != "call" or code not in wanted:
            return
        owner = type(frame.f_locals.get("self"))
        seen.setdefault((code, owner), dict(frame.f_locals))

    sources = [
        loaded
        for name, loaded in sorted(sys.modules.items())
        if name in homes or name.startswith(f"{module_name}.")
    ]
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    for source in sources:
        for test in doctest.DocTestFinder().find(source, source.__name__):
            if not test.examples:
                continue
            sys.setprofile(watch)
            try:
                # kept: objects are used again, in calls that are made wrong
                runner.run(test, out=lambda _: None, clear_globs=False)
            finally:
                sys.setprofile(None)
    calls = []
    for (code, owner), values in seen.items():
        name, outer = wanted[code]
        of = "" if owner is type(None) else f" of {owner.__name__}"
        calls.append(Recorded(f"{name}{of}", outer, code, values))
    done = {code for code, _ in seen}
    return calls, sorted(name for code, (name, _) in wanted.items() if code not in done)


def called(call, values):
    """Call with these values of its parameters, by place or by name as they are."""
    code = call.code
    names = code.co_varnames
    by_place = [values[name] for name in names[: code.co_argcount]]
    if "self" in values and inspect.isclass(inspect.unwrap(call.outer)):
        del by_place[0]
    place = code.co_argcount + code.co_kwonlyargcount
    by_name = {name: values[name] for name in names[code.co_argcount : place]}
    if code.co_flags & inspect.CO_VARARGS:
        by_place += values[names[place]]
        place += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        by_name |= values[names[place]]
    return call.outer(*by_place, **by_name)


def fresh(call):
    """The recorded values, with an object that no call before has changed."""
    values = dict(call.values)
    if "self" in values:
        made = values["self"]
        if call.code.co_name == "__init__":
            values["self"] = type(made).__new__(type(made))
        else:
            try:
                values["self"] = copy.deepcopy(made)
            except Exception:  # of whatever kind: it holds a lock, or a function
                values["self"] = made
    return values


def parameters(call):
    code = call.code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [name for name in names if name not in ("self", "cls")]


def names_it(error, argument, others):
    """Whether an error says which argument is wrong, by its name or another's."""
    if str(error).startswith("shapes must broadcast together"):
        return True  # which two they are, it says
    words = {argument, *others}
    return getattr(error, "name", None) in words or any(
        re.search(rf"\b{re.escape(word)}\b", str(error)) for word in words
    )


def _is_of_the_example(error):
    """Whether the model of an example failed, rather than the package."""
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename.startswith("<doctest"):
            return True
        step = step.tb_next
    return False


@contextmanager
def _quiet():
    with redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        yield


def problem(call, argument, wrong, others=()):
    """What is wrong with what a wrong value raises; "" where nothing is."""
    values = {**fresh(call), argument: copy.copy(wrong)}
    try:
        with _quiet():
            in_time(lambda: called(call, values))
    except ValueError as error:
        named = names_it(error, argument, others) or _is_of_the_example(error)
        return "" if named else f"unnamed: {error!s:.80}"
    except Late:
        return "did not end"
    except (FileNotFoundError, IsADirectoryError):
        return ""  # the name of a file that is not there, as Python says it
    except IndexError as error:
        return "" if argument == "i" else f"IndexError: {error}"
    except Exception as error:  # any but a ValueError is one
        if _is_of_the_example(error):
            return ""
        return f"{type(error).__name__}: {error}"[:100]
    return ""
