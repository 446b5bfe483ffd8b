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


def quick_each(step, cases):
    """The cases, each marked slow but the first of every ``step``; a plain tuple is
    the arguments of one case.
    """
    given = [case if type(case) is tuple else (case,) for case in cases]
    return [
        pytest.param(*case, marks=[pytest.mark.slow] if place % step else [])
        for place, case in enumerate(given)
    ]
