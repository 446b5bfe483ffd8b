"""One input: Cohen's two phases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import choice, count, number, real, whole
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.confidence import BOUNDS, Pair, ScoreHistogram
from rsbounds.sampling import Draw, Phase, Sampler, drawn, require_law, stream
from rsbounds.schemes import Scheme
from rsbounds.schemes._scheme import POSITIVE, RADIUS

BOUND = "clopper-pearson"


def certify(
    sampler: Sampler,
    x: Any,
    scheme: Scheme,
    *,
    n0: int = 100,
    n: int = 100_000,
    alpha: float = 0.001,
    seed: int = 0,
    index: int = 0,
    bound: str = BOUND,
    runner_up: bool = True,
) -> Certificate:
    """Certify one input: n0 samples choose the class, n fresh ones bound its probability.

    Parameters
    ----------
    sampler : Sampler
        The classifier under noise; for a bound on scores one that returns their histograms.
    x : array
        One input, in whatever form ``sampler`` and ``scheme`` take.
    scheme : Scheme
        Noise level and radius, such as ``rsbounds.schemes.gaussian(0.5)``.
    n0, n : int
        Numbers of samples for selection and estimation, >= 1.
    alpha : float
        Probability that the certificate is wrong, in (0, 1).
    seed, index : int
        Name the random samples, >= 0; give each input its own ``index``.
    bound : str
        The confidence bound, a key of ``rsbounds.confidence.BOUNDS``.
    runner_up : bool
        Bound the runner-up's probability too, at alpha/2 each; otherwise it counts as the whole
        rest, 1 - p_a, as in Cohen's procedure.

    Returns
    -------
    Certificate
        ``predict`` is ``ABSTAIN`` unless the class leads every other at level 1 - alpha.

    Raises
    ------
    ValueError
        If an argument is out of its domain, ``x`` isn't in floating point and finite, or the
        scheme gives a noise level that isn't positive or a radius that is negative or NaN.

    References
    ----------
    Cohen, Rosenfeld, Kolter, Certified adversarial robustness via randomized smoothing, 2019:
    procedure Certify, Proposition 2 and, for the runner-up, Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import ArraySampler, certify
    >>> from rsbounds.schemes import gaussian
    >>> w = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    >>> c = certify(ArraySampler(lambda b: b @ w.T), [0.5, 0.0], gaussian(0.5), n=10_000)
    >>> c.predict, 0.45 < c.radius < 0.5  # the truth is 0.5
    (0, True)
    """
    known: dict[str, Any] = {"n0": n0, "n": n, "alpha": alpha, "seed": seed, "bound": bound}
    (found,) = certify_all(sampler, [x], scheme, indices=[index], runner_up=runner_up, **known)
    return found


def certify_all(
    sampler: Sampler,
    xs: Sequence[Any],
    scheme: Scheme,
    *,
    n0: int,
    n: int,
    alpha: float,
    seed: int,
    indices: Sequence[int],
    bound: str = BOUND,
    runner_up: bool,
) -> list[Certificate]:
    """What :func:`certify` returns for each of the inputs, in one forward pass for several."""
    n0, n = count("n0", n0, 1), count("n", n, 1)
    check_level(alpha, bound)
    if BOUNDS[bound].evidence != getattr(sampler, "evidence", "counts"):
        raise ValueError(
            f"bound {bound!r} is on {BOUNDS[bound].evidence}: the sampler gives "
            f"{getattr(sampler, 'evidence', 'counts')} (rsbounds.sampling.SoftSampler: scores)"
        )
    check_noise(sampler, scheme)
    levels = [level(scheme, x) for x in xs]
    draws = [
        Draw(x, sigma, samples, stream(seed, index, phase))
        for x, sigma, index in zip(xs, levels, indices, strict=True)
        for samples, phase in ((n0, Phase.SELECT), (n, Phase.ESTIMATE))
    ]
    sampled = drawn(sampler, draws, together=len(xs) > 1)
    each = zip(levels, indices, sampled[::2], sampled[1::2], strict=True)
    if BOUNDS[bound].evidence == "scores":
        of_scores = partial(_of_scores, n=n, alpha=alpha, bound=bound, runner_up=runner_up)
        return [of_scores(scheme, sigma, first, second) for sigma, _, first, second in each]
    known: dict[str, Any] = {"n0": n0, "n": n, "alpha": alpha, "seed": seed, "bound": bound}
    return [
        certify_counts(
            scheme,
            sigma,
            class_counts(first),
            class_counts(second),
            index=index,
            runner_up=runner_up,
            **known,
        )
        for sigma, index, first, second in each
    ]


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
    bound: str = BOUND,
    runner_up: bool = True,
) -> Certificate:
    """The certificate that class counts support, whenever they were sampled.

    Parameters
    ----------
    scheme : Scheme
        Its radius is used; its ``sigma`` is not.
    sigma : float
        The noise level that was sampled, > 0.
    select, counts : array_like of int, shape (classes,)
        Class counts of the samples that choose the class and of those that bound it; trailing
        zeros may be left out.
    n0, n : int
        Samples drawn for each; those missing from the counts are void.
    alpha, bound, runner_up
        As in :func:`certify`.
    seed, index : int
        Of the run; only the bound "randomized" draws from them.

    Returns
    -------
    Certificate

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
    number("sigma", real("sigma", sigma, 0, closed="neither", nan=False))
    select, counts = _drawn("select", select, n0), _drawn("counts", counts, n)
    check_level(alpha, bound)
    if BOUNDS[bound].evidence != "counts":
        raise ValueError(f"bound must be one on counts; {bound!r} is on {BOUNDS[bound].evidence}")
    top = int(np.argmax(select))
    u = 1.0 - stream(seed, index, Phase.BOUND).random() if bound == "randomized" else None
    first = int(counts[top]) if top < len(counts) else 0
    second = int(max(counts[:top].max(initial=0), counts[top + 1 :].max(initial=0)))
    pair = _pair(bound, first, second, n, alpha, runner_up, u)
    leads = pair.z_a > pair.z_b
    return Certificate(
        predict=top if leads else ABSTAIN,
        radius=earned(scheme, sigma, pair.z_a, pair.z_b) if leads else 0.0,
        score=pair.z_a,
        p_a=pair.p_a,
        count=first,
        n=n,
        sigma=sigma,
        method=scheme.method,
        scope=scheme.scope,
        norm=scheme.norm,
        bound=bound,
        score_b=pair.z_b,
        select=tuple(select.tolist()),
        counts=tuple(counts.tolist()),
        void=int(n0 - select.sum() + n - counts.sum()),
    )


@lru_cache(maxsize=4096)
def _pair(
    bound: str, first: int, second: int, n: int, alpha: float, runner_up: bool, u: float | None
) -> Pair:
    """The bounds, which know the top class's count and the largest other one, solved once."""
    return BOUNDS[bound].pair([first, second], 0, n, alpha, runner_up=runner_up, u=u)


def _of_scores(
    scheme: Scheme,
    sigma: float,
    selected: Sequence[ScoreHistogram],
    estimated: Sequence[ScoreHistogram],
    n: int,
    alpha: float,
    bound: str,
    runner_up: bool,
) -> Certificate:
    """The certificate of the classifier whose classes are ranked by mean scores."""
    means = [histogram.counts @ histogram.edges for histogram in selected]
    top = int(np.argmax(means))
    pair = BOUNDS[bound].pair(estimated, top, n, alpha, runner_up=runner_up)
    leads = pair.z_a > pair.z_b
    return Certificate(
        predict=top if leads else ABSTAIN,
        radius=earned(scheme, sigma, pair.z_a, pair.z_b) if leads else 0.0,
        score=pair.z_a,
        p_a=pair.p_a,
        count=0,
        n=n,
        sigma=sigma,
        method=scheme.method,
        scope=scheme.scope,
        norm=scheme.norm,
        bound=bound,
        score_b=pair.z_b,
    )


def level(scheme: Scheme, x: Any) -> float:
    """The noise level at ``x``; ValueError unless it is one positive number."""
    return POSITIVE.one(f"sigma(x) of the scheme {scheme.method!r}", scheme.sigma(x))


def earned(scheme: Scheme, sigma: float, z_a: float, z_b: float) -> float:
    """The radius of these scores; ValueError unless it is one number >= 0, or infinite."""
    name = f"the radius of the scheme {scheme.method!r}"
    return RADIUS.one(name, scheme.radius(z_a, sigma, z_b))


def class_counts(sampled: Any) -> NDArray[np.int64]:
    """What a sampler returned, as counts of at least two classes."""
    counts = whole("what the sampler returns", np.asarray(sampled))
    if counts.ndim != 1 or len(counts) < 2:
        raise ValueError(
            "the sampler must return counts of at least two classes, shape (classes,); "
            f"got shape {counts.shape}"
        )
    return counts


def check_level(alpha: float, bound: str = BOUND) -> None:
    """ValueError unless alpha is a level and ``bound`` a name of a bound on counts."""
    number("alpha", real("alpha", alpha, 0, 1, closed="neither", nan=False))
    choice("bound", bound, tuple(BOUNDS))


def check_noise(sampler: Sampler, scheme: Scheme) -> None:
    """ValueError where the noise isn't that of the radius, or is sound and the radius isn't."""
    require_law(sampler, scheme.law)
    if getattr(sampler, "sound_noise", False) and not scheme.sound:
        raise ValueError(
            "sound_noise needs a scheme whose radius allows for the rounding of sigma(x), made "
            f"with sound=True; got one of method {scheme.method!r} without"
        )


def _drawn(name: str, counts: Any, drawn: int) -> NDArray[np.int64]:
    counts = whole(name, np.asarray(counts, dtype=np.int64) if len(counts) == 0 else counts)
    if counts.ndim != 1 or not counts.sum() <= drawn:
        raise ValueError(f"{name} must be at most the {drawn} samples drawn; got {counts.sum()}")
    return counts if len(counts) else np.zeros(1, dtype=np.int64)
