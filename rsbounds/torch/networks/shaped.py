"""Noise with a mean and a level on every axis, fixed or learned.

Three forms, three scopes.

In coordinates divided by the shape the noise is isotropic, and there it is drawn and
certified: a ball |u| < R is the ellipsoid sum (delta_i/shape_i)^2 < R^2 of the input.

If a network chooses the noise for each input (:class:`NoiseGenerator`), a radius holds
for the noise of that input alone, not for the classifier that runs at x + delta.
Example in one dimension: noise N(x + mu(x), 1), classifier 1[z < 0], mu(-1) = -3 and
mu(-.5) = 3. At x = -1 the radius is 4, but the class at -.5 is another. Valid forms are
maps that are the same for every input (:class:`NoiseMaps`) and maps with proven bounds
(:class:`CertifiedGenerator`), which gives 4/13 there.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, softplus

from rsbounds import anisotropic
from rsbounds._numerics.checks import as_floats, number
from rsbounds.certificate import FIXED_NOISE, THIS_INPUT
from rsbounds.noises import grid_noise
from rsbounds.noises.shaped import check_shape
from rsbounds.schemes import Scheme
from rsbounds.schemes.internal import Anisotropic, Generator, rounding_of_levels
from rsbounds.torch.networks._rounding import (
    require_small_mean,
    scaled_input,
    shift,
)
from rsbounds.torch.networks.freeze import freeze_rows
from rsbounds.torch.networks.lipschitz_bound import lipschitz_upper_bound
from rsbounds.torch.networks.sigma import SigmaNetwork
from rsbounds.trust.internal import Proves, enter, refuse

Maps = tuple[torch.Tensor, torch.Tensor]

_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, eq=False)  # tensors may be on several devices
class FixedNoise:
    """Gaussian noise of one mean and one level on every axis.

    The scheme's level is the geometric mean of the levels as a float32 number; the
    level of each axis is exactly that number times the axis of :attr:`shape`, in
    float32 too.

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
    >>> x = torch.tensor([0.5, 0.0])
    >>> result = certify(model, x, noise.scheme(), n=1000)
    >>> result.scope, result.sigma, result.radius < 0.5
    ('fixed noise', 1.0, True)
    """

    mean: torch.Tensor
    sigma: torch.Tensor
    scope: str = FIXED_NOISE

    def __post_init__(self) -> None:
        # copies: a tensor that is changed later would change the noise between inputs
        object.__setattr__(self, "mean", self.mean.detach().clone())
        object.__setattr__(self, "sigma", self.sigma.detach().clone())
        levels = as_floats(
            "sigma", self.sigma.cpu().numpy(), 0, closed="neither", nan=False
        )
        check_shape("mean", self.mean, self.sigma.shape)
        shape = self.shape.double().numpy()
        if not ((shape >= _TINY) & (shape < np.inf)).all():
            raise ValueError(
                "sigma must keep its ratios to the geometric mean within float32's "
                f"range; got levels from {levels.min():.2g} to {levels.max():.2g}"
            )

    @cached_property
    def level(self) -> float:
        """The geometric mean of the levels, a float32 number."""
        return float(
            np.float32(self.sigma.detach().cpu().double().log().mean().exp().item())
        )

    @cached_property
    def shape(self) -> torch.Tensor:
        """The levels divided by ``level``, in float32."""
        return (self.sigma.detach().cpu().double() / self.level).float()

    @property
    def law(self) -> str:
        """The name of this noise: a hash of mean and levels."""
        return _law("fixed", self.mean, self.sigma)

    def centre(self, x: torch.Tensor) -> torch.Tensor:
        """Return x + mean, divided by the shape."""
        return (x + self.mean.detach().cpu().double()) / self.shape.double()

    def offset(self, x: torch.Tensor) -> torch.Tensor:
        """The mean divided by the shape, at any x."""
        return self.mean.detach().cpu().double() / self.shape.double()

    def scheme(self, norm: float = 2) -> Scheme:
        """The scheme with :func:`rsbounds.anisotropic.radius` in an l_p norm."""
        scheme = Anisotropic(_ball(self.shape, norm), level=self.level_at)
        scheme.scope = self.scope
        scheme.drawn_by(self)
        return scheme

    def level_at(self, x: Any) -> float:
        """The level, the same at every input of the right shape."""
        check_shape("x", x, tuple(self.sigma.shape))
        return self.level


class CertifiedNoise:
    """The noise of a ``CertifiedGenerator`` as it is now.

    Level and mean are exported as lists of operations in float64, so later training
    doesn't move the noise.

    Parameters
    ----------
    generator : torch.nn.Module
        With a ``level`` that is a :class:`SigmaNetwork`, whose floor is proven.

    Raises
    ------
    ValueError
        If ``generator`` has no such level.
    """

    def __init__(self, generator: nn.Module) -> None:
        level = getattr(generator, "level", None)
        if not isinstance(level, SigmaNetwork):
            raise ValueError(
                f"level must be a SigmaNetwork; got {type(level).__name__}"
            )
        self.shape: Any = generator.get_buffer("shape").detach().cpu().double().clone()
        axes = tuple(self.shape.shape)
        self._level = SigmaNetwork.freeze(level, axes)
        self._mean = freeze_rows(generator.mean, axes)  # type: ignore[arg-type]
        if self._mean.result_shape != (1, *axes):
            raise ValueError(
                f"what the mean map returns must be of shape {axes}; got "
                f"{self._mean.result_shape[1:]}"
            )
        self.law = _law(
            f"{self._level.graph.digest()} {self._mean.digest()}",
            self.shape,
            torch.tensor(self._level.floor, dtype=torch.float64),
        )

    def centre(self, x: torch.Tensor) -> torch.Tensor:
        """Return x + mean, divided by the shape."""
        u: torch.Tensor = x / self.shape
        return u + self._mean_at(u)

    def offset(self, x: torch.Tensor) -> torch.Tensor:
        """The mean at the point of the grid, divided by the shape."""
        return self._mean_at(torch.from_numpy(grid_noise.points(x)) / self.shape)

    def _mean_at(self, u: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return self._mean(u[None])[0]

    def scheme(self, norm: float = 2) -> Scheme:
        """The scheme of the envelope certificate with the proven bounds.

        The radius is in an l_p norm. ValueError where rounding moves level or mean more
        than the bounds allow. On a grid the level is that at the input's point, and the
        radius allows for the rounding of both.
        """
        at_input = scaled_input(self.shape)
        mean_lip = lipschitz_upper_bound(self._mean, self._mean.shape)
        parameters = {
            "lip": self._level.lip,
            "mean_lip": mean_lip,
            "sigma_min": self._level.floor,
            **_ball(self.shape, norm),
        }
        self._level.require_small(at_input)
        require_small_mean(self._mean, self._level.floor, mean_lip, at_input)
        scheme = Generator(
            parameters, level=self.level_at, proven=True, rounding=self._rounding
        )
        scheme.drawn_by(self)
        return scheme

    def _rounding(self) -> dict[str, float]:
        """What allows for the rounding of level and mean on the grid."""
        at_input = scaled_input(self.shape)
        rounding = rounding_of_levels(self._level.rounding(at_input), self._level.floor)
        return {**rounding, "shift": shift(self._mean, at_input)}

    def level_at(self, x: Any) -> float:
        """The level at one input."""
        check_shape("x", x, self.shape.shape)
        point = torch.as_tensor(x, device="cpu").double()
        return self._level(point / self.shape)


class NoiseGenerator(nn.Module):
    """Choose mean and level on every axis for each input, for that input alone.

    The scope of its certificates is "fixed noise at this input only".

    Parameters
    ----------
    net : torch.nn.Module
        Maps (n, c, ...) to (n, 2 c, ...), such as :class:`DenseMaps`: means, then raw
        levels.
    sigma_min : float
        Every level is at least this, > 0.
    sigma_max : float, optional
        Every level is at most this, > ``sigma_min``, by a sigmoid of the raw levels; by
        default levels are ``sigma_min`` plus softplus of them.
    mean_max : float, optional
        Every mean is at most this in size, > 0, by a sigmoid; by default means are
        unbounded.

    Raises
    ------
    ValueError
        For bounds outside their range.

    References
    ----------
    Hong, Hong, Certified adversarial robustness via anisotropic randomized smoothing.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import NoiseGenerator
    >>> net = torch.nn.Conv2d(1, 2, 3, padding=1)
    >>> noise = NoiseGenerator(net, 0.1).at(torch.zeros(1, 8, 8))
    >>> noise.scope, tuple(noise.sigma.shape)
    ('fixed noise at this input only', (1, 8, 8))
    """

    def __init__(
        self,
        net: nn.Module,
        sigma_min: float,
        *,
        sigma_max: float | None = None,
        mean_max: float | None = None,
    ) -> None:
        super().__init__()
        self.net = net
        self.sigma_min = number("sigma_min", sigma_min, 0, closed="neither")
        self.sigma_max = sigma_max
        self.mean_max = mean_max
        if sigma_max is not None:
            self.sigma_max = number(
                "sigma_max", sigma_max, self.sigma_min, closed="neither"
            )
        if mean_max is not None:
            self.mean_max = number("mean_max", mean_max, 0, closed="neither")

    def forward(self, x: torch.Tensor) -> Maps:
        maps = self.net(x)
        check_shape("what net returns", maps, (len(x), 2 * x.shape[1], *x.shape[2:]))
        mean, raw = maps.chunk(2, dim=1)
        if self.mean_max is not None:
            mean = self.mean_max * torch.tanh(mean / 2)
        if self.sigma_max is None:
            return mean, softplus(raw) + self.sigma_min
        width = self.sigma_max - self.sigma_min
        return mean, self.sigma_min + width * torch.sigmoid(raw)

    def at(self, x: torch.Tensor) -> FixedNoise:
        """The noise chosen for one input, for that input alone."""
        with torch.no_grad():
            mean, sigma = self(x[None])
        return FixedNoise(mean[0], sigma[0], THIS_INPUT)


class NoiseMaps(nn.Module):
    """Learned mean and level maps, the same for every input: scope "fixed noise".

    Parameters
    ----------
    shape : tuple of int
        Shape of one input.
    sigma : float
        The level to start from, > 0, in the input's unit.

    Raises
    ------
    ValueError
        If ``sigma`` isn't a positive finite number.

    Examples
    --------
    >>> from rsbounds.torch import NoiseMaps
    >>> NoiseMaps((1, 8, 8), 0.5).noise().scope
    'fixed noise'
    """

    def __init__(self, shape: tuple[int, ...], sigma: float) -> None:
        super().__init__()
        start = float(as_floats("sigma", sigma, 0, closed="neither", nan=False))
        self.mean = nn.Parameter(torch.zeros(shape))
        self.log_sigma = nn.Parameter(torch.full(shape, float(np.log(start))))

    def forward(self, x: torch.Tensor) -> Maps:
        return self.mean.expand_as(x), self.log_sigma.exp().expand_as(x)

    def noise(self) -> FixedNoise:
        """The noise as it is now."""
        return FixedNoise(self.mean.detach().clone(), self.log_sigma.detach().exp())


class CertifiedGenerator(nn.Module):
    """Noise whose mean and level follow the input within proven bounds.

    At x the noise is N(x + s m(x/s), sigma(x/s)^2 diag(s^2)) with a fixed shape s: in
    the coordinates x/s it is isotropic with an M-Lipschitz mean and a Lipschitz level,
    so the envelope certificate holds with centres at most (1 + M) R apart.

    Parameters
    ----------
    mean : torch.nn.Module
        m, with a proven bound; maps a batch to a batch of its shape.
    level : SigmaNetwork
        sigma, on the coordinates x/s.
    shape : Tensor, shape of one input
        s, > 0, such as the levels of trained :class:`NoiseMaps`; it is not trained.

    References
    ----------
    The valid form of Hong and Hong's generator: Sukenik, Kuvshinov, Günnemann, Lemma
    20, with :func:`rsbounds.envelope.radius`.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import CertifiedGenerator, Scale, SigmaNetwork
    >>> h = torch.nn.Sequential(torch.nn.Linear(2, 1), Scale(0.0))
    >>> generator = CertifiedGenerator(Scale(1.0), SigmaNetwork(h, 0.5), torch.ones(2))
    >>> scheme = generator.noise().scheme()
    >>> round(scheme.radius(2.0, 0.5), 6), scheme.scope  # sigma z/(1 + M)
    (0.5, 'sigma(x), mu(x) with proven bounds')
    """

    def __init__(
        self, mean: nn.Module, level: SigmaNetwork, shape: torch.Tensor
    ) -> None:
        super().__init__()
        axes = as_floats(
            "shape", shape.detach().cpu().numpy(), 0, closed="neither", nan=False
        )
        self.mean = mean
        self.level = level
        single = torch.as_tensor(axes, dtype=torch.float32, device="cpu")
        self.register_buffer("shape", single.to(shape.device))
        self.shape: torch.Tensor

    def forward(self, x: torch.Tensor) -> Maps:
        u = x / self.shape
        sigma = self.level(u).reshape(-1, *[1] * (x.ndim - 1)) * self.shape
        return self.shape * self.mean(u), sigma.expand_as(x)

    def noise(self) -> CertifiedNoise:
        """The noise as it is now."""
        return CertifiedNoise(self)


def generator_loss(
    model: Callable[[torch.Tensor], torch.Tensor],
    generator: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    *,
    target: float,
    variance_weight: float = 1.0,
    mean_weight: float = 1e-3,
) -> torch.Tensor:
    """The loss of a noise generator: cross-entropy, variance and norm of the mean.

    Cross-entropy under the noise, plus ``variance_weight`` times the squared distance
    of the mean log level from log ``target`` (which fixes the volume of the noise and
    leaves its shape free), plus ``mean_weight`` times the mean l2 norm of the means. To
    train model and generator jointly, give :func:`fit` both in one ``ModuleList``.

    Parameters
    ----------
    model, x, y
        As in :func:`rsbounds.torch.training.macer_loss`.
    generator : torch.nn.Module
        Maps a batch to means and levels: any class of this module.
    target : float
        Geometric mean of the levels to aim at, > 0, in the input's unit.

    References
    ----------
    Hong, Hong, for the three losses; the variance target in logarithms is this
    library's form.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import NoiseMaps, generator_loss
    >>> x, y = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    >>> model, maps = torch.nn.Linear(3, 2), NoiseMaps((3,), 0.5)
    >>> loss = generator_loss(model, maps, x, y, target=0.5)
    """
    target = number("target", target, 0, closed="neither")
    variance_weight = number("variance_weight", variance_weight, 0)
    mean_weight = number("mean_weight", mean_weight, 0)
    mean, sigma = generator(x)
    smoothing = cross_entropy(model(x + mean + sigma * torch.randn_like(x)), y)
    variance = (sigma.log().flatten(1).mean(1) - float(np.log(target))).square().mean()
    # the root of the mean square: smooth at 0, where the means start
    norm = (mean.flatten(1).square().sum(1) + 1e-12).sqrt().mean()
    total: torch.Tensor = smoothing + variance_weight * variance + mean_weight * norm
    return total


def _law(kind: str, *tensors: torch.Tensor) -> str:
    """A name for the noise that these tensors define, the same in every process."""
    digest = hashlib.sha256(kind.encode())
    for tensor in tensors:
        digest.update(repr(tuple(tensor.shape)).encode())
        digest.update(tensor.detach().cpu().double().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _ball(shape: torch.Tensor, norm: float) -> dict[str, Any]:
    """The l_p radius inside sum (delta_i/shape_i)^2 <= 1, rounded down."""
    axes = shape.double().numpy().ravel()
    inner = float(anisotropic.radius(1.0, axes, norm=norm, scores=True))
    return {"norm": norm, "inner": inner, "dim": axes.size}


enter(FixedNoise, Proves(noise=lambda noise: noise))
enter(NoiseMaps, Proves(noise=NoiseMaps.noise))
enter(CertifiedGenerator, Proves(noise=CertifiedGenerator.noise))
refuse(
    NoiseGenerator,
    "a NoiseGenerator chooses its noise anew at every input and certifies none: a "
    "CertifiedGenerator does",
)
