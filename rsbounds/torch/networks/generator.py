"""Learned noise with a mean and a level on every axis: three forms, three scopes.

If a network chooses the noise for each input (:class:`NoiseGenerator`), a radius holds for the
noise of that input alone, not for the classifier that runs at x + delta. Example in one dimension:
noise N(x + mu(x), 1), classifier 1[z < 0], mu(-1) = -3 and mu(-.5) = 3. At x = -1 the radius is 4,
but at -.5 the class flips. Valid forms are maps that are the same for every input
(:class:`NoiseMaps`) and maps with proven bounds (:class:`CertifiedGenerator`), which gives 4/13
there.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, softplus

from rsbounds._numerics.checks import as_floats
from rsbounds.certificate import THIS_INPUT
from rsbounds.sampling.torch_shaped import check_shape
from rsbounds.torch.networks.shaped import CertifiedNoise, FixedNoise
from rsbounds.torch.networks.sigma import SigmaNetwork

Maps = tuple[torch.Tensor, torch.Tensor]


def small_cnn(channels: int, width: int = 16) -> nn.Sequential:
    """Two convolutions from an image to a mean map and a raw level map of its size."""
    return nn.Sequential(
        nn.Conv2d(channels, width, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, 2 * channels, 3, padding=1),
    )


class NoiseGenerator(nn.Module):
    """Choose mean and level on every axis for each input; scope "fixed noise at this input only".

    Parameters
    ----------
    net : torch.nn.Module
        Maps (n, c, ...) to (n, 2 c, ...), such as ``small_cnn(c)``: means, then raw levels.
    sigma_min : float
        Added to softplus of the raw levels, > 0.

    References
    ----------
    Hong, Hong, Certified adversarial robustness via anisotropic randomized smoothing.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import NoiseGenerator, small_cnn
    >>> noise = NoiseGenerator(small_cnn(1), 0.1).at(torch.zeros(1, 8, 8))
    >>> noise.scope, tuple(noise.sigma.shape)
    ('fixed noise at this input only', (1, 8, 8))
    """

    def __init__(self, net: nn.Module, sigma_min: float) -> None:
        super().__init__()
        self.net = net
        self.sigma_min = float(as_floats("sigma_min", sigma_min, 0, closed="neither", nan=False))

    def forward(self, x: torch.Tensor) -> Maps:
        maps = self.net(x)
        check_shape("what net returns", maps, (len(x), 2 * x.shape[1], *x.shape[2:]))
        mean, raw = maps.chunk(2, dim=1)
        return mean, softplus(raw) + self.sigma_min

    def at(self, x: torch.Tensor) -> FixedNoise:
        """The noise chosen for one input, for that input alone."""
        with torch.no_grad():
            mean, sigma = self(x[None])
        return FixedNoise(mean[0], sigma[0], THIS_INPUT)


class NoiseMaps(nn.Module):
    """Learned mean and level maps, the same for every input: scope "fixed noise".

    ``shape`` is that of one input, ``sigma`` the level to start from, > 0.

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

    At x the noise is N(x + s m(x/s), sigma(x/s)^2 diag(s^2)) with a fixed shape s: in the
    coordinates x/s it is isotropic with an M-Lipschitz mean and a Lipschitz level, so the envelope
    certificate holds with centres at most (1 + M) R apart.

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
    The valid form of Hong and Hong's generator: Sukenik, Kuvshinov, Günnemann, Lemma 20, with
    :func:`rsbounds.envelope.radius`.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import CertifiedGenerator, Scale, SigmaNetwork
    >>> level = SigmaNetwork(torch.nn.Sequential(torch.nn.Linear(2, 1), Scale(0.0)), 0.5)
    >>> scheme = CertifiedGenerator(Scale(1.0), level, torch.ones(2)).noise().scheme()
    >>> round(scheme.radius(2.0, 0.5), 6), scheme.scope  # sigma z/(1 + M)
    (0.5, 'sigma(x), mu(x) with proven bounds')
    """

    def __init__(self, mean: nn.Module, level: SigmaNetwork, shape: torch.Tensor) -> None:
        super().__init__()
        as_floats("shape", shape.detach().cpu().numpy(), 0, closed="neither", nan=False)
        self.mean = mean
        self.level = level
        self.register_buffer("shape", shape.detach().float())
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
    """The loss of a noise generator: cross-entropy, distance of the variance, norm of the mean.

    Cross-entropy under the noise, plus ``variance_weight`` times the squared distance of the
    mean log level from log ``target`` (which fixes the volume of the noise and leaves its shape
    free), plus ``mean_weight`` times the mean l2 norm of the means. To train model and generator
    jointly, give :func:`fit` both in one ``ModuleList``.

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
    Hong, Hong, for the three losses; the variance target in logarithms is this library's form.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import NoiseMaps, generator_loss
    >>> x, y = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    >>> loss = generator_loss(torch.nn.Linear(3, 2), NoiseMaps((3,), 0.5), x, y, target=0.5)
    """
    as_floats("target", target, 0, closed="neither", nan=False)
    as_floats("variance_weight", variance_weight, 0, nan=False)
    as_floats("mean_weight", mean_weight, 0, nan=False)
    mean, sigma = generator(x)
    smoothing = cross_entropy(model(x + mean + sigma * torch.randn_like(x)), y)
    variance = (sigma.log().flatten(1).mean(1) - float(np.log(target))).square().mean()
    # the root of the mean square: smooth at 0, where the means start
    norm = (mean.flatten(1).square().sum(1) + 1e-12).sqrt().mean()
    total: torch.Tensor = smoothing + variance_weight * variance + mean_weight * norm
    return total
