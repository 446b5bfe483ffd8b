"""Models of any framework as functions from a NumPy batch to scores.

No framework is imported here.
"""

from rsbounds.frameworks._episodes import Episodes, episodes
from rsbounds.frameworks._function import as_function
from rsbounds.frameworks._labels import FromLabels
from rsbounds.frameworks._returned import scores_in

__all__ = ["Episodes", "FromLabels", "as_function", "episodes", "scores_in"]


def __dir__() -> list[str]:
    return sorted(__all__)
