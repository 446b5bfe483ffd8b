"""Compiled kernels of rsbounds; see `rsbounds_ext.kernels` and its .pxd."""

from pathlib import Path


def get_include() -> str:
    """Folder of the C++ headers (`#include <rsbounds/api.hpp>`)."""
    return str(Path(__file__).parent / "include")


def get_cmake_dir() -> str:
    """Folder for CMake: `cmake -Drsbounds_DIR=...`, then `find_package(rsbounds)`."""
    return str(Path(__file__).parent / "cmake")
