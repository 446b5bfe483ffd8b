"""Packages that some models and data need, loaded when they are used."""

import importlib
from types import ModuleType
from typing import Any

from rsbounds._numerics import extras

_declared: list[Any] = []  # torch forgets a library that nobody holds


def need(module: str, what: str) -> ModuleType:
    """The module, as :func:`rsbounds._numerics.extras.need` imports it."""
    if module.partition(".")[0] in (
        "timm",
        "torchvision",
        "transformers",
        "datasets",
        "diffusers",
    ):
        try:
            importlib.import_module("torchvision")
        except ImportError:
            pass
        except RuntimeError as error:
            # The package index has torchvision's builds for CUDA alone. Beside a torch
            # for the CPU the import fails over two operators that no classifier calls:
            # declare them.
            if "operator torchvision::nms does not exist" not in str(error):
                raise
            torch: Any = importlib.import_module("torch")
            library = torch.library.Library("torchvision", "FRAGMENT")
            for name in ("nms", "qnms"):
                library.define(
                    f"{name}(Tensor boxes, Tensor scores, float threshold) -> Tensor"
                )
            _declared.append(library)
    return extras.need(module, what)
