"""Models by name: ``load_model`` and the backends behind it."""

from __future__ import annotations

import ast
import difflib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_floats, count
from rsbounds.loading.arrays import ArrayClassifier
from rsbounds.loading.callables import shown
from rsbounds.loading.hashes import file_hash, is_torch, parameters_hash
from rsbounds.loading.images import Preprocess

_PREFIXES = ("hf", "onnx", "timm", "torchvision")


@dataclass(frozen=True)
class Request:
    """What a backend is asked for: the name behind its prefix, and the options beside it."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: str | os.PathLike[str] | None = None
    num_classes: int | None = None
    download: bool = False
    allow_remote_code: bool = False


@dataclass(frozen=True)
class Found:
    """What a backend returns.

    Parameters
    ----------
    model : torch.nn.Module or callable
        Maps a batch (count, *shape of x), normalised by ``mean`` and ``std``, to scores
        (count, classes) or to something with ``logits``. Its checkpoint is loaded.
    mean, std : float or sequence of float, optional
        Of each channel, for pixels in [0, 1]: the model is given (x - mean)/std.
    preprocess : Preprocess, optional
        What its images go through before noise.
    labels : sequence of str, optional
        Names of the classes in their order.
    classes : int, optional
        How many; by default the number of labels.
    describe : dict
        For the manifest: what makes this model another one (files' hashes, versions).
    """

    model: Any
    mean: float | Sequence[float] = 0.0
    std: float | Sequence[float] = 1.0
    preprocess: Preprocess | None = None
    labels: Sequence[str] | None = None
    classes: int | None = None
    describe: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Loaded:
    """A model ready for noise.

    Attributes
    ----------
    model : torch.nn.Module or callable
        Maps a batch (count, *shape of x) in the input's own range to scores (count, classes).
    describe : dict
        For the manifest: spec, source (hash), parameters (hash), preprocessing, ...
    preprocess : Preprocess or None
        What images go through before noise.
    classes : int or None
        Number of classes, where the model says it.
    labels : tuple of str or None
        Names of the classes in their order.
    """

    model: Any
    describe: dict[str, Any]
    preprocess: Preprocess | None = None
    classes: int | None = None
    labels: tuple[str, ...] | None = None


def load_model(
    spec: str,
    *,
    args: Mapping[str, Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    num_classes: int | None = None,
    download: bool = False,
    input_range: tuple[float, float] | None = None,
    preprocess: Mapping[str, Any] | None = None,
    allow_remote_code: bool = False,
) -> Loaded:
    """The model of that name, its normalisation inside.

    Parameters
    ----------
    spec : str
        ``timm:NAME``, ``torchvision:NAME``, ``hf:ID_OR_DIRECTORY``, ``onnx:FILE``,
        ``MODULE:CALLABLE`` or ``path/to/file.py:CALLABLE``.
    args : mapping, optional
        Arguments of the model's constructor. Of a named model ``mean`` and ``std`` replace the
        normalisation; ``num_classes`` and ``trust_remote_code`` are the options below.
    checkpoint : path, optional
        Weights: safetensors, or torch's with tensors alone.
    num_classes : int, optional
        Number of classes, >= 2; by default the model's own.
    download : bool
        Whether weights that are not on disk may be fetched.
    input_range : (float, float), optional
        The range (low, high) that the data lie in and noise is added in; the model is given
        (x - low)/(high - low) in place of x. By default (0, 1).
    preprocess : mapping, optional
        Of :class:`Preprocess`, what is to be otherwise than the model says, or than the default
        where it says nothing: ``{"resize": 256, "crop": (224, 224)}``.
    allow_remote_code : bool
        Whether code from a model's repository may run (Hugging Face alone).

    Returns
    -------
    Loaded
        The model, what the manifest says of it, and what its images go through before noise.

    Raises
    ------
    ValueError
        If the name is unknown (with near matches), its weights are not on disk (what to fetch,
        and where it was looked for), a package is missing, or the model can't be built.
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
    if not isinstance(spec, str):
        raise ValueError(f"the model's name must be text; got {type(spec).__name__}")
    prefix, _, name = spec.partition(":")
    if own_code := prefix not in _PREFIXES:
        prefix, name = "python", spec
        if not all(spec.rpartition(":")):
            raise ValueError(
                f"the model must be {', '.join(f'{b}:NAME' for b in _PREFIXES)}, "
                f"MODULE:CALLABLE or path/to/file.py:CALLABLE; got {shown(spec)!r}"
            )
    options = dict(args or {})
    if not own_code:
        num_classes = options.pop("num_classes", num_classes)
        allow_remote_code = options.pop("trust_remote_code", allow_remote_code) is True
    if num_classes is not None:
        num_classes = count("num_classes", num_classes, 2)
    named = () if own_code else ("mean", "std")
    norm = {key: options.pop(key) for key in named if key in options}
    backend = import_module(f"rsbounds.loading._{prefix}")
    request = Request(name, options, checkpoint, num_classes, download, allow_remote_code)
    try:
        model = backend.load(request)
    except ValueError as error:
        missing = error.__cause__
        module = spec.partition(":")[0]
        near = difflib.get_close_matches(module, _PREFIXES, 1)
        if isinstance(missing, ModuleNotFoundError) and missing.name == module and near:
            raise ValueError(f"{shown(error)}; did you mean {near[0]}:?") from error
        raise
    if preprocess:
        own = model.preprocess or Preprocess()
        model = replace(model, preprocess=replace(own, **preprocess))
    return _finish(spec, model, norm, args or {}, checkpoint, num_classes, input_range)


def parse_arguments(text: str) -> dict[str, Any]:
    """``key=value,...`` as a dict; a value is a Python literal, or else a string.

    Examples
    --------
    >>> from rsbounds.loading import parse_arguments
    >>> parse_arguments("depth=50,mean=(.5,.5,.5),act=relu,pretrained=False")
    {'depth': 50, 'mean': (0.5, 0.5, 0.5), 'act': 'relu', 'pretrained': False}
    """
    source = f"f({text})"
    found: dict[str, Any] = {}
    try:
        call = ast.parse(source, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError
        for word in call.keywords:
            if word.arg is None or word.arg in found:
                raise ValueError
            found[word.arg] = _value(source, word.value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(
            f"arguments must be key=value,... with distinct keys; got {shown(text)!r}"
        ) from None
    return found


def _value(source: str, node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.get_source_segment(source, node)


def unknown(what: str, name: str, known: Sequence[str]) -> ValueError:
    """The error for a name that isn't among ``known``, with near matches."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"{len(known)} names are known"
    return ValueError(f"{what} {shown(name)!r} is unknown; {hint}")


def _finish(
    spec: str,
    found: Found,
    norm: Mapping[str, Any],
    args: Mapping[str, Any],
    checkpoint: str | os.PathLike[str] | None,
    num_classes: int | None,
    input_range: tuple[float, float] | None,
) -> Loaded:
    mean, std = norm.get("mean", found.mean), norm.get("std", found.std)
    shift, spread = _affine(mean, std, input_range)
    labels = None if found.labels is None else tuple(found.labels)
    classes = found.classes or (len(labels) if labels else None)
    if num_classes is not None and classes not in (None, num_classes):
        raise ValueError(f"num_classes is {num_classes}, but {shown(spec)} has {classes} classes")
    if labels and classes is not None and len(labels) != classes:
        labels = None
    model: Any = found.model
    if is_torch(model):
        from rsbounds.loading.classifier import Classifier

        wrapped: Any = Classifier(model, shift, spread).eval()
    else:
        wrapped = ArrayClassifier(model, shift, spread)
    describe = {
        "spec": spec,
        "source": None,
        "parameters": parameters_hash(model),
        "args": json.loads(json.dumps(dict(args), default=str)),
        "checkpoint": None if checkpoint is None else file_hash(checkpoint),
        "preprocessing": {
            "input_range": list(input_range or (0.0, 1.0)),
            "mean": np.asarray(mean, dtype=float).tolist(),
            "std": np.asarray(std, dtype=float).tolist(),
            **(found.preprocess.description if found.preprocess else {}),
        },
        **found.describe,
    }
    return Loaded(wrapped, describe, found.preprocess, classes or num_classes, labels)


def _affine(
    mean: Any, std: Any, input_range: tuple[float, float] | None
) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]:
    """shift and spread with (x - shift)/spread = ((x - low)/(high - low) - mean)/std."""
    low, high = (0.0, 1.0) if input_range is None else input_range
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"input_range must be (low, high) with low < high; got {input_range}")
    centre = as_floats("mean", mean, closed="neither", nan=False)
    spread = as_floats("std", std, 0, closed="neither", nan=False)
    if centre.ndim > 1 or spread.ndim > 1:
        raise ValueError("mean and std must be one number, or one for each channel")
    if (low, high) == (0.0, 1.0) and not centre.any() and (spread == 1).all():
        return None, None
    shift, spread = np.broadcast_arrays(low + (high - low) * centre, (high - low) * spread)
    shape = (-1, 1, 1) if shift.ndim else ()
    return shift.reshape(shape).astype(np.float32), spread.reshape(shape).astype(np.float32)
