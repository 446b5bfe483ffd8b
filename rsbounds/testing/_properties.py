"""Properties of entries, and how their failures read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

Case = TypeVar("Case")
Property = Callable[[Case], None]


def hold(entry: str, case: Case, properties: Sequence[Property[Case]]) -> None:
    """AssertionError for the first property that the case does not have."""
    for has in properties:
        try:
            has(case)
        except AssertionError as failure:
            raise AssertionError(f"{entry}: {title(has)}: {failure}") from None
        except Exception as error:
            # whatever it is: the property does not hold, and where it arose is shown
            what = f"{type(error).__name__}: {error}"
            raise AssertionError(f"{entry}: {title(has)}: {what}") from error


def title(has: Callable[..., Any]) -> str:
    """The sentence that states a property: the first line of its docstring."""
    return (inspect.getdoc(has) or has.__name__).partition("\n")[0].rstrip(".")


def require(holds: Any, message: str) -> None:
    """AssertionError unless it holds; unlike ``assert``, under ``python -O`` too."""
    if not holds:
        raise AssertionError(message)


def refuses(argument: str, call: Callable[[], Any], what: str) -> None:
    """AssertionError unless the call raises a ValueError that names the argument."""
    with np.errstate(all="ignore"):
        try:
            result = call()
        except ValueError as error:
            message = str(error)
            require(
                argument in message,
                f"the error of {what} lacks {argument!r}: {message}",
            )
            return
    raise AssertionError(f"{what} was taken and gave {result!r:.60}")


@contextmanager
def quiet() -> Iterator[None]:
    """Without NumPy's warnings: NaN and infinities are given on purpose."""
    with np.errstate(all="ignore"):
        yield
