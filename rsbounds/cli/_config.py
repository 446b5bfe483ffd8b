"""``--config FILE.yaml``: the options of a command in a file."""

import argparse
import difflib
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rsbounds._numerics.extras import need


def entries(path: Path) -> dict[str, Any]:
    """The options of a file by their flags; ValueError if it isn't a mapping of these
    to values.

    Numbers of YAML files are kept as text, so that ``on`` and ``1e5`` arrive as on the
    command line.
    """
    content = path.read_bytes()
    try:
        text = content.decode()
        mapping: Any = (
            tomllib.loads(text).items() if path.suffix == ".toml" else _yaml(path, text)
        )
    except ImportError:
        raise
    except Exception as error:  # YAML's errors, tomllib's, and those of text
        raise ValueError(
            f"{path} can't be read: {' '.join(str(error).split())}"
        ) from None
    if mapping is None:
        raise ValueError(f"{path} must be a mapping of options to values")
    flags = [f"--{str(name).lstrip('-').replace('_', '-')}" for name, _ in mapping]
    _require_distinct(f"{path}: ", flags)
    options = dict(zip(flags, (value for _, value in mapping), strict=True))
    return {
        flag: value for flag, value in options.items() if value not in ("", "null", "~")
    }


def words(
    path: Path | None,
    options: Mapping[str, Any],
    actions: Mapping[str, argparse.Action],
) -> Iterator[str]:
    """The options of a file as words of a command line; ValueError for what is none."""
    for flag, value in options.items():
        action, name = actions.get(flag), flag[2:]
        if action is None or flag in ("--config", "--help"):
            near = difflib.get_close_matches(flag, list(actions), 1)
            hint = f"; did you mean {near[0][2:]}?" if near else ""
            raise ValueError(f"{path}: {name!r} is not an option of certify{hint}")
        if isinstance(value, dict) and name.endswith("args"):
            value = [f"{key}={_text(path, name, each)}" for key, each in value.items()]
        texts = [
            _text(path, name, one)
            for one in (value if isinstance(value, list) else [value])
        ]
        switch = texts in (["true"], ["false"])
        if action.nargs == 0 and not switch:
            raise ValueError(
                f"{path}: {name} must be true or false; got {', '.join(texts)!r}"
            )
        if action.nargs in (0, "?") and switch:
            yield from [flag] if texts == ["true"] else []
        else:
            yield f"{flag}={','.join(texts)}"


def _text(path: Path | None, name: str, value: Any) -> str:
    if isinstance(value, bool):  # of TOML
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"{path}: {name} must be text, a number or a list of these")


def _require_distinct(place: str, names: list[str]) -> None:
    name, times = Counter(names or [""]).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{place}{name} is given twice")


def _yaml(path: Path, text: str) -> Any:
    yaml = need("yaml", f"{path}, unless it is a TOML file,")
    root = yaml.compose(text, yaml.BaseLoader)
    if getattr(root, "id", "") != "mapping":
        return None
    return [(key.value, _plain(value, 1)) for key, value in root.value]


def _plain(node: Any, depth: int) -> Any:
    """Text as it is written, or a list or mapping of such; None deeper: aliases can be
    endless.
    """
    if isinstance(node.value, str):
        return node.value
    if not depth:
        return None
    if node.id == "sequence":
        return [_plain(each, 0) for each in node.value]
    _require_distinct("", [str(key.value) for key, _ in node.value])
    return {str(key.value): _plain(value, 0) for key, value in node.value}
