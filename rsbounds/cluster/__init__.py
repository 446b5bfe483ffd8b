"""One data set on many workers: processes of this machine, or actors of a Ray cluster.

Each worker holds the model, which it makes for itself, and reads its inputs itself; the
process that calls :func:`rsbounds.certify_dataset` deals out indices and alone appends
rows. A row is a function of seed and index, so that it doesn't matter which worker
makes it, nor how often.
"""

from rsbounds.cluster._deal import Workers
from rsbounds.cluster._processes import Processes
from rsbounds.cluster._ray import Ray

__all__ = ["Processes", "Ray", "Workers"]


def __dir__() -> list[str]:
    return sorted(__all__)
