"""Methods by name: those of this package, and what other packages register."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from rsbounds.schemes._scheme import Method

GROUP = "rsbounds.schemes"


def registered() -> dict[str, EntryPoint]:
    """Entry points of the group "rsbounds.schemes" by their names, not loaded."""
    return {point.name: point for point in entry_points(group=GROUP)}


def find(name: str, own: Mapping[str, Method]) -> Method:
    """The method of that name: one of ``own``, or one that another package registers.

    Raises
    ------
    ValueError
        If there is none (with near matches), or what is registered is no method of that name.
    """
    if name in own:
        return own[name]
    others = registered()
    if name not in others:
        known = [*own, *others]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
        raise ValueError(f"the method {name!r} is unknown; {hint}")
    what = f"the method {name} ({others[name].value})"
    try:
        found = others[name].load()
    except Exception as error:  # another package's code
        raise ValueError(f"{what} can't be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(found, Method) or found.name != name or found.build is None:
        raise ValueError(
            f"{what} must be an rsbounds.schemes.Method of that name with a build; got "
            f"{type(found).__name__} {getattr(found, 'name', '')}".rstrip()
        )
    return found
