"""``--config FILE.yaml``: the options of a command in a file."""

from __future__ import annotations

import argparse
import difflib
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rsbounds._numerics.extras import need


def entries(path: Path) -> dict[str, Any]:
    """The options of a file by their flags, and what it says of each.

    Numbers of YAML files are kept as text, so that ``on`` and ``1e5`` arrive as on the command
    line.

    Raises
    ------
    ValueError
        If it isn't a mapping of options to values.
    """
    content = path.read_bytes()
    try:
        read = tomllib.loads if path.suffix == ".toml" else _yaml(path)
        mapping: Any = read(content.decode())
    except ImportError:
        raise
    except Exception as error:  # YAML's errors, tomllib's, and those of text
        raise ValueError(f"{path} can't be read: {' '.join(str(error).split())}") from None
    if not isinstance(mapping, dict):
        raise ValueError(f"{path} must be a mapping of options to values")
    flags = [f"--{str(name).lstrip('-').replace('_', '-')}" for name in mapping]
    _require_distinct(f"{path}: ", flags)
    pairs = zip(flags, mapping.values(), strict=True)
    return {flag: value for flag, value in pairs if value not in ("", "null", "~")}


def words(
    path: Path | None, options: Mapping[str, Any], actions: Mapping[str, argparse.Action]
) -> Iterator[str]:
    """The options of a file as words of a command line; ValueError for what is none."""
    for flag, value in options.items():
        action, name = actions.get(flag), flag[2:]
        if action is None or flag in ("--config", "--help"):
            near = difflib.get_close_matches(flag, list(actions), 1)
            hint = f"; did you mean {near[0][2:]}?" if near else ""
            raise ValueError(f"{path}: {name!r} is not an option of certify{hint}")
        if isinstance(value, Mapping) and name.endswith("args"):
            value = [f"{key}={_text(path, name, each)}" for key, each in value.items()]
        texts = [
            _text(path, name, each) for each in (value if isinstance(value, list) else [value])
        ]
        switch = texts in (["true"], ["false"])
        if action.nargs == 0 and not switch:
            raise ValueError(f"{path}: {name} must be true or false; got {', '.join(texts)!r}")
        if action.nargs == "+":
            yield from [flag, *texts]
        elif action.nargs in (0, "?") and switch:
            yield from [flag] if texts == ["true"] else []
        else:
            yield f"{flag}={','.join(texts)}"


def _text(path: Path | None, name: str, value: Any) -> str:
    if isinstance(value, bool):  # of TOML
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    kind = type(value).__name__  # not the value, which a hostile file could make long
    raise ValueError(f"{path}: {name} must be text, a number or a list of these; got {kind}")


def _require_distinct(place: str, names: list[str]) -> None:
    name, times = Counter(names or [""]).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{place}{name} is given twice")


def _yaml(path: Path) -> Any:
    yaml = need("yaml", f"{path}, unless it is a TOML file,")

    class Loader(yaml.BaseLoader):  # type: ignore[misc, name-defined]
        """Text, lists and mappings alone; no aliases, which can stand for gigabytes."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise ValueError("aliases (*name) are not allowed")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            _require_distinct("", [key.value for key, _ in node.value])
            return super().construct_mapping(node, deep=deep)

    return lambda text: yaml.load(text, Loader)
