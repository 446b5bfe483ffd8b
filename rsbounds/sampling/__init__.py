"""From an input to counts of classes under noise.

Every sample is a function of (seed, index of the input, phase, number of the sample) alone.
Noise is drawn in blocks of a size fixed by the input's size and the number of samples
(:func:`block_size`), and the model always runs on exactly one block: the counts then depend
neither on how many samples are held at once, nor on the order of the inputs, sharding or
resumption. That the forward pass has a shape of its own matters, because the floating-point
sums of a network depend on the shape of its batch, and a sum that differs in its last bit now
and then tips a near-tie between two classes.
"""

from rsbounds.sampling.adapters import as_sampler
from rsbounds.sampling.arrays import ArraySampler, votes
from rsbounds.sampling.blocks import add_noise, block_size, is_single, noise_level
from rsbounds.sampling.port import Sampler
from rsbounds.sampling.streams import Phase, Stream, block_seeds, stream

__all__ = [
    "ArraySampler",
    "Phase",
    "Sampler",
    "Stream",
    "add_noise",
    "as_sampler",
    "block_seeds",
    "block_size",
    "is_single",
    "noise_level",
    "stream",
    "votes",
]
