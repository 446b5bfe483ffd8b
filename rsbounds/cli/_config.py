"""``--config FILE.yaml``: the flags of a command in a file."""

from __future__ import annotations

import argparse
import difflib
import importlib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_ARGUMENTS = ("--model-args", "--method-args")  # key=value,...


def accept(
    parser: argparse.ArgumentParser,
    extend: Callable[[argparse.ArgumentParser, str], object] | None = None,
) -> None:
    """Let a file stand for flags: what the command line says itself goes before it.

    ``extend(parser, method)`` adds the flags of a ``--method``, wherever that is said.
    """
    parser.add_argument(
        "--config",
        metavar="FILE.yaml",
        type=Path,
        help="flags by name (YAML, or TOML in FILE.toml); those of the command line go before",
    )
    finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    finder.add_argument("--config", type=Path)
    finder.add_argument("--method")
    plain = parser.parse_known_args

    def parse(args: Any = None, namespace: Any = None) -> Any:
        try:
            first = finder.parse_known_args(args)[0]
        except argparse.ArgumentError:  # which the parser itself says better
            return plain(args, namespace)
        entries = {} if first.config is None else _entries(first.config)
        method = first.method or entries.get("method")
        if extend is not None and isinstance(method, str):
            extend(parser, method)
        return plain([*words(first.config, entries, parser), *args], namespace)

    parser.parse_known_args = parse  # type: ignore[method-assign]


def words(path: Path, entries: Mapping[str, Any], parser: argparse.ArgumentParser) -> Iterator[str]:
    """A file's flags as words of a command line.

    Raises
    ------
    ValueError
        If one is no flag, or its value none that it can take.
    """
    flags = parser._option_string_actions
    for name, value in entries.items():
        flag = f"--{str(name).lstrip('-').replace('_', '-')}"
        if flag not in flags or flag in ("--config", "--help"):
            near = parser._flags() if hasattr(parser, "_flags") else []
            raise ValueError(f"{path}: {name!r} is no flag of {parser.prog}{_near(flag, near)}")
        action = flags[flag]
        if action.nargs == 0:  # on or off
            if not isinstance(value, bool):
                raise ValueError(f"{path}: {name} must be true or false; got {value!r}")
            yield from [flag] if value else []
        elif value is True and action.nargs == "?":
            yield flag
        elif isinstance(value, Sequence) and not isinstance(value, str):
            several = [_text(path, name, one) for one in value]
            yield from [flag, *several] if action.nargs == "+" else [f"{flag}={','.join(several)}"]
        elif isinstance(value, Mapping) and flag in _ARGUMENTS:
            pairs = (f"{key}={_text(path, name, one)}" for key, one in value.items())
            yield f"{flag}={','.join(pairs)}"
        elif value is not None:
            yield f"{flag}={_text(path, name, value)}"


def _entries(path: Path) -> Mapping[str, Any]:
    content = path.read_bytes()
    try:
        text = content.decode()
        if path.suffix == ".toml":
            return tomllib.loads(text)
        entries = _yaml().safe_load(text)
    except ImportError:
        raise
    except Exception as error:  # YAML's errors, tomllib's, and those of text
        raise ValueError(f"{path} can't be read: {' '.join(str(error).split())}") from None
    if not isinstance(entries, Mapping):
        raise ValueError(f"{path} must be a mapping of flags to values")
    return entries


def _yaml() -> Any:
    try:
        return importlib.import_module("yaml")
    except ImportError:
        raise ImportError(
            "PyYAML isn't installed: pip install pyyaml, or write the file in TOML"
        ) from None


def _text(path: Path, name: str, value: Any) -> str:
    if isinstance(value, bool) and name.endswith("up"):  # YAML 1.1 reads on and off so
        return "on" if value else "off"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"{path}: {name} must be text, a number or a list of these; got {value!r}")


def _near(flag: str, flags: Sequence[str]) -> str:
    near = difflib.get_close_matches(flag, flags, 1)
    return f"; did you mean {near[0][2:]}?" if near else ""
