"""Noise of a shape: its own level on every axis, fixed or given by proven maps; scheme and sampler.

In coordinates divided by the shape the noise is isotropic, and there it is drawn and certified:
a ball |u| < R is the ellipsoid sum (delta_i/shape_i)^2 < R^2 of the input.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import nn

from rsbounds import anisotropic
from rsbounds._numerics.checks import as_floats
from rsbounds.certificate import FIXED_NOISE
from rsbounds.sampling import grid_noise
from rsbounds.sampling.torch_modules import TorchSampler
from rsbounds.sampling.torch_shaped import GridSampler, ShapedSampler, check_shape
from rsbounds.schemes import Anisotropic, Generator, Scheme
from rsbounds.torch.networks._rounding import rounding_slacks
from rsbounds.torch.networks._trust import frozen, settle
from rsbounds.torch.networks.lipschitz_bound import lipschitz_upper_bound
from rsbounds.torch.networks.sigma import SigmaNetwork

_TINY = float(np.finfo(np.float32).tiny)


class _Noise:
    def sampler(
        self: Any, model: nn.Module, num_classes: int | None = None, **options: Any
    ) -> TorchSampler:
        """Counts classes under this noise; ``options`` as for :class:`TorchSampler`.

        With ``sound_noise`` inputs lie on the grid of 1/255 (where the noise follows the input, in
        [0, 1]), x + noise is rounded to it, and the scheme must be made with ``sound=True``.
        """
        if not isinstance(model, nn.Module):
            raise ValueError(f"noise of a shape needs a torch module; got {type(model).__name__}")
        kind = GridSampler if options.get("sound_noise") else ShapedSampler
        return kind(self, model, num_classes, **options)


@dataclass(frozen=True)
class FixedNoise(_Noise):
    """Gaussian noise of one mean and one level on every axis.

    The scheme's level is the geometric mean of the levels as a float32 number; the level of each
    axis is exactly that number times the axis of :attr:`shape`, in float32 too.

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
    >>> model = torch.nn.Linear(2, 2, bias=False)
    >>> _ = model.weight.data.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    >>> noise = FixedNoise(torch.zeros(2), torch.tensor([0.5, 2.0]))
    >>> result = certify(noise.sampler(model), torch.tensor([0.5, 0.0]), noise.scheme(), n=1000)
    >>> result.scope, result.sigma, result.radius < 0.5
    ('fixed noise', 1.0, True)
    """

    mean: torch.Tensor
    sigma: torch.Tensor
    scope: str = FIXED_NOISE

    def __post_init__(self) -> None:
        levels = self.sigma.detach().cpu().numpy()
        as_floats("sigma", levels, 0, closed="neither", nan=False)
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

    @cached_property
    def shape(self) -> torch.Tensor:
        """The levels divided by ``level``, in float32."""
        return (self.sigma.detach().cpu().double() / self.level).float()

    @property
    def law(self) -> str:
        """The name of this noise: a hash of mean and levels."""
        return _law("fixed", self.mean, self.sigma)

    def centre(self, x: torch.Tensor) -> torch.Tensor:
        """x + mean, divided by the shape."""
        return (x + self.mean.detach().cpu().double()) / self.shape.double()

    def offset(self, x: torch.Tensor) -> torch.Tensor:
        """The mean divided by the shape, at any x."""
        return self.mean.detach().cpu().double() / self.shape.double()

    def scheme(self, norm: float = 2, *, sound: bool = True) -> Scheme:
        """The scheme with :func:`rsbounds.anisotropic.radius` in an l_p norm.

        It is sound in any case, because the level is the same at every input.
        """
        scheme = Anisotropic(_ball(self.shape, norm), level=self.level_at)
        scheme.scope = self.scope
        scheme.drawn_by(self)
        return scheme

    def level_at(self, x: Any) -> float:
        """The level, the same at every input of the right shape."""
        check_shape("x", x, tuple(self.sigma.shape))
        return self.level


class CertifiedNoise(_Noise):
    """The noise of a ``CertifiedGenerator`` as it is now: later training doesn't move it.

    ``generator`` is copied, in float64 and eval mode; its ``level`` is a :class:`SigmaNetwork`,
    whose floor is proven.
    """

    def __init__(self, generator: nn.Module) -> None:
        if not isinstance(level := getattr(generator, "level", None), SigmaNetwork):
            raise ValueError(f"level must be a SigmaNetwork; got {type(level).__name__}")
        self._generator: Any = frozen(generator)
        settle(self._generator)
        self.shape: Any = self._generator.shape
        self.law = _law(repr(self._generator), *self._generator.state_dict().values())

    def centre(self, x: torch.Tensor) -> torch.Tensor:
        """x + mean, divided by the shape."""
        u: torch.Tensor = x / self.shape
        return u + self._mean(u)

    def offset(self, x: torch.Tensor) -> torch.Tensor:
        """The mean at the point of the grid, divided by the shape."""
        return self._mean(torch.as_tensor(grid_noise.points(x)) / self.shape)

    def _mean(self, u: torch.Tensor) -> torch.Tensor:
        mean: torch.Tensor = self._generator.mean(u[None].clone())  # it may work in place
        check_shape("what the mean map returns", mean, (1, *u.shape))
        return mean[0]

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
        check_shape("x", x, self.shape.shape)
        point = torch.as_tensor(x, device="cpu").double()
        with torch.no_grad():
            return float(self._generator.level((point / self.shape)[None]))


def _law(kind: str, *tensors: torch.Tensor) -> str:
    """A name for the noise that these tensors define, the same in every process."""
    digest = hashlib.sha256(kind.encode())
    for tensor in tensors:
        digest.update(repr(tuple(tensor.shape)).encode())
        digest.update(tensor.detach().cpu().double().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _ball(shape: torch.Tensor, norm: float) -> dict[str, Any]:
    """The l_p radius inside the ellipsoid sum (delta_i/shape_i)^2 <= 1, rounded down."""
    axes = shape.double().numpy().ravel()
    inner = float(anisotropic.radius(1.0, axes, norm=norm, scores=True))
    return {"norm": norm, "inner": inner, "dim": axes.size}
