"""Where a module is exported and run: one at a time, on the CPU, in full precision."""

import io
import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr

import torch
from torch.nn.utils import parametrize

__all__ = ["apart_from_all", "on_cpu"]

# torch's exporter keeps its state in globals, and so does what is switched off here
_EXPORTING = threading.Lock()


@contextmanager
def apart_from_all() -> Iterator[None]:
    """One thread at a time, without gradients and what others have switched on."""
    with _EXPORTING, _quiet(), on_cpu(), torch.no_grad():
        yield


@contextmanager
def on_cpu() -> Iterator[None]:
    """Where tensors are made on the CPU, in full precision."""
    with ExitStack() as stack:
        stack.enter_context(torch.autocast("cpu", enabled=False))
        if torch.empty(0).device.type != "cpu":
            stack.enter_context(torch.device("cpu"))
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch says beside its errors, and without its caches."""
    before = logging.root.manager.disable
    cached = parametrize._cache_enabled
    logging.disable(logging.CRITICAL)
    # a cache may hold what a weight was, and would keep what the exporter makes of it
    parametrize._cache_enabled = 0
    try:
        # the exporter prints the graph of a module that it fails for
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        parametrize._cache_enabled = cached
        logging.disable(before)
