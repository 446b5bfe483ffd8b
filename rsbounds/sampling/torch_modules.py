"""What a torch module returns under noise: classes counted, values, maps.

Not loaded without a torch module.
"""

from __future__ import annotations

import copy
import warnings
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics import threads
from rsbounds._numerics.checks import choice, count
from rsbounds.sampling import torch_noise
from rsbounds.sampling.arrays import Kind, checked_shape, require_same_row
from rsbounds.sampling.blocks import block_seeds, block_size, single
from rsbounds.sampling.grid_noise import LEVELS

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
    """Counts, or blocks of values, that stay on their device until NumPy asks for them."""

    def __init__(self, drawn: torch.Tensor | list[torch.Tensor]) -> None:
        self._drawn = drawn

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if isinstance(self._drawn, list):
            return (
                torch.cat(self._drawn)
                .double()
                .cpu()
                .numpy()
                .astype(dtype or np.float64)
            )
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

    A certificate needs samples that are independent of each other. So the model must be
    in eval mode at every call, and once, at the first block of two rows or more, the
    scores of a row among others are compared with its scores among copies of itself.
    They may differ by the square root of the machine epsilon of their type, relative to
    the largest: another order of summation passes, batch statistics don't.

    Parameters
    ----------
    model : torch.nn.Module
        Maps a batch (count, *shape of x) to scores (count, classes). Put in eval mode.
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

    Raises
    ------
    ValueError
        If an argument is out of its domain, an input isn't in floating point and
        finite, the model's scores have the wrong shape, a part of the model is in
        training mode when called, or rows depend on each other or on chance.
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
    ) -> None:
        self.batch = count("batch", batch, 1)
        self._rows = (
            None if forward_batch is None else count("forward_batch", forward_batch, 1)
        )
        self.num_classes = num_classes
        self._autocast = autocast_type(autocast)
        model = model.eval()
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
        self._model: Any = torch.compile(model, dynamic=False) if compile else model
        self.sound_noise = sound_noise
        self._generator = torch.Generator(self.device)
        self._cells = _CELLS.get(self.device.type, _CELLS["cuda"])
        self._parts = 1
        self._rows_checked = False

    def __call__(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> Counts:
        """Counts of the classes; see :class:`rsbounds.sampling.Sampler`."""
        for part in self._plain.modules():
            if part.training:
                name = type(part).__name__
                raise ValueError(
                    f"the model must be in eval mode; its part {name} is training"
                )
        single(x)
        x = self.centre(x)
        x = (torch_noise.whole(x) if self.sound_noise else x).to(self.device)
        size = block_size(n, x.numel(), self._cells)
        if self._model is not self._plain:
            size = 1 << (size - 1).bit_length()
        return Counts(
            self._blocks(x, sigma, n, size, block_seeds(generator, -(-n // size)))
        )

    def centre(self, x: Any) -> torch.Tensor:
        """The mean of the noisy copies; in float64 it keeps its precision until noise
        is added.
        """
        return torch.as_tensor(x).detach().float()

    def noisy(
        self, x: torch.Tensor, sigma: float, size: int, seeds: list[int]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Blocks of noisy copies, one for each seed, and which copies are void."""
        law = torch_noise.on_grid if self.sound_noise else torch_noise.gaussian
        return law(x, sigma, size, seeds, self._generator)

    def forward(self, batch: torch.Tensor) -> Any:
        """What the model returns for a float32 batch on the device."""
        with torch.autocast(
            self.device.type, self._autocast, enabled=self._autocast is not None
        ):
            return self._model(batch.to(self._dtype))

    def _blocks(
        self, x: torch.Tensor, sigma: float, n: int, size: int, seeds: list[int]
    ) -> Any:
        """Counts of n samples from blocks of one size, as many of them at once as fit."""
        total: Any = None
        done = 0
        draw = partial(
            torch.inference_mode()(self.noisy), x, sigma, size
        )  # in any thread
        while done < len(seeds):
            held = max(self.batch // size, 1)
            # on a CPU a thread draws a block while the model looks at the one before
            ahead = (
                held > 1 and self.device.type == "cpu" and torch.get_num_threads() > 1
            )
            step = 1 if ahead else held
            groups = [seeds[k : k + step] for k in range(done, len(seeds), step)]
            drawn, failure, noisy, void = False, "", None, None
            try:
                several = ahead and len(groups) > 1
                for noisy, void in (
                    threads.ahead(draw, groups, 1) if several else map(draw, groups)
                ):
                    drawn = True
                    counts = self._count(noisy, void[: n - done * size])
                    total = counts if total is None else total + counts
                    done += len(noisy)
                    drawn, noisy, void = (
                        False,
                        None,
                        None,
                    )  # not held while the next is drawn
            except RuntimeError as error:
                failure = _memory_failure(error)
            if done < len(seeds):
                noisy, void = None, None
                self._halve(
                    2 if ahead else min(step, len(seeds) - done), size, drawn, failure
                )
        return total

    @torch.inference_mode()
    def _count(self, noisy: torch.Tensor, void: torch.Tensor) -> Any:
        """Counts of the classes; rows that are void or hold a NaN count for none."""
        scores = self._returned(noisy)[: len(void)]
        classes = scores.shape[1]
        label = scores.argmax(1).masked_fill_(void | scores.isnan().any(1), classes)
        counts = torch.zeros(classes + 1, dtype=torch.int64, device=scores.device)
        counts.scatter_add_(0, label, torch.ones_like(label))
        return counts[:classes]

    def _returned(self, noisy: torch.Tensor) -> torch.Tensor:
        """What the model returns for all samples of some blocks."""
        size = noisy.shape[1]
        split = max(self._parts, -(-size // (self._rows or size)))
        parts = [part for block in noisy for part in block.tensor_split(split)]
        return torch.cat([self._checked(part) for part in parts])

    def _scores(self, batch: torch.Tensor) -> torch.Tensor:
        """What the model returns for ``batch``, if it has the shape of scores."""
        returned = self.forward(batch)
        shape = tuple(getattr(returned, "shape", ()))
        classes = self.num_classes or (shape[1] if len(shape) == 2 else 0)
        if shape != (len(batch), classes) or classes < 2:
            raise ValueError(
                f"the model must return scores of shape ({len(batch)}, "
                f"{self.num_classes or 'classes'}), at least two classes, for a batch of shape "
                f"{tuple(batch.shape)}; got {shape or type(returned).__name__}"
            )
        self.num_classes = classes
        return returned  # type: ignore[no-any-return]

    def _checked(self, batch: torch.Tensor) -> torch.Tensor:
        """The scores of a batch; the first time, each row's must not depend on the
        others.
        """
        first = not self._rows_checked and len(batch) > 1
        middle = len(batch) // 2
        if first:
            # copies of one row in a batch of the same shape, so that the same kernels
            # run and nothing is compiled again, and first: the model may change its
            # batch, or write its next scores over these
            copies = batch[middle : middle + 1].expand_as(batch).contiguous()
            own = self._scores(copies)[middle].double().cpu().numpy()
        scores = self._scores(batch)
        if first:
            among = scores[middle].double().cpu().numpy()
            floating = scores.is_floating_point()
            tolerance = float(torch.finfo(scores.dtype).eps ** 0.5) if floating else 0.0
            require_same_row(own, among, len(batch), tolerance)
            self._rows_checked = True
        return scores

    def _halve(self, blocks: int, size: int, drawn: bool, failure: str) -> None:
        if blocks > 1:
            self.batch = blocks * size // 2
            now = f"holding {self.batch} samples at once"
        elif drawn and self._parts < size:
            self._parts = min(
                2 * max(self._parts, -(-size // (self._rows or size))), size
            )
            now = f"running the model on {-(-size // self._parts)} samples at once"
        else:
            what = "one sample" if drawn else f"the noise of {size} samples"
            raise MemoryError(f"{what} doesn't fit on {self.device}: {failure}")
        torch.cuda.empty_cache()
        warnings.warn(f"out of memory ({failure}); {now}", RuntimeWarning, stacklevel=4)


def _memory_failure(error: RuntimeError) -> str:
    """The first line of an error that says that memory ran out; any other is raised
    again.
    """
    text = str(error)
    if isinstance(error, torch.OutOfMemoryError) or any(
        words in text for words in _NO_MEMORY
    ):
        return text.partition("\n")[0]
    raise error


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
        checked_shape(shape, len(batch), self.kind, self._shape)
        self._shape = shape[1:]
        return returned

    @torch.inference_mode()
    def _count(self, noisy: torch.Tensor, void: torch.Tensor) -> Any:
        drawn = self._returned(noisy)[: len(void)]
        if self.kind == "values":
            rows = drawn.reshape(len(void), -1)
            rows = rows if rows.is_floating_point() else rows.double()
            return [rows.masked_fill(void[:, None], torch.nan)]
        drawn = drawn.flatten(2)
        classes, positions = drawn.shape[1:]
        largest, label = drawn.max(1)  # NaN where one of them is
        label.masked_fill_(largest.isnan() | void[:, None], classes)
        place = label + torch.arange(positions, device=label.device) * (classes + 1)
        counts = torch.bincount(place.flatten(), minlength=positions * (classes + 1))
        return counts.view(positions, classes + 1)[:, :classes]


class _Shaped(TorchSampler):
    """Noise with a mean and a level on every axis: isotropic once divided by the
    noise's shape.

    ``noise`` is a :class:`rsbounds.torch.FixedNoise` or ``CertifiedNoise``:
    ``centre(x)`` is x + mean and ``offset(x)`` the mean alone, both in float64 and
    divided by the shape, on the host.
    """

    def __init__(
        self, noise: Any, model: Any, num_classes: int | None, **options: Any
    ) -> None:
        super().__init__(model, num_classes, **options)
        self.law, self._noise = noise.law, noise
        self._shape = noise.shape.detach().float().to(self.device)


class ShapedSampler(_Shaped):
    """Noise in float32, drawn in the coordinates divided by the shape."""

    def centre(self, x: Any) -> torch.Tensor:
        x = torch.as_tensor(x, dtype=torch.float64, device="cpu")
        check_shape("x", x, self._shape.shape)
        with torch.no_grad():
            centre: torch.Tensor = self._noise.centre(x)
        return centre

    def forward(self, batch: torch.Tensor) -> Any:
        return super().forward(batch * self._shape)


class GridSampler(_Shaped):
    """Sound noise: x + mean + noise rounded to the grid of 1/255."""

    def centre(self, x: Any) -> torch.Tensor:
        check_shape("x", x, self._shape.shape)
        return super().centre(x)

    def noisy(
        self, x: torch.Tensor, sigma: float, size: int, seeds: list[int]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        scale = LEVELS * self._noise.shape.detach().cpu().double()
        with torch.no_grad():
            centre = scale * self._noise.offset(x.cpu() / LEVELS)
        reach = float((centre.abs() + 10 * scale * sigma).max())
        if not reach < 2**30:
            raise ValueError(
                f"mean and level must be below 2^30/255 in sum; got {reach:.3g}/255"
            )
        place = centre.to(self.device), (scale * sigma).to(self.device)
        steps = partial(torch_noise.rounded, centre=place[0], scale=place[1])
        return torch_noise.moved(x, steps, size, seeds, self._generator)


def check_shape(name: str, value: Any, expected: tuple[int, ...]) -> None:
    """ValueError for another shape: torch would broadcast, and the radius be of other
    dimension.
    """
    if np.shape(value) != expected:
        raise ValueError(
            f"{name} must be of shape {tuple(expected)}; got {tuple(np.shape(value))}"
        )
