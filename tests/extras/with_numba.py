"""Call a special function from compiled code."""

from numba import njit

from rsbounds.special import log_ndtr


@njit
def twice(z):
    return 2 * log_ndtr(z)


assert twice(0.5) == 2 * log_ndtr(0.5)
