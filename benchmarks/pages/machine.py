"""The machine and the versions that a page's times are of."""

import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from rsbounds._numerics.threads import cores, processor


def machine(*packages: str) -> str:
    """Processor, cores, Python, NumPy, SciPy and those of ``packages`` installed, in a
    line.
    """
    parts = [f"{processor()} ({cores()} cores)", f"Python {platform.python_version()}"]
    for package in ("NumPy", "SciPy", *packages):
        with suppress(PackageNotFoundError):
            parts.append(f"{package} {version(package)}")
    return ", ".join(parts)
