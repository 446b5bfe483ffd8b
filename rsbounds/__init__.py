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

__all__ = ["__version__", "certify_dataset", *_MODULES]


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
    return sorted(__all__)
