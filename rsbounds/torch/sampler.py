"""Counts of a torch module's classes under Gaussian noise."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics.checks import choice, count
from rsbounds.sampling import block_seeds, block_size
from rsbounds.torch import _rows, draw

_AUTOCAST = {"bfloat16": torch.bfloat16, "float16": torch.float16}
_CELLS = {"cpu": 2**18, "cuda": 2**25}
_NO_MEMORY = ("out of memory", "can't allocate memory", "ALLOC_FAILED", "not enough memory")


class Counts:
    """Counts that stay on their device until NumPy asks for them."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self._tensor.cpu().numpy().astype(dtype or np.int64)


class TorchSampler:
    """Sampler (:class:`rsbounds.sampling.Sampler`) over a torch module.

    The forward pass always runs on one block, whose size depends on the input's size, the
    number of samples and the kind of device, never on ``batch``: see
    :mod:`rsbounds.sampling`. Noise is drawn in float32 by torch's own generator, one seed
    for each block, and cast after it is added. Counts are summed on the device; the only
    synchronisation is the one that reads them.

    A certificate rests on samples that are independent of each other. So the model must be in
    eval mode at every call, and once, at the first block of two rows or more, the scores of a
    row among others are compared with its scores in a batch that holds nothing else: they may
    differ by the square root of the machine epsilon of the scores' type, relative to the
    largest score of the row (3.5e-4 for float32, .03 for float16, .09 for bfloat16), which
    leaves room for another order of summation and none for batch statistics.

    Parameters
    ----------
    model : torch.nn.Module
        Maps a batch (count, *shape of x) to scores (count, classes). Put in eval mode.
    num_classes : int, optional
        Number of classes, checked against the model; by default the model's own.
    batch : int
        Noisy samples held in memory at once, >= 1, rounded down to whole blocks but to at
        least one. No result depends on it.
    forward_batch : int, optional
        Rows of one forward pass at most, >= 1; by default a whole block. Another number may
        move near-ties, so give it in every run of a kind, or in none.
    device : str or torch.device, optional
        Where to run; by default where the model's first parameter is. For another device than
        that, and with ``channels_last``, a copy of the model is made: yours stays as it is.
    autocast : {"bfloat16", "float16"}, optional
        Mixed precision of the forward pass.
    channels_last : bool
        Give images (channels, height, width) to the model in channels-last layout.
    compile : bool
        Run the model through ``torch.compile``. Blocks are then rounded up to powers of two:
        sequential certification would ask for more shapes than torch compiles one by one.
    sound_noise : bool
        Draw whole-numbered noise exactly (Voracek and Hein 2023), for inputs on the grid of
        1/255: the certificate is then one of the program that runs, which rounds its input
        to the grid, and not only of its idealisation in real numbers. A scheme whose level
        follows the input must be made with ``sound=True``. An ambiguous draw counts for no
        class. Costs a few nanoseconds more for each number of the input.

    Raises
    ------
    ValueError
        If an argument is out of its domain, the model's scores have the wrong shape, a part of
        the model is in training mode when called, or rows depend on each other or on chance.
    MemoryError
        When even one sample, or the noise of one block, doesn't fit on the device.

    Warns
    -----
    RuntimeWarning
        Out of memory: the batch is halved, first the samples held at once, then the
        forward pass itself. After the latter, near-ties may fall otherwise than in a run
        with enough memory. Also for float16 on a CPU, which is slower there than float32.

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
        channels_last: bool = False,
        compile: bool = False,
        sound_noise: bool = False,
    ) -> None:
        self.batch = count("batch", batch, 1)
        self._rows = None if forward_batch is None else count("forward_batch", forward_batch, 1)
        self.num_classes = num_classes
        self._autocast = (
            _AUTOCAST[choice("autocast", autocast, (*_AUTOCAST,))] if autocast else None
        )
        self._layout = torch.channels_last if channels_last else torch.contiguous_format
        model = model.eval()
        own = home(model)
        self.device = own if device is None else torch.device(device)
        if channels_last or own != torch.empty(0, device=self.device).device:
            model = copy.deepcopy(model).to(self.device)
        if channels_last:
            model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if self.device.type == "cpu" and self._autocast is torch.float16:
            message = "float16 is slower than float32 on a CPU; bfloat16 may be faster"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        floats = (p.dtype for p in model.parameters() if p.is_floating_point())
        self._dtype = next(floats, torch.float32)
        self._plain = model
        self._model: Any = torch.compile(model, dynamic=False) if compile else model
        self.sound_noise = sound_noise
        self._generator = torch.Generator(self.device)
        self._parts = 1
        self._rows_checked = False

    def __call__(self, x: Any, sigma: float, n: int, generator: np.random.Generator) -> Counts:
        """Counts of the classes; see :class:`rsbounds.sampling.Sampler`."""
        x = torch.as_tensor(x).detach().float()
        return self.sample(x, sigma, n, generator)

    def sample(
        self, x: torch.Tensor, sigma: float, n: int, generator: np.random.Generator
    ) -> Counts:
        """The same for a tensor, which in float64 keeps its precision until noise is added."""
        for part in self._plain.modules():
            if part.training:
                raise ValueError(
                    f"the model must be in eval mode when it is sampled; its part "
                    f"{type(part).__name__} is in training mode"
                )
        x = (draw.whole(x) if self.sound_noise else x).to(self.device)
        size = block_size(n, x.numel(), _CELLS.get(self.device.type, _CELLS["cuda"]))
        if self._model is not self._plain:
            size = 1 << (size - 1).bit_length()
        seeds = block_seeds(generator, -(-n // size))
        total: Any = 0
        done = 0
        with torch.inference_mode():
            while done < len(seeds):
                group = seeds[done : done + max(self.batch // size, 1)]
                noisy, failure = None, ""
                try:
                    noisy, void = self._drawn(x, sigma, size, group)
                    counts = self._count(noisy, void[: n - done * size])
                except RuntimeError as error:
                    failure = _memory_failure(error)
                else:
                    total, done = total + counts, done + len(group)
                    continue
                drawn, noisy = noisy is not None, None
                self._halve(len(group), size, drawn, failure)
        return Counts(total)

    def _drawn(
        self, x: torch.Tensor, sigma: float, size: int, seeds: list[int]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Noisy copies, and which of them are void: see :mod:`rsbounds.torch.draw`."""
        noise = draw.on_grid if self.sound_noise else draw.gaussian
        return noise(x, sigma, size, seeds, self._generator)

    def forward(self, batch: torch.Tensor) -> Any:
        """What the model returns for a float32 batch on the device."""
        batch = batch.to(self._dtype)
        if batch.ndim == 4:
            batch = batch.contiguous(memory_format=self._layout)
        with torch.autocast(self.device.type, self._autocast, enabled=self._autocast is not None):
            return self._model(batch)

    def scores(self, returned: Any, batch: torch.Tensor) -> torch.Tensor:
        """What the model returned for ``batch``, if it has the shape of scores."""
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

    def _count(self, noisy: torch.Tensor, void: torch.Tensor) -> torch.Tensor:
        size = noisy.shape[1]
        split = max(self._parts, -(-size // (self._rows or size)))
        parts = [part for block in noisy for part in block.tensor_split(split)]
        scores = torch.cat([self._scored(part) for part in parts])[: len(void)]
        classes = scores.shape[1]
        void = void | scores.isnan().any(1)
        label = scores.argmax(1).masked_fill_(void, classes)
        counts = torch.zeros(classes + 1, dtype=torch.int64, device=self.device)
        return counts.scatter_add_(0, label, torch.ones_like(label))[:classes]

    def _scored(self, part: torch.Tensor) -> torch.Tensor:
        scores = self.scores(self.forward(part), part)
        if not self._rows_checked and len(part) > 1:
            _rows.require_independent(lambda b: self.scores(self.forward(b), b), part, scores)
            self._rows_checked = True
        return scores

    def _halve(self, blocks: int, size: int, drawn: bool, failure: str) -> None:
        if blocks > 1:
            self.batch = blocks * size // 2
            now = f"holding {self.batch} samples at once"
        elif drawn and self._parts < size:
            self._parts = min(2 * max(self._parts, -(-size // (self._rows or size))), size)
            now = f"running the model on {-(-size // self._parts)} samples at once"
        else:
            what = "one sample" if drawn else f"the noise of {size} samples"
            raise MemoryError(f"{what} doesn't fit on {self.device}: {failure}")
        torch.cuda.empty_cache()
        warnings.warn(f"out of memory ({failure}); {now}", RuntimeWarning, stacklevel=4)


def home(model: torch.nn.Module) -> torch.device:
    """Where the first parameter or buffer of a model is."""
    tensors = (*model.parameters(), *model.buffers())
    return tensors[0].device if tensors else torch.device("cpu")


def _memory_failure(error: RuntimeError) -> str:
    """The first line of an error that says that memory ran out; any other is raised again.

    The allocators, cuDNN and cuBLAS each have words of their own.
    """
    text = str(error)
    if isinstance(error, torch.OutOfMemoryError) or any(words in text for words in _NO_MEMORY):
        return text.partition("\n")[0]
    raise error
