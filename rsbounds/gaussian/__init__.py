"""Radii for Gaussian noise of one fixed level, scope "fixed noise".

The smoothed classifier returns the class that is most likely under N(x, sigma^2 I).
Every function raises ValueError for an argument outside its domain and for shapes that
do not broadcast.

References
----------
.. [C] Cohen, Rosenfeld, Kolter, Certified adversarial robustness via randomized
   smoothing, 2019.
.. [Z] Zhai, Dan, He, Zhang, Gong, Ravikumar, Hsieh, Wang, MACER: attack-free and
   scalable robust training via maximizing certified radius, 2020: the same radius from
   expected scores in [0, 1].
.. [S] Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent
   randomized smoothing, 2022.
.. [L] Sadeghzadeh, Certifiable robustness, lecture, 2023.
"""

from rsbounds.gaussian._radius import (
    brightness_radius,
    lipschitz_radius,
    local_lipschitz,
    max_radius,
    radius,
)

__all__ = [
    "brightness_radius",
    "lipschitz_radius",
    "local_lipschitz",
    "max_radius",
    "radius",
]


def __dir__() -> list[str]:
    return sorted(__all__)
