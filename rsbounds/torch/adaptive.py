"""Adaptive smoothing: a model is shown what a mask chose after a first noisy look."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds.sampling.torch_noise import wide
from rsbounds.schemes import Scheme, two_queries
from rsbounds.schemes.internal import query_levels

#: Room for the roundings of a level in float32, so that none is below what is stated.
_UPWARD = 1 + 2.0**-20


class Adaptive(torch.nn.Module):
    """A mask and a model that see an input by two noisy queries, certified in l_inf.

    The mask sees x + sigma_1 noise and returns a weight w for each number. The model
    sees that, and w x + sigma_2 |w|/sqrt(d) noise: where the mask keeps a part of the
    input alone, that part is seen with less noise than a single query of the same
    certificate would have. The noise follows the input, and no rate is paid for it:
    the radius in l_inf is that of one query of level ``sigma``.

    Certify it like any module: ``Smooth(adaptive, num_classes,
    adaptive.scheme(shape))``, ``certify_dataset(adaptive, data,
    adaptive.scheme(shape))``, or ``--method two-queries`` with a model of code.

    Parameters
    ----------
    mask : torch.nn.Module or callable
        Maps the first answers (count, *shape of x) to weights that broadcast to that
        shape, such as (count, 1, height, width) for pictures; any real numbers. With
        one that is not finite the second answer is NaN.
    model : torch.nn.Module or callable
        Called as ``model(first, second)`` with the answers of both queries, each
        (count, *shape of x); returns scores (count, classes).
    sigma : float
        Level of the noise that both queries amount to, > 0, in the input's unit.
    share : float
        Part of 1/sigma^2 that the first query takes, in (0, 1).

    Attributes
    ----------
    query_levels : (float, float)
        sigma_1 and sigma_2: sigma/sqrt(share) and sigma/sqrt(1 - share).

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Lyu et al., Adaptive randomized smoothing, 2024; the theory page on two queries.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import Adaptive, Smooth
    >>> def mask(first):  # where the first look is bright
    ...     return (first > 0.5).float()
    >>> def model(first, second):
    ...     return torch.stack([second[:, 0], second[:, 1]], 1)
    >>> adaptive = Adaptive(mask, model, sigma=0.25)
    >>> smooth = Smooth(adaptive, 2, adaptive.scheme((2,)))
    >>> predicted, radius = smooth.certify(
    ...     torch.tensor([1.0, 0.0]), n0=100, n=10_000, alpha=0.001, batch_size=1000)
    >>> predicted, 0.3 < radius < 0.5
    (0, True)
    """

    def __init__(self, mask: Any, model: Any, sigma: float, share: float = 0.5) -> None:
        super().__init__()
        for name, function in (("mask", mask), ("model", model)):
            if not callable(function):
                raise ArgumentError(
                    name,
                    "must be a torch module or a function; got "
                    f"{type(function).__name__}",
                )
        self.mask = mask
        self.model = model
        self.query_levels = query_levels(sigma, share)

    def forward(self, copies: torch.Tensor) -> Any:
        """Scores of copies (count, 3, *shape of x) that a sampler drew.

        These are the answer of the first query, the input, and standard noise for the
        second query, which is asked here: neither mask nor model sees the input.
        """
        if copies.dtype not in (torch.float32, torch.float64):
            raise ArgumentError(
                "model",
                "must have its first parameter in float32 or float64, in which the "
                f"input reaches the second query; got {copies.dtype}",
            )
        first, x, noise = copies.unbind(1)
        weight = self.mask(first).expand_as(x)
        return self.model(first, self._second_answer(x, weight, noise))

    def _second_answer(
        self, x: torch.Tensor, weight: torch.Tensor, noise: torch.Tensor
    ) -> torch.Tensor:
        """The weighed input with noise of its level, in the size of the weights.

        The sum is made of weights next to 1: it is multiplied by their size, a power of
        two, at the end. Weights as they are would tell what noise hides: of 1e-45 the
        level is 0 in float32, of 1e38 a product is infinite, whatever the noise.
        """
        shape = -1, *[1] * (x.ndim - 1)
        weight = weight.to(torch.promote_types(weight.dtype, x.dtype))
        finite = weight.isfinite().flatten(1).all(1).view(shape)
        weight = weight.where(finite, 0.0)
        largest = weight.detach().abs().flatten(1).amax(1)
        exponent = torch.frexp(largest).exponent - 1
        size = torch.exp2(exponent.to(largest)).view(shape)
        unit = weight / size
        norm = wide(unit.flatten(1)).norm(dim=1)
        level = self.query_levels[1] / math.sqrt(x[0].numel()) * _UPWARD * norm
        # 0 is added for weights of 0: the sign of 0 x would be that of x
        level = level.to(x).view(shape)
        answer: torch.Tensor = size * (unit * x + level * noise + 0.0)
        return answer.where(finite, math.nan)

    def sample(self, x: torch.Tensor) -> Any:
        """Scores of a batch, each input with noise of its own: for training.

        Differentiable, by torch's global generator.
        """
        noise = torch.randn_like(x)
        first = x + self.query_levels[0] * torch.randn_like(x)
        return self.forward(torch.stack([first, x, noise], 1))

    def scheme(self, shape: int | Sequence[int]) -> Scheme:
        """Return the scheme of its certificates, for inputs of a shape."""
        sides = [shape] if isinstance(shape, int) else list(shape)
        dim = math.prod(count("shape", side, 1) for side in sides)
        return two_queries(*self.query_levels, dim)
