"""Radii for noise with its own level on every axis, scope "fixed noise".

The noise is one distribution, the same at every input. A mean that is the same at every
input only shifts the base classifier: it changes no radius, so it is not an argument
here. Where a generator chooses levels or means for each input, as [H] does, these radii
hold for the noise of that input and not for the classifier that is run at x + delta:
their scope is then "fixed noise at this input only". With means and levels of proven
variation use :mod:`rsbounds.envelope`. Every function raises ValueError for an argument
outside its domain and for shapes that do not broadcast.

References
----------
.. [H] Hong, Hong, Certified adversarial robustness via anisotropic randomized
   smoothing.
"""

from rsbounds.anisotropic._ellipsoid import contains, log_volume, radius
from rsbounds.anisotropic._laplace import laplace_radius

__all__ = ["contains", "laplace_radius", "log_volume", "radius"]


def __dir__() -> list[str]:
    return sorted(__all__)
