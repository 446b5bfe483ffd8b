"""From an input to counts of classes under noise.

Every sample is a function of (seed, index of the input, phase, number of the sample)
alone. Noise is drawn in blocks of a size fixed by the input's size and the number of
samples (``port.block_size``), and the model always runs on exactly one block, so the
counts do not depend on how many samples are held at once, the order of the inputs,
sharding or resumption. (The floating-point sums of a network depend on the shape of its
batch, and a different last bit sometimes tips a near-tie between two classes.)

Noise is added in the type of the input, float32 or float64, and the model gets the
copies in it; what takes another type rounds the noisy copy, which is a part of the
classifier that is smoothed. The input itself is never rounded: the radius is about it.
The level of the noise is exact: where sigma is not a float32 number, x + sigma Z is
formed in float64 and rounded once. The law of Z, drawn in float32, remains an
idealisation; noise without one is in :mod:`rsbounds.noises.grid_noise`. Other laws
than N(0, I), most of them exact, are schemes: see :mod:`rsbounds.schemes`.
"""

from rsbounds.sampling.adapters import Sampler, as_sampler
from rsbounds.sampling.arrays import ArraySampler, SoftSampler
from rsbounds.sampling.draws import Draws
from rsbounds.sampling.streams import Phase
from rsbounds.sampling.strings import on_strings

__all__ = [
    "ArraySampler",
    "Draws",
    "Phase",
    "Sampler",
    "SoftSampler",
    "as_sampler",
    "on_strings",
]


def __dir__() -> list[str]:
    return sorted(__all__)
