"""What a noise is, and the noises that belong to no single scheme.

A scheme whose noise is the same at every input and not Gaussian is that noise itself:
:mod:`rsbounds.schemes` has a file for each. Here is what all of them share, the random
bits that copies are drawn from, the forms of inputs, and Gaussian noise as samplers
draw it: of any level, on a grid, and of a shape.

Examples
--------
>>> from rsbounds import schemes
>>> from rsbounds.noises import Noise
>>> isinstance(schemes.flips(0.01, 0.6), Noise)
True
"""

from rsbounds.noises._drawn import Bits, Noise
from rsbounds.noises._inputs import floating

__all__ = ["Bits", "Noise", "floating"]


def __dir__() -> list[str]:
    return sorted(__all__)
