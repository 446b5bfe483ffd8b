"""A smoothed classifier as attacks want it: scores with a gradient."""

from __future__ import annotations

from contextlib import nullcontext

import torch

from rsbounds._numerics.checks import count
from rsbounds.torch.smooth import Smooth


class LogVotes(torch.nn.Module):
    """Logarithms of the mean class probabilities under noise, with their gradient.

    For Foolbox, AutoAttack and ART, whose attacks want scores before the softmax: that of these is
    the mean over ``smooth.samples`` copies (expectation over transformations). For attacks, not for
    certificates.

    Parameters
    ----------
    smooth : Smooth
        The smoothed classifier; left in eval mode.
    seed : int, optional
        Seed, >= 0, of noise that is the same in every call, for attacks that compare calls. By
        default each call draws its own from torch's global generator.

    Raises
    ------
    ValueError
        If ``smooth`` is no :class:`Smooth`, or its noise has a level on every axis.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import LogVotes, Smooth
    >>> smooth = Smooth(lambda x: torch.stack([x[:, 0], -x[:, 0]], 1), 2, 0.5, samples=100)
    >>> scores = LogVotes(smooth, seed=0)
    >>> x = torch.tensor([[0.5, 0.0]])
    >>> bool((scores(x) == scores(x)).all()), int(scores(x).argmax())
    (True, 0)
    """

    def __init__(self, smooth: Smooth, *, seed: int | None = None) -> None:
        super().__init__()
        if not isinstance(smooth, Smooth):
            raise ValueError(f"smooth must be a Smooth; got {type(smooth).__name__}")
        if smooth.scheme.law:
            raise ValueError("soft votes need noise of one level at an input; got noise of a shape")
        self.smooth = smooth
        self.seed = None if seed is None else count("seed", seed)
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores (count, classes) of a batch, at most 0."""
        devices = [x.device] if x.device.type == "cuda" else []
        with nullcontext() if self.seed is None else torch.random.fork_rng(devices):
            if self.seed is not None:
                torch.manual_seed(self.seed)
            votes: torch.Tensor = self.smooth(x)
        return votes.clamp_min(torch.finfo(votes.dtype).tiny).log()
