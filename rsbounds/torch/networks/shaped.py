"""Noise of a shape: its own level on every axis, the same or by proven maps; scheme and sampler.

In coordinates divided by the shape the noise is isotropic, and there it is drawn and certified:
a ball |u| < R is the ellipsoid sum (delta_i/shape_i)^2 < R^2 of the input.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import nn

from rsbounds import anisotropic
from rsbounds._numerics.checks import real
from rsbounds.sampling import grid_noise
from rsbounds.schemes import FIXED_NOISE, Anisotropic, Generator, Scheme, inner_radius
from rsbounds.torch import draw
from rsbounds.torch.networks._frozen import frozen
from rsbounds.torch.networks._rounding import rounding_slacks, settle
from rsbounds.torch.networks.lipschitz_bound import lipschitz_upper_bound
from rsbounds.torch.networks.sigma import SigmaNetwork
from rsbounds.torch.sampler import TorchSampler

__all__ = ["CertifiedNoise", "FixedNoise", "ShapedSampler", "check_shape"]


class _LawSampler(TorchSampler):
    """A sampler that bears the name of its noise."""

    def __init__(self, model: nn.Module, num_classes: int | None, law: str, **options: Any) -> None:
        if not isinstance(model, nn.Module):
            raise ValueError(f"noise of a shape needs a torch module; got {type(model).__name__}")
        super().__init__(model, num_classes, **options)
        self.law = law


class ShapedSampler(_LawSampler):
    """Counts of the classes under noise of a fixed shape, centred where ``centre`` says.

    In coordinates divided by the shape the noise is isotropic; there ``centre(x)`` is its mean.
    ``options`` are those of :class:`TorchSampler`.
    """

    def __init__(
        self,
        model: nn.Module,
        shape: torch.Tensor,
        centre: Callable[[torch.Tensor], torch.Tensor],
        num_classes: int | None,
        law: str,
        **options: Any,
    ) -> None:
        super().__init__(model, num_classes, law, **options)
        self._shape = shape.float().to(self.device)
        self._centre = centre

    def centre(self, x: Any) -> torch.Tensor:
        """The mean of the noise around x, in the coordinates divided by the shape."""
        x = torch.as_tensor(x, dtype=torch.float64, device="cpu")
        check_shape("x", x, self._shape.shape)
        with torch.no_grad():
            return self._centre(x)

    def forward(self, batch: torch.Tensor) -> Any:
        """What the model returns for a float32 batch of the coordinates divided by the shape."""
        return super().forward(batch * self._shape)


class GridSampler(_LawSampler):
    """Counts of the classes under sound noise with a mean and a level on every axis.

    The level is that of the call times the axis of ``shape``; x + mean + noise is rounded to the
    grid of 1/255. ``mean(x)`` is in the coordinates divided by the shape. ``options`` are those of
    :class:`TorchSampler`.

    Raises
    ------
    ValueError
        When called, if means and levels reach beyond 2^30 steps of the grid.
    """

    def __init__(
        self,
        model: nn.Module,
        shape: torch.Tensor,
        mean: Callable[[Any], torch.Tensor],
        num_classes: int | None,
        law: str,
        **options: Any,
    ) -> None:
        super().__init__(model, num_classes, law, **options)
        self._steps = draw.LEVELS * shape.detach().cpu().double()
        self._mean = mean

    def centre(self, x: Any) -> torch.Tensor:
        """x itself: the mean is drawn with the noise."""
        check_shape("x", x, self._steps.shape)
        return super().centre(x)

    def _noisy(
        self, x: torch.Tensor, sigma: float, size: int, seeds: list[int]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        centre, scale = self._steps * self._mean(x.cpu() / draw.LEVELS), self._steps * sigma
        reach = float((centre.abs() + 10 * scale).max())
        if not reach < 2**30:
            raise ValueError(f"mean and level must be below 2^30/255 in sum; got {reach:.3g}/255")
        noise = centre.to(self.device), scale.to(self.device)
        return draw.shaped_on_grid(x, *noise, size, seeds, self._generator)


def check_shape(name: str, value: Any, expected: tuple[int, ...]) -> None:
    """Torch would broadcast, and the radius would be one of another dimension."""
    if np.shape(value) != expected:
        raise ValueError(f"{name} must be of shape {tuple(expected)}; got {tuple(np.shape(value))}")


@dataclass(frozen=True)
class FixedNoise:
    """Gaussian noise of one mean and one level on every axis.

    The scheme's level is the geometric mean of the levels as a float32 number; the level of each
    axis is that number times the axis of :attr:`shape`, in float32 too, the product exact.

    Parameters
    ----------
    mean, sigma : Tensor, shape of one input
        In the input's unit; sigma > 0.
    scope : str
        For which classifier its certificates hold.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.certify import certify
    >>> from rsbounds.torch import FixedNoise
    >>> model = torch.nn.Linear(2, 2)
    >>> _ = model.weight.data.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    >>> noise = FixedNoise(torch.zeros(2), torch.tensor([0.5, 2.0]))
    >>> scheme = noise.scheme()
    >>> found = certify(noise.sampler(model), torch.tensor([0.5, 0.0]), scheme, n=1000)
    >>> found.scope, found.sigma, found.radius < 0.5 + model.bias.abs().sum().item()
    ('fixed noise', 1.0, True)
    """

    mean: torch.Tensor
    sigma: torch.Tensor
    scope: str = FIXED_NOISE

    def __post_init__(self) -> None:
        levels = self.sigma.detach().cpu().numpy()
        real("sigma", levels, 0, closed="neither", nan=False)
        check_shape("mean", self.mean, self.sigma.shape)
        shape = self.shape.double().numpy()
        if not ((shape >= _TINY) & (shape < np.inf)).all():
            raise ValueError(
                "sigma must keep its ratios to the geometric mean within float32's range; got "
                f"levels from {levels.min():.2g} to {levels.max():.2g}"
            )

    @cached_property
    def level(self) -> float:
        """The geometric mean of the levels, a float32 number."""
        return float(np.float32(self.sigma.detach().cpu().double().log().mean().exp().item()))

    @property
    def shape(self) -> torch.Tensor:
        """The levels divided by ``level``, in float32."""
        return (self.sigma.detach().cpu().double() / self.level).float()

    @property
    def law(self) -> str:
        """The name of this noise: a hash of mean and levels."""
        return _law("fixed", self.mean, self.sigma)

    def sampler(
        self, model: nn.Module, num_classes: int | None = None, **options: Any
    ) -> ShapedSampler | GridSampler:
        """Counts classes under this noise; ``options`` as for :class:`TorchSampler`.

        With ``sound_noise`` inputs lie on the grid of 1/255, and x + noise is rounded to it.
        """
        mean, shape = self.mean.detach().cpu().double(), self.shape
        if options.get("sound_noise"):
            same = partial(_constant, mean / shape.double())
            return GridSampler(model, shape, same, num_classes, self.law, **options)
        centre = partial(_shifted, mean, shape)
        return ShapedSampler(model, shape, centre, num_classes, self.law, **options)

    def scheme(self, norm: float = 2, *, sound: bool = True) -> Scheme:
        """The scheme with :func:`rsbounds.anisotropic.radius` in an l_p norm.

        Nothing in it depends on how a level is rounded, so it is sound in any case.
        """
        scheme = Anisotropic(_ball(self.shape, norm), level=self.level_at)
        scheme.scope = self.scope
        scheme.drawn_by(self)
        return scheme

    def level_at(self, x: Any) -> float:
        """The level, the same at every input of the right shape."""
        check_shape("x", x, tuple(self.sigma.shape))
        return self.level

    def log_volume(self, score: float) -> float:
        """Logarithm of the volume of the certified ellipsoid for a normal score."""
        levels = self.shape.double().numpy().ravel() * self.level
        return float(anisotropic.log_volume(score, levels, scores=True))


class CertifiedNoise:
    """The noise of a ``CertifiedGenerator`` as it was: later training doesn't move it.

    Parameters
    ----------
    generator : CertifiedGenerator
        A copy is taken, in float64 and eval mode.

    Raises
    ------
    ValueError
        If its ``level`` is no :class:`SigmaNetwork`, whose floor is proven.
    """

    def __init__(self, generator: nn.Module) -> None:
        if not isinstance(level := getattr(generator, "level", None), SigmaNetwork):
            raise ValueError(f"level must be a SigmaNetwork; got {type(level).__name__}")
        self._generator: Any = frozen(generator)
        settle(self._generator)
        self.law = _law(repr(self._generator), *self._generator.state_dict().values())

    def sampler(
        self, model: nn.Module, num_classes: int | None = None, **options: Any
    ) -> ShapedSampler | GridSampler:
        """Counts classes under this noise; ``options`` as for :class:`TorchSampler`.

        With ``sound_noise`` inputs lie on the grid of 1/255 in [0, 1], and x + noise is rounded to
        it; the scheme must be made with ``sound=True``.
        """
        kept = self._generator
        if options.get("sound_noise"):
            mean = partial(_mean_on_grid, kept)
            return GridSampler(model, kept.shape, mean, num_classes, self.law, **options)
        centre = partial(_moved, kept)
        return ShapedSampler(model, kept.shape, centre, num_classes, self.law, **options)

    def scheme(self, norm: float = 2, *, sound: bool = False) -> Scheme:
        """The scheme of the envelope certificate with the proven bounds, in an l_p norm.

        With ``sound`` the level is that at the input's point of the grid, and the radius allows
        for the rounding of the level and of the mean; ValueError where that has no bound.
        """
        kept = self._generator
        parameters = {
            "lip": lipschitz_upper_bound(kept.level),
            "mean_lip": lipschitz_upper_bound(kept.mean),
            "sigma_min": kept.level.sigma_min,
            **_ball(kept.shape, norm),
        }
        if sound:
            parameters |= rounding_slacks(kept)
        scheme = Generator(parameters, level=self.level_at, proven=True)
        scheme.drawn_by(self)
        return scheme

    def level_at(self, x: Any) -> float:
        """The level at one input."""
        kept = self._generator
        check_shape("x", x, kept.shape.shape)
        point = torch.as_tensor(x, device="cpu").double()
        with torch.no_grad():
            return float(kept.level((point / kept.shape)[None]))


def _law(kind: str, *tensors: torch.Tensor) -> str:
    """A name of noise that such tensors define, the same in every process."""
    digest = hashlib.sha256(kind.encode())
    for tensor in tensors:
        digest.update(repr(tuple(tensor.shape)).encode())
        digest.update(tensor.detach().cpu().double().contiguous().numpy().tobytes())
    return digest.hexdigest()


_TINY = float(np.finfo(np.float32).tiny)


def _ball(shape: torch.Tensor, norm: float) -> dict[str, Any]:
    """The l_p radius inside the ellipsoid sum (delta_i/shape_i)^2 <= 1, rounded down."""
    axes = shape.double().numpy().ravel()
    return {"norm": norm, "inner": inner_radius(axes, norm), "dim": axes.size}


def _shifted(mean: torch.Tensor, shape: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    centre: torch.Tensor = (x + mean) / shape.double()
    return centre


def _constant(mean: torch.Tensor, x: Any) -> torch.Tensor:
    return mean


def _moved(kept: Any, x: torch.Tensor) -> torch.Tensor:
    u = x / kept.shape
    centre: torch.Tensor = u + _mean_at(kept, u)
    return centre


def _mean_at(kept: Any, u: torch.Tensor) -> torch.Tensor:
    mean: torch.Tensor = kept.mean(u[None].clone())  # it may work in place
    check_shape("what the mean map returns", mean, (1, *u.shape))
    return mean[0]


def _mean_on_grid(kept: Any, x: Any) -> torch.Tensor:
    with torch.no_grad():
        return _mean_at(kept, torch.as_tensor(grid_noise.points(x)) / kept.shape)
