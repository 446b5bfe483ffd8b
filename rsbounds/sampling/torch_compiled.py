"""A torch module as ``torch.compile`` runs it fastest on its device.

Not loaded unless a model is compiled.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from rsbounds.frameworks import scores_in

# what torch says where a module reads a tensor as if it were in rows, ``x.view``
_NEEDS_ROWS = "view size is not compatible"


class CompiledModule:
    """What a module returns, compiled for few shapes.

    Pictures are given channels last, unless the module reads them as rows. On a GPU its
    kernels are recorded as CUDA graphs. Those keep one memory for their outputs, which
    are copied out of it, and belong to the thread that recorded them: in another one
    they fail or return other numbers, so a second thread is refused.
    """

    def __init__(self, model: torch.nn.Module, device: torch.device) -> None:
        self._has_graphs = device.type == "cuda"
        mode = "reduce-overhead" if self._has_graphs else None
        self._model = torch.compile(model, dynamic=False, mode=mode)
        self._channels_last = True
        self._thread: int | None = None

    def __call__(self, batch: torch.Tensor, **masks: Any) -> Any:
        if self._has_graphs:
            self._require_one_thread()
        returned = scores_in(self._returned(batch, masks))
        if self._has_graphs and isinstance(returned, torch.Tensor):
            returned = returned.clone()
        return returned

    def _returned(self, batch: torch.Tensor, masks: dict[str, Any]) -> Any:
        if batch.ndim != 4 or not self._channels_last:
            return self._model(batch, **masks)
        try:
            return self._model(
                batch.contiguous(memory_format=torch.channels_last), **masks
            )
        except RuntimeError as error:
            if _NEEDS_ROWS not in str(error):
                raise
        self._channels_last = False
        return self._model(batch, **masks)

    def _require_one_thread(self) -> None:
        thread = threading.get_ident()
        self._thread = self._thread or thread
        if self._thread != thread:
            raise RuntimeError(
                "a model that is compiled for a GPU must be called from one thread, "
                "which its CUDA graphs belong to: leave out compile=True"
            )


_lock = threading.Lock()
#: How many calls ask for the quickest kernels, and the setting to put back after them.
_asking, _before = 0, False


@contextmanager
def quickest_kernels() -> Iterator[None]:
    """Let cuDNN try its kernels for each new shape, and take the quickest.

    The setting is the process's: the last of several threads to leave puts it back.
    """
    global _asking, _before
    with _lock:
        if not _asking:
            _before = torch.backends.cudnn.benchmark
        _asking += 1
        torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        with _lock:
            _asking -= 1
            if not _asking:
                torch.backends.cudnn.benchmark = _before
