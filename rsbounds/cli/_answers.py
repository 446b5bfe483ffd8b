"""Answers of the command line: their options, and the answers that these make."""

from __future__ import annotations

import argparse
import json
from collections.abc import Container, Mapping
from typing import Any

from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers import ANSWERS, Answer, asked
from rsbounds.audit.internal import contradictions
from rsbounds.cli import _given, _grid
from rsbounds.cli._flags import flag
from rsbounds.loading.internal import unknown
from rsbounds.procedure import Procedure
from rsbounds.results import Results, read
from rsbounds.results.internal import folded
from rsbounds.schemes import Option

DEFAULT = next(iter(ANSWERS))


def name_of(asked_for: str | None, flags: Container[str]) -> str:
    """The answer that is asked for, or implied by an option of its own alone."""
    if asked_for is None:
        for name in filter(ANSWERS.is_own, ANSWERS):
            answer = ANSWERS[name]
            if not answer.takes_scheme and flag(answer.options[0].name) in flags:
                return name
        return DEFAULT
    if asked_for not in ANSWERS:
        raise unknown("answer", asked_for, list(ANSWERS))
    return asked_for


def options_of(name: str) -> tuple[Option, ...]:
    """The options of one answer."""
    return ANSWERS[name].options


def flags_of_all() -> set[str]:
    """The flags of our answers' options; others' are loaded when they are named."""
    names = filter(ANSWERS.is_own, ANSWERS)
    return {flag(option.name) for name in names for option in options_of(name)}


def opened(args: argparse.Namespace) -> dict[str, Results]:
    """The result files that options of the answer name, read."""
    files = {}
    for option in options_of(args.answer):
        path = vars(args)[option.name] if option.opens else None
        if path is None:
            continue
        files[option.name] = read(path)
        manifest = files[option.name].manifest
        if manifest is not None:
            for wrong in contradictions(path, manifest, files[option.name].rows):
                raise ValueError(wrong.at(path))
    return files


def require_alike(
    args: argparse.Namespace, procedure: Procedure, describe: Mapping[str, Any]
) -> None:
    """ValueError for a result file of other numbers or another model than the run.

    What its inputs chose says nothing of such a run.
    """
    model = json.loads(json.dumps(folded("model", describe)))
    for name, file in args.opened.items():
        manifest = file.manifest
        assert manifest is not None  # or the answer had been refused
        pairs = {
            number: (getattr(manifest.procedure, number), getattr(procedure, number))
            for number in ("n", "n0", "alpha", "bound", "margin")
        }
        for entry, value in model.items():
            pairs[f"model.{entry}"] = manifest.model.get(entry), value
        for entry, (before, now) in pairs.items():
            if before != now:
                raise ArgumentError(
                    name,
                    f"must be of the same numbers and model as this run; its {entry} "
                    f"is {before!r:.80}, and here {now!r:.80}",
                )


def made(args: argparse.Namespace, shape: tuple[int, ...]) -> Answer:
    """The answer of the command line, for inputs of this shape."""
    answer = ANSWERS[args.answer]
    if not answer.takes_scheme:
        answered = answer.from_options(vars(args), None)
        answered.scheme = _grid.drawn(args, answered.scheme)
        return answered
    scheme: Any = _given.scheme(args, shape)
    implied = asked(scheme)  # code may return a rule in place of a scheme
    if implied.takes_scheme:
        return answer.from_options({**vars(args), **args.opened}, scheme)
    if args.answer != DEFAULT:
        raise ValueError(
            f"--method {args.method} returns what asks for the answer "
            f"{implied.name!r}; got --answer {args.answer}"
        )
    implied.scheme = _grid.drawn(args, implied.scheme)
    return implied
