"""Uniform and Laplace noise, the same on every coordinate, for radii in l_1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import number
from rsbounds.sampling.blocks import noise_level, single
from rsbounds.sampling.noises._noise import Noise

__all__ = ["Laplace", "Uniform", "laplace", "uniform"]


class Uniform(Noise):
    """See :func:`uniform`."""

    law = "uniform"
    whole = False

    def __init__(self, width: float) -> None:
        self.level: float = number("width", width, 0.0, closed="neither")

    def checked(self, x: Any) -> NDArray[np.float32]:
        return single(x)

    def noisy(
        self, x: Any, sigma: float, size: int, generator: np.random.Generator
    ) -> tuple[Any, Any]:
        batch = generator.random((size, *x.shape))
        batch *= 2 * noise_level(sigma)
        batch -= sigma
        batch += x
        return batch.astype(np.float32), False


class Laplace(Noise):
    """See :func:`laplace`."""

    law = "laplace"
    whole = False

    def __init__(self, sigma: float) -> None:
        self.level: float = number("sigma", sigma, 0.0, closed="neither")

    def checked(self, x: Any) -> NDArray[np.float32]:
        return single(x)

    def noisy(
        self, x: Any, sigma: float, size: int, generator: np.random.Generator
    ) -> tuple[Any, Any]:
        batch = generator.laplace(0.0, noise_level(sigma), (size, *x.shape))
        batch += x
        return batch.astype(np.float32), False


def uniform(width: float) -> Uniform:
    """Independent noise on every coordinate, uniform on [-width, width].

    It is drawn as multiples of 2^-52 width, added in float64 and rounded to float32
    once: as with Gaussian noise in floating point, that the law is continuous remains
    an idealisation. :func:`splitting` has none.

    Parameters
    ----------
    width : float
        > 0, in the input's unit; the ``sigma`` of its sampler.

    Raises
    ------
    ValueError
        If ``width`` isn't a positive finite number.

    References
    ----------
    Yang et al., Randomized smoothing of all shapes and sizes, ICML 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling import as_sampler, noises
    >>> model = lambda batch: np.stack([batch[:, 0], -batch[:, 0]], axis=1)
    >>> sampler = as_sampler(model, noise=noises.uniform(0.5))
    >>> sampler(np.array([0.75, 0.0]), 0.5, 100, np.random.default_rng(0)).tolist()
    [100, 0]
    """
    return Uniform(width)


def laplace(sigma: float) -> Laplace:
    """Independent Laplace noise of one scale on every coordinate.

    Drawn in float64 by NumPy's generator (float32 by torch's) and rounded to float32
    once: as with Gaussian noise in floating point, the law itself remains an
    idealisation.

    Parameters
    ----------
    sigma : float
        Scale, > 0, in the input's unit: the variance is 2 sigma^2.

    Raises
    ------
    ValueError
        If ``sigma`` isn't a positive finite number.

    Examples
    --------
    >>> from rsbounds.sampling import noises
    >>> noises.laplace(0.5)
    <noise laplace>
    """
    return Laplace(sigma)
