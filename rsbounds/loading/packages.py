"""Packages that some models and data need, loaded when they are used."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from rsbounds._numerics import extras

_declared: list[Any] = []  # torch forgets a library that nobody holds


def need(module: str, what: str) -> ModuleType:
    """The module, as :func:`rsbounds._numerics.extras.need` imports it."""
    if module.partition(".")[0] in ("timm", "torchvision", "transformers", "datasets", "diffusers"):
        _torchvision()
    return extras.need(module, what)


def _torchvision() -> None:
    """Import torchvision, if it is installed, also where its compiled part can't be loaded.

    The package index has torchvision's builds for CUDA alone. Beside a torch for the CPU its
    import fails over two operators that no classifier calls: declaring them is enough.
    """
    try:
        importlib.import_module("torchvision")
    except ImportError:
        return
    except RuntimeError as error:
        if "operator torchvision::nms does not exist" not in str(error):
            raise
        for name in [n for n in sys.modules if n.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        torch: Any = importlib.import_module("torch")
        library = torch.library.Library("torchvision", "FRAGMENT")
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
        _declared.append(library)
        importlib.import_module("torchvision")
