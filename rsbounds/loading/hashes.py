"""Which files were they: hashes of files and of code."""

import hashlib
import os

from rsbounds._numerics.files import opened as opened


def file_hash(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_hash(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a Python file without its empty lines and comment lines.

    (Not of its syntax tree, which differs between versions of Python.)
    """
    with opened(path) as file:
        lines = [line.rstrip() for line in file.read().splitlines()]
    code = [line for line in lines if line and not line.lstrip().startswith(b"#")]
    return hashlib.sha256(b"\n".join(code)).hexdigest()
