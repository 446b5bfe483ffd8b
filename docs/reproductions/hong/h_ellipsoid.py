"""[H]: l_p radii and volume of the certified ellipsoid, and the Laplace radius."""

import numpy as np
from shared import Table, columns, publish

from rsbounds import anisotropic

DIM, P_A = 784, 0.99


def table() -> Table:
    rows = []
    for spread in (1.0, 1.5, 2.0, 4.0):
        # one geometric mean, 0.5, from 0.5/spread to 0.5 spread
        sigma = 0.5 * spread ** np.linspace(-1.0, 1.0, DIM)
        radii = (float(anisotropic.radius(P_A, sigma, norm=p)) for p in (1, 2, np.inf))
        rows.append((spread, *radii, float(anisotropic.log_volume(P_A, sigma))))
    return columns("spread l1 l2 linf log_volume", rows)


if __name__ == "__main__":
    publish(__file__, table())
