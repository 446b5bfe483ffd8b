"""What the laws of discrete noise share: from few numbers of a law to its curve.

A discrete law says what one change does to a coordinate (cells), and of it follow the
regions on which the probabilities at both inputs have one ratio. Everything that a
scheme asks for is an answer of its :class:`Curve`: the least and the largest
probability of an event, radii, thresholds, frontiers.

Examples
--------
>>> from rsbounds import schemes
>>> from rsbounds.discrete import Curve
>>> curve = schemes.categorical(0.2, 256).curve
>>> isinstance(curve, Curve), curve.radius(0.98)
(True, 3)
"""

from rsbounds.discrete._curve import Curve

__all__ = ["Curve"]


def __dir__() -> list[str]:
    return sorted(__all__)
