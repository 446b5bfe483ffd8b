"""The library's functions in mpmath: slow, to any precision, written independently.

Every argument is taken exactly: a float is the double that it is, ``"0.1"`` is one
tenth, an mpmath number is itself. ``dps`` is the number of decimal digits asked for;
the result is an mpmath number, right to about that many digits (relative; scores and
offsets that are nearly 0: absolute). Nothing is rounded outward, and arrays are not
taken. Otherwise an entry's arguments are those of the fast function that it names.

Probabilities enter as normal scores (``ndtri`` makes them): ``z_a`` and ``z_b`` are the
scores of ``p_a`` and ``p_b``, the bounds on the top class and on every other class, and
``z_b=None`` stands for ``-z_a``; ``z`` and ``z_min`` are those of ``p`` and ``p_min``.
A radius for a noise level that varies is the smaller of the two from
``envelope_branches``. The ball and the noncentral chi-square have two methods that
share no formula but the definition, ``method="contour"`` and ``method="series"``; the
default is the cheaper.

Examples
--------
>>> from mpmath import nstr
>>> from rsbounds import oracle
>>> nstr(oracle.ncx2_logsf(3e8, 150528, 1e6, dps=40), 25)
'-132965022.7473507875440899'
>>> z_a = oracle.ndtri("0.99", dps=40)
>>> nstr(oracle.worst_score("0.5", -z_a, "0.25", "0.248", 784), 18)
'-0.30379065612155241'
"""

from rsbounds.oracle._affine import affine_gap, affine_low, affine_masses
from rsbounds.oracle._ball import (
    Tails,
    ball_offset,
    ball_score,
    ball_tails,
    ncx2_cdf,
    ncx2_isf,
    ncx2_isf_exp,
    ncx2_logcdf,
    ncx2_logpdf,
    ncx2_logsf,
    ncx2_pdf,
    ncx2_ppf,
    ncx2_ppf_exp,
    ncx2_sf,
    ncx2_tails,
)
from rsbounds.oracle._confidence import (
    log_wealth,
    lower_complement,
    lower_score,
    pair_scores,
    upper_bound,
    upper_score,
)
from rsbounds.oracle._envelope import (
    Envelope,
    envelope_branch,
    envelope_branches,
    lipschitz_sigma,
    ratio_threshold,
    semi_elastic,
    sigma_range,
    worst_score,
)
from rsbounds.oracle._inverses import (
    ncx2_df,
    ncx2_df_exp,
    ncx2_df_sf,
    ncx2_df_sf_exp,
    ncx2_nc,
    ncx2_nc_exp,
    ncx2_nc_sf,
    ncx2_nc_sf_exp,
)
from rsbounds.oracle._normal import log_ndtr, ndtr, ndtri, ndtri_exp, score
from rsbounds.oracle._radii import (
    anisotropic_radius,
    base_radius,
    gaussian_radius,
    integrated_radius,
    laplace_radius,
    lipschitz_constant,
    lipschitz_ratio,
    renyi_radius,
)
from rsbounds.oracle.certificates import composite_radius, list_radius

__all__ = [
    "Envelope",
    "Tails",
    "affine_gap",
    "affine_low",
    "affine_masses",
    "anisotropic_radius",
    "ball_offset",
    "ball_score",
    "ball_tails",
    "base_radius",
    "composite_radius",
    "envelope_branch",
    "envelope_branches",
    "gaussian_radius",
    "integrated_radius",
    "laplace_radius",
    "lipschitz_constant",
    "lipschitz_ratio",
    "lipschitz_sigma",
    "list_radius",
    "log_ndtr",
    "log_wealth",
    "lower_complement",
    "lower_score",
    "ncx2_cdf",
    "ncx2_df",
    "ncx2_df_exp",
    "ncx2_df_sf",
    "ncx2_df_sf_exp",
    "ncx2_isf",
    "ncx2_isf_exp",
    "ncx2_logcdf",
    "ncx2_logpdf",
    "ncx2_logsf",
    "ncx2_nc",
    "ncx2_nc_exp",
    "ncx2_nc_sf",
    "ncx2_nc_sf_exp",
    "ncx2_pdf",
    "ncx2_ppf",
    "ncx2_ppf_exp",
    "ncx2_sf",
    "ncx2_tails",
    "ndtr",
    "ndtri",
    "ndtri_exp",
    "pair_scores",
    "ratio_threshold",
    "renyi_radius",
    "score",
    "semi_elastic",
    "sigma_range",
    "upper_bound",
    "upper_score",
    "worst_score",
]


def __dir__() -> list[str]:
    return sorted(__all__)
