"""The machine and the versions that a page was made on, and the grid of its tables."""

from __future__ import annotations

import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import scipy

from rsbounds._numerics.threads import cores, processor

DIMENSIONS = (784, 3072, 150528)
NONCENTRALITIES = (0.0, 1e3, 1e6, 1e9, 1e12, 1e16)


def machine(*packages: str) -> str:
    """Processor, cores, and the versions of Python, NumPy, SciPy and ``packages``, in a line."""
    parts = [f"{processor()} ({cores()} cores)", f"Python {platform.python_version()}"]
    parts += [f"NumPy {np.__version__}", f"SciPy {scipy.__version__}"]
    for package in packages:
        with suppress(PackageNotFoundError):
            parts.append(f"{package} {version(package)}")
    return ", ".join(parts)
