"""From one input's counts to its certificate.

Nothing is drawn here: the counts of a sampler, of a result file or of an experiment
elsewhere give the same certificate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.confidence import BOUNDS, Pair
from rsbounds.procedure import Procedure
from rsbounds.sampling import Phase, stream
from rsbounds.schemes import Scheme
from rsbounds.schemes._domains import POSITIVE, RADIUS

Counts = NDArray[np.int64]


def certify_counts(
    scheme: Scheme,
    sigma: float,
    select: Sequence[int] | NDArray[Any],
    counts: Sequence[int] | NDArray[Any],
    *,
    n0: int,
    n: int,
    alpha: float,
    seed: int = 0,
    index: int = 0,
    bound: str = "clopper-pearson",
    runner_up: bool = True,
) -> Certificate:
    """The certificate that class counts support, whenever they were sampled.

    Other parameters as in :func:`certify`; only the bound "randomized" draws from seed
    and index.

    Parameters
    ----------
    scheme : Scheme
        Its radius is used; its ``sigma`` is not.
    sigma : float
        The noise level that was sampled, > 0.
    select, counts : array_like of int, shape (classes,)
        Class counts of the samples that choose the class and of those that bound it;
        trailing zeros may be left out, and what is missing of n0 and n is void.

    Raises
    ------
    ValueError
        Counts that sum to more than was drawn, or another argument out of its domain.

    Examples
    --------
    >>> from rsbounds.certify import certify_counts
    >>> from rsbounds.schemes import gaussian
    >>> c = certify_counts(gaussian(0.5), 0.5, [60, 40], [4500, 700], n0=100, n=10_000, alpha=1e-3)
    >>> c.predict, c.radius > 0.3  # no majority, but a wide lead over the runner-up
    (0, True)
    """
    require_scheme(scheme)
    procedure = Procedure(n0, n, alpha, seed, bound, runner_up)
    return certify_evidence(scheme, sigma, select, counts, procedure, index)


def certify_evidence(
    scheme: Scheme,
    sigma: float,
    select: Any,
    counts: Any,
    procedure: Procedure,
    index: int,
) -> Certificate:
    """Certify class counts by the numbers of a procedure; only "randomized" needs
    ``index``.
    """
    terms = Terms(scheme, POSITIVE.one("sigma", sigma), procedure)
    select, counts = (
        _drawn("select", select, procedure.n0),
        _drawn("counts", counts, procedure.n),
    )
    if (evidence := BOUNDS[procedure.bound].evidence) != "counts":
        raise ValueError(
            f"bound must be one on counts; {procedure.bound!r} is on {evidence}"
        )
    u = None
    if (
        procedure.bound == "randomized"
    ):  # the uniform number is fixed before the counts are seen
        u = 1.0 - stream(procedure.seed, index, Phase.BOUND).random()
    top = int(np.argmax(select))
    pair = terms.bounds(counts, top, procedure.n, u)
    radius = terms.radius(pair.z_a, pair.z_b)
    return terms.certificate(top, pair, radius, procedure.n, select, counts)


@dataclass(frozen=True)
class Terms:
    """What one input is certified by: a scheme, the noise level there, and a procedure."""

    scheme: Scheme
    sigma: float
    procedure: Procedure

    def bounds(self, counts: Counts, top: int, n: int, u: float | None = None) -> Pair:
        """The bounds that the counts of ``n`` samples give for the class ``top`` and
        the others.
        """
        first = int(counts[top]) if top < len(counts) else 0
        second = int(max(counts[:top].max(initial=0), counts[top + 1 :].max(initial=0)))
        own = self.procedure
        return _pair(own.bound, first, second, n, own.alpha, own.runner_up, u)

    def radius(self, z_a: float, z_b: float) -> float:
        """The radius of these scores; ValueError unless it is one number >= 0, or
        infinite.
        """
        if not z_a > z_b:
            return 0.0
        name = f"the radius of the scheme {self.scheme.name!r}"
        return RADIUS.one(name, self.scheme.radius(z_a, self.sigma, z_b))

    def certificate(
        self,
        top: int,
        pair: Pair,
        radius: float,
        n: int,
        select: Counts,
        counts: Counts,
    ) -> Certificate:
        """The certificate of a class, from ``n`` samples that estimated its
        probability.
        """
        void = self.procedure.n0 - select.sum() + n - counts.sum() if len(counts) else 0
        return Certificate(
            predict=top if pair.z_a > pair.z_b else ABSTAIN,
            radius=radius,
            z_a=pair.z_a,
            p_a=pair.p_a,
            count=int(counts[top]) if top < len(counts) else 0,
            n=n,
            sigma=self.sigma,
            method=self.scheme.name,
            scope=self.scheme.scope,
            norm=self.scheme.norm,
            bound=self.procedure.bound,
            z_b=pair.z_b,
            select=tuple(select.tolist()),
            counts=tuple(counts.tolist()),
            void=int(void),
        )


@lru_cache(maxsize=4096)
def _pair(
    bound: str,
    first: int,
    second: int,
    n: int,
    alpha: float,
    runner_up: bool,
    u: float | None,
) -> Pair:
    """The bounds of the top class's count and the largest other one: many inputs share
    them.
    """
    return BOUNDS[bound].pair([first, second], 0, n, alpha, runner_up=runner_up, u=u)


def require_scheme(scheme: Any) -> None:
    """ValueError for anything but a scheme."""
    if not isinstance(scheme, Scheme):
        expected = (
            "a Scheme, such as rsbounds.schemes.gaussian(0.5), or for a data set a Rule"
        )
        raise ValueError(f"scheme must be {expected}; got {scheme!r:.80}")


def class_counts(sampled: Any) -> Counts:
    """What a sampler returned, as counts of at least two classes."""
    counts = as_integers("what the sampler returns", np.asarray(sampled))
    if counts.ndim != 1 or len(counts) < 2:
        expected = "counts of at least two classes, shape (classes,)"
        raise ValueError(
            f"the sampler must return {expected}; got shape {counts.shape}"
        )
    return counts


def _drawn(name: str, counts: Any, drawn: int) -> Counts:
    """Counts that were written down: without trailing zeros, so perhaps without any."""
    array = as_integers(
        name, counts if np.size(counts) else np.zeros(1, dtype=np.int64)
    )
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (classes,); got shape {array.shape}")
    if not array.sum() <= drawn:
        raise ValueError(
            f"{name} must be at most the {drawn} samples drawn; got {array.sum()}"
        )
    return array
