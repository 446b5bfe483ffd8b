"""Models by name: ``load_model`` and the backends behind it."""

from __future__ import annotations

import ast
import difflib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_floats, broadcast, count, on_host
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import file_hash
from rsbounds._numerics.text import shown
from rsbounds.frameworks import as_function, scores_in
from rsbounds.frameworks.internal import is_estimator, is_regressor, labels_of
from rsbounds.loading._forms import unknown_model
from rsbounds.loading._loaded import Loaded, Request, span
from rsbounds.loading.callables import call, fingerprint, naming
from rsbounds.loading.checkpoints import load_weights
from rsbounds.loading.images import Preprocess
from rsbounds.loading.parameters import is_torch, parameters_hash

_BACKENDS = ("hf", "onnx", "sklearn", "timm", "torchvision")


def load_model(
    spec: str,
    *,
    args: Mapping[str, Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    download: bool = False,
    input_range: tuple[float, float] | None = None,
    preprocess: Mapping[str, Any] | None = None,
    trust: Sequence[str] = (),
) -> Loaded:
    """The model of that name, its normalisation inside.

    Parameters
    ----------
    spec : str
        ``timm:NAME``, ``torchvision:NAME``, ``hf:ID_OR_DIRECTORY``, ``onnx:FILE``,
        ``sklearn:FILE`` (of skops), ``MODULE:CALLABLE`` or
        ``path/to/file.py:CALLABLE``.
    args : mapping, optional
        Arguments of the model's constructor. Of a named model ``mean`` and ``std``
        replace the normalisation, and ``trust_remote_code=True`` lets code of Hugging
        Face's run.
    checkpoint : path, optional
        Weights: safetensors, or torch's with tensors alone.
    download : bool
        Whether weights that are not on disk may be fetched.
    input_range : (float, float), optional
        The range (low, high) that the data lie in and noise is added in; the model is
        given (x - low)/(high - low) in place of x. By default (0, 1).
    preprocess : mapping, optional
        Of :class:`Preprocess`, what is to be otherwise than the model says, or than the
        default where it says nothing: ``{"resize": 256, "crop": (224, 224)}``.
    trust : sequence of str
        Types, by their full names, that a file of skops may hold besides those that
        skops trusts and scikit-learn's own.

    Raises
    ------
    ValueError
        If the name is unknown (with near matches), its weights are not on disk (what to
        fetch, and where it was looked for), or the model can't be built.
    ImportError
        If a package is missing: the message says which extra to install.
    OSError
        If a file can't be read.

    Examples
    --------
    >>> import sys, types, numpy as np
    >>> from rsbounds.loading import load_model
    >>> module = types.ModuleType("mine")
    >>> module.build = lambda slope: lambda batch: slope * batch
    >>> sys.modules["mine"] = module
    >>> loaded = load_model("mine:build", args={"slope": 2.0}, input_range=(0, 255))
    >>> loaded.model(np.array([[255.0, 0.0]])).tolist()
    [[2.0, 0.0]]
    >>> del sys.modules["mine"]
    """
    _require("the model's name", spec, str)
    _require("args", args or {}, Mapping)
    _require("checkpoint", checkpoint or "", str | os.PathLike)
    _require("preprocess", preprocess or {}, Mapping)
    options = dict(args or {})
    prefix, _, name = spec.partition(":")
    normalisation: dict[str, Any] = {}
    load: Callable[[Request], Loaded] = _own_code
    if prefix in _BACKENDS:
        # of one's own code these are arguments like any other
        for key in ("mean", "std"):
            if key in options:
                normalisation[key] = options.pop(key)
        if "num_classes" in options:
            options["num_classes"] = count("num_classes", options["num_classes"], 2)
        load = _backend(prefix)
    elif not all(spec.rpartition(":")):
        raise unknown_model(spec)
    request = Request(
        spec=spec,
        name=name,
        args=options,
        checkpoint=checkpoint,
        download=download,
        trust=_types("trust", trust, prefix),
    )
    loaded = _load(load, request, prefix)
    if checkpoint is not None:
        if not is_torch(loaded.model):
            raise ArgumentError(
                "checkpoint", f"needs a torch module; {request.where} is none"
            )
        with naming("model"):
            # a module around one of another package has names of its own
            holder = getattr(loaded.model, "named_by", loaded.model)
            load_weights(request.where, holder, checkpoint)
    if preprocess:
        loaded = replace(loaded, preprocess=_changed(loaded.preprocess, preprocess))
    labels = tuple(loaded.labels) if loaded.labels else None
    loaded = replace(loaded, labels=labels, **normalisation)
    return _normalised(request, loaded, args or {}, span(input_range))


def _require(name: str, value: Any, kind: Any) -> None:
    """Raise ArgumentError for an argument of another type."""
    if not isinstance(value, kind):
        wanted = getattr(kind, "__name__", "path")
        raise ArgumentError(name, f"must be a {wanted}; got {type(value).__name__}")


def _types(argument: str, names: Any, prefix: str) -> tuple[str, ...]:
    """Full names of types, which models in files of skops alone take."""
    several = isinstance(names, list | tuple | set | frozenset)
    if not several or not all(isinstance(name, str) for name in names):
        raise ArgumentError(
            argument, f"must be a sequence of names of types; got {names!r:.80}"
        )
    if names and prefix != "sklearn":
        raise ArgumentError(argument, "is for a model sklearn:FILE")
    return tuple(names)


def _load(load: Callable[[Request], Loaded], request: Request, prefix: str) -> Loaded:
    """Load a model by a backend, whose errors become errors about the model.

    They hint at the prefix where it may be a misspelt one.
    """
    try:
        with naming("model"):
            return load(request)
    except ArgumentError as error:
        missing = error.__cause__
        # "tim:resnet18" is taken for a function of the module tim, which is not there
        near = difflib.get_close_matches(prefix, _BACKENDS, 1)
        if isinstance(missing, ModuleNotFoundError) and missing.name == prefix and near:
            hint = f"; did you mean {near[0]}:?"
            raise ArgumentError(error.name, f"{error.problem}{hint}") from error
        raise


def _changed(preprocess: Preprocess | None, changes: Mapping[str, Any]) -> Preprocess:
    """What images go through, otherwise than the model says."""
    by_model = preprocess or Preprocess()
    unknown_names = changes.keys() - by_model.description.keys()
    if unknown_names:
        raise ArgumentError(
            "preprocess", f"has no {', '.join(map(repr, sorted(unknown_names)))}"
        )
    return replace(by_model, **changes)


def _backend(prefix: str) -> Callable[[Request], Loaded]:
    """Return the loader of a prefix, imported only now for the packages it needs."""
    if prefix == "hf":
        from rsbounds.loading._hf import hf

        return hf
    if prefix in ("onnx", "sklearn"):
        from rsbounds.loading import _files

        return _files.onnx if prefix == "onnx" else _files.sklearn
    from rsbounds.loading import _zoos

    return _zoos.timm if prefix == "timm" else _zoos.torchvision


def _own_code(request: Request) -> Loaded:
    """Load from ``MODULE:CALLABLE`` or ``path/to/file.py:CALLABLE``.

    The callable returns a model or a Loaded.
    """
    built = call("model", request.spec, **request.args)
    loaded = built if isinstance(built, Loaded) else Loaded(built)
    model = loaded.model
    if isinstance(model, type) or not (callable(model) or is_estimator(model)):
        kind = f"the class {model.__name__}" if isinstance(model, type) else None
        raise ArgumentError(
            "model",
            f"{request.where} must return a torch module, an estimator, a callable on "
            f"a batch, or a Loaded with one; got {kind or type(model).__name__}",
        )
    source = fingerprint(request.spec, None)["source"]
    describe = {**loaded.describe, "source": source}
    # an estimator's own, where they aren't 0, 1, 2, ...
    labels = loaded.labels or labels_of(model)
    if labels:
        describe.setdefault("labels", list(labels))
    return replace(loaded, labels=labels, describe=describe)


def parse_arguments(text: str) -> dict[str, Any]:
    """``key=value,...`` as a dict; a value is a Python literal, or else a string.

    Examples
    --------
    >>> from rsbounds.loading.internal import parse_arguments
    >>> parse_arguments("depth=50,mean=(.5,.5,.5),act=relu,pretrained=False")
    {'depth': 50, 'mean': (0.5, 0.5, 0.5), 'act': 'relu', 'pretrained': False}
    """
    source = f"f({text})"
    try:
        call = ast.parse(source, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError  # such as "a=1)(b=2"
        names = [keyword.arg for keyword in call.keywords]
        if call.args or None in names or len(set(names)) < len(names):
            raise ValueError
        return {str(k.arg): _literal(source, k.value) for k in call.keywords}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(
            f"arguments must be key=value,... with distinct keys; got {shown(text)!r}"
        ) from None


def _literal(source: str, node: ast.expr) -> Any:
    """The value of a Python literal; of anything else the text as it stands."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.get_source_segment(source, node)


class ArrayClassifier:
    """Scores of a model at ``(x - shift) / spread``, as a NumPy array.

    ``model`` is as :func:`rsbounds.frameworks.as_function` takes it; with ``outputs``
    its outputs are wanted, not its vote; ``columns`` makes the frame that it takes of a
    batch. Without ``shift`` and ``spread``, of shape
    (channels, 1, 1) or (), x goes in as it is.
    """

    def __init__(
        self,
        model: Any,
        shift: NDArray[Any] | None = None,
        spread: NDArray[Any] | None = None,
        *,
        outputs: bool = False,
        columns: Callable[[Any], Any] | None = None,
    ) -> None:
        self.model = model
        self.columns = columns
        # whether values were wanted is known when it is called
        self._regressor = is_regressor(model) and not outputs
        self.function = as_function(
            model, outputs=outputs or self._regressor, columns=columns
        )
        self.shift = shift
        self.spread = spread

    def of_outputs(self) -> ArrayClassifier:
        """This model with its outputs as they are, instead of its vote."""
        return ArrayClassifier(
            self.model, self.shift, self.spread, outputs=True, columns=self.columns
        )

    def of_columns(self, columns: Callable[[Any], Any]) -> ArrayClassifier:
        """This model, given what ``columns`` makes of a batch."""
        return ArrayClassifier(self.model, self.shift, self.spread, columns=columns)

    def __call__(self, batch: NDArray[Any]) -> NDArray[Any]:
        """Scores (count, classes) of a batch (count, *shape of x)."""
        if self._regressor:
            raise ValueError(
                f"the model must return scores of classes; {type(self.model).__name__} "
                "is a regressor, whose outputs are certified by the answer 'values'"
            )
        if self.shift is not None and self.spread is not None:
            batch = (batch - self.shift) / self.spread
        return np.asarray(
            on_host("the model's scores", scores_in(self.function(batch)))
        )


def _normalised(
    request: Request, loaded: Loaded, args: Mapping[str, Any], ends: tuple[float, float]
) -> Loaded:
    """The model with its normalisation inside, and what the manifest says of it."""
    shift, spread = _affine(loaded.mean, loaded.std, *ends)
    if is_torch(loaded.model):
        from rsbounds.loading.denoiser import Classifier, MaskedClassifier, takes_mask

        masked = shift is None and takes_mask(loaded.model)
        wrapper = MaskedClassifier if masked else Classifier
        model: Any = wrapper(loaded.model, shift, spread).eval()
    else:
        try:
            model = ArrayClassifier(loaded.model, shift, spread)
        except ValueError as error:  # an estimator that isn't fitted, or smoothed
            raise ArgumentError("model", f"{request.where}: {error}") from error
    # files that hold a whole model have said its hash
    parameters = loaded.describe.get("parameters") or parameters_hash(loaded.model)
    preprocessing = {
        "input_range": list(ends),
        "mean": np.asarray(loaded.mean, dtype=float).tolist(),
        "std": np.asarray(loaded.std, dtype=float).tolist(),
    }
    if loaded.preprocess:
        preprocessing |= loaded.preprocess.description
    describe = {
        "source": None,
        **loaded.describe,
        "spec": request.spec,
        "parameters": parameters,
        "args": json.loads(json.dumps(dict(args), default=str)),
        "checkpoint": file_hash(request.checkpoint) if request.checkpoint else None,
        "preprocessing": preprocessing,
    }
    return replace(loaded, model=model, mean=0.0, std=1.0, describe=describe)


def _affine(
    mean: Any, std: Any, low: float, high: float
) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]:
    """Return shift and spread of one map for range, mean and standard deviation.

    (x - shift)/spread = ((x - low)/(high - low) - mean)/std.
    """
    centre = as_floats("mean", mean, closed="neither", nan=False)
    spread = as_floats("std", std, 0, closed="neither", nan=False)
    if centre.ndim > 1 or spread.ndim > 1:
        raise ValueError("mean and std must be one number, or one for each channel")
    if (low, high) == (0.0, 1.0) and not centre.any() and (spread == 1).all():
        return None, None
    centre, spread = np.broadcast_arrays(*broadcast(mean=centre, std=spread))
    shift = np.asarray(low + (high - low) * centre)
    spread = np.asarray((high - low) * spread)
    shape = (-1, 1, 1) if shift.ndim else ()  # channels come first in an image
    return (
        shift.reshape(shape).astype(np.float32),
        spread.reshape(shape).astype(np.float32),
    )
