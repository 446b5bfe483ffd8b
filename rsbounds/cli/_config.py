"""``--config FILE.yaml``: the options of a command in a file."""

from __future__ import annotations

import argparse
import difflib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rsbounds._numerics.extras import need

_ARGUMENTS = ("--model-args", "--method-args")  # key=value,...


def words(path: Path, actions: Mapping[str, argparse.Action]) -> Iterator[str]:
    """A file's options as words of a command line.

    Raises
    ------
    ValueError
        If one is no option of the command, or its value none that it can take.
    """
    for name, value in _entries(path).items():
        flag = f"--{str(name).lstrip('-').replace('_', '-')}"
        action = actions.get(flag)
        if action is None or flag in ("--config", "--help"):
            near = difflib.get_close_matches(flag, list(actions), 1)
            hint = f"; did you mean {near[0][2:]}?" if near else ""
            raise ValueError(f"{path}: {name!r} is not an option of certify{hint}")
        if action.nargs == 0:  # on or off
            if not isinstance(value, bool):
                raise ValueError(f"{path}: {name} must be true or false; got {value!r}")
            yield from [flag] if value else []
        elif value is True and action.nargs == "?":
            yield flag
        elif isinstance(value, list | tuple):
            several = [_text(path, name, each) for each in value]
            yield from [flag, *several] if action.nargs == "+" else [f"{flag}={','.join(several)}"]
        elif isinstance(value, Mapping) and flag in _ARGUMENTS:
            pairs = (f"{key}={_text(path, name, each)}" for key, each in value.items())
            yield f"{flag}={','.join(pairs)}"
        elif value is not None:
            yield f"{flag}={_text(path, name, value)}"


def _entries(path: Path) -> Mapping[str, Any]:
    content = path.read_bytes()
    if path.suffix == ".toml":
        read: Any = tomllib.loads
    else:
        read = need("yaml", f"{path}, unless it is a TOML file,").safe_load
    try:
        entries = read(content.decode())
    except Exception as error:  # YAML's errors, tomllib's, and those of text
        raise ValueError(f"{path} can't be read: {' '.join(str(error).split())}") from None
    if not isinstance(entries, Mapping):
        raise ValueError(f"{path} must be a mapping of options to values")
    return entries


def _text(path: Path, name: str, value: Any) -> str:
    if isinstance(value, bool) and name.endswith("up"):  # YAML 1.1 reads on and off so
        return "on" if value else "off"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"{path}: {name} must be text, a number or a list of these; got {value!r}")
