"""ONNX files: ``onnx:FILE``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds.loading.callables import guarded, shown
from rsbounds.loading.hashes import file_hash
from rsbounds.loading.models import Found, Request
from rsbounds.loading.packages import need

_TYPES: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
}


class OnnxModel:
    """The first output of an ONNX file with one input, on NumPy batches.

    A file whose first axis has a fixed length runs in pieces of that length, the last one
    filled up with zeros.
    """

    def __init__(self, session: Any, dtype: Any, length: int | None) -> None:
        self._session, self._dtype, self._length = session, dtype, length
        self._input, self._output = session.get_inputs()[0].name, session.get_outputs()[0].name

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[Any]:
        """Scores (count, classes) of a batch (count, *shape of x)."""
        batch = np.ascontiguousarray(batch, dtype=self._dtype)
        if self._length is None:
            return self._run(batch)
        rows, length = len(batch), self._length
        filled = np.zeros((-(-rows // length) * length, *batch.shape[1:]), self._dtype)
        filled[:rows] = batch
        return np.concatenate([self._run(part) for part in filled.reshape(
            (-1, length, *batch.shape[1:]))])[:rows]  # fmt: skip

    def _run(self, batch: NDArray[Any]) -> NDArray[Any]:
        scores: NDArray[Any] = self._session.run([self._output], {self._input: batch})[0]
        return scores


def load(request: Request) -> Found:
    """The network of that file, run by onnxruntime.

    ``args``: ``providers``, names of onnxruntime's, joined by "+" (CPUExecutionProvider);
    ``threads`` of an operator (onnxruntime's choice). Weights beside the file count for its hash.
    """
    where = f"--model onnx:{shown(request.name)}"
    if request.checkpoint is not None:
        raise ValueError(f"{where}: an ONNX file holds its weights; it takes no checkpoint")
    path = Path(request.name)
    source = file_hash(path)
    runtime = need("onnxruntime", where)
    args = dict(request.args)
    providers = str(args.pop("providers", "CPUExecutionProvider")).split("+")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = int(args.pop("threads", 0))
    if args:
        raise ValueError(f"{where} takes the arguments providers and threads; got {list(args)}")
    session = guarded(where, lambda: runtime.InferenceSession(path, options, providers=providers))
    wanted = session.get_inputs()
    if len(wanted) != 1 or wanted[0].type not in _TYPES:
        raise ValueError(
            f"{where} must have one input of real numbers; got "
            f"{', '.join(f'{i.name}: {i.type}' for i in wanted)}"
        )
    length = wanted[0].shape[0] if wanted[0].shape else None
    scores = session.get_outputs()[0].shape
    classes = scores[1] if len(scores) == 2 and isinstance(scores[1], int) else None
    model = OnnxModel(session, _TYPES[wanted[0].type], length if isinstance(length, int) else None)
    describe = {
        "source": source,
        "weights": {p.name: file_hash(p) for p in _beside(path)},
        "onnxruntime": runtime.__version__,
        "providers": session.get_providers(),
    }
    return Found(model, classes=classes, describe=describe)


def _beside(path: Path) -> list[Path]:
    """Files that hold the weights of a large model: FILE.data, FILE_data."""
    return [p for p in (Path(f"{path}.data"), Path(f"{path}_data")) if p.is_file()]
