"""The radius of [B] Theorem 3 after Remark 2, from normal scores."""

from collections.abc import Callable

from scipy.special import ndtr

from rsbounds import lipschitz


def theorem_3(
    lip: float, sigma_min: float, dim: float, p_min: float, classes: int
) -> Callable[..., float]:
    """``radius(z_a, sigma, z_b=None)``, the scores moved so that none is below
    ``p_min``.
    """

    def radius(z_a: float, sigma: float, z_b: float | None = None) -> float:
        p_a, p_b = (
            p_min + (1 - classes * p_min) * ndtr(z)
            for z in (z_a, -z_a if z_b is None else z_b)
        )
        known = {
            "lip": lip,
            "sigma_min": sigma_min,
            "dim": dim,
            "p_b": p_b,
            "p_min": p_min,
        }
        return float(lipschitz.radius(p_a, sigma, method="paper", **known))

    return radius
