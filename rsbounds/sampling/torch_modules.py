"""What a torch module returns under noise: classes counted, values, maps.

Not loaded without a torch module.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics import threads
from rsbounds._numerics.checks import choice, count
from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises import Noise, require_level
from rsbounds.sampling import torch_bits, torch_noise
from rsbounds.sampling.arrays import (
    Kind,
    checked_shape,
    kind_of,
    look_is_due,
    place_of,
    require_outcomes,
    require_same_function,
    require_same_row,
    require_same_sequence,
    shape_hint,
)
from rsbounds.sampling.blocks import block_seeds, block_size, outcome_seeds, single
from rsbounds.sampling.grid_noise import LEVELS, checked_grid
from rsbounds.sampling.margins import FEW, Difference, Watch
from rsbounds.sampling.system_bits import (
    Randomness,
    SystemBits,
    require_system_noise,
)
from rsbounds.sampling.torch_bits import END
from rsbounds.sampling.torch_modes import evaluating

#: What blocks of noise are drawn of: torch's generator, seeded for each, or the
#: operating system.
NoiseBits = torch.Generator | SystemBits
_CELLS = {"cpu": 2**18, "cuda": 2**25}  # numbers in a block
_TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}
# the allocators, cuDNN and cuBLAS each have words of their own
_NO_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "ALLOC_FAILED",
    "not enough memory",
)


class Counts:
    """Counts, or blocks of values, on their device until NumPy asks for them."""

    def __init__(self, drawn: torch.Tensor | list[torch.Tensor]) -> None:
        self._drawn = drawn

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if isinstance(self._drawn, list):
            values = torch.cat(self._drawn).cpu().double().numpy()
            return values.astype(dtype or np.float64)
        return self._drawn.cpu().numpy().astype(dtype or np.int64)


def autocast_type(name: str | None) -> torch.dtype | None:
    """The type of a mixed precision, by its name."""
    return None if name is None else _TYPES[choice("autocast", name, tuple(_TYPES))]


def home(model: torch.nn.Module) -> torch.device:
    """Where the first parameter or buffer of a model is."""
    tensors = (*model.parameters(), *model.buffers())
    return tensors[0].device if tensors else torch.device("cpu")


class TorchSampler:
    """Sampler (:class:`rsbounds.sampling.Sampler`) over a torch module.

    The forward pass always runs on one block, whose size depends on the input's size,
    the number of samples and the kind of device, never on ``batch``: see
    :mod:`rsbounds.sampling`. torch's own generator draws the noise in float32, from one
    seed for each block; the noisy input is cast to the model's type. Counts are summed
    on the device, and only reading them waits for it.

    A certificate needs samples that are independent of each other, of one function. So
    the model is put in eval mode for each call, and the mode of each of its parts is
    put back afterwards; and at the first block of two rows or more, and at one in 1024
    from then on, the scores of a row among others are compared with its scores among
    copies of itself, and those of a row of the call's first block with what they were.
    They may differ by eps^(2/3), relative to the largest (2.4e-5 in float32): another
    order of summation passes, batch statistics don't.

    Calls may come from several threads at once, if the model can be called so.

    Parameters
    ----------
    model : torch.nn.Module
        Maps a batch (count, *shape of x) to scores (count, classes).
    num_classes : int, optional
        Number of classes, checked against the model; by default the model's own.
    batch : int
        Noisy samples held in memory at once, >= 1, rounded down to whole blocks but to
        at least one. No result depends on it.
    forward_batch : int, optional
        Rows of one forward pass at most, >= 1; by default a whole block. Another number
        may move near-ties, so give it in every run of a kind, or in none.
    device : str or torch.device, optional
        Where to run; by default where the model's first parameter is. Elsewhere a copy
        of the model runs, and yours stays as it is.
    autocast : {"bfloat16", "float16"}, optional
        Mixed precision of the forward pass.
    compile : bool
        Run the model through ``torch.compile``. Block sizes are then rounded up to
        powers of two, because torch compiles few shapes and sequential certification
        would use many.
    sound_noise : bool
        As in :class:`rsbounds.sampling.ArraySampler`. A scheme whose level follows the
        input must be made with ``sound=True``.
    grid : int
        Of sound noise: the inputs are whole numbers over this, 255 for pictures of 8
        bits, 65535 of 16, 32767 for sound.
    noise : Noise, optional
        Another than Gaussian noise, such as ``schemes.mask(50, 5).noise``. Copies of
        whole numbers are int64, whatever the model's type; give inputs in floating
        point to a model that takes such. Sequences that have become shorter are filled
        up with the noise's padding, and a model whose ``forward`` has an
        ``attention_mask`` is called with it. Copies of a sparse matrix are one sparse
        tensor (count, rows, columns).

    Raises
    ------
    ValueError
        If an argument is out of its domain, an input isn't in floating point and
        finite, the model's scores have the wrong shape, a part of the model can't be
        put in eval mode, or rows are seen to depend on each other, on chance or on what
        was asked before.
    MemoryError
        When one sample, or the noise of one block, doesn't fit on the device. Before
        that, with a RuntimeWarning, the number of samples held at once is halved, at
        last the forward pass itself, after which near-ties may fall otherwise than in a
        run with enough memory.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from rsbounds.torch import TorchSampler
    >>> sampler = TorchSampler(torch.nn.Linear(3, 2))
    >>> counts = sampler(torch.zeros(3), 0.5, 1000, np.random.default_rng(0))
    >>> int(np.asarray(counts).sum())
    1000
    """

    def __init__(
        self,
        model: torch.nn.Module,
        num_classes: int | None = None,
        *,
        batch: int = 1000,
        forward_batch: int | None = None,
        device: str | torch.device | None = None,
        autocast: str | None = None,
        compile: bool = False,
        sound_noise: bool = False,
        grid: int = LEVELS,
        noise: Noise | None = None,
    ) -> None:
        if sound_noise and noise is not None:
            raise ArgumentError(
                "sound_noise", f"is Gaussian noise on a grid; got also {noise!r}"
            )
        self.noise = noise
        self.law = "" if noise is None else noise.law
        self._padding = None if noise is None else noise.padding
        self.batch = count("batch", batch, 1)
        self._rows = (
            None if forward_batch is None else count("forward_batch", forward_batch, 1)
        )
        self.num_classes = num_classes
        self.sound_noise = sound_noise
        self.grid = checked_grid(grid, sound_noise)
        self._autocast = autocast_type(autocast)
        own = home(model)
        if own.type == "meta":
            raise ValueError(
                "the model must not be on the device meta, which holds no numbers"
            )
        self.device = own if device is None else torch.device(device)
        if own != torch.empty(0, device=self.device).device:
            model = copy.deepcopy(model).to(self.device)
        if self.device.type == "cpu" and self._autocast is torch.float16:
            message = "float16 is slower than float32 on a CPU; bfloat16 may be faster"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        floats = (p.dtype for p in model.parameters() if p.is_floating_point())
        self._dtype = next(floats, torch.float32)
        self._plain = model
        self._takes_mask = self._padding is not None and _takes_mask(model)
        self._model: Any = torch.compile(model, dynamic=False) if compile else model
        self._cells = _CELLS.get(self.device.type, _CELLS["cuda"])
        self._parts = 1
        self._rows_checked = False
        self.margin: float | None = None
        self.watch: Watch | None = None

    #: Whether noise that whole numbers decide may come from the operating system.
    takes_system_bits = True

    def with_margin(self, margin: float) -> Self:
        """The same sampler, whose votes are void unless they lead by the margin."""
        other = copy.copy(self)
        other.margin = margin
        return other

    def compared(
        self, x: Any, sigma: float, n: int, generator: Randomness
    ) -> Difference:
        """The scores of n samples beside those of other settings.

        These are batches of 7 rows; on a CPU one thread, or several where one is usual;
        not compiled, where the model is; and float64. The model in float64 runs on the
        same noisy inputs, without mixed precision and not compiled; where the device
        has no float64, on the CPU.
        """
        bare = copy.copy(self)
        bare._model = bare._plain
        wide = copy.copy(self)
        wide.device = torch_noise.wide_device(self.device)
        wide._plain = copy.deepcopy(self._plain).to(wide.device).double()
        wide._model = wide._plain
        wide._dtype = torch.float64
        wide._autocast = None
        difference = Difference(margin=self.margin or 0.0)

        def watch(noisy: Any, scores: Any) -> None:
            kept = scores.double().cpu().numpy()
            if not isinstance(noisy, torch.Tensor):
                raise ArgumentError("margin", "can't be measured under this noise")
            batch = noisy.flatten(0, 1)
            few = [self.forward(part.clone()) for part in torch.split(batch, FEW)]
            again = torch.cat(few).double().cpu().numpy()
            difference.add(kept, again, f"batches of {FEW}")
            if self._model is not self._plain:
                again = _scores_of(bare, batch)
                difference.add(kept, again, "not compiled")
            if self.device.type == "cpu":
                with _other_threads() as setting:
                    again = _scores_of(bare, batch)
                difference.add(kept, again, setting)
            with evaluating(wide._plain):
                exact = wide.forward(batch.to(wide.device)).cpu().numpy()
            difference.add(kept, exact, "float64")

        twin = copy.copy(self)
        twin.watch = watch
        twin(x, sigma, n, generator)
        return difference

    def __call__(self, x: Any, sigma: float, n: int, generator: Randomness) -> Counts:
        """Counts of the classes; see :class:`rsbounds.sampling.Sampler`."""
        with evaluating(self._plain):
            for part in self._plain.modules():
                if part.training:
                    raise ValueError(
                        "the model must be in eval mode; its part "
                        f"{type(part).__name__} is training after eval()"
                    )
            return self._drawn_counts(x, sigma, n, generator)

    def _drawn_counts(
        self, x: Any, sigma: float, n: int, generator: Randomness
    ) -> Counts:
        """Counts of the classes, the model being in eval mode."""
        centre, dim = self._begun(x, sigma, n)
        size = block_size(n, dim, self._cells)
        if self._model is not self._plain:  # compiled, for few shapes
            size = 1 << (size - 1).bit_length()
        blocks = -(-n // size)
        # its own: another thread may be in a call of this sampler
        noise: NoiseBits = torch.Generator(self.device)
        if isinstance(generator, SystemBits):
            require_system_noise(self)
            noise = generator
        by_chance = self.noise is None or self.noise.outcomes is None
        call = _Call(
            x=centre,
            sigma=sigma,
            n=n,
            size=size,
            seeds=block_seeds(generator, blocks)
            if by_chance
            else outcome_seeds(blocks),
            noise=noise,
            source=generator,
        )
        return Counts(self._total(call))

    def _begun(self, x: Any, sigma: float, n: int) -> tuple[Any, int]:
        """The input on the device, and how many numbers one copy has."""
        if self.noise is not None:
            require_level(self.noise, sigma)
            require_outcomes(self.noise, n)
            checked = self.noise.checked(x)
            dim = self.noise.numbers(checked)
            return torch_bits.on_device(checked, self.device), dim
        single(x)
        centre = self.centre(x)
        if self.sound_noise:
            centre = torch_noise.whole(centre, self.grid)
        return centre.to(self.device), centre.numel()

    def centre(self, x: Any) -> torch.Tensor:
        """The mean of the noisy copies.

        In float64 it keeps its precision until noise is added.
        """
        return as_tensor(x).detach().float()

    def noisy(
        self,
        x: Any,
        sigma: float,
        size: int,
        seeds: list[int],
        generator: NoiseBits,
    ) -> tuple[Any, torch.Tensor]:
        """Blocks of noisy copies, one for each seed, and which copies are void."""
        if self.sound_noise:
            return torch_noise.on_grid(x, sigma, size, seeds, generator, self.grid)
        assert not isinstance(generator, SystemBits)  # of sound noise alone
        if self.noise is not None:
            return torch_bits.copies(self.noise, x, sigma, size, seeds, generator)
        return torch_noise.gaussian(x, sigma, size, seeds, generator)

    def forward(self, batch: torch.Tensor) -> Any:
        """What the model returns for a float32 batch on the device, or for one of whole
        numbers.
        """
        masks = {}
        if self._padding is not None:
            there = batch != END
            batch = batch.masked_fill(~there, self._padding)
            if self._takes_mask:
                masks["attention_mask"] = there.long()
        if batch.is_floating_point():
            batch = batch.to(self._dtype)
        with torch.autocast(
            self.device.type, self._autocast, enabled=self._autocast is not None
        ):
            return self._model(batch, **masks)

    def _total(self, call: _Call) -> Any:
        """Counts of all samples of a call, as many blocks at once as fit in memory."""
        while call.done < len(call.seeds):
            failure = self._count_blocks(call)
            if failure is not None:
                self._halve(call.size, failure)
        return call.total

    def _count_blocks(self, call: _Call) -> _Failure | None:
        """Count the blocks that are left; what went wrong if memory ran out."""
        held = max(self.batch // call.size, 1)
        # on a CPU a thread draws a block while the model looks at the one before
        ahead = held > 1 and self.device.type == "cpu" and torch.get_num_threads() > 1
        step = 1 if ahead else held
        groups = [
            call.seeds[k : k + step] for k in range(call.done, len(call.seeds), step)
        ]
        draw = partial(self._drawn, call)
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
                left = call.n - call.done * call.size
                call.add(self._count(noisy, void[:left], call), len(noisy))
                # not held while the next blocks are drawn
                drawn = False
                noisy = void = None
        except RuntimeError as error:
            held = 2 if ahead else min(step, len(call.seeds) - call.done)
            return _Failure(_memory_failure(error), held, drawn)
        return None

    def _drawn(self, call: _Call, seeds: list[int]) -> tuple[Any, torch.Tensor]:
        """The blocks of some seeds; in any thread, where autograd is on by default."""
        with torch.no_grad():
            return self.noisy(call.x, call.sigma, call.size, seeds, call.noise)

    @torch.no_grad()
    def _count(self, noisy: Any, void: torch.Tensor, call: _Call) -> Any:
        """Counts of the classes; rows that are void or hold a NaN count for none."""
        scores = self._returned(noisy, call)[: len(void)]
        classes = scores.shape[1]
        void = void | scores.isnan().any(1)
        if self.margin is not None:
            void = void | ~_leads(scores, self.margin)
        label = scores.argmax(1).masked_fill_(void, classes)
        counts = torch.zeros(classes + 1, dtype=torch.int64, device=scores.device)
        counts.scatter_add_(0, label, torch.ones_like(label))
        return counts[:classes]

    def _returned(self, noisy: Any, call: _Call) -> torch.Tensor:
        """What the model returns for all samples of some blocks."""
        size = call.size
        parts = max(self._parts, -(-size // (self._rows or size)))
        returned = []
        kept = noisy if self.watch is None else copy.deepcopy(noisy)
        for number, block in enumerate(noisy, start=call.done):
            due = look_is_due(call.seeds[number])
            for part in torch_bits.split(block, parts):
                middle = len(part) // 2
                # copies: the model may change its batch, or write over its scores
                row = torch_bits.row_of(part, middle) if call.first is None else None
                if len(part) > 1 and (due or not self._rows_checked):
                    returned.append(self._looked_at(part, number, call))
                    due = False
                else:
                    returned.append(self._scores(part))
                if row is not None:
                    call.first = _Seen(row, returned[-1][middle].clone(), len(part))
        scores = torch.cat(returned)
        if self.watch is not None:
            self.watch(kept, scores)
        return scores

    def _looked_at(self, batch: torch.Tensor, number: int, call: _Call) -> torch.Tensor:
        """The scores of a batch, if each row's depend on that row alone.

        Two looks, each at a batch of the same shape, so that the same kernels run and
        nothing is compiled again: at copies of the middle row, and at copies of a row
        that the call's first block held.
        """
        middle = len(batch) // 2
        # before the model sees the batch itself, which it may change
        alone = self._of_copies(batch[middle], len(batch))
        scores = self._scores(batch)
        eps = torch.finfo(scores.dtype).eps if scores.is_floating_point() else 0.0
        place = place_of(call.source, number)
        among = scores[middle].double().cpu().numpy()
        require_same_row(alone, among, len(batch), eps, place)
        if self._padding is not None:
            scores = scores.clone()
            short = self._of_copies(without_padding(batch[middle]), len(batch))
            require_same_sequence(short, among, eps, place)
        self._rows_checked = True
        if call.first is not None and call.first.rows == len(batch):
            kept = scores.clone()
            again = self._of_copies(call.first.row, len(batch))
            before = call.first.scores.double().cpu().numpy()
            require_same_function(before, again, eps, place)
            scores = kept
        return scores

    def _of_copies(self, row: torch.Tensor, rows: int) -> NDArray[np.float64]:
        """The scores of the middle one of so many copies of a row."""
        copies = torch_bits.repeated(row, rows)
        scores: NDArray[np.float64] = (
            self._scores(copies)[rows // 2].double().cpu().numpy()
        )
        return scores

    def _scores(self, batch: torch.Tensor) -> torch.Tensor:
        """What the model returns for ``batch``, if it has the shape of scores."""
        returned = self.forward(batch)
        shape = tuple(getattr(returned, "shape", ()))
        classes = self.num_classes or (shape[1] if len(shape) == 2 else 0)
        if shape != (len(batch), classes) or classes < 2:
            raise ValueError(
                f"the model must return scores of shape ({len(batch)}, "
                f"{self.num_classes or 'classes'}), at least two classes, for a batch "
                f"of shape {tuple(batch.shape)}; got {shape or kind_of(returned)}"
                f"{shape_hint(shape)}"
            )
        self.num_classes = classes
        return returned  # type: ignore[no-any-return]

    def _halve(self, size: int, failure: _Failure) -> None:
        """Hold less at once, or MemoryError where nothing less can be held."""
        if failure.blocks > 1:
            self.batch = failure.blocks * size // 2
            now = f"holding {self.batch} samples at once"
        elif failure.drawn and self._parts < size:
            parts = max(self._parts, -(-size // (self._rows or size)))
            self._parts = min(2 * parts, size)
            now = f"running the model on {-(-size // self._parts)} samples at once"
        else:
            what = "one sample" if failure.drawn else f"the noise of {size} samples"
            raise MemoryError(f"{what} doesn't fit on {self.device}: {failure.message}")
        torch.cuda.empty_cache()
        message = f"out of memory ({failure.message}); {now}"
        warnings.warn(message, RuntimeWarning, stacklevel=4)


def _scores_of(sampler: TorchSampler, batch: torch.Tensor) -> NDArray[np.float64]:
    """What a sampler's model returns for a batch, which it may write over."""
    scores: NDArray[np.float64] = sampler.forward(batch.clone()).double().cpu().numpy()
    return scores


@contextmanager
def _other_threads() -> Iterator[str]:
    """torch on a CPU by one thread, or by several where one is usual; says which."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if before > 1 else max(threads.cores(), 2))
    try:
        yield "one thread" if before > 1 else "several threads"
    finally:
        torch.set_num_threads(before)


def _takes_mask(model: torch.nn.Module) -> bool:
    """Whether a model's ``forward`` has an argument ``attention_mask``."""
    return "attention_mask" in signature(model.forward).parameters


def without_padding(row: torch.Tensor) -> torch.Tensor:
    """A sequence as long as it is; an empty one keeps one place of its padding."""
    return row[: max(int((row != END).sum()), 1)]


class _Seen(NamedTuple):
    """A row of a batch of so many, and what the model returned for it."""

    row: torch.Tensor
    scores: torch.Tensor
    rows: int


class _Failure(NamedTuple):
    """Memory ran out: the first line of the error, the blocks held, whether drawn."""

    message: str
    blocks: int
    drawn: bool


@dataclass
class _Call:
    """One call of a sampler, and how far it is."""

    x: Any
    sigma: float
    n: int
    size: int
    seeds: list[int]
    noise: NoiseBits
    source: Randomness
    done: int = 0  # blocks counted
    total: Any = None
    first: _Seen | None = None  # of the first block

    def add(self, counts: Any, blocks: int) -> None:
        """Add the counts of so many further blocks."""
        self.total = counts if self.total is None else self.total + counts
        self.done += blocks


def _memory_failure(error: RuntimeError) -> str:
    """The first line of an error of memory; any other error is raised again."""
    message = str(error)
    ran_out = isinstance(error, torch.OutOfMemoryError)
    if ran_out or any(words in message for words in _NO_MEMORY):
        return message.partition("\n")[0]
    raise error


def _leads(scores: torch.Tensor, margin: float) -> torch.Tensor:
    """Where the largest score leads the second by more than the margin.

    As :func:`rsbounds.sampling.margins.leads`.
    """
    exact = torch_noise.wide(scores)
    first, second = exact.topk(2, dim=1).values.unbind(1)
    lead = first - second
    counts = (lead > margin) & lead.isfinite()
    if not scores.is_floating_point():
        # above 2^53 neighbours are one number of float64
        counts &= (exact.abs() < 2.0**53).all(1)
    return counts.to(scores.device)


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


class TorchOutputs(TorchSampler):
    """Sampler of real outputs, or of the class counts of positions."""

    def __init__(self, model: torch.nn.Module, kind: Kind, **options: Any) -> None:
        if kind == "maps":  # one block at a time: their outputs outweigh inputs
            options["batch"] = 1
        super().__init__(model, **options)
        self.kind = kind
        self._shape: tuple[int, ...] | None = None

    def _scores(self, batch: torch.Tensor) -> torch.Tensor:
        returned: torch.Tensor = self.forward(batch)
        shape = tuple(getattr(returned, "shape", ()))
        if not shape:
            raise ValueError(f"the model must return a tensor; got {kind_of(returned)}")
        checked_shape(shape, len(batch), self.kind, self._shape)
        self._shape = shape[1:]
        return returned

    @torch.no_grad()
    def _count(self, noisy: Any, void: torch.Tensor, call: _Call) -> Any:
        drawn = self._returned(noisy, call)[: len(void)]
        if self.kind == "values":
            rows = drawn.reshape(len(void), -1)
            rows = rows if rows.is_floating_point() else rows.double()
            return [rows.masked_fill(void[:, None], torch.nan)]
        drawn = drawn.flatten(2)
        classes, positions = drawn.shape[1:]
        largest, label = drawn.max(1)  # NaN where one of them is
        void = largest.isnan() | void[:, None]
        if self.margin is not None:
            void = void | ~_leads(drawn, self.margin)
        label.masked_fill_(void, classes)
        place = label + torch.arange(positions, device=label.device) * (classes + 1)
        counts = torch.bincount(place.flatten(), minlength=positions * (classes + 1))
        return counts.view(positions, classes + 1)[:, :classes]


class _Shaped(TorchSampler):
    """Noise with a mean and a level on every axis.

    Divided by the noise's shape it is isotropic.

    ``noise`` is a :class:`rsbounds.torch.FixedNoise` or ``CertifiedNoise``:
    ``centre(x)`` is x + mean and ``offset(x)`` the mean alone, both in float64 and
    divided by the shape, on the host.
    """

    def __init__(
        self, noise: Any, model: Any, num_classes: int | None, **options: Any
    ) -> None:
        super().__init__(model, num_classes, **options)
        self.law = noise.law
        self._noise = noise
        self._shape = noise.shape.detach().float().to(self.device)


class ShapedSampler(_Shaped):
    """Noise in float32, drawn in the coordinates divided by the shape."""

    def centre(self, x: Any) -> torch.Tensor:
        point = torch.as_tensor(x, dtype=torch.float64, device="cpu")
        check_shape("x", point, self._shape.shape)
        with torch.no_grad():
            centre: torch.Tensor = self._noise.centre(point)
        return centre

    def forward(self, batch: torch.Tensor) -> Any:
        return super().forward(batch * self._shape)


class GridSampler(_Shaped):
    """Sound noise: x + mean + noise rounded to the grid of 1/255."""

    def __init__(
        self, noise: Any, model: Any, num_classes: int | None, **options: Any
    ) -> None:
        super().__init__(noise, model, num_classes, **options)
        if self.grid != LEVELS:
            raise ArgumentError("grid", "must be 255 under noise of a shape")

    def centre(self, x: Any) -> torch.Tensor:
        check_shape("x", x, self._shape.shape)
        return super().centre(x)

    def noisy(
        self,
        x: torch.Tensor,
        sigma: float,
        size: int,
        seeds: list[int],
        generator: NoiseBits,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        scale = LEVELS * self._noise.shape.detach().cpu().double()
        with torch.no_grad():
            centre = scale * self._noise.offset(x.cpu() / LEVELS)
        reach = float((centre.abs() + 10 * scale * sigma).max())
        if not reach < 2**30:
            raise ValueError(
                f"mean and level must be below 2^30/255 in sum; got {reach:.3g}/255"
            )
        steps = partial(
            torch_noise.rounded,
            centre=centre.to(self.device),
            scale=(scale * sigma).to(self.device),
        )
        return torch_noise.moved(x, steps, size, seeds, generator)


def check_shape(name: str, value: Any, expected: tuple[int, ...]) -> None:
    """ValueError for another shape.

    torch would broadcast, and the radius be of another dimension.
    """
    if np.shape(value) != expected:
        raise ValueError(
            f"{name} must be of shape {tuple(expected)}; got {tuple(np.shape(value))}"
        )
