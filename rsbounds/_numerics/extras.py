"""Packages that only some uses need: loaded when used, and named with their extra if
missing.
"""

import importlib
from types import ModuleType

_EXTRAS = {  # what each brings
    "torch": ("torch",), "plot": ("matplotlib",), "html": ("plotly",), "ray": ("ray",),
    "config": ("yaml",), "verify": ("flint", "mpmath"), "timm": ("timm",),
    "hf": ("safetensors", "transformers", "datasets", "diffusers", "huggingface_hub"),
    "onnx": ("onnx", "onnxruntime"), "images": ("PIL", "torchvision"), "art": ("art",),
    "sklearn": ("skops", "sklearn"), "demo": ("mlxtend",),
}  # fmt: skip


def need(module: str, what: str) -> ModuleType:
    """Import a module that ``what`` needs; an ImportError says how to install a missing
    one.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except (ImportError, OSError, RuntimeError) as error:
        extra = next(name for name, brought in _EXTRAS.items() if package in brought)
        command = f'pip install "rsbounds[{extra}]"'
        reason = " ".join(str(error).split())
        raise ImportError(f"{what} needs {package}: {command} ({reason})") from error
