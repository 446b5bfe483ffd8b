"""Counts of a torch module's classes under Gaussian noise."""

from __future__ import annotations

import copy
import warnings
from functools import partial
from typing import Any

import numpy as np
import torch

from rsbounds._numerics.checks import count
from rsbounds.sampling import block_seeds, block_size
from rsbounds.sampling.inputs import single
from rsbounds.torch import _rows, draw
from rsbounds.torch._device import CELLS, Counts, autocast_type, home, memory_failure
from rsbounds.torch._prefetch import mapped


class TorchSampler:
    """Sampler (:class:`rsbounds.sampling.Sampler`) over a torch module.

    The forward pass always runs on one block, whose size depends on the input's size, the
    number of samples and the kind of device, never on ``batch``: see
    :mod:`rsbounds.sampling`. Noise is drawn in float32 by torch's own generator, one seed
    for each block, and cast after it is added. Counts are summed on the device; the only
    synchronisation is the one that reads them, where the inputs are on the host.

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
        If an argument is out of its domain, an input isn't in floating point and finite, the
        model's scores have the wrong shape, a part of
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
        self._autocast = autocast_type(autocast)
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
        self._require_eval()
        x = self._placed(x)
        size = block_size(n, x.numel(), self._cells)
        if self._model is not self._plain:
            size = 1 << (size - 1).bit_length()
        return Counts(self._blocks(x, sigma, n, size, block_seeds(generator, -(-n // size))))

    def centre(self, x: Any) -> torch.Tensor:
        """The mean of the noisy copies; in float64 it keeps its precision until noise is added."""
        return torch.as_tensor(x).detach().float()

    def _require_eval(self) -> None:
        for part in self._plain.modules():
            if part.training:
                raise ValueError(
                    f"the model must be in eval mode when it is sampled; its part "
                    f"{type(part).__name__} is in training mode"
                )

    def _placed(self, x: Any) -> torch.Tensor:
        single(x)
        x = self.centre(x)
        return (draw.whole(x) if self.sound_noise else x).to(self.device)

    @property
    def _cells(self) -> int:
        return CELLS.get(self.device.type, CELLS["cuda"])

    def _noisy(
        self, x: torch.Tensor, sigma: float, size: int, seeds: list[int]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        law = draw.on_grid if self.sound_noise else draw.gaussian
        return law(x, sigma, size, seeds, self._generator)

    def _blocks(
        self, x: torch.Tensor, sigma: float, n: int, size: int, seeds: list[int]
    ) -> torch.Tensor:
        """Counts of n samples from blocks of one size, as many of them at once as fit."""
        total: Any = 0
        done = 0
        law = partial(torch.inference_mode()(self._noisy), x, sigma, size)  # in any thread
        while done < len(seeds):
            held = max(self.batch // size, 1)
            ahead = held > 1 and self.device.type == "cpu" and torch.get_num_threads() > 1
            step = 1 if ahead else held
            groups = [seeds[k : k + step] for k in range(done, len(seeds), step)]
            drawn, failure, noisy, void = False, "", None, None
            try:
                for noisy, void in mapped(law, groups, ahead=ahead and len(groups) > 1):
                    drawn = True
                    total = total + self._count(noisy, void[: n - done * size])
                    done += len(noisy)
                    drawn, noisy, void = False, None, None  # not held while the next is drawn
            except RuntimeError as error:
                failure = memory_failure(error)
            if done < len(seeds):
                noisy, void = None, None
                self._halve(2 if ahead else min(step, len(seeds) - done), size, drawn, failure)
        return total  # type: ignore[no-any-return]

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

    @torch.inference_mode()
    def _count(self, noisy: torch.Tensor, void: torch.Tensor) -> torch.Tensor:
        size = noisy.shape[1]
        split = max(self._parts, -(-size // (self._rows or size)))
        parts = [part for block in noisy for part in block.tensor_split(split)]
        scores = torch.cat([self._scored(part) for part in parts])[: len(void)]
        return _rows.tally(scores, void)

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
