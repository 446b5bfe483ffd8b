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
    "discrete",
    "envelope",
    "frameworks",
    "gaussian",
    "jax",
    "lbrs",
    "lipschitz",
    "loading",
    "noises",
    "oracle",
    "renyi",
    "reports",
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
    "votes",
)

#: They import a package of an extra: ``from rsbounds import *``, which must work
#: everywhere, leaves them out.
_OF_EXTRAS = ("art", "jax", "oracle", "sklearn", "torch")
#: What users call first, and the module that holds it.
_CALLED = {
    "Certificate": "certificate",
    "Procedure": "certify",
    "certify_dataset": "certify",
    "compare": "reports",
    "load_model": "loading",
    "merge": "results",
    "open_data": "loading",
    "plot": "reports",
    "read": "results",
    "table": "reports",
    "verify": "audit",
}
_SHOWN = ("__version__", *_CALLED, *_MODULES)

__all__ = [name for name in _SHOWN if name not in _OF_EXTRAS]


def __getattr__(name: str) -> Any:
    if name in _CALLED:
        return getattr(importlib.import_module(f"rsbounds.{_CALLED[name]}"), name)
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
