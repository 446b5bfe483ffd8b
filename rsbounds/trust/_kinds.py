"""The kinds of objects that prove what they say: each one's room enters them here."""

from collections.abc import Callable
from typing import Any, NamedTuple

from rsbounds._numerics.checks import instance
from rsbounds._numerics.errors import ArgumentError
from rsbounds.schemes import Scheme


class Proves(NamedTuple):
    """What an object of a kind proves.

    Parameters
    ----------
    scheme : callable, optional
        Of a noise level that follows the input: ``scheme(object, shape)``.
    noise : callable, optional
        Of noise of a shape: ``noise(object)``, whose method ``scheme`` rests on the
        proof.
    """

    scheme: Callable[..., Scheme] | None = None
    noise: Callable[[Any], Any] | None = None


_PROVING: dict[type, Proves] = {}
_REFUSED: dict[type, str] = {}


def enter(kind: type, proven: Proves) -> None:
    """Let objects of exactly this class prove what ``proven`` makes of them."""
    _require_own(kind)
    _PROVING[kind] = proven


def refuse(kind: type, why: str) -> None:
    """Let objects of this class, or of a subclass, be refused with a reason."""
    _require_own(kind)
    _REFUSED[kind] = why


def kind_of(made: Any) -> Proves | None:
    """What an object proves: None of a subclass, and of anything else."""
    return _PROVING.get(type(made))


def network_of(made: Any) -> Callable[..., Scheme] | None:
    """What makes the scheme of an object whose level follows the input.

    It is that of the kind, whatever a subclass or the instance puts for it; None for
    what is of no such kind.
    """
    for kind, proven in _PROVING.items():
        if proven.scheme is not None and isinstance(made, kind):
            return proven.scheme
    return None


def why_refused(made: Any) -> str | None:
    """Why an object certifies nothing, where its kind says so."""
    return next((why for kind, why in _REFUSED.items() if isinstance(made, kind)), None)


def _require_own(kind: type) -> None:
    """ArgumentError for a class of another package, whose proof nobody has checked."""
    instance("kind", kind, type, "a class")
    if kind.__module__.partition(".")[0] != "rsbounds":
        raise ArgumentError("kind", f"must be a class of rsbounds; got {kind!r}")
