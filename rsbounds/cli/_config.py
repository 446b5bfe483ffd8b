"""``--config FILE.yaml``: the options of a command in a file.

argparse's own ``@FILE`` would not do: its files are words of a command line, which
nothing else reads, a switch can't be set to false in them, what is given twice passes,
and an error names neither the file nor the entry.
"""

import difflib
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rsbounds._numerics.extras import need
from rsbounds._numerics.files import content_of
from rsbounds._numerics.json_files import TOO_DEEP
from rsbounds.cli._flags import Flags, flag


def entries(path: Path) -> dict[str, Any]:
    """Read the options of a file by their flags.

    ValueError if it isn't a mapping of these to values.

    Numbers of YAML files are kept as text, so that ``on`` and ``1e5`` arrive as on the
    command line.
    """
    content = content_of(path)
    try:
        decoded = content.decode()
        if path.suffix == ".toml":
            pairs: Any = list(tomllib.loads(decoded).items())
        else:
            pairs = _yaml(path, decoded)
    except ImportError:
        raise
    except RecursionError:
        raise ValueError(f"{path} can't be read: {TOO_DEEP}") from None
    except Exception as error:  # YAML's errors, tomllib's, and those of text
        problem = " ".join(str(error).split())
        raise ValueError(f"{path} can't be read: {problem}") from None
    if pairs is None:
        raise ValueError(f"{path} must be a mapping of options to values")
    flags = [flag(str(name).lstrip("-")) for name, _ in pairs]
    _require_distinct(f"{path}: ", flags)
    options = {}
    for option, (_, value) in zip(flags, pairs, strict=True):
        if value not in ("", "null", "~"):  # YAML's empty values
            options[option] = value
    for option in ("--answer", "--method"):  # which say what other options there are
        if not isinstance(options.get(option, ""), str):
            raise ValueError(f"{path}: {option[2:]} must be text")
    return options


def words(
    path: Path | None,
    options: Mapping[str, Any],
    flags: Flags,
) -> Iterator[str]:
    """The options of a file as words of a command line; ValueError for what is none."""
    for option, value in options.items():
        name = option[2:]
        known = flags.get(option)
        if known is None or option in ("--config", "--help"):
            near = difflib.get_close_matches(option, list(flags), 1)
            hint = f"; did you mean {near[0][2:]}?" if near else ""
            raise ValueError(f"{path}: {name!r} is not an option of certify{hint}")
        texts = _texts(path, name, value)
        switch = texts in (["true"], ["false"])
        if known.is_switch and not switch:
            raise ValueError(
                f"{path}: {name} must be true or false; got {', '.join(texts)!r}"
            )
        # of an option whose value may be left out, true means that it is
        if not (switch and (known.is_switch or known.action.nargs == "?")):
            yield f"{option}={','.join(texts)}"
        elif texts == ["true"]:
            yield option


def _texts(path: Path | None, name: str, value: Any) -> list[str]:
    """The parts of a value that has several, or the one that it is."""
    if isinstance(value, dict) and name.endswith("args"):
        return [f"{key}={_text(path, name, part)}" for key, part in value.items()]
    parts = value if isinstance(value, list) else [value]
    return [_text(path, name, part) for part in parts]


def _text(path: Path | None, name: str, value: Any) -> str:
    if isinstance(value, bool):  # of TOML
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"{path}: {name} must be text, a number or a list of these")


def _require_distinct(place: str, names: list[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"{place}{name} is given twice")


def _yaml(path: Path, text: str) -> list[tuple[str, Any]] | None:
    """The keys and values of a mapping, keys that come twice included."""
    yaml = need("yaml", f"{path}, unless it is a TOML file,")
    root = yaml.compose(text, yaml.BaseLoader)
    if getattr(root, "id", "") != "mapping":
        return None
    return [(key.value, _plain(value, 1)) for key, value in root.value]


def _plain(node: Any, depth: int) -> Any:
    """Return text as it is written, or a list or mapping of such.

    None deeper: aliases can be endless.
    """
    if isinstance(node.value, str):
        return node.value
    if not depth:
        return None
    if node.id == "sequence":
        return [_plain(entry, 0) for entry in node.value]
    _require_distinct("", [str(key.value) for key, _ in node.value])
    return {str(key.value): _plain(value, 0) for key, value in node.value}
