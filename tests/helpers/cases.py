"""Cases of a parametrized test, most of them slow."""

import pytest


def slow_but(quick, cases):
    """The cases, each marked slow unless it is among ``quick``."""
    if not set(quick) <= set(cases):
        raise ValueError(f"quick must be cases; got {quick}")
    return [
        case if case in quick else pytest.param(case, marks=pytest.mark.slow)
        for case in cases
    ]


def slow_among(slow, cases):
    """The cases, these of them marked slow."""
    return slow_but([case for case in cases if case not in slow], cases)
