"""Answers of the command line: their options, and the answers that these make."""

from __future__ import annotations

import argparse
from collections.abc import Container
from typing import Any

from rsbounds import loading
from rsbounds.answers import ANSWERS, Answer, asked
from rsbounds.cli import _methods
from rsbounds.cli._flags import flag
from rsbounds.schemes import Option

DEFAULT = next(iter(ANSWERS))


def name_of(stated: str | None, flags: Container[str]) -> str:
    """The answer that is asked for, or implied by an option of its own alone."""
    if stated is None:
        for name in filter(ANSWERS.is_own, ANSWERS):
            answer = ANSWERS[name]
            if not answer.takes_scheme and flag(answer.options[0].name) in flags:
                return name
        return DEFAULT
    if stated not in ANSWERS:
        raise loading.unknown("answer", stated, list(ANSWERS))
    return stated


def options_of(name: str) -> tuple[Option, ...]:
    """The options of one answer."""
    return ANSWERS[name].options


def flags_of_all() -> set[str]:
    """The flags of our answers' options; others' are loaded when they are named."""
    names = filter(ANSWERS.is_own, ANSWERS)
    return {flag(option.name) for name in names for option in options_of(name)}


def made(args: argparse.Namespace, shape: tuple[int, ...]) -> Answer:
    """The answer of the command line, for inputs of this shape."""
    answer = ANSWERS[args.answer]
    if not answer.takes_scheme:
        return answer.from_options(vars(args), None)
    scheme: Any = _methods.scheme(args, shape)
    implied = asked(scheme)  # code may return a rule in place of a scheme
    if implied.takes_scheme:
        return answer.from_options(vars(args), scheme)
    if args.answer != DEFAULT:
        raise ValueError(
            f"--method {args.method} returns what asks for the answer "
            f"{implied.name!r}; got --answer {args.answer}"
        )
    return implied
