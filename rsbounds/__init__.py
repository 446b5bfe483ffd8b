"""Certified radii for randomized smoothing that are never too large."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_MODULES = (
    "anisotropic",
    "answers",
    "art",
    "audit",
    "certificate",
    "certify",
    "cluster",
    "composite",
    "confidence",
    "datasets",
    "envelope",
    "frameworks",
    "gaussian",
    "lbrs",
    "lipschitz",
    "loading",
    "noises",
    "oracle",
    "renyi",
    "results",
    "sampling",
    "schemes",
    "semielastic",
    "sklearn",
    "special",
    "stats",
    "testing",
    "torch",
    "transforms",
    "verona",
    "votes",
)

#: They import a package of an extra: ``from rsbounds import *``, which must work
#: everywhere, leaves them out.
_OF_EXTRAS = ("art", "oracle", "sklearn", "torch", "verona")
_SHOWN = ("__version__", "certify_dataset", *_MODULES)

__all__ = [name for name in _SHOWN if name not in _OF_EXTRAS]


def __getattr__(name: str) -> Any:
    if name == "certify_dataset":
        return importlib.import_module("rsbounds.certify").certify_dataset
    if name in _MODULES:
        try:
            return importlib.import_module(f"rsbounds.{name}")
        except ImportError as error:
            # an AttributeError: hasattr() is False, and help() lists the other modules
            from rsbounds._numerics.extras import explained

            raise AttributeError(explained(f"rsbounds.{name}", error)) from error
    raise AttributeError(f"module 'rsbounds' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_SHOWN)
