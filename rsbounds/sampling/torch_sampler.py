"""The sampler of a torch module: see :class:`TorchSampler`.

Not loaded without a torch module.
"""

from __future__ import annotations

import torch

from rsbounds.noises import Noise
from rsbounds.sampling.questions import VoteQuestion
from rsbounds.sampling.sampler import ModelSampler
from rsbounds.sampling.torch_modules import TorchModule
from rsbounds.schemes import Scheme


class TorchSampler(ModelSampler):
    """Sampler (:class:`rsbounds.sampling.Sampler`) over a torch module.

    The forward pass always runs on one block, whose size depends on the input's size,
    the number of samples and the kind of device, never on ``batch``: see
    :mod:`rsbounds.sampling`. torch's own generator draws the noise in float32, from one
    name for each block; it is added in the type of the input, float32 or float64, and
    the noisy copy is rounded to the model's type. Counts are summed
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
        Run the model as fast as its device can: by ``torch.compile``, pictures channels
        last if the model takes them so, and on a GPU by CUDA graphs and cuDNN's
        quickest kernels, from one thread. At the first block, and at one in 1024 from
        then on, its scores are compared with those of the model as it was given: votes
        may differ where rounding explains it. Block sizes are rounded up to powers of
        two, because torch compiles few shapes and sequential certification would use
        many.
    noise : Noise or Scheme, optional
        As in :class:`rsbounds.sampling.ArraySampler`. Copies of whole numbers are
        int64, whatever the model's type; give inputs in floating point to a model that
        takes such. Sequences that have become shorter are filled up with the noise's
        padding, and a model whose ``forward`` has an ``attention_mask`` is called with
        it. Copies of a sparse matrix are one sparse tensor (count, rows, columns).

    Raises
    ------
    ValueError
        If an argument is out of its domain, an input isn't in floating point and
        finite, the model's scores have the wrong shape, a part of the model can't be
        put in eval mode, rows are seen to depend on each other, on chance or on what
        was asked before, or a compiled model's scores on its being compiled.
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

    backend: TorchModule

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
        noise: Noise | Scheme | None = None,
    ) -> None:
        backend = TorchModule(
            model,
            batch=batch,
            forward_batch=forward_batch,
            device=device,
            autocast=autocast,
            compile=compile,
            noise=noise,
        )
        super().__init__(backend, VoteQuestion(num_classes))

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        return self.backend.device

    @property
    def batch(self) -> int:
        """Samples held in memory at once; lower from the day that it ran out."""
        return self.backend.memory.batch

    @batch.setter
    def batch(self, batch: int) -> None:
        self.backend.memory.batch = batch
