"""What ``rsbounds --version --verbose`` prints: versions, processor and threads."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "tqdm",
    "mpmath",
    "python-flint",
    "torch",
    "scikit-learn",
    "jax",
    "onnxruntime",
    "ray",
)

_THREADS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")


def lines() -> list[str]:
    """One line each; packages are not imported, and those absent are said to be."""
    described = [
        f"Python {platform.python_version()} ({platform.python_implementation()})",
        f"system: {platform.platform()}",
        f"processor: {_processor()}",
        f"threads: {_threads()}",
    ]
    for name in _THREADS:
        described.append(f"{name}: {os.environ.get(name, 'not set')}")
    for name in _PACKAGES:
        described.append(f"{name}: {_version(name)}")
    return described


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _threads() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    # rsbounds._numerics.threads has this too, but imports NumPy
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()
