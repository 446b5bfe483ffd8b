"""What a model and its inputs disagree on, before a forward pass or where one failed.

Both sides are named: the input's shape, and what the model's first layer takes.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple


class _Layer(NamedTuple):
    """The first layer that states the size of its inputs."""

    name: str
    unit: str  # "channels" or "numbers"
    size: int
    axes: int  # of space, behind the channels

    def takes(self, shape: Sequence[int]) -> bool:
        """Whether an input of this shape has as many channels or numbers.

        Of a row that lacks the axis of channels torch would take the batch for one row.
        """
        place = len(shape) - self.axes - 1
        return place >= 0 and shape[place] == self.size


def foreseen(model: Any, batch: Any) -> str:
    """Say what a model's first layer can't take of a batch, before a forward pass.

    "" where nothing shows which layer the batch enters as it is.
    """
    shape = tuple(getattr(batch, "shape", ()))[1:]
    entered = _entered(model, shape) if shape else None
    if entered is None:
        return ""
    layer, there = entered
    return "" if layer.takes(there) else _both_sides(layer, shape)


def disagreement(model: Any, batch: Any, error: BaseException) -> str:
    """Say why a forward pass failed: both shapes, a next step, the cause.

    "" where nothing shows that the shapes are why.
    """
    shape = tuple(getattr(batch, "shape", ()))[1:]
    text = " ".join(str(error).split())
    cause = f"{type(error).__name__}: {text}"
    if "Guard failed" in text and "size()[0]" in text:
        return (
            f"is among {len(batch)} in a batch, and the model was exported for batches "
            "of another length: export it with dynamic_shapes=({0: torch.export.Dim("
            f"'rows')}},) ({cause})"
        )
    layer = _first_layer(model)
    if layer is None:
        return ""
    step = _step(layer, shape)
    if not step and layer.takes(shape):
        return ""
    return f"{_both_sides(layer, shape)} ({cause})"


_OF_SHAPES = re.compile(r"shape|size|dimension|channel|out of range|broadcast", re.I)


def refusal(
    model: Any, batch: Any, error: BaseException, again: Callable[[], Any]
) -> str:
    """Say where a module of one's own failed for inputs of a new shape, and why.

    ``again`` runs the pass that failed, so that its layers can be watched. "" where
    nothing shows that shapes are why.
    """
    torch = sys.modules.get("torch")
    text = " ".join(str(error).split())
    if torch is None or not isinstance(model, torch.nn.Module):
        return ""
    if not _OF_SHAPES.search(text):
        return ""
    shape = tuple(getattr(batch, "shape", ()))[1:]
    where = "the model's own code can't take it"
    entered = _failed_in(model, again)
    if entered is not None:
        name, part, taken = entered
        layer = next(_layers(part), None)
        where = f"its layer {name} ({type(part).__name__}) can't take {taken}"
        if layer is not None:
            where = (
                f"its layer {name} ({layer.name}) takes {layer.size} {layer.unit}, not "
                f"the {taken} that it is given"
            )
    return (
        f"has shape {shape}, and the model failed for it: {where}; give inputs of the "
        f"shape that the model was trained on ({type(error).__name__}: {text})"
    )


def _failed_in(
    model: Any, again: Callable[[], Any]
) -> tuple[str, Any, tuple[int, ...]] | None:
    """The layer in which a pass fails: its name, itself, and one input's shape there.

    None where the code between layers fails, or layers can't be watched.
    """
    entered: list[tuple[str, Any, tuple[int, ...]]] = []

    def watched(name: str, part: Any) -> Iterator[Any]:
        def enter(_: Any, inputs: tuple[Any, ...]) -> None:
            shape = tuple(getattr(inputs[0], "shape", ())) if inputs else ()
            entered.append((name, part, shape[1:]))

        yield part.register_forward_pre_hook(enter)
        yield part.register_forward_hook(lambda *_: entered.pop() and None)

    with ExitStack() as stack, suppress(Exception):
        for name, part in model.named_modules():
            for handle in watched(name, part):
                stack.callback(handle.remove)
        again()
    name, part, taken = entered[-1] if entered else ("", model, ())
    # of a module with parts, and of the model itself, its code is what fails
    return None if not name or any(part.children()) else (name, part, taken)


def _both_sides(layer: _Layer, shape: Sequence[int]) -> str:
    """The input's shape, what the first layer takes, and what to do."""
    axes = f" before {layer.axes} axes" if layer.axes else ""
    return (
        f"has shape {tuple(shape)}, and the model's first layer ({layer.name}) takes "
        f"{layer.size} {layer.unit}{axes}{_step(layer, shape)}"
    )


def _step(layer: _Layer, shape: Sequence[int]) -> str:
    """What to do where the shapes show it; "" where they don't."""
    channels = shape[0] if len(shape) == 3 else 0
    numbers = math.prod(shape)
    wanted = layer.size
    is_picture = layer.unit == "channels" and layer.axes == 2
    if channels == 3 and wanted == (1 if is_picture else numbers // 3):
        return (
            ": pictures are read with 3 channels; of grey ones say channels=1 (of "
            "arrays x.mean(1, keepdims=True))"
        )
    if channels == 1 and wanted == (3 if is_picture else 3 * numbers):
        return ": pictures are grey here; for colour leave out channels=1"
    if is_picture and len(shape) == 3 and shape[2] == wanted != channels:
        return ": channels stand last; give x.transpose(0, 3, 1, 2)"
    if is_picture and len(shape) == 2 and wanted == 1:
        return ": it has no axis of channels; give x[:, None]"
    if layer.unit == "numbers" and wanted == numbers and len(shape) > 1:
        return f": give x.reshape(-1, {wanted}), or put Flatten in front"
    side = math.isqrt(wanted // max(channels, 1))
    if layer.unit == "numbers" and channels in (1, 3) and channels * side**2 == wanted:
        return f": pictures of {side} x {side} come by crop={side}"
    return ""


def _first_layer(model: Any) -> _Layer | None:
    """The first layer of a torch module that convolves or multiplies."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return None
    return next(_layers(model), None)


def _layers(model: Any) -> Iterator[_Layer]:
    for part in model.modules():
        name = getattr(part, "original_name", type(part).__name__)
        weight = getattr(part, "weight", None)
        shape = tuple(getattr(weight, "shape", ()))
        if name.startswith("Conv") and len(shape) > 2 and "Transpose" not in name:
            groups = getattr(part, "groups", 1)
            yield _Layer(name, "channels", shape[1] * groups, len(shape) - 2)
        elif name == "Linear" and len(shape) == 2:
            yield _Layer(name, "numbers", shape[1], 0)


def _entered(
    model: Any, shape: tuple[int, ...]
) -> tuple[_Layer, tuple[int, ...]] | None:
    """The layer that inputs enter, and their shape there; None where nothing tells.

    Of other modules than torch's own nobody knows what they hand on.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return None
    nn = torch.nn
    for part in _in_order(nn, model):
        if part._forward_pre_hooks or part._forward_hooks:
            return None
        if type(part) in (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d):
            return next(_layers(part)), shape
        if type(part) is nn.Flatten and (part.start_dim, part.end_dim) == (1, -1):
            shape = (math.prod(shape),)
        elif type(part) not in (nn.Sequential, nn.Identity, nn.Dropout, nn.ReLU):
            return None
    return None


def _in_order(nn: Any, model: Any) -> Iterator[Any]:
    """A module and its parts, as they are called."""
    yield model
    if type(model) is nn.Sequential:
        for part in model:
            yield from _in_order(nn, part)
