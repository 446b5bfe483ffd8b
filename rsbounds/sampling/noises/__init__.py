"""Noises by name, each with a law: what a sampler draws and a scheme's radius is for.

``as_sampler(model, noise=noises.categorical(0.8, 256))`` draws it. Each of these
functions returns a :class:`Noise`, whose attribute ``law`` names the law with its
parameters. Without a noise a sampler draws x + sigma N(0, I).
"""

from rsbounds.sampling.noises._blocks import Blocks, blocks
from rsbounds.sampling.noises._categorical import Categorical, categorical
from rsbounds.sampling.noises._deletion import END as END
from rsbounds.sampling.noises._deletion import Deletion, deletion
from rsbounds.sampling.noises._edges import Edges as Edges
from rsbounds.sampling.noises._flips import Flips, flips
from rsbounds.sampling.noises._gaussian import Gaussian as Gaussian
from rsbounds.sampling.noises._gaussian import OnGrid as OnGrid
from rsbounds.sampling.noises._l1 import Laplace, Uniform, laplace, uniform
from rsbounds.sampling.noises._mask import Mask, mask
from rsbounds.sampling.noises._noise import Noise
from rsbounds.sampling.noises._noise import require_level as require_level
from rsbounds.sampling.noises._splitting import Splitting, splitting

__all__ = [
    "Blocks",
    "Categorical",
    "Deletion",
    "Flips",
    "Laplace",
    "Mask",
    "Noise",
    "Splitting",
    "Uniform",
    "blocks",
    "categorical",
    "deletion",
    "flips",
    "laplace",
    "mask",
    "splitting",
    "uniform",
]
