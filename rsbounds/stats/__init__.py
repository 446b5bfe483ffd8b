"""The noncentral chi-square and the Rice law as SciPy distribution objects.

This room alone loads ``scipy.stats``: ``import rsbounds`` doesn't.
"""

from rsbounds.stats._ncx2 import ncx2
from rsbounds.stats._rice import rice

__all__ = ["ncx2", "rice"]


def __dir__() -> list[str]:
    return sorted(__all__)
