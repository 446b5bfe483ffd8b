"""What other rooms of the package take of this one besides its public names."""

from rsbounds.noises.internal import floating, noise_level
from rsbounds.sampling.adapters import grid_of, is_sampler, is_watched, require_law
from rsbounds.sampling.arrays import noisy
from rsbounds.sampling.draws import EarlyDraws, GrowingDraws
from rsbounds.sampling.port import block_size
from rsbounds.sampling.streams import seed_apart, stream
from rsbounds.sampling.strings import OnStrings
from rsbounds.sampling.system_bits import SystemBits

__all__ = [
    "EarlyDraws",
    "GrowingDraws",
    "OnStrings",
    "SystemBits",
    "block_size",
    "floating",
    "grid_of",
    "is_sampler",
    "is_watched",
    "noise_level",
    "noisy",
    "require_law",
    "seed_apart",
    "stream",
]
