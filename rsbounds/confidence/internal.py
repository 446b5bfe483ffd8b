"""What other rooms of the package take of this one besides its public names."""

from rsbounds.confidence.bound import Look, Looks, Pair
from rsbounds.confidence.counts import MAX_N, Interval, arguments, end

__all__ = [
    "MAX_N",
    "Interval",
    "Look",
    "Looks",
    "Pair",
    "arguments",
    "end",
]
