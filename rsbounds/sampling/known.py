"""Which samplers draw their noise by code of this package alone."""

from __future__ import annotations

import sys
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from rsbounds.discrete import Curve
from rsbounds.frameworks import Episodes
from rsbounds.noises import Noise
from rsbounds.sampling.sampler import ModelSampler

_PACKAGE = __name__.partition(".")[0]
# whose objects hold numbers of a law and draw nothing themselves
_NUMBERS = {*sys.stdlib_module_names, "numpy", "torch", "scipy"}


def draws_known_noise(sampler: Any, drawn: Noise | None = None) -> bool:
    """Whether no code but this package's draws a sampler's noise.

    Of a subclass, and of a function that is put in place of another, nobody has shown
    what it draws: that its ``law`` is the scheme's is its own word.

    Parameters
    ----------
    sampler : Sampler
        Any.
    drawn : Noise, optional
        The scheme's, whose own scope says what is asserted of it.

    Examples
    --------
    >>> from rsbounds.sampling import ArraySampler
    >>> from rsbounds.sampling.known import draws_known_noise
    >>> draws_known_noise(ArraySampler(lambda batch: batch))
    True
    >>> draws_known_noise(lambda x, sigma, n, generator: [n, 0])
    False
    """
    if type(sampler) is Episodes:
        return True
    if not (isinstance(sampler, ModelSampler) and _is_own(type(sampler))):
        return False
    if not _is_own(type(sampler.backend)):
        return False
    noise = sampler.backend.noise
    return noise is drawn or _is_known(noise)


def _is_own(code: Any) -> bool:
    return _root(code) == _PACKAGE


def _root(code: Any) -> str:
    """The package of a class or a function."""
    return str(code.__module__).partition(".")[0]


def _is_known(part: Any) -> bool:
    """Whether an object, and all that it holds, is this package's or plain numbers."""
    if isinstance(part, partial):
        return _are_known((part.func, *part.args, *part.keywords.values()))
    if isinstance(part, MethodType):
        return _are_known((part.__func__, part.__self__))
    if isinstance(part, list | tuple):
        return _are_known(part)
    if isinstance(part, FunctionType | BuiltinFunctionType | type):
        return _root(part) in (_PACKAGE, *_NUMBERS)
    if not _is_own(type(part)):
        return _root(type(part)) in _NUMBERS
    # a curve certifies and draws nothing
    return isinstance(part, Curve) or _are_known(getattr(part, "__dict__", {}).values())


def _are_known(parts: Any) -> bool:
    return all(map(_is_known, parts))
