"""From an input to counts of classes under noise.

Every sample is a function of (seed, index of the input, phase, number of the sample)
alone. Noise is drawn in blocks of a size fixed by the input's size and the number of
samples (``port.block_size``), and the model always runs on exactly one block, so the
counts do not depend on how many samples are held at once, the order of the inputs,
sharding or resumption. (The floating-point sums of a network depend on the shape of its
batch, and a different last bit sometimes tips a near-tie between two classes.)

The level of the noise is exact: where sigma is not a float32 number, x + sigma Z is
formed in float64 and rounded to float32 once. The law of Z, drawn in float32, remains
an idealisation; noise without one is in :mod:`rsbounds.sampling.grid_noise`. Other laws
than N(0, I), most of them exact, are in :mod:`rsbounds.noises`.
"""

from rsbounds.noises import noise_level as noise_level
from rsbounds.noises import single as single
from rsbounds.sampling.adapters import Sampler, as_sampler
from rsbounds.sampling.adapters import is_sampler as is_sampler
from rsbounds.sampling.adapters import require_law as require_law
from rsbounds.sampling.arrays import ArraySampler, SoftSampler, noisy
from rsbounds.sampling.bits import Phase, stream
from rsbounds.sampling.draws import Draws, GrowingDraws
from rsbounds.sampling.port import block_size as block_size
from rsbounds.sampling.strings import OnStrings as OnStrings
from rsbounds.sampling.strings import on_strings
from rsbounds.sampling.system_bits import SystemBits as SystemBits

__all__ = [
    "ArraySampler",
    "Draws",
    "GrowingDraws",
    "Phase",
    "Sampler",
    "SoftSampler",
    "as_sampler",
    "noisy",
    "on_strings",
    "stream",
]


def __dir__() -> list[str]:
    return sorted(__all__)
