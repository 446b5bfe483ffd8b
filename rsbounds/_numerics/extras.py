"""Optional packages: loaded when used; an error names the extra that installs them."""

import importlib
from pathlib import Path
from types import ModuleType

_EXTRAS = {  # what each brings
    "torch": ("torch",), "plot": ("matplotlib", "jinja2"), "ray": ("ray",),
    "config": ("yaml",), "verify": ("flint", "mpmath"), "timm": ("timm",),
    "hf": ("safetensors", "transformers", "datasets", "diffusers", "huggingface_hub"),
    "onnx": ("onnx", "onnxruntime"), "images": ("PIL", "torchvision"), "art": ("art",),
    "sklearn": ("skops", "sklearn"), "demo": ("mlxtend",),
    "os": ("cryptography",),
}  # fmt: skip


def need(module: str, what: str) -> ModuleType:
    """Import a module that ``what`` needs; ImportError says how to install it."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except (ImportError, OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        if package == "torchvision" and not isinstance(error, ModuleNotFoundError):
            # its operators are compiled against one build of torch
            reason += (
                ": the torchvision that is installed was built for another torch; "
                "install both from one index, such as download.pytorch.org/whl/cpu"
            )
        message = f"{what} needs {package}: {_command(package)} ({reason})"
        raise ImportError(message) from error


def explained(what: str, error: ImportError) -> str:
    """Say which package an import of ``what`` lacks, and what installs it."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        if package == "rsbounds_ext":
            folder = Path(__file__).parents[2]
            return (
                f"{what} needs its compiled part, which {folder} does not have: start "
                "Python in another folder, or build it there (pip install -e .)"
            )
        return f"{what} needs {package}: {_command(package)}"
    return str(error)  # of :func:`need`


def _command(package: str) -> str:
    """What installs a package, from an index and in a clone of this project."""
    for extra, brought in _EXTRAS.items():
        if package in brought:
            return (
                f'pip install "rsbounds[{extra}]", in a clone pip install ".[{extra}]"'
            )
    return f"pip install {package}"
