"""Export a module to the operations that it computes, and fold its constants."""

import copy
import math
import operator
import re
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.export.graph_signature import InputKind, OutputKind
from torch.nn.modules import module as _hooks

from rsbounds._numerics.text import shown
from rsbounds.torch.networks._rows import require_rows
from rsbounds.torch.networks._surroundings import apart_from_all, on_cpu
from rsbounds.torch.networks.graph import DOUBLE, Graph, Step, Value, operation, values
from rsbounds.torch.networks.operations import TABLE

__all__ = ["freeze", "freeze_rows", "input_shape"]

# what returns its input's numbers as they are
_UNCHANGED = {
    "aten.alias.default",
    "aten.clone.default",
    "aten.contiguous.default",
    "aten.detach.default",
    "aten.lift_fresh_copy.default",
    "aten._to_copy.default",
    "aten.to.dtype",
}
# what returns its input's numbers in another shape
_RESHAPES = {
    "aten.view.default",
    "aten._unsafe_view.default",
    "aten.reshape.default",
    "aten.flatten.using_ints",
    "aten.unflatten.int",
    "aten.squeeze.default",
    "aten.squeeze.dim",
    "aten.squeeze.dims",
    "aten.unsqueeze.default",
}
# what takes no more than a shape from its input
_OF_A_SHAPE = {
    f"aten.{name}.default"
    for name in (
        *("zeros_like", "ones_like", "full_like"),
        *("new_zeros", "new_ones", "new_full"),
    )
}
# code that isn't the author's: torch's, this package's, what the exporter makes
_NOT_OWN = (
    str(Path(torch.__file__).parent),
    str(Path(__file__).parents[2]),
    "<eval_with_key>",
)


def freeze(module: nn.Module | Graph, example: Any) -> Graph:
    """The operations that a module computes of one input, in float64 and eval mode.

    Hooks, parametrisations and the module's own ``forward`` are in the list as what
    they compute; what no input reaches is computed once, here. Nothing that happens to
    the module later changes the list, and the list needs nothing of it.

    Parameters
    ----------
    module : torch.nn.Module
        Maps a batch (n, *shape) to one tensor with n rows. It is copied. A
        :class:`~rsbounds.torch.networks.graph.Graph` is returned as it is.
    example : int, tuple of int, array or Tensor
        One input without the batch's axis, or its shape, or the length of a flat one.

    Raises
    ------
    ValueError
        In one line: why the module can't be exported; an operation without a record,
        of two values that depend on the input, or with random numbers, with the line
        of code that asked for it; numbers that aren't real, finite and float64;
        buffers that change.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.networks.freeze import freeze
    >>> graph = freeze(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()), 3)
    >>> [step.operation for step in graph.steps]
    ['aten.linear.default', 'aten.relu.default']
    """
    if isinstance(module, Graph):
        return _of_shape(module, input_shape(example))
    return _frozen(module, input_shape(example))[0]


def freeze_rows(module: nn.Module | Graph, example: Any) -> Graph:
    """The list of operations of a module that computes each row of a batch alone.

    ValueError for one that is seen not to, or to be another function at each call: of
    such a module the list of one input says nothing.
    """
    if isinstance(module, Graph):
        return _of_shape(module, input_shape(example))
    graph, program = _frozen(module, input_shape(example))
    require_rows(graph.name, module, graph.shape, program.module())
    return graph


def _of_shape(graph: Graph, shape: tuple[int, ...]) -> Graph:
    if graph.shape != shape:
        raise ValueError(
            f"example must have the shape {graph.shape} that {graph.name} was "
            f"frozen for; got {shape}"
        )
    return graph


def _frozen(module: nn.Module, shape: tuple[int, ...]) -> tuple[Graph, Any]:
    """A module's list, and the program that torch exports."""
    name = f"the module {type(module).__name__}"
    program = _exported(module, name, shape)
    with on_cpu(), torch.no_grad(), torch.inference_mode(False):
        return _Listing(name, shape, program).graph, program


def input_shape(example: Any) -> tuple[int, ...]:
    """The shape of one input, from an example of it, its shape, or a length."""
    if isinstance(getattr(example, "shape", None), tuple):
        example = example.shape
    sizes = example if isinstance(example, tuple | list) else (example,)
    try:
        shape = tuple(operator.index(size) for size in sizes)
    except TypeError:
        shape = ()
    if not (shape and min(shape) >= 1):
        raise ValueError(
            "example must be one input, or its shape of whole numbers >= 1; got "
            f"{example!r:.80}"
        )
    return shape


def _exported(module: nn.Module, name: str, shape: tuple[int, ...]) -> Any:
    if _hooks._global_forward_hooks or _hooks._global_forward_pre_hooks:
        # they would act on the exporter's own modules too
        raise ValueError(
            f"{name} can't be exported while hooks are registered for all modules"
        )
    try:
        with apart_from_all():
            copied = copy.deepcopy(module).cpu().double().eval()
            example = torch.zeros((1, *shape), **DOUBLE)
            program = torch.export.export(copied, (example,), strict=False)
            # in-place operations and those of several steps take longer
            known = all(_is_known(node) for node in program.graph.nodes)
            return program if known else program.run_decompositions({})
    except Exception as error:
        raise ValueError(
            f"{name} can't be exported for an input of shape {shape}: {_reason(error)}"
        ) from error


def _reason(error: Exception) -> str:
    """Why a module can't be exported, what to do, and the author's line of code."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    reason = lines[0] if lines else type(error).__name__
    if "data-dependent" in reason:
        reason = "a data-dependent branch: its operations differ from input to input"
    elif "ScriptModule" in reason:
        reason = "of a ScriptModule give the module that was scripted or traced"
    elif "uninitialized parameter" in reason:
        reason = "a lazy layer without numbers: call the module on an input first"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((*_NOT_OWN, "<")):
            name = Path(frame.filename).name
            return shown(f"{reason} ({name}, line {frame.lineno}: {frame.line})")
    return reason


def _is_known(node: Any) -> bool:
    """Whether a node needs no decomposition."""
    if node.op != "call_function" or node.target is operator.getitem:
        return bool(node.op != "get_attr")
    return str(node.target) in (
        TABLE.keys() | _UNCHANGED | _RESHAPES | _OF_A_SHAPE | {"aten.copy.default"}
    )


class _Listing:
    """Turns an exported program into a graph."""

    def __init__(self, name: str, shape: tuple[int, ...], program: Any) -> None:
        self.name = name
        self.steps: list[Step] = []
        self.constants = _constants(name, program)
        self.meanings: dict[Any, Any] = {}
        result = None
        for node in program.graph.nodes:
            if node.op == "placeholder":
                self.meanings[node] = self.constants.get(node.name, Value(0))
            elif node.op == "call_function":
                self.meanings[node] = self._call(node)
            elif node.op == "output":
                result = self._result(node, program.graph_signature)
        assert isinstance(result, Value | torch.Tensor)
        self.graph = _needed(Graph(name, shape, tuple(self.steps), result))
        self._check()

    def _result(self, node: Any, signature: Any) -> Any:
        user = [
            spec.arg.name
            for spec in signature.output_specs
            if spec.kind == OutputKind.USER_OUTPUT
        ]
        by_name = {other.name: other for other in node.all_input_nodes}
        if len(user) != 1 or user[0] not in by_name:
            raise ValueError(f"{self.name} must return one tensor")
        last = by_name[user[0]]
        result = self.meanings[last]
        if isinstance(result, _Refused):
            raise result.error()
        shape = tuple(last.meta["val"].shape)
        if shape[:1] != (1,):
            raise ValueError(
                f"{self.name} must return one row for each input; got the shape "
                f"{shape} for one"
            )
        if isinstance(result, torch.Tensor):
            if not (result.numel() and _is_finite(result)):
                raise ValueError(
                    f"what {self.name} returns must be finite real numbers, one or more"
                )
            result = result.double()
        return result

    def _call(self, node: Any) -> Any:
        """What a node stands for: a value, a constant, or a part of either."""
        if node.target is operator.getitem:
            whole, part = node.args
            meaning = self.meanings[whole]
            if isinstance(meaning, _Parts):
                return self._step(node, meaning.operation, meaning.arguments, part)
            return meaning if isinstance(meaning, _Refused) else meaning[part]
        name = str(node.target)
        arguments = _arguments(node, self.meanings)
        if arguments is None:
            return _Refused(name, _place(node), self.name)
        refused = [a for a in _flat(arguments) if isinstance(a, _Refused)]
        if refused:
            return refused[0]
        found = values(arguments)
        if name in _OF_A_SHAPE and found == [arguments["self"]]:
            zeros = torch.zeros(node.args[0].meta["val"].shape, **DOUBLE)
            arguments, found = arguments | {"self": zeros}, []
        if not found:
            if _is_random(node.target):
                return _Refused(name, _place(node), self.name, "has no one value")
            return node.target(**arguments)
        if isinstance(node.meta.get("val"), tuple | list):
            return _Parts(name, arguments)
        return self._step(node, name, arguments, None)

    def _step(
        self, node: Any, name: str, arguments: dict[str, Any], part: int | None
    ) -> Any:
        place = _place(node)
        kind = node.meta.get("val")
        if not isinstance(kind, torch.Tensor):
            return _Refused(name, place, self.name)
        if kind.dtype != torch.float64:
            return _Refused(name, place, self.name, f"computes in {kind.dtype}")
        if name in _UNCHANGED:
            return arguments["self"]
        shape = tuple(kind.shape)
        if not all(isinstance(size, int) and size for size in shape):
            reason = (
                f"has a result of shape {shape}: it needs sizes known before, not 0"
            )
            return _Refused(name, place, self.name, reason)
        name, arguments = _plainer(name, arguments, shape)
        if not values(arguments):
            return operation(name)(**arguments)
        if name not in TABLE:
            return _Refused(name, place, self.name)
        record = TABLE[name]
        moving = [key for key, item in arguments.items() if values(item)]
        if not set(moving) <= set(record.inputs) or (
            len(moving) > 1 and not record.several
        ):
            reason = f"where {' and '.join(moving)} depend on the input"
            return _Refused(name, place, self.name, reason)
        if record.settle is not None:
            try:
                arguments = record.settle(arguments)
            except ValueError as error:
                return _Refused(name, place, self.name, str(error))
        self.steps.append(Step(name, arguments, part, shape, place))
        return Value(len(self.steps))

    def _check(self) -> None:
        """ValueError for a constant that isn't real and finite."""
        for step in self.graph.steps:
            for key, item in step.arguments.items():
                for number in _flat(item):
                    if not _is_finite(number):
                        raise ValueError(f"{key} of {step} must be finite and real")


def _plainer(
    name: str, arguments: dict[str, Any], shape: tuple[int, ...]
) -> tuple[str, dict[str, Any]]:
    """An operation of the same result that has a derivative, in any memory layout."""
    if name in _RESHAPES:
        arguments = {"self": arguments["self"], "shape": list(shape)}
        return "aten.reshape.default", arguments
    if name == "aten.copy.default":
        source = arguments["src"]
        if isinstance(source, torch.Tensor):
            source = source.double()
        return "aten.expand.default", {"self": source, "size": list(shape)}
    return name, arguments


class _Parts:
    """A node with several results."""

    def __init__(self, operation: str, arguments: dict[str, Any]) -> None:
        self.operation = operation
        self.arguments = arguments


class _Refused:
    """What a node without a bound stands for; an error where the result needs it."""

    def __init__(
        self, operation: str, place: str, module: str, reason: str | None = None
    ) -> None:
        self.parts = operation, place, module, reason

    def error(self) -> ValueError:
        operation, place, module, reason = self.parts
        if reason is None:
            return ValueError(
                f"no proven bound for {module}: the operation {operation} has no "
                f"record ({place})"
            )
        return ValueError(
            f"no proven bound for {module}: {operation} {reason} ({place})"
        )


def _constants(name: str, program: Any) -> dict[str, Any]:
    """The numbers of a module by the names that the exported program has for them.

    ValueError for buffers that change when the module runs, and for tensors of a
    subclass, whose operations may be any.
    """
    signature = program.graph_signature
    for spec in signature.output_specs:
        if spec.kind in (OutputKind.BUFFER_MUTATION, *_PARAMETER_MUTATION):
            raise ValueError(
                f"{name} changes its own numbers {spec.target} when it runs"
            )
    found: dict[str, Any] = {}
    for spec in signature.input_specs:
        if spec.kind == InputKind.USER_INPUT:
            continue
        tensors = program.state_dict, program.constants
        tensor: Any = next((t[spec.target] for t in tensors if spec.target in t), None)
        if type(tensor) not in (torch.Tensor, nn.Parameter, nn.Buffer):
            kind = type(tensor).__name__
            raise ValueError(
                f"the numbers {spec.target} of {name} must be a plain tensor; got "
                f"{kind}"
            )
        # a copy: nothing that the module does later reaches it
        found[spec.arg.name] = tensor.detach().cpu().clone().as_subclass(torch.Tensor)
    return found


_PARAMETER_MUTATION = [kind for kind in OutputKind if kind.name == "PARAMETER_MUTATION"]


def _arguments(node: Any, meanings: dict[Any, Any]) -> dict[str, Any] | None:
    """Return a node's arguments by name, with the defaults.

    None for what isn't an operation of torch that leaves its inputs alone.
    """
    schema = getattr(node.target, "_schema", None)
    if schema is None or schema.is_mutable or not str(node.target).startswith("aten."):
        return None
    arguments = {
        argument.name: argument.default_value
        for argument in schema.arguments
        if argument.has_default_value()
    }
    names = [argument.name for argument in schema.arguments]
    passed = dict(zip(names, node.args, strict=False)) | dict(node.kwargs)
    arguments |= {key: _mapped(item, meanings) for key, item in passed.items()}
    return {key: arguments[key] for key in names if key in arguments}


def _mapped(item: Any, meanings: dict[Any, Any]) -> Any:
    if isinstance(item, torch.fx.Node):
        return meanings[item]
    if isinstance(item, list | tuple):
        return [_mapped(part, meanings) for part in item]
    return item


def _flat(item: Any) -> list[Any]:
    if isinstance(item, dict):
        item = list(item.values())
    if isinstance(item, list):
        return [part for inner in item for part in _flat(inner)]
    return [item]


def _is_finite(number: Any) -> bool:
    if isinstance(number, torch.Tensor):
        return not number.is_complex() and bool(number.isfinite().all())
    return not isinstance(number, complex) and (
        not isinstance(number, float) or math.isfinite(number)
    )


def _is_random(target: Any) -> bool:
    """Whether an operation draws random numbers, or returns what memory holds."""
    tags = getattr(target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags or "empty" in str(target)


def _needed(graph: Graph) -> Graph:
    """A graph without the steps that its result doesn't need."""
    if isinstance(graph.result, torch.Tensor):
        return replace(graph, steps=())
    needed = graph.needed(Value(0), graph.result)
    places = {old: new for new, old in enumerate(needed, start=1)} | {0: 0}

    def moved(item: Any) -> Any:
        if isinstance(item, Value):
            return Value(places[item.number])
        if isinstance(item, list):
            return [moved(part) for part in item]
        return item

    steps = []
    for index in needed:
        step = graph.steps[index - 1]
        arguments = {key: moved(item) for key, item in step.arguments.items()}
        steps.append(replace(step, arguments=arguments))
    return replace(graph, steps=tuple(steps), result=moved(graph.result))


_FRAME = re.compile(r'File "(.+)", line (\d+), in .+\n\s*(.+)')


def _place(node: Any) -> str:
    """The line of the author's code that asked for a node, or the module's name."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    by_author = [frame for frame in frames if not frame[0].startswith(_NOT_OWN)]
    if by_author:
        path, line, code = by_author[-1]
        return f"{Path(path).name}, line {line}: {code.strip()}"
    modules = list((node.meta.get("nn_module_stack") or {}).values())
    if not modules:
        return "the module itself"
    path, kind = modules[-1]
    return f"the {str(kind).rpartition('.')[2]} {path}".strip()
