"""Check that a module computes what its class says, and copy it before a certificate
uses it.
"""

import copy
from typing import Any, TypeVar

from torch import nn
from torch.nn.modules import module as _hooks
from torch.nn.utils import parametrize

Kinds = type[nn.Module] | tuple[type[nn.Module], ...]
Network = TypeVar("Network", bound=nn.Module)


def name(module: nn.Module) -> str:
    """How messages call a module."""
    return f"the module {type(module).__name__}"


def require_eval(module: nn.Module) -> None:
    """ValueError while the module or a part of it, such as a parametrisation, is
    training.
    """
    for part in module.modules():
        if part.training:
            raise ValueError(
                f"{name(part)} must be in eval mode: training moves what it computes"
            )


def refuse_hooks(module: nn.Module) -> None:
    """ValueError where hooks or attributes of the instance change what a call computes."""
    hooks = (module._forward_hooks, module._forward_pre_hooks, _hooks._global_forward_hooks,
             _hooks._global_forward_pre_hooks)  # fmt: skip
    if any(hooks):
        raise ValueError(f"{name(module)} has hooks, which can change what it computes")
    replaced = [
        key for key in vars(module) if callable(getattr(type(module), key, None))
    ]
    replaced += (
        ["_compiled_call_impl"] if module._compiled_call_impl is not None else []
    )
    if replaced:
        raise ValueError(
            f"{name(module)} has hooks of its own in {', '.join(replaced)}, which can change what "
            "it computes"
        )


def is_plain(module: nn.Module, kinds: Kinds) -> bool:
    """Whether a module is of one of these classes and overrides nothing that the class
    computes.
    """
    return any(
        isinstance(module, kind) and not overridden(module, kind)
        for kind in (kinds if isinstance(kinds, tuple) else (kinds,))
    )


def overridden(module: nn.Module, kind: type[Any]) -> list[str]:
    """The attributes that ``kind`` uses and a subclass of it replaces."""
    used = {
        *dir(kind),
        *vars(module),
        *module._parameters,
        *module._buffers,
        *module._modules,
    }
    beyond = [c for c in type(module).__mro__ if c not in kind.__mro__]
    return sorted(
        {key for c in beyond for key in vars(c) if key in used and key not in _SAFE}
    )


# what a subclass may define: a call of the module looks at none of it
_SAFE = {
    *("__init__", "__new__", "__module__", "__doc__", "__annotations__", "__annotate__"),
    *("__dict__", "__weakref__", "__slotnames__", "__parameters__", "__orig_bases__"),
    *("__abstractmethods__", "_abc_impl", "__hash__", "__eq__", "__constants__"),
    *("train", "eval", "_load_from_state_dict", "_save_to_state_dict"),
    *("__repr__", "extra_repr", "reset_parameters", "__getstate__", "__setstate__"),
    *("__deepcopy__", "__copy__", "__reduce__", "__reduce_ex__", "__firstlineno__"),
    *("__static_attributes__", "__init_subclass__", "__class_getitem__", "__subclasshook__"),
}  # fmt: skip


def frozen(module: Network) -> Network:
    """Copy a module in float64 and eval mode, so that later training doesn't move it.

    torch's ``Softplus`` jumps where its linear part begins, and layers around it may
    enlarge the jump; in the copy the linear part begins where it makes no difference in
    float64.
    """
    kept = copy.deepcopy(module).cpu().double().eval()
    for part in kept.modules():
        if is_plain(part, nn.Softplus):
            part.threshold = max(float(part.threshold), 40.0)  # type: ignore[assignment, arg-type]
    return kept


def settle(network: nn.Module) -> None:
    """Replace parametrised weights by the numbers that they are now."""
    for part in list(network.modules()):
        if parametrize.is_parametrized(part):
            # torch's own removal would strip a class that copies of the module share
            values = {key: getattr(part, key) for key in part.parametrizations}  # type: ignore[union-attr]
            part.__class__ = parametrize.type_before_parametrizations(part)
            del part.parametrizations
            for key, value in values.items():
                part.register_parameter(key, nn.Parameter(value.detach().clone()))
