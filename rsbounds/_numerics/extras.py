"""Packages that only some uses need: loaded when used, and named with their extra if missing."""

import importlib
from types import ModuleType

_EXTRAS = {
    "torch": "torch",
    "matplotlib": "plot",
    "plotly": "html",
    "ray": "ray",
    "yaml": "config",
    "flint": "verify",
    "mpmath": "verify",
    "timm": "timm",
    "safetensors": "hf",
    "transformers": "hf",
    "datasets": "hf",
    "diffusers": "hf",
    "huggingface_hub": "hf",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "PIL": "images",
    "art": "art",
    "skops": "sklearn",
    "sklearn": "sklearn",
    "torchvision": "images",
    "mlxtend": "demo",
}


def need(module: str, what: str) -> ModuleType:
    """Import a module that ``what`` needs.

    Raises
    ------
    ImportError
        If it can't be imported: says what needs it, and the command that installs its extra.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except (ImportError, OSError, RuntimeError) as error:
        command = f'pip install "rsbounds[{_EXTRAS[package]}]"'
        reason = " ".join(str(error).split())
        raise ImportError(f"{what} needs {package}: {command} ({reason})") from error
