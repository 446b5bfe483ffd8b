"""A small network that maps an image to two maps of its shape."""

import torch
from torch import nn
from torch.nn.functional import leaky_relu

from rsbounds._numerics.checks import count

_CONVOLUTIONS = 4


class DenseMaps(nn.Module):
    """Four densely connected convolutions, and a branch for each of two maps.

    Each convolution sees the image and what all before it returned, and is followed by
    a leaky ReLU; two more, side by side, give means and raw levels. It is a network for
    :class:`NoiseGenerator`, whose ``sigma_max`` and ``mean_max`` are the sigmoids that
    its source puts behind the branches. The certificates of such noise hold for that
    input alone.

    Parameters
    ----------
    channels : int
        Channels c of an input (c, height, width), >= 1.
    growth : int
        Channels that each of the four convolutions adds, >= 1.

    References
    ----------
    Hong, Hong, Certified adversarial robustness via anisotropic randomized smoothing,
    Figure 4.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import DenseMaps, NoiseGenerator
    >>> net = DenseMaps(channels=3, growth=8)
    >>> generator = NoiseGenerator(net, 0.1, sigma_max=2.0, mean_max=1.0)
    >>> mean, sigma = generator(torch.zeros(4, 3, 32, 32))
    >>> tuple(mean.shape), bool(mean.abs().max() < 1), bool(sigma.max() < 2)
    ((4, 3, 32, 32), True, True)
    """

    def __init__(self, channels: int, growth: int = 16) -> None:
        super().__init__()
        channels, growth = count("channels", channels, 1), count("growth", growth, 1)
        seen = [channels + i * growth for i in range(_CONVOLUTIONS + 1)]
        self.block = nn.ModuleList(
            nn.Conv2d(width, growth, 3, padding=1) for width in seen[:-1]
        )
        self.mean = nn.Conv2d(seen[-1], channels, 3, padding=1)
        self.level = nn.Conv2d(seen[-1], channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for convolution in self.block:
            x = torch.cat([x, leaky_relu(convolution(x))], dim=1)
        return torch.cat([self.mean(x), self.level(x)], dim=1)
