"""Check that a module computes what its class says; copy, settle and run what a
certificate rests on.
"""

import copy
from collections.abc import Hashable
from functools import cache
from types import CodeType, FunctionType
from typing import Any, TypeVar

import torch
from torch import nn
from torch.nn.modules import module as _hooks
from torch.nn.utils import parametrize

from rsbounds.torch.networks.combine import Concatenation, Residual

Kinds = type[nn.Module] | tuple[type[nn.Module], ...]
Network = TypeVar("Network", bound=nn.Module)


def name(module: nn.Module) -> str:
    """How messages call a module."""
    return f"the module {type(module).__name__}"


def require_eval(module: nn.Module) -> None:
    """ValueError while a part of the module, such as a parametrisation, is training."""
    for part in module.modules():
        if part.training:
            raise ValueError(
                f"{name(part)} must be in eval mode: training moves what it computes"
            )


def refuse_hooks(module: nn.Module) -> None:
    """ValueError where hooks or the instance's attributes change what a call does."""
    hooks = (
        module._forward_hooks,
        module._forward_pre_hooks,
        *_global_hooks(),
    )
    if any(hooks):
        raise ValueError(f"{name(module)} has hooks, which can change what it computes")
    replaced = [
        key for key in vars(module) if callable(getattr(type(module), key, None))
    ]
    if module._compiled_call_impl is not None:
        replaced.append("_compiled_call_impl")
    if replaced:
        raise ValueError(
            f"{name(module)} has hooks of its own in {', '.join(replaced)}, which can "
            "change what it computes"
        )


def _global_hooks() -> tuple[Any, ...]:
    """The hooks that torch calls for every module."""
    return _hooks._global_forward_hooks, _hooks._global_forward_pre_hooks


def is_plain(module: nn.Module, kinds: Kinds) -> bool:
    """Whether a module is of one of these classes and replaces nothing that it uses."""
    return any(
        isinstance(module, kind) and not overridden(module, kind)
        for kind in (kinds if isinstance(kinds, tuple) else (kinds,))
    )


def overridden(module: nn.Module, kind: type[Any]) -> list[str]:
    """The attributes that ``kind`` uses and a subclass of it replaces."""
    used = {
        *dir(kind),
        *_names_in_code(kind),  # type: ignore[arg-type]
        *vars(module),
        *module._parameters,
        *module._buffers,
        *module._modules,
    }
    allowed = _SAFE
    injected = None
    if parametrize.is_parametrized(module):
        # torch makes a class with a property for each parametrised tensor; whether
        # these hold still is asked by ``require_steady``
        injected = type(module)
        allowed = _SAFE | set(module.parametrizations)  # type: ignore[arg-type]
    replaced = set()
    for owner in type(module).__mro__:
        if owner in kind.__mro__:
            continue
        harmless = allowed if owner is injected else _SAFE
        replaced |= {key for key in vars(owner) if key in used and key not in harmless}
    return sorted(replaced)


@cache
def _names_in_code(kind: Hashable) -> frozenset[str]:
    """What the methods of a class read by name, such as ``weight``.

    A subclass may turn such a name into a property after it took the tensor away.
    """
    names: set[str] = set()
    for owner in kind.__mro__:  # type: ignore[attr-defined]
        if owner in nn.Module.__mro__:
            continue
        for key, value in vars(owner).items():
            if key not in _SAFE and isinstance(value, FunctionType):
                names |= _names_of(value.__code__)
    return frozenset(names)


def _names_of(code: CodeType) -> set[str]:
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return {*code.co_names}.union(*(_names_of(part) for part in inner))


# what a subclass may define: a call of the module looks at none of it
_SAFE = {
    "__init__",
    "__new__",
    "__module__",
    "__doc__",
    "__annotations__",
    "__annotate__",
    "__dict__",
    "__weakref__",
    "__slotnames__",
    "__parameters__",
    "__orig_bases__",
    "__abstractmethods__",
    "_abc_impl",
    "__hash__",
    "__eq__",
    "__constants__",
    "train",
    "eval",
    "_load_from_state_dict",
    "_save_to_state_dict",
    "get_extra_state",
    "set_extra_state",
    "__repr__",
    "extra_repr",
    "reset_parameters",
    "__getstate__",
    "__setstate__",
    "__deepcopy__",
    "__copy__",
    "__reduce__",
    "__reduce_ex__",
    "__firstlineno__",
    "__static_attributes__",
    "__init_subclass__",
    "__class_getitem__",
    "__subclasshook__",
}


def require_steady(module: nn.Module) -> None:
    """ValueError unless parametrised tensors are the same from one look to the next."""
    if not parametrize.is_parametrized(module):
        return
    for key in module.parametrizations:  # type: ignore[union-attr]
        seen = getattr(module, key)
        # past the cache of ``parametrize.cached``, which may hold another value
        if not _same(seen, _parametrised(module, key)):
            raise _moving(module, key)


def _moving(module: nn.Module, key: str) -> ValueError:
    return ValueError(
        f"the numbers {key} of {name(module)} change from one look to the next"
    )


def _parametrised(module: Any, key: str) -> torch.Tensor:
    """The value of a parametrised tensor, computed now."""
    value: torch.Tensor = module.parametrizations[key]()
    return value


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a, b) or bool(((a == b) | (a.isnan() & b.isnan())).all())


def frozen(module: Network) -> Network:
    """Copy a module in float64 and eval mode, with numbers for all of its tensors.

    Later training doesn't move the copy. torch's ``Softplus`` jumps where its linear
    part begins, and layers around it may enlarge the jump; in the copy the linear part
    begins where it makes no difference in float64.
    """
    _require_plain_tensors(module)
    kept = copy.deepcopy(module).cpu().double().eval()
    _settle(kept)
    _require_plain_tensors(kept)  # a module may copy itself in a way of its own
    for part in kept.modules():
        if is_plain(part, nn.Softplus):
            part.threshold = max(float(part.threshold), 40.0)  # type: ignore[assignment, arg-type]
    return kept


def _require_plain_tensors(network: nn.Module) -> None:
    """ValueError for a tensor of a subclass, whose operations may be any."""
    for part in network.modules():
        for key, tensor in (*part._parameters.items(), *part._buffers.items()):
            if tensor is not None and type(tensor) not in (torch.Tensor, nn.Parameter):
                raise ValueError(
                    f"the numbers {key} of {name(part)} must be a plain tensor; got "
                    f"{type(tensor).__name__}"
                )


@torch.no_grad()
def _settle(network: nn.Module) -> None:
    """Replace parametrised tensors by the numbers that they are now."""
    for part in list(network.modules()):
        if not parametrize.is_parametrized(part):
            continue
        # Past torch's cache, whose keys belong to the module that was copied. torch's
        # own removal would strip a class that copies of the module share.
        values = {key: _parametrised(part, key) for key in part.parametrizations}  # type: ignore[union-attr]
        again = {key: _parametrised(part, key) for key in values}
        for key, value in values.items():
            if not _same(value, again[key]):
                raise _moving(part, key)
        part.__class__ = parametrize.type_before_parametrizations(part)
        del part.parametrizations
        for key, value in values.items():
            part.register_parameter(key, nn.Parameter(value.clone()))


def run(module: Any, x: torch.Tensor) -> torch.Tensor:
    """What a module with a proven bound computes, without a hook on the way.

    A hook that is registered for all modules would act on a copy made earlier too.
    """
    if is_plain(module, nn.Sequential):
        for part in module:
            x = run(part, x)
        return x
    if is_plain(module, Residual):
        return Residual.add(run(module.branch, x.clone()), run(module.shortcut, x))
    if is_plain(module, Concatenation):
        return torch.cat([run(part, x.clone()) for part in module.branches], dim=1)
    if any(True for _ in module.children()) and any(_global_hooks()):
        # a module with a bound of its own calls its parts as it likes
        raise ValueError(
            f"{name(module)} can't be run: hooks are registered for all modules, which "
            "can change what its parts compute"
        )
    result: torch.Tensor = type(module).forward(module, x)
    return result
