"""Whether a file's noise levels, and the bounds that its radii rest on, are those of its noise.

Bounds and radii follow from a row's counts and its level, so a file whose levels and radii are
scaled alike is consistent with itself. What the level depends on, anchors, a function or noise of a
shape, is named in the manifest by its hash; a result file may come from strangers, so whoever
verifies gives it. What nothing was given for is taken as the file states it, and said to be.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from rsbounds.certificate import ASSERTED_ENVELOPE
from rsbounds.cli import _build, _engine, _options
from rsbounds.loading import Data
from rsbounds.results import Manifest, Row
from rsbounds.schemes import METHODS, Scheme

_GIVEN = ("anchors", "sigma_function", "noise")
_SAME = 1e-6  # relative: what float32 on another machine may differ by
_CHOSEN = ("sigma", "norm", "p_min")  # what is certified, where others bound what it does
_FIXED = ("gaussian", "composite")  # whose rows' levels are named in the manifest


def add(parser: argparse.ArgumentParser) -> None:
    """What noise levels depend on, as ``certify`` takes it."""
    group = parser.add_argument_group(
        "noise levels (with --data)",
        "compared with sigma(x) at each input, and with the bounds that radii rest on; pictures "
        "that the model's own steps resize or crop need --rerun and --model too",
    )
    for option in _options.of_all():
        if option.name in _GIVEN:
            _options.add(group, option)


def check(args: argparse.Namespace, manifest: Manifest) -> None:
    """ValueError for what can't be compared."""
    for name in _GIVEN:
        if getattr(args, name) is None:
            continue
        flag = _options.flag(name)
        if args.data is None:
            raise ValueError(f"{flag} needs --data")
        if name not in _names(manifest):
            raise ValueError(f"{flag} has no meaning for a file of method {manifest.method}")


def scheme(args: argparse.Namespace, manifest: Manifest, data: Data) -> Scheme | None:
    """The scheme of what was given; None where nothing was.

    Raises
    ------
    ValueError
        If the radii of the file rest on other bounds than it has.
    """
    if not _given(args):
        return None
    found = _built(args, manifest, data)
    for name in _names(manifest):
        had, has = manifest.parameters.get(name), found.parameters.get(name)
        if had not in (None, has):  # others' code names itself only
            raise ValueError(
                f"{_options.flag(name)} is not what {args.file} was made with: "
                f"{name} was {had} and is {has}"
            )
    _same_bounds(args, manifest, found)
    return found


def findings(found: Scheme, row: Row, x: Any) -> Iterator[str]:
    """What a row's level contradicts, at its input."""
    if x is None:  # not to be decoded
        return
    level = found.sigma(x)
    if not abs(row.sigma - level) <= _SAME * level:
        yield f"sigma is {row.sigma}, {level} at this input"


def stated(found: Scheme | None, manifest: Manifest, as_seen: bool) -> list[str]:
    """What the radii rest on and nothing shows: parameters, and "sigma" for the rows' levels.

    ``found`` is the scheme that the file was compared with, ``as_seen`` says whether the data's
    inputs were, as the model sees them.
    """
    method = METHODS[manifest.method]
    rests_on = [k for k in method.domains if k in manifest.parameters and k not in _CHOSEN]
    if method.name not in _FIXED:
        rests_on.append("sigma")
    shown = {"dim"} if as_seen else set()
    if found is not None:
        shown |= {"sigma"} if found.scope == ASSERTED_ENVELOPE else {"sigma", *_bounds(manifest)}
    return [name for name in rests_on if name not in shown]


def line(names: list[str], args: argparse.Namespace, manifest: Manifest) -> str:
    """What is taken as stated, and what would compare it."""
    lacking = [name for name in ("data", *_names(manifest)) if getattr(args, name) is None]
    flags = list(map(_options.flag, lacking))
    text = f"taken as stated, not verified: {_named(names)}"
    could = {"dim", "sigma", *(() if manifest.scope == ASSERTED_ENVELOPE else _bounds(manifest))}
    compared = [name for name in names if name in could]
    if not (compared and flags):
        return text
    them = "them" if len(names) > 1 else "it"
    what = them if compared == names else _named(compared)
    return f"{text} ({' with '.join(flags)} compares {what})"


def _named(names: list[str]) -> str:
    return ", ".join("each row's sigma" if name == "sigma" else name for name in names)


def _given(args: argparse.Namespace) -> bool:
    return any(getattr(args, name) is not None for name in _GIVEN)


def _same_bounds(args: argparse.Namespace, manifest: Manifest, found: Scheme) -> None:
    """ValueError where the radii of a file rest on other bounds than what is given has."""
    given = _flags(manifest)
    if found.scope == ASSERTED_ENVELOPE != manifest.scope:
        raise ValueError(f"scope is {manifest.scope!r} in {args.file}: {given} proves no bounds")
    for name in _bounds(manifest):
        had, has = manifest.parameters.get(name), found.parameters.get(name)
        same = had == has
        if not same and had is not None and has is not None:
            same = abs(had - has) <= _SAME * abs(has)
        if not same:
            raise ValueError(
                f"{given} is not what {args.file} was made with: {name} was {had} and is {has}"
            )


def _built(args: argparse.Namespace, manifest: Manifest, data: Data) -> Scheme:
    method = METHODS[manifest.method]
    known = {**manifest.parameters, **{name: getattr(args, name) for name in _GIVEN}}
    shape = _engine.first(data, skip_corrupt=True).shape
    given = _build.Given(shape, "slack" in manifest.parameters)
    if method.name == "lipschitz" and manifest.scope != ASSERTED_ENVELOPE:
        known |= {"lip": None, "sigma_min": None}  # the network proves its own
        if not hasattr(given.function("--sigma-function", args.sigma_function)[0], "scheme"):
            raise ValueError(
                f"scope is {manifest.scope!r} in {args.file}: --sigma-function proves no bounds"
            )
    lacking = [o.name for o in method.options if o.default is ... and known.get(o.name) is None]
    if lacking:
        raise ValueError(
            f"{_flags(manifest)} can't be compared: {args.file} doesn't say its "
            f"{', '.join(lacking)}"
        )
    options = {option.name: known.get(option.name, option.default) for option in method.options}
    return method.from_options(options, given)


def _bounds(manifest: Manifest) -> set[str]:
    """Parameters that sigma(x) tells: dim is the data's, what else there is the method's own."""
    return METHODS[manifest.method].domains.keys() - {"dim"}


def _names(manifest: Manifest) -> list[str]:
    return [o.name for o in METHODS[manifest.method].options if o.name in _GIVEN]


def _flags(manifest: Manifest) -> str:
    return " and ".join(map(_options.flag, _names(manifest)))
