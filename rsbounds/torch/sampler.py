"""Counts of a torch module's classes under Gaussian noise."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics.checks import choice, count
from rsbounds.sampling import block_size
from rsbounds.torch import draw

_AUTOCAST = {"bfloat16": torch.bfloat16, "float16": torch.float16}
_CELLS = {"cpu": 2**18, "cuda": 2**25}


class Counts:
    """Counts that stay on their device until NumPy asks for them."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self._tensor.cpu().numpy().astype(dtype or np.int64)


class TorchSampler:
    """Sampler (:class:`rsbounds.certify.Sampler`) over a torch module.

    The forward pass always runs on one block, whose size depends on the input's size, the
    number of samples and the kind of device, never on ``batch``: see
    :mod:`rsbounds.certify`. Noise is drawn in float32 by torch's own generator, one seed
    for each block, and cast after it is added. Counts are summed on the device; the only
    synchronisation is the one that reads them.

    Parameters
    ----------
    model : torch.nn.Module
        Maps a batch (count, *shape of x) to scores (count, classes). Put in eval mode.
    num_classes : int, optional
        Number of classes, checked against the model; by default the model's own.
    batch : int
        Noisy samples held in memory at once, >= 1, rounded down to whole blocks but to at
        least one. No result depends on it.
    device : str or torch.device
        Where to run; the model is moved there.
    autocast : {"bfloat16", "float16"}, optional
        Mixed precision of the forward pass.
    channels_last : bool
        Give images (channels, height, width) to the model in channels-last layout.
    compile : bool
        Run the model through ``torch.compile``.
    sound_noise : bool
        Draw whole-numbered noise exactly (Voracek and Hein 2023), for inputs on the grid of
        1/255: the certificate is then one of the program that runs, which rounds its input
        to the grid, and not only of its idealisation in real numbers. An ambiguous draw
        counts for no class. Costs a few nanoseconds more for each number of the input.

    Raises
    ------
    ValueError
        If an argument is out of its domain, or the model's scores have the wrong shape.
    MemoryError
        When even one sample doesn't fit on the device.

    Warns
    -----
    RuntimeWarning
        Out of memory: the batch is halved, first the samples held at once, then the
        forward pass itself. After the latter, near-ties may fall otherwise than in a run
        with enough memory.

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
        device: str | torch.device = "cpu",
        autocast: str | None = None,
        channels_last: bool = False,
        compile: bool = False,
        sound_noise: bool = False,
    ) -> None:
        self.batch = count("batch", batch, 1)
        self.device = torch.device(device)
        self.num_classes = num_classes
        self._autocast = (
            _AUTOCAST[choice("autocast", autocast, (*_AUTOCAST,))] if autocast else None
        )
        self._layout = torch.channels_last if channels_last else torch.contiguous_format
        model = model.eval().to(self.device)
        if channels_last:
            model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        floats = (p.dtype for p in model.parameters() if p.is_floating_point())
        self._dtype = next(floats, torch.float32)
        self._model: Any = torch.compile(model, dynamic=False) if compile else model
        self._draw = draw.on_grid if sound_noise else draw.gaussian
        self._generator = torch.Generator(self.device)
        self._parts = 1

    def __call__(self, x: Any, sigma: float, n: int, generator: np.random.Generator) -> Counts:
        """Counts of the classes; see :class:`rsbounds.certify.Sampler`."""
        x = torch.as_tensor(x, dtype=torch.float32, device=self.device)
        size = block_size(n, x.numel(), _CELLS.get(self.device.type, _CELLS["cuda"]))
        # 32 bits is what torch's CPU generator takes of a seed
        seeds = generator.choice(2**32, -(-n // size), replace=False).tolist()
        total: Any = 0
        done = 0
        with torch.inference_mode():
            while done < len(seeds):
                group = seeds[done : done + max(self.batch // size, 1)]
                try:
                    counts = self._count(x, sigma, group, size, n - done * size)
                except torch.cuda.OutOfMemoryError as error:
                    failure = str(error).partition("\n")[0]
                else:
                    total, done = total + counts, done + len(group)
                    continue
                self._halve(len(group), size, failure)
        return Counts(total)

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

    def _count(
        self, x: torch.Tensor, sigma: float, seeds: list[int], size: int, used: int
    ) -> torch.Tensor:
        noisy, void = self._draw(x, sigma, size, seeds, self._generator)
        parts = (part for block in noisy for part in block.tensor_split(self._parts))
        scores = torch.cat([self.scores(self.forward(part), part) for part in parts])[:used]
        classes = scores.shape[1]
        void = void[:used] | scores.isnan().any(1)
        label = scores.argmax(1).masked_fill_(void, classes)
        counts = torch.zeros(classes + 1, dtype=torch.int64, device=self.device)
        return counts.scatter_add_(0, label, torch.ones_like(label))[:classes]

    def _halve(self, blocks: int, size: int, failure: str) -> None:
        if blocks > 1:
            self.batch = blocks * size // 2
            now = f"holding {self.batch} samples at once"
        elif self._parts < size:
            self._parts = min(2 * self._parts, size)
            now = f"running the model on {-(-size // self._parts)} samples at once"
        else:
            raise MemoryError(f"one sample doesn't fit on {self.device}: {failure}")
        torch.cuda.empty_cache()
        warnings.warn(f"out of memory ({failure}); {now}", RuntimeWarning, stacklevel=3)
