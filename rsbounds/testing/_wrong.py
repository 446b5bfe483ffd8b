"""Values of wrong types, and other processor settings, that calls are made with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

#: What no number, array, object or text of an example stands for.
WRONG: Mapping[str, Any] = {
    "text": "high",
    "empty text": "",
    "bytes": b"1",
    "None": None,
    "empty list": [],
    "ragged": [[1.0], [1.0, 2.0]],
    "list": [0.5, 0.25],
    "empty mapping": {},
    "mapping": {"a": 1},
    "object": object(),
    "True": True,
    "complex": 1j,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": -float("inf"),
    "-0.0": -0.0,
    "subnormal": 5e-324,
    "-1": -1,
    "1.5": 1.5,
    "huge": 10**400,
    "0-d": np.array(0.5),
    "size 0": np.array([]),
    "shape (0, 3)": np.zeros((0, 3)),
    "array of text": np.array(["a"]),
    "array of objects": np.array([None]),
    "complex array": np.array([1j]),
    "array of bool": np.array([True]),
    "date": np.datetime64("2020"),
    "function": lambda *_, **__: None,
    "class": str,
    "empty tuple": (),
    "set": {1},
}


@contextmanager
def flushed_denormals() -> Iterator[bool]:
    """Let the processor take numbers below 2.2e-308 for 0, where PyTorch can ask it to.

    Yields whether it does.
    """
    if find_spec("torch") is None:
        yield False
        return
    torch = import_module("torch")
    flushes = torch.set_flush_denormal(True)
    try:
        yield flushes
    finally:
        torch.set_flush_denormal(False)
