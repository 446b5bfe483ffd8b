"""Models in files: ``onnx:FILE``, and estimators saved by skops, ``sklearn:FILE``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import file_hash, opened
from rsbounds._numerics.text import shown
from rsbounds.frameworks.internal import in_pieces, labels_of
from rsbounds.loading._loaded import Loaded, Request
from rsbounds.loading.callables import guarded
from rsbounds.loading.packages import need

_TYPES: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
}

#: Of scikit-learn's own types, each by its full name, those that hold fitted numbers
#: and that skops does not trust by itself. No prefix: a module's namespace holds what
#: it imports, too.
_TRUSTED = {
    "collections.OrderedDict",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.DotProduct",
    "sklearn.gaussian_process.kernels.Matern",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.gaussian_process.kernels.RationalQuadratic",
    "sklearn.gaussian_process.kernels.Sum",
    "sklearn.gaussian_process.kernels.WhiteKernel",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.metrics._dist_metrics.ManhattanDistance64",
    "sklearn.metrics._dist_metrics.MinkowskiDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
}


def onnx(request: Request) -> Loaded:
    """Load a network from an ONNX file: one input, one output, by onnxruntime.

    ``args``: ``output``, the name of the scores (the first output, or the only one of
    shape (N, classes) in floating point); ``providers``, names of onnxruntime's, joined
    by "+" (CPUExecutionProvider); ``threads`` of an operator (onnxruntime's choice). A
    file whose first axis has a fixed length runs in pieces of that length, the last one
    filled up with zeros.
    """
    where = request.where
    path = Path(request.name)
    args = request.args
    if request.checkpoint is not None:
        raise ValueError(
            f"{where}: an ONNX file holds its weights; it takes no checkpoint"
        )
    source = file_hash(path)
    runtime = need("onnxruntime", where)
    library = need("onnx", where)
    providers = str(args.pop("providers", "CPUExecutionProvider")).split("+")
    wanted = args.pop("output", None)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = count("threads", args.pop("threads", 0))
    if args:
        raise ValueError(
            f"{where} takes the arguments output, providers and threads; got "
            f"{list(args)}"
        )
    session = guarded(
        where, lambda: runtime.InferenceSession(path, options, providers=providers)
    )
    inputs = session.get_inputs()
    if len(inputs) != 1 or inputs[0].type not in _TYPES:
        got = ", ".join(f"{i.name}: {i.type}" for i in inputs)
        raise ValueError(
            f"{where} must have one input of real numbers; got {shown(got)}"
        )
    length = inputs[0].shape[0] if inputs[0].shape else None
    dtype = _TYPES[inputs[0].type]
    entry = inputs[0].name
    outputs = session.get_outputs()
    output = _scores_of(where, outputs, wanted)

    def run(batch: NDArray[Any]) -> Any:
        return session.run([output], {entry: batch})[0]

    def model(batch: NDArray[Any]) -> NDArray[Any]:
        _require_shape(inputs[0], batch.shape[1:])
        rows = length if isinstance(length, int) else max(len(batch), 1)
        return in_pieces(run, np.ascontiguousarray(batch, dtype), rows)

    parsed = guarded(where, lambda: library.load(path, load_external_data=False))
    names = sorted(set(_beside(parsed)))
    weights = {name: file_hash(path.parent / name) for name in names}
    hashes = " ".join([source, *weights.values()])
    describe = {
        "source": source,
        "weights": weights,
        "parameters": hashlib.sha256(hashes.encode()).hexdigest(),
        "onnxruntime": runtime.__version__,
        "providers": session.get_providers(),
    }
    if output != outputs[0].name:
        describe["output"] = output
    return Loaded(model, describe=describe)


def _require_shape(declared: Any, shape: tuple[int, ...]) -> None:
    """ArgumentError for an input of another shape than a network's input states."""
    wanted = tuple(declared.shape or ())[1:]
    fits = len(wanted) == len(shape) and all(
        fixed == side or not isinstance(fixed, int)
        for fixed, side in zip(wanted, shape, strict=True)
    )
    if not fits:
        listed = ", ".join(map(str, wanted))
        raise ArgumentError(
            "x",
            f"has shape {shape}, and the network's input {shown(declared.name)} takes "
            f"({listed})",
        )


def _scores_of(where: str, outputs: Sequence[Any], wanted: Any) -> str:
    """The name of the output that holds scores; ValueError where it isn't clear."""
    names = [str(output.name) for output in outputs]
    if wanted is not None:
        if wanted not in names:
            raise ArgumentError(
                "output",
                f"must be of {shown(', '.join(names))}; got {shown(wanted)}",
            )
        return str(wanted)
    if outputs[0].type in _TYPES:
        return names[0]
    scores = [
        str(output.name)
        for output in outputs
        if output.type in _TYPES and len(output.shape or ()) == 2
    ]
    if len(scores) == 1:
        return scores[0]
    listed = ", ".join(f"{o.name}: {o.type} {o.shape}" for o in outputs)
    raise ValueError(
        f"{where} has as its first output no scores of shape (N, classes) in floating "
        f"point; got {shown(listed)}: name that of the scores, output=NAME among the "
        "model's arguments (estimators are exported with zipmap=False)"
    )


def _beside(message: Any) -> Iterator[str]:
    """Names of the files that a model keeps tensors in, wherever in it they are."""
    for field, value in message.ListFields():
        repeated = isinstance(value, Sequence)
        for part in value if repeated else (value,):
            if field.name == "external_data" and part.key == "location":
                yield part.value
            elif hasattr(part, "ListFields"):
                yield from _beside(part)


def sklearn(request: Request) -> Loaded:
    """Load an estimator from a skops file, unless it holds types that nobody trusts.

    scikit-learn's own trees, networks and kernels are trusted.
    """
    where = request.where
    if request.checkpoint is not None or request.args:
        raise ValueError(
            f"{where}: a file of skops holds all; it takes no checkpoint or arguments"
        )
    with opened(request.name) as file:
        content = file.read()
    if not content.startswith(b"PK"):
        raise ValueError(
            f"{where} must be a file of skops, which runs no code when it is read: "
            "write it as skops.io.dump(estimator, FILE); pickle and joblib files are "
            "never read"
        )
    io: Any = need("skops.io", where)
    unknown = guarded(where, lambda: io.get_untrusted_types(data=content))
    foreign = sorted(set(unknown) - _TRUSTED - set(request.trust))
    if foreign:
        raise ValueError(
            f"{where} holds types that skops does not trust: "
            f"{shown(', '.join(foreign))}; if you do, name them as "
            f"trust={shown(str(foreign))}, or return skops.io.load(FILE, trusted="
            "[...]) from code of your own, MODULE:CALLABLE"
        )
    estimator = guarded(where, lambda: io.loads(content, trusted=unknown))
    labels = labels_of(estimator)
    digest = hashlib.sha256(content).hexdigest()
    describe = {
        "source": digest,
        "parameters": digest,
        "scikit-learn": need("sklearn", where).__version__,
    }
    if labels:
        describe["labels"] = labels
    return Loaded(estimator, labels=labels, describe=describe)
