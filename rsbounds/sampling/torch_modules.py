"""Torch modules as models under noise, on any device.

Not loaded without a torch module.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import torch

from rsbounds._numerics import threads
from rsbounds._numerics.checks import Array, choice, count
from rsbounds._numerics.errors import ArgumentError
from rsbounds.frameworks import scores_in
from rsbounds.noises import Noise
from rsbounds.sampling import torch_arrays, torch_bits, torch_draws, torch_noise
from rsbounds.sampling.arrays import noise_of
from rsbounds.sampling.port import Backend, OtherSetting, Read, SamplerCall, block_size
from rsbounds.sampling.streams import Block, blocks_of, numbered
from rsbounds.sampling.system_bits import SystemBits
from rsbounds.sampling.torch_compiled import CompiledModule, quickest_kernels
from rsbounds.sampling.torch_memory import (
    Failure,
    Memory,
    is_of_memory,
    memory_failure,
)
from rsbounds.sampling.torch_modes import evaluating
from rsbounds.schemes import Scheme

# numbers in a block, and copies at most: a processor's cache and a GPU's memory hold
# them beside what a network makes of them
_BLOCKS = {"cpu": (2**18, 2**12), "cuda": (2**25, 2**16)}
_TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}
_TF32 = 2.0**-10  # the eps of products in tensor cores, if float32 may be cut to it


def autocast_type(name: str | None) -> torch.dtype | None:
    """The type of a mixed precision, by its name."""
    return None if name is None else _TYPES[choice("autocast", name, tuple(_TYPES))]


def home(model: torch.nn.Module) -> torch.device:
    """Where the first parameter or buffer of a model is."""
    tensors = (*model.parameters(), *model.buffers())
    return tensors[0].device if tensors else torch.device("cpu")


class TorchModule(Backend):
    """A torch module under noise; the options are those of :class:`TorchSampler`."""

    arrays = torch_arrays

    def __init__(
        self,
        model: torch.nn.Module,
        *,
        batch: int = 1000,
        forward_batch: int | None = None,
        device: str | torch.device | None = None,
        autocast: str | None = None,
        compile: bool = False,
        noise: Noise | Scheme | None = None,
    ) -> None:
        self.noise = noise_of(noise)
        self.noise.check_model(model)
        batch = count("batch", batch, 1)
        rows = (
            None if forward_batch is None else count("forward_batch", forward_batch, 1)
        )
        self._autocast = autocast_type(autocast)
        home_device = home(model)
        if home_device.type == "meta":
            raise ValueError(
                "the model must not be on the device meta, which holds no numbers"
            )
        self.device = home_device if device is None else torch.device(device)
        self.queues = self.device.type != "cpu"
        self.memory = Memory(self.device, batch, rows)
        if home_device != torch.empty(0, device=self.device).device:
            model = copy.deepcopy(model).to(self.device)
        if self.device.type == "cpu" and self._autocast is torch.float16:
            message = "float16 is slower than float32 on a CPU; bfloat16 may be faster"
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        self._dtype = _own_type(model)
        self._plain = model
        self._takes_mask = self.noise.padding is not None and _takes_mask(model)
        self._model: Any = CompiledModule(model, self.device) if compile else model
        self._most = _BLOCKS.get(self.device.type, _BLOCKS["cuda"])

    @contextmanager
    def _ready(self) -> Iterator[None]:
        with ExitStack() as settings:
            parts = settings.enter_context(evaluating(self._plain))
            for part in parts:
                if part.training:
                    raise ValueError(
                        "the model must be in eval mode; its part "
                        f"{type(part).__name__} is training after eval()"
                    )
            settings.enter_context(torch.no_grad())
            if self._autocast is not None:
                # changes nothing, but weights that a pass within it has cast are kept
                # until it ends
                settings.enter_context(
                    torch.autocast(self.device.type, self._autocast, enabled=False)
                )
            if self._model is not self._plain:
                settings.enter_context(quickest_kernels())
            yield

    @property
    def subject(self) -> Any:
        """The module, as it was given."""
        return self._plain

    def is_of_memory(self, error: BaseException) -> bool:
        """Whether an error of a forward pass says that memory ran out."""
        return is_of_memory(error)

    def block_size(self, n: int, numbers: int) -> int:
        size = block_size(n, numbers, *self._most)
        if self._model is not self._plain:  # compiled, for few shapes
            size = 1 << (size - 1).bit_length()
        return size

    def run(self, call: SamplerCall, read: Read) -> None:
        with self._ready():
            self._run(call, read)

    def _run(self, call: SamplerCall, read: Read) -> None:
        # its own: another thread may be in a call of this backend
        bits: torch_noise.NoiseBits = torch.Generator(self.device)
        if isinstance(call.generator, SystemBits):
            bits = torch_noise.SystemGenerator(call.generator, self.device)
        if self.noise.by_chance:
            names = blocks_of(call.generator, call.blocks)
        else:
            names = numbered(call.blocks)
        x = torch_draws.placed(self.noise, call.x, self.device)
        draw = partial(self._drawn, call, x, bits)
        while call.done < call.blocks:
            failure = self._read_blocks(call, names, draw, read)
            if failure is not None:
                self.memory.halve(call.size, failure)

    def _drawn(
        self, call: SamplerCall, x: Any, bits: torch_noise.NoiseBits, names: list[Block]
    ) -> torch_draws.Blocks:
        """The blocks of some names; in any thread, where autograd is on by default."""
        with torch.no_grad():
            blocks, void = torch_draws.copies(
                self.noise, x, call.sigma, call.size, names, bits
            )
        if isinstance(blocks, torch.Tensor) and blocks.dtype == torch.float64:
            blocks = self._in_own_type(blocks)
        return blocks, void

    def _in_own_type(self, batch: torch.Tensor) -> torch.Tensor:
        """Copies rounded to the type of the model's parameters, if it has any."""
        return batch if self._dtype is None else batch.to(self._dtype)

    def _read_blocks(
        self, call: SamplerCall, names: list[Block], draw: Any, read: Read
    ) -> Failure | None:
        """Have the blocks read that are left; what went wrong if memory ran out."""
        at_once = self.memory.blocks(call.size)
        # on a CPU a thread draws a block while the model looks at the one before
        ahead = (
            at_once > 1 and self.device.type == "cpu" and torch.get_num_threads() > 1
        )
        step = 1 if ahead else at_once
        groups = [names[k : k + step] for k in range(call.done, call.blocks, step)]
        if ahead and len(groups) > 1:
            blocks: Any = threads.ahead(draw, groups, 1)
        else:
            blocks = map(draw, groups)
        drawn = False
        noisy: Any = None
        void: Any = None
        try:
            for noisy, void in blocks:
                drawn = True
                read(noisy, void)
                # not held while the next blocks are drawn
                drawn = False
                noisy = void = None
        except RuntimeError as error:
            at_once = 2 if ahead else min(step, call.blocks - call.done)
            return Failure(memory_failure(error), at_once, drawn)
        return None

    def forward(self, batch: torch.Tensor) -> Any:
        masks = {}
        padding = self.noise.padding
        if padding is not None:
            there = batch != torch_bits.END
            batch = batch.masked_fill(~there, padding)
            if self._takes_mask:
                masks["attention_mask"] = there.long()
        if batch.is_floating_point():
            batch = self._in_own_type(batch)
        with torch.autocast(
            self.device.type, self._autocast, enabled=self._autocast is not None
        ):
            return scores_in(self._model(batch, **masks))

    def parts(self, block: torch.Tensor) -> Any:
        return torch_bits.split(block, self.memory.passes(len(block)))

    def copied(self, block: torch.Tensor) -> torch.Tensor:
        if block.is_sparse:
            raise ArgumentError("margin", "can't be measured under this noise")
        return block.clone()

    def row_of(self, batch: torch.Tensor, place: int) -> torch.Tensor:
        return torch_bits.row_of(batch, place)

    def repeated(self, row: torch.Tensor, rows: int) -> torch.Tensor:
        return torch_bits.repeated(row, rows)

    def without_padding(self, row: torch.Tensor) -> torch.Tensor | None:
        """A sequence as long as it is; an empty one keeps one place of its padding."""
        if self.noise.padding is None:
            return None
        return row[: max(int((row != torch_bits.END).sum()), 1)]

    def as_written(self, block: torch.Tensor) -> Any:
        if self._model is self._plain:
            return None
        return self._bare().forward(block.clone())

    def eps(self, outputs: torch.Tensor) -> float:
        """The rounding error of the coarsest type that the model is seen to use."""
        types = (outputs.dtype, self._dtype, self._autocast)
        kinds = [kind for kind in types if kind is not None and kind.is_floating_point]
        is_tensor_float = self.device.type == "cuda" and (
            torch.backends.cudnn.allow_tf32 or torch.backends.cuda.matmul.allow_tf32
        )
        smallest = _TF32 if is_tensor_float else 0.0
        return max([smallest, *(torch.finfo(kind).eps for kind in kinds)])

    def other_settings(self) -> Sequence[OtherSetting]:
        bare = self._bare()
        settings: list[OtherSetting] = []
        if self._model is not self._plain:
            settings.append(lambda block: ("not compiled", bare._scores(block)))
        if self.device.type == "cpu":
            settings.append(bare._by_other_threads)
        return *settings, self._widened()._in_float64

    def _bare(self) -> TorchModule:
        """A sampler of the model that is not compiled."""
        bare = copy.copy(self)
        bare._model = bare._plain
        return bare

    def _widened(self) -> TorchModule:
        """A sampler of the model in float64, neither compiled nor cast."""
        other = copy.copy(self)
        other.device = torch_noise.wide_device(self.device)
        other._plain = copy.deepcopy(self._plain).to(other.device).double()
        other._model = other._plain
        other._dtype = torch.float64
        other._autocast = None
        return other

    def _by_other_threads(self, block: torch.Tensor) -> tuple[str, Array]:
        with _other_threads() as setting:
            return setting, self._scores(block)

    def _in_float64(self, block: torch.Tensor) -> tuple[str, Array]:
        with evaluating(self._plain):
            return "float64", self._scores(block.to(self.device))

    def _scores(self, block: torch.Tensor) -> Array:
        """What the model returns for a block, which it may write over."""
        return torch_arrays.as_floats(self.forward(self.copied(block)))


@contextmanager
def _other_threads() -> Iterator[str]:
    """Run torch on a CPU by one thread, or by several where one is usual.

    Says which.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1 if before > 1 else max(threads.cores(), 2))
    try:
        yield "one thread" if before > 1 else "several threads"
    finally:
        torch.set_num_threads(before)


def _own_type(model: torch.nn.Module) -> torch.dtype | None:
    """The type of a model's first parameter in floating point.

    Without parameters float32, if there is a buffer in floating point; None where there
    is nothing that inputs of another type could clash with.
    """
    types = (p.dtype for p in model.parameters() if p.is_floating_point())
    has_buffers = any(b.is_floating_point() for b in model.buffers())
    return next(types, torch.float32 if has_buffers else None)


def _takes_mask(model: torch.nn.Module) -> bool:
    """Whether a model's ``forward`` has an argument ``attention_mask``."""
    return "attention_mask" in signature(model.forward).parameters


def as_tensor(x: Any) -> torch.Tensor:
    """``x`` if it is a tensor, else one on the CPU, whatever the default device is."""
    if isinstance(x, torch.Tensor):
        return x
    try:
        return torch.as_tensor(np.asarray(x), device="cpu")
    except TypeError:
        raise ArgumentError(
            "x", f"must be real numbers; got {type(x).__name__}"
        ) from None
