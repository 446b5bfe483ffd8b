"""The error of an argument out of its domain: it carries the argument's name."""

from __future__ import annotations


class ArgumentError(ValueError):
    """A ValueError that names its argument, so that a command can name its option.

    ``name`` is the argument's, ``problem`` the rest of the sentence: "must be >= 1; got
    0". A problem that recommends another argument names it as ``name=True``.
    """

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)  # both are in ``args``: it survives a pickle
        self.name = name
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.name} {self.problem}"
