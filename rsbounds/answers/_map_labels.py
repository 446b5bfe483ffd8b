"""The classes of many positions, by Holm's procedure over exact p-values.

Each position's hypothesis "the class has probability at most tau" gets the exact
p-value of its count. Holm's procedure keeps the probability of any wrong rejection at
alpha, however the positions depend on each other; those not rejected abstain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers, count, number
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds._numerics.rounding import round_down
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.answers._answer import checked_alpha, require_fixed
from rsbounds.certificate import ABSTAIN
from rsbounds.confidence.internal import arguments, end
from rsbounds.schemes import Scheme

Labels = NDArray[np.int64]


def certify_map(
    select: Any,
    counts: Any,
    tau: float,
    *,
    n: int,
    alpha: float,
    scheme: Scheme,
    sigma: float | None = None,
) -> tuple[Labels, float]:
    """The classes of many positions that hold together within one radius.

    Parameters
    ----------
    select, counts : array_like of int, shape (*positions, classes)
        For each position the class counts of the samples that choose its class, and of
        the n fresh samples that bound its probability. What is missing of n fell on no
        class there.
    tau : float
        Certify positions whose class has a probability above tau, in [1/2, 1).
    n, alpha : int, float
        Number of samples drawn for ``counts``, and the probability that any position is
        wrong.
    scheme, sigma
        As in :func:`top_k_radius`.

    Returns
    -------
    labels : ndarray of int, shape (*positions,)
        The class of each position, -1 where it abstains.
    radius : float
        Within it none of the labels changes: sigma Phi^-1(tau) for Gaussian noise.

    References
    ----------
    Fischer, Baader, Vechev, Scalable certified segmentation via randomized smoothing,
    2021.

    Examples
    --------
    >>> from rsbounds.answers import certify_map
    >>> from rsbounds.schemes import gaussian
    >>> select, counts = [[10, 0], [1, 9], [6, 4]], [[99, 1], [0, 100], [55, 45]]
    >>> labels, radius = certify_map(
    ...     select, counts, 0.75, n=100, alpha=0.001, scheme=gaussian(0.5))
    >>> labels, round(radius, 6)
    (array([ 0,  1, -1]), 0.337245)
    """
    require_fixed(scheme)
    select, counts = as_integers("select", select), as_integers("counts", counts)
    positions = select.shape[:-1]
    if select.shape == counts.shape and select.ndim > 2:
        flat = (-1, select.shape[-1])
        select, counts = select.reshape(flat), counts.reshape(flat)
    chosen, hits, n = chosen_counts(select, counts, n)
    labels = np.where(holm(hits, n, tau, alpha), chosen, ABSTAIN)
    warn_of_confidence(alpha, stacklevel=2)
    return labels.reshape(positions), map_radius(tau, scheme, sigma)


def chosen_counts(select: Any, counts: Any, n: int) -> tuple[Labels, Labels, int]:
    """Return the class of each position by its selection samples.

    Beside it: how many other samples fell on that class.
    """
    select, counts = as_integers("select", select), as_integers("counts", counts)
    n = count("n", n, 1)
    if (
        select.ndim != 2
        or select.shape != counts.shape
        or select.shape[1] < 2
        or not len(select)
    ):
        raise ValueError(
            "select and counts must have one shape (positions, classes), two classes "
            f"or more; got {select.shape} and {counts.shape}"
        )
    if (sums := counts.sum(axis=1)).max() > n:
        raise ValueError(f"counts must sum to at most n = {n}; got {sums.max()}")
    chosen: Labels = select.argmax(axis=1)
    return chosen, np.take_along_axis(counts, chosen[:, None], axis=1)[:, 0], n


def holm(hits: Labels, n: int, tau: float, alpha: float) -> NDArray[np.bool_]:
    """Which of the hypotheses "probability at most tau" Holm's procedure rejects.

    A p-value is at most a level if the lower bound of the count at that level is at
    least tau.
    """
    least = checked_tau(tau)
    level = checked_alpha(alpha)
    values, which, many = np.unique(hits, return_inverse=True, return_counts=True)
    # the largest count has the smallest p-value: so many are left then
    left = np.cumsum(many)
    with np.errstate(under="ignore"):
        limits = np.nextafter(level / left, 0.0)
    # of equal p-values all are rejected if the first is: the limits of the others are
    # higher
    passed = np.zeros(len(values), dtype=bool)
    testable = limits > 0  # no count shows anything at level 0
    passed[testable] = end(*arguments(values[testable], n, limits[testable])).p >= least
    rejected = np.logical_and.accumulate(passed[::-1])[::-1]
    return np.asarray(rejected[which], dtype=bool)


def map_radius(tau: float, scheme: Scheme, sigma: float | None) -> float:
    """The radius that a probability above tau earns."""
    z = float(round_down(ndtri(np.asarray(checked_tau(tau))), NDTRI_ERROR))
    return scheme.radius(z, scheme.fixed_level(sigma)) if z > 0 else 0.0


def checked_tau(tau: float) -> float:
    """The probability above which positions are certified, in [1/2, 1)."""
    return number("tau", tau, 0.5, 1.0, closed="left")
