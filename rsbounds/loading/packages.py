"""Packages that some models and data need, loaded when they are used."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from types import ModuleType
from typing import Any

from rsbounds.loading.callables import reason

_INSTALL = {"PIL": "pillow", "huggingface_hub": "huggingface-hub"}
_declared: list[Any] = []  # torch forgets a library that nobody holds


def need(module: str, what: str) -> ModuleType:
    """The module, or ValueError that says what needs it and what to install."""
    package = module.partition(".")[0]
    try:
        if package in ("timm", "torchvision", "transformers", "datasets", "diffusers"):
            _torchvision()
        return importlib.import_module(module)
    except (ImportError, OSError, RuntimeError) as error:
        name = _INSTALL.get(package, package)
        raise ValueError(f"{what} needs `pip install {name}` ({reason(error)})") from error


def _torchvision() -> None:
    """Import torchvision, if it is installed, even where its compiled part can't be loaded.

    A build for CUDA beside a torch for the CPU can't find torch's libraries, and then fails at
    the import, over operators that no classifier uses. Declaring them is enough; called, they
    would still fail.
    """
    if "torchvision" in sys.modules or importlib.util.find_spec("torchvision") is None:
        return
    torch: Any = importlib.import_module("torch")
    for _ in range(10):
        try:
            importlib.import_module("torchvision")
            return
        except RuntimeError as error:
            lost = re.search(r"operator torchvision::(\w+) does not exist", str(error))
            if not lost:
                raise
        for name in [n for n in sys.modules if n.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "FRAGMENT")
        library.define(f"{lost[1]}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
        _declared.append(library)
