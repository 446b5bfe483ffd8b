"""Whether the noise levels of a file's rows are those of its sigma(x).

Bounds and radii follow from a row's counts and its level, so a file whose levels and radii are
scaled alike is consistent with itself. What the level depends on, anchors or a function, is named
in the manifest by its hash; a result file may come from strangers, so whoever verifies gives it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from rsbounds.certificate import ASSERTED_ENVELOPE
from rsbounds.cli import _engine, _made, _options
from rsbounds.loading import Data
from rsbounds.results import Manifest, Row
from rsbounds.schemes import METHODS, Method

_GIVEN = ("anchors", "sigma_function")
_SAME = 1e-6  # relative: what float32 on another machine may differ by


def add(parser: argparse.ArgumentParser) -> None:
    """What noise levels depend on, as ``certify`` takes it."""
    group = parser.add_argument_group(
        "noise levels (with --data)",
        "compared with sigma(x) at each input; pictures that the model's own steps resize or crop "
        "need --rerun and --model too",
    )
    known = (option for method in METHODS.values() for option in method.options)
    for option in _options.distinct(known):
        if option.name in _GIVEN:
            _options.add(group, option)


def check(args: argparse.Namespace, manifest: Manifest) -> None:
    """ValueError for what can't be compared."""
    for name in _GIVEN:
        if getattr(args, name) is None:
            continue
        flag = f"--{name.replace('_', '-')}"
        if args.data is None:
            raise ValueError(f"{flag} needs --data")
        if name not in _names(manifest):
            raise ValueError(f"{flag} has no meaning for a file of method {manifest.method}")


def findings(
    args: argparse.Namespace, manifest: Manifest, data: Data
) -> Callable[[Row, Any], Iterator[str]]:
    """A function of a row and its input: what its level contradicts."""
    if all(getattr(args, name) is None for name in _GIVEN):
        return lambda row, x: iter(())
    scheme = _scheme(args, manifest, data)
    for name in _names(manifest):
        had, has = manifest.parameters.get(name), scheme.parameters.get(name)
        if had != has:
            raise ValueError(
                f"--{name.replace('_', '-')} is not what {args.file} was made with: "
                f"{name} was {had} and is {has}"
            )
    _same_bounds(args, manifest, scheme)

    def compare(row: Row, x: Any) -> Iterator[str]:
        if x is None:  # not to be decoded
            return
        level = scheme.sigma(x)
        if not abs(row.sigma - level) <= _SAME * level:
            yield f"sigma is {row.sigma}, {level} at this input"

    return compare


def _same_bounds(args: argparse.Namespace, manifest: Manifest, scheme: Any) -> None:
    """ValueError where the radii of a file rest on other bounds than what is given has."""
    given = " and ".join(f"--{name.replace('_', '-')}" for name in _names(manifest))
    if scheme.scope == ASSERTED_ENVELOPE != manifest.scope:
        raise ValueError(f"scope is {manifest.scope!r} in {args.file}: {given} proves no bounds")
    # dim is compared with the data; what sigma(x) says nothing of is the method's own
    for name in METHODS[manifest.method].parameters.keys() & _builder(manifest).parameters.keys():
        if name == "dim":
            continue
        had, has = manifest.parameters.get(name), scheme.parameters.get(name)
        same = had is has or (None not in (had, has) and abs(had - has) <= _SAME * abs(has))
        if not same:
            raise ValueError(
                f"{given} is not what {args.file} was made with: {name} was {had} and is {has}"
            )


def _scheme(args: argparse.Namespace, manifest: Manifest, data: Data) -> Any:
    method = _builder(manifest)
    assert method.build is not None  # it has options
    known = {**manifest.parameters, **{name: getattr(args, name) for name in _GIVEN}}
    shape = _engine.first(data, skip_corrupt=True).shape
    given = _made._Given(shape, "slack" in manifest.parameters)
    if method.name == "lipschitz" and manifest.scope != ASSERTED_ENVELOPE:
        known |= {"lip": None, "sigma_min": None}  # the network proves its own
        if not hasattr(given.function("--sigma-function", args.sigma_function)[0], "scheme"):
            raise ValueError(
                f"scope is {manifest.scope!r} in {args.file}: --sigma-function proves no bounds"
            )
    options = {option.name: known.get(option.name, option.default) for option in method.options}
    return method.build(options, given)


def _names(manifest: Manifest) -> list[str]:
    return [o.name for o in _builder(manifest).options if o.name in _GIVEN]


def _builder(manifest: Manifest) -> Method:
    """The method that builds sigma(x): another radius of the same law has no options."""
    method = METHODS[manifest.method]
    return method if method.options else METHODS.get(method.name.split("-")[0], method)
