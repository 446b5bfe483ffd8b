"""Certified radii for randomized smoothing that are never too large."""

from __future__ import annotations

import importlib
from types import ModuleType

__version__ = "0.1.0"

_MODULES = (
    "anisotropic",
    "certificate",
    "certify",
    "confidence",
    "datasets",
    "envelope",
    "gaussian",
    "lbrs",
    "lipschitz",
    "oracle",
    "renyi",
    "report",
    "results",
    "sampling",
    "schemes",
    "semielastic",
    "special",
    "stats",
    "torch",
)

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        return importlib.import_module(f"rsbounds.{name}")
    raise AttributeError(f"module 'rsbounds' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
