"""The numbers that a model of any framework holds, in one order, and their hash."""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DEEPEST = 12
#: Packages whose functions and objects are not looked into.
_OTHERS = {"numpy", "scipy", "torch", "jax", "keras", "tensorflow", "rsbounds_ext"}

NamedArray = tuple[str, NDArray[Any]]


def is_torch(model: Any) -> bool:
    """Whether ``model`` is a torch module, without importing torch to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def parameters_hash(model: Any) -> str | None:
    """SHA-256 of the parameters and buffers, or arrays, of a model; None without.

    Arrays are those of :func:`held_arrays`.
    """
    if not is_torch(model):
        return _arrays_hash(model)
    import torch

    parameters = hashlib.sha256()
    for key, value in sorted(model.state_dict().items()):
        try:
            flat = value.detach().cpu().contiguous().reshape(-1)
            array = flat.view(torch.uint8).numpy()
        except (AttributeError, RuntimeError) as error:
            raise ValueError(
                f"the model's {key!r} must be a tensor that holds numbers; got "
                f"{type(value).__name__}: quantized modules and parameters on the "
                "device meta can't be certified"
            ) from error
        parameters.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
        parameters.update(array.tobytes())
    return parameters.hexdigest()


def _arrays_hash(model: Any) -> str | None:
    """SHA-256 of the arrays that a model holds, and of where they lie."""
    arrays = hashlib.sha256()
    none = arrays.hexdigest()
    for path, array in held_arrays(model):
        arrays.update(f"{path} {array.dtype} {array.shape}".encode())
        arrays.update(np.ascontiguousarray(array).tobytes())
    found = arrays.hexdigest()
    return None if found == none else found


def held_arrays(model: Any) -> Iterator[NamedArray]:
    """Yield the arrays that a model holds, and where they lie.

    They are sought in a module, a Keras model, an estimator, a function's closure,
    defaults and globals, and in what these hold.

    Numbers alone, outside of arrays, are not among them: counters change as a model
    runs.
    """
    yield from _arrays_in(model, "model", {}, _DEEPEST)


def _arrays_in(
    node: Any, path: str, seen: dict[int, Any], left: int
) -> Iterator[NamedArray]:
    if id(node) in seen or not left or isinstance(node, ModuleType | type):
        return
    # kept, not only its id: a state made for this would hand its id on to the next one
    seen[id(node)] = node
    arrays = _arrays_of(node, path)
    if arrays is not None:
        yield from arrays
        return
    for name, part in _parts(node):
        yield from _arrays_in(part, f"{path}.{name}", seen, left - 1)


def _arrays_of(node: Any, path: str) -> list[NamedArray] | None:
    """The arrays that a tensor, an array or a network is; None for anything else."""
    if isinstance(node, np.ndarray):
        return _fields(node, path)
    torch = sys.modules.get("torch")
    keras = sys.modules.get("keras")
    jax = sys.modules.get("jax")
    if torch is not None and isinstance(node, torch.nn.Module):
        return [
            (f"{path}.{key}", _of_tensor(tensor))
            for key, tensor in sorted(node.state_dict().items())
            if isinstance(tensor, torch.Tensor)
        ]
    if torch is not None and isinstance(node, torch.Tensor):
        return [(path, _of_tensor(node))]
    if keras is not None and isinstance(node, keras.Model):
        weights = enumerate(node.get_weights())
        return [(f"{path}.{i}", np.asarray(array)) for i, array in weights]
    if jax is not None and isinstance(node, jax.Array):
        return [(path, np.asarray(node))]
    return None


def _of_tensor(tensor: Any) -> NDArray[Any]:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    array: NDArray[Any] = flat.view(sys.modules["torch"].uint8).numpy()
    return array


def _fields(array: NDArray[Any], path: str) -> list[NamedArray]:
    """An array, or those of its fields: what lies between fields is anything."""
    if array.dtype.names:
        return [
            named
            for name in array.dtype.names
            for named in _fields(array[name], f"{path}.{name}")
        ]
    return [] if array.dtype.hasobject else [(path, array)]


def _parts(node: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds, by name."""
    if isinstance(node, Mapping):
        for key in sorted(node, key=str):
            yield str(key), node[key]
    elif isinstance(node, list | tuple):
        yield from ((str(i), part) for i, part in enumerate(node))
    elif isinstance(node, MethodType):
        yield from (("self", node.__self__), ("function", node.__func__))
    elif isinstance(node, functools.partial):
        yield from (("function", node.func), ("args", node.args))
        yield "keywords", node.keywords
    elif isinstance(node, FunctionType):
        yield from _of_function(node)
    elif _is_looked_into(type(node)):
        yield from _of_object(node)


def _of_function(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Closure, defaults and the globals that its code names."""
    if not _is_looked_into(function):
        return
    for name, cell in zip(
        function.__code__.co_freevars, function.__closure__ or (), strict=True
    ):
        try:
            yield name, cell.cell_contents
        except ValueError:  # an empty cell
            continue
    if function.__defaults__:
        yield "defaults", function.__defaults__
    if function.__kwdefaults__:
        yield "keywords", function.__kwdefaults__
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _names(code: CodeType) -> set[str]:
    """Names that code and the functions inside of it use."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names


def _of_object(node: Any) -> Iterator[tuple[str, Any]]:
    """An object's attributes, or its state, and what it is called by."""
    attributes = getattr(node, "__dict__", None)
    if isinstance(attributes, dict):
        yield "attributes", attributes
    elif hasattr(node, "__getstate__") and not isinstance(
        node, str | bytes | int | float | complex | bool | None
    ):
        try:
            yield "state", node.__getstate__()
        except (TypeError, ValueError):  # of what can't be copied
            return
    call = inspect.getattr_static(type(node), "__call__", None)
    if isinstance(call, FunctionType):
        yield "call", call


def _is_looked_into(what: Any) -> bool:
    """Whether a function or a type is of a model, and not of a library below it."""
    package = str(getattr(what, "__module__", "") or "").partition(".")[0]
    if package == "__main__":
        return True
    return package not in _OTHERS and package not in sys.stdlib_module_names
