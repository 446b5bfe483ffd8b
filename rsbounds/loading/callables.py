"""The user's own code: ``MODULE:CALLABLE`` or ``path/to/file.py:CALLABLE``.

Also what is said where that code raises.
"""

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import opened
from rsbounds._numerics.text import shown
from rsbounds.loading.parameters import is_torch, parameters_hash

_PACKAGE = str(Path(__file__).parents[1])

T = TypeVar("T")


def build(argument: str, spec: str, **arguments: Any) -> Any:
    """What the CALLABLE of ``MODULE:CALLABLE`` returns, which must be callable too."""
    built = call(argument, spec, **arguments)
    if not callable(built):
        raise ArgumentError(
            argument,
            f"{shown(spec)} must return a torch module or a callable on a batch; got "
            f"{type(built).__name__}",
        )
    return built


def call(argument: str, spec: str, **arguments: Any) -> Any:
    """What the CALLABLE of ``MODULE:CALLABLE`` returns.

    Errors are of the argument of that name: they arise as it is made, in code of the
    user's own.
    """
    name, _, attribute = spec.rpartition(":")
    if not name or not attribute:
        raise ArgumentError(
            argument,
            f"must be MODULE:CALLABLE or path/to/file.py:CALLABLE; got {shown(spec)!r}",
        )
    what = shown(spec)
    with naming(argument):
        if name.endswith(".py") and not os.path.isfile(name):
            raise ValueError(f"{what}: {shown(name)}: No such file")
        module = guarded(what, lambda: _module(name))
        try:
            function = attrgetter(attribute)(module)
        except AttributeError:
            place, wanted = shown(name), shown(attribute)
            raise ValueError(f"{what}: {place} has no {wanted!r}") from None
    if is_torch(function) or not callable(function):
        raise ArgumentError(
            argument,
            f"{what} must name a function that returns what is wanted; got the "
            f"{type(function).__name__} itself: write def load(): return "
            f"{shown(attribute)}",
        )
    _check_call(argument, spec, function, arguments)
    with naming(argument):
        return guarded(what, lambda: function(**arguments))


def _check_call(
    argument: str, spec: str, function: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    """Refuse a function that does not take what it is called with."""
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        passed = f"the arguments {', '.join(arguments)}" if arguments else "no argument"
        message = f"{shown(spec)} is called with {passed}; {shown(error)}"
        if not arguments:  # such as a function of a batch, which is the model itself
            itself = shown(spec.rpartition(":")[2])
            message += f" (to give it as it is, write def load(): return {itself})"
        raise ArgumentError(argument, message) from error
    except ValueError:  # a builtin that does not tell its arguments
        pass


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Errors of values are of that argument, unless they name one already."""
    try:
        yield
    except ArgumentError:
        raise
    except ValueError as error:
        # the cause of guarded code's errors stays the one that was raised there
        raise ArgumentError(argument, str(error)) from error.__cause__


def fingerprint(spec: str, model: Any) -> dict[str, str | None]:
    """The spec of a model and hashes of the code in its file and of its parameters."""
    try:
        source = inspect.getsourcefile(_module(spec.rpartition(":")[0]))
    except TypeError:  # a module without a file
        source = None
    return {
        "spec": spec,
        "source": code_hash(source) if source else None,
        "parameters": parameters_hash(model),
    }


def code_hash(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a Python file without its empty lines and comment lines.

    (Not of its syntax tree, which differs between versions of Python.)
    """
    with opened(path) as file:
        lines = [line.rstrip() for line in file.read().splitlines()]
    code = [line for line in lines if line and not line.lstrip().startswith(b"#")]
    return hashlib.sha256(b"\n".join(code)).hexdigest()


def guarded(what: str, call: Callable[..., T], *arguments: Any) -> T:
    """Call the user's code; an exception that it raises becomes a ValueError.

    ``SystemExit`` too: a model that leaves must not take the run with it. The message
    is kept whole, on one line.
    """
    try:
        return call(*arguments)
    except (Exception, SystemExit) as error:
        place = _place(error)
        if isinstance(error, ArgumentError) and not place:
            # this package refused an argument: no code of the user's failed
            problem = f": {error}" if error.name != "x" else f" {error.problem}"
            raise ValueError(f"{shown(what)}{shown(problem)}") from error
        raise ValueError(f"{shown(what)} failed: {reason(error)}{place}") from error


def _place(error: BaseException) -> str:
    """The last line of code that an error went through, in brackets.

    Lines of Python's imports and of this module say nothing about the user's code, nor
    does the line of this package that refused it.
    """
    internal = (__file__, importlib.__file__)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = frame.filename
        if type(error) in (ValueError, ArgumentError) and file.startswith(_PACKAGE):
            return ""
        if file not in internal and not file.startswith("<frozen "):
            return f" ({shown(file)}:{frame.lineno})"
    return ""


def reason(error: BaseException) -> str:
    """An exception's type and its whole message on one line."""
    texts = (str(error), *getattr(error, "__notes__", ()))
    message = shown(" ".join(" ".join(texts).split()))
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _module(name: str) -> ModuleType:
    # before the current folder is searched: in a clone of this project it holds a
    # rsbounds_ext that isn't the installed one
    importlib.import_module("rsbounds_ext")
    if not name.endswith(".py"):
        _search(os.getcwd())
        return importlib.import_module(name)
    path = Path(name).resolve()
    key = f"_rsbounds_file_{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"
    if key in sys.modules:
        return sys.modules[key]
    spec: Any = importlib.util.spec_from_file_location(key, path)
    module = importlib.util.module_from_spec(spec)
    _search(str(path.parent))  # its neighbours, as for a script
    sys.modules[key] = module  # pickle, dataclasses and inspect look it up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[key]
        raise
    return module


def _search(directory: str) -> None:
    if directory not in sys.path:
        sys.path.insert(0, directory)
