"""The exact two-point certificate under an envelope of sigma.

Scope "sigma(x) with a proven envelope": the classifier smoothed with N(x, sigma(x)^2 I)
is certified for every sigma function that satisfies the envelope. An envelope says, for
a point at distance R from x0 with sigma(x0) = sigma0, how small and how large sigma can
be there. By [S] Theorem 6 and Lemma 20 the certified set is R < R*, R* the unique zero
of the worse of the two extreme cases, and the certificate is tight over all classifiers
with the given probabilities. Functions and classes raise ValueError for an argument
outside its domain, a sigma outside its envelope, an envelope that narrows with the
distance, and shapes that do not fit.

References
----------
.. [S] Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent
   randomized smoothing, 2022: Theorems 2, 3, 6, 7, Lemma 20.
.. [B] Bergstrom, Sager, Anderson, Lipschitz standard deviation networks.
"""

from rsbounds.envelope._radius import branch_radii, radius
from rsbounds.envelope._shapes import (
    Envelope,
    LipschitzSigma,
    SemiElastic,
    SigmaRange,
    TableEnvelope,
    Widened,
)

__all__ = [
    "Envelope",
    "LipschitzSigma",
    "SemiElastic",
    "SigmaRange",
    "TableEnvelope",
    "Widened",
    "branch_radii",
    "radius",
]


def __dir__() -> list[str]:
    return sorted(__all__)
