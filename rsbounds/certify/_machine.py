"""The machine that a process runs on, as a manifest records it."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any


def machine() -> dict[str, Any]:
    """Host, processor and, where PyTorch is loaded, its threads, GPU and arithmetic.

    Returns
    -------
    dict
        ``host``, ``cpu``, ``cores``; with PyTorch ``threads``; where it uses a GPU ``gpu`` (its
        model), ``cuda``, ``cudnn`` (version and settings) and ``tf32``, which rows depend on.
    """
    found: dict[str, Any] = {"host": platform.node(), "cpu": processor(), "cores": os.cpu_count()}
    torch = sys.modules.get("torch")  # it isn't loaded for this
    if torch is None:
        return found
    found["threads"] = torch.get_num_threads()
    if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return found
    cudnn, tf32 = torch.backends.cudnn, torch.backends.cuda.matmul.allow_tf32
    return found | {
        "gpu": torch.cuda.get_device_name(),
        "cuda": torch.version.cuda,
        "cudnn": {
            "version": cudnn.version(),
            "benchmark": cudnn.benchmark,
            "deterministic": cudnn.deterministic,
        },
        "tf32": {"matmul": tf32, "cudnn": cudnn.allow_tf32},
    }


def processor() -> str:
    """The processor's model."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
