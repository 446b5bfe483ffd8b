"""Models by name: ``load_model`` and the backends behind it."""

import ast
import difflib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_floats, broadcast, count, on_host
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown
from rsbounds.loading.callables import call, fingerprint, naming
from rsbounds.loading.checkpoints import load_weights
from rsbounds.loading.hashes import file_hash, is_torch, parameters_hash
from rsbounds.loading.images import Preprocess

# by prefix, which is the name of the function too
_MODULES = {"hf": "_hf", "onnx": "_files", "sklearn": "_files", "timm": "_zoos"}
_MODULES["torchvision"] = "_zoos"


@dataclass(frozen=True)
class Request:
    """What a backend is asked for: the name behind its prefix, and the options beside
    it.
    """

    spec: str
    name: str
    args: dict[str, Any]
    checkpoint: str | os.PathLike[str] | None
    download: bool

    @property
    def where(self) -> str:
        """For messages."""
        return shown(self.spec)

    def require_classes(self, classes: int) -> None:
        """ValueError if published weights have another number of classes than is asked
        for.
        """
        if (own := self.args.get("num_classes", classes)) != classes:
            raise ArgumentError(
                "num_classes",
                f"is {own}, but the weights of {self.where} have {classes}; a checkpoint "
                "may have others",
            )


@dataclass(frozen=True)
class Loaded:
    """A model and what is known of it: :func:`load_model` returns it, a CALLABLE may.

    Parameters
    ----------
    model : torch.nn.Module or callable
        Maps a batch (count, *shape of x) to scores (count, classes), arrays or tensors,
        or to something with ``logits``.
    mean, std : float or sequence of float, optional
        Of each channel, for pixels in [0, 1]: the model expects (x - mean)/std. The
        model that :func:`load_model` returns normalises by itself, and takes x in its
        own range.
    preprocess : Preprocess, optional
        What images go through before noise.
    labels : sequence, optional
        Names of the classes in their order, or the numbers that data label them with.
    describe : mapping
        For the manifest: what makes this model another one (hashes, versions).
    """

    model: Any
    mean: float | Sequence[float] = 0.0
    std: float | Sequence[float] = 1.0
    preprocess: Preprocess | None = None
    labels: Sequence[Any] | None = None
    describe: Mapping[str, Any] = field(default_factory=dict)


def load_model(
    spec: str,
    *,
    args: Mapping[str, Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    download: bool = False,
    input_range: tuple[float, float] | None = None,
    preprocess: Mapping[str, Any] | None = None,
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
    for name, value, kind in (
        ("the model's name", spec, str),
        ("args", args or {}, Mapping),
        ("checkpoint", checkpoint or "", str | os.PathLike),
        ("preprocess", preprocess or {}, Mapping),
    ):
        if not isinstance(value, kind):
            wanted = getattr(kind, "__name__", "path")
            raise ValueError(f"{name} must be a {wanted}; got {type(value).__name__}")
    prefix, _, name = spec.partition(":")
    options = dict(args or {})
    norm, load = {}, _own_code
    if prefix in _MODULES:
        norm = {key: options.pop(key) for key in ("mean", "std") if key in options}
        if "num_classes" in options:
            options["num_classes"] = count("num_classes", options["num_classes"], 2)
        load = getattr(import_module(f"rsbounds.loading.{_MODULES[prefix]}"), prefix)
    elif not all(spec.rpartition(":")):
        raise ArgumentError(
            "model",
            f"must be {', '.join(f'{b}:NAME' for b in _MODULES)}, MODULE:CALLABLE or "
            f"path/to/file.py:CALLABLE; got {shown(spec)!r}",
        )
    request = Request(spec, name, options, checkpoint, download)
    try:
        with naming("model"):
            loaded = load(request)
    except ArgumentError as error:
        missing = error.__cause__
        near = difflib.get_close_matches(prefix, _MODULES, 1)
        if isinstance(missing, ModuleNotFoundError) and missing.name == prefix and near:
            hint = f"; did you mean {near[0]}:?"
            raise ArgumentError(error.name, f"{error.problem}{hint}") from error
        raise
    if checkpoint is not None:
        if not is_torch(loaded.model):
            raise ArgumentError(
                "checkpoint", f"needs a torch module; {request.where} is none"
            )
        with naming("model"):
            load_weights(request.where, loaded.model, checkpoint)
    if preprocess:
        own = loaded.preprocess or Preprocess()
        if unknown_names := preprocess.keys() - own.description.keys():
            raise ValueError(
                f"preprocess has no {', '.join(map(repr, sorted(unknown_names)))}"
            )
        loaded = replace(loaded, preprocess=replace(own, **preprocess))
    loaded = replace(
        loaded, labels=tuple(loaded.labels) if loaded.labels else None, **norm
    )
    return _normalised(request, loaded, args or {}, span(input_range))


def _own_code(request: Request) -> Loaded:
    """``MODULE:CALLABLE`` or ``path/to/file.py:CALLABLE``, which returns a model or a
    Loaded.
    """
    built = call("model", request.spec, **request.args)
    loaded = built if isinstance(built, Loaded) else Loaded(built)
    if not callable(loaded.model):
        raise ValueError(
            f"{request.where} must return a torch module or a callable on a batch, or a Loaded "
            f"with one; got {type(loaded.model).__name__}"
        )
    source = fingerprint(request.spec, None)["source"]
    return replace(loaded, describe={**loaded.describe, "source": source})


def parse_arguments(text: str) -> dict[str, Any]:
    """``key=value,...`` as a dict; a value is a Python literal, or else a string.

    Examples
    --------
    >>> from rsbounds.loading import parse_arguments
    >>> parse_arguments("depth=50,mean=(.5,.5,.5),act=relu,pretrained=False")
    {'depth': 50, 'mean': (0.5, 0.5, 0.5), 'act': 'relu', 'pretrained': False}
    """
    source = f"f({text})"
    arguments: dict[str, Any] = {}
    try:
        parsed = ast.parse(source, mode="eval").body
        if (
            not isinstance(parsed, ast.Call)
            or not isinstance(parsed.func, ast.Name)
            or parsed.args
        ):
            raise ValueError
        for word in parsed.keywords:
            if word.arg is None or word.arg in arguments:
                raise ValueError
            try:
                arguments[word.arg] = ast.literal_eval(word.value)
            except ValueError:
                arguments[word.arg] = ast.get_source_segment(source, word.value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(
            f"arguments must be key=value,... with distinct keys; got {shown(text)!r}"
        ) from None
    return arguments


def unknown(argument: str, name: str, names: Sequence[str]) -> ArgumentError:
    """The error for a name that isn't among ``names``, with near matches."""
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    every = ", ".join(names) if len(names) < 9 else f"{len(names)} names"
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {every}"
    return ArgumentError(argument, f"{shown(name)!r} is unknown; {hint}")


class ArrayClassifier:
    """Scores of ``function`` at ``(x - shift) / spread``, as a NumPy array.

    Without ``shift`` and ``spread``, of shape (channels, 1, 1) or (), x goes in as it
    is.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        shift: NDArray[Any] | None = None,
        spread: NDArray[Any] | None = None,
    ) -> None:
        self.function, self.shift, self.spread = function, shift, spread

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[Any]:
        """Scores (count, classes) of a batch (count, *shape of x)."""
        if self.shift is not None and self.spread is not None:
            batch = (batch - self.shift) / self.spread
        return np.asarray(on_host("the model's scores", logits(self.function(batch))))


def logits(returned: Any) -> Any:
    """The scores in what a model returned: its ``logits``, if it has any."""
    if isinstance(returned, Mapping):
        return returned.get("logits", returned)
    return getattr(returned, "logits", returned)


def _normalised(
    request: Request, loaded: Loaded, args: Mapping[str, Any], ends: tuple[float, float]
) -> Loaded:
    """The model with its normalisation inside, and what the manifest says of it."""
    shift, spread = _affine(loaded.mean, loaded.std, *ends)
    if is_torch(loaded.model):
        from rsbounds.loading.denoiser import Classifier

        model: Any = Classifier(loaded.model, shift, spread).eval()
    else:
        model = ArrayClassifier(loaded.model, shift, spread)
    describe = {
        "source": None,
        **loaded.describe,
        "spec": request.spec,
        "parameters": parameters_hash(loaded.model)
        or loaded.describe.get("parameters"),
        "args": json.loads(json.dumps(dict(args), default=str)),
        "checkpoint": file_hash(request.checkpoint) if request.checkpoint else None,
        "preprocessing": {
            "input_range": list(ends),
            "mean": np.asarray(loaded.mean, dtype=float).tolist(),
            "std": np.asarray(loaded.std, dtype=float).tolist(),
            **(loaded.preprocess.description if loaded.preprocess else {}),
        },
    }
    return replace(loaded, model=model, mean=0.0, std=1.0, describe=describe)


def span(input_range: Any) -> tuple[float, float]:
    """low and high of a range of inputs, by default (0, 1)."""
    ends = as_floats("input_range", (0.0, 1.0) if input_range is None else input_range)
    if ends.shape != (2,) or not -np.inf < ends[0] < ends[1] < np.inf:
        raise ValueError(
            f"input_range must be (low, high) with low < high; got {input_range}"
        )
    return float(ends[0]), float(ends[1])


def _affine(
    mean: Any, std: Any, low: float, high: float
) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]:
    """shift and spread with (x - shift)/spread = ((x - low)/(high - low) - mean)/std."""
    centre = as_floats("mean", mean, closed="neither", nan=False)
    spread = as_floats("std", std, 0, closed="neither", nan=False)
    if centre.ndim > 1 or spread.ndim > 1:
        raise ValueError("mean and std must be one number, or one for each channel")
    if (low, high) == (0.0, 1.0) and not centre.any() and (spread == 1).all():
        return None, None
    centre, spread = np.broadcast_arrays(*broadcast(mean=centre, std=spread))
    shift, spread = (
        np.asarray(low + (high - low) * centre),
        np.asarray((high - low) * spread),
    )
    shape = (-1, 1, 1) if shift.ndim else ()
    return shift.reshape(shape).astype(np.float32), spread.reshape(shape).astype(
        np.float32
    )
