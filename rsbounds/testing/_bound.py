"""The suite of bounds: levels by all outcomes of a few samples, order, domains."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers, operand
from rsbounds._numerics.extras import need
from rsbounds.answers import TopClass
from rsbounds.confidence import BOUNDS, Bound, ScoreHistogram
from rsbounds.confidence.bound import End, Pair, check_entry
from rsbounds.confidence.internal import Look
from rsbounds.schemes import gaussian, splitting
from rsbounds.special import ndtri
from rsbounds.testing._properties import Property, hold, quiet, refuses, require
from rsbounds.testing._rows import ROWS, RunsOfAnswer, inputs_near, linear

#: What the sum of a few hundred probabilities in float64 may be off by.
SUMMED = 1e-12
TRIALS = (1, 2, 3, 7, 20)
FEW = 8  # trials of two classes
LOOKS = 30  # trials that are looked at one by one
EDGES = (0.0, 0.5, 1.0)  # cells of scores


@dataclass(frozen=True)
class BoundCase:
    """A bound, and what it gives."""

    bound: Bound

    @property
    def alphas(self) -> tuple[float, ...]:
        """Levels in its domain."""
        return tuple(a for a in (0.001, 0.05, 0.3) if a <= self.bound.most_alpha)

    def lower(self, evidence: Any, n: int, alpha: float) -> End:
        """The lower end of one class."""
        with quiet():
            return self.bound.lower(
                evidence, as_integers("n", n), operand("alpha", alpha)
            )

    def pair(self, evidence: Any, n: int, alpha: float, **options: Any) -> Pair:
        """The pair of the first class and the others."""
        with quiet():
            return self.bound.pair(evidence, 0, n, alpha, **options)

    def evidence(self, counts: Sequence[int]) -> Any:
        """Make evidence of as many samples of each kind.

        For counts that is failures and successes; for scores 0, 1/2 and 1.
        """
        if self.bound.evidence == "scores":
            return ScoreHistogram(counts, EDGES)
        return np.int64(counts[-1])

    @property
    def values(self) -> NDArray[np.float64]:
        """What a sample of each kind adds to the mean."""
        kinds = EDGES if self.bound.evidence == "scores" else (0.0, 1.0)
        return np.array(kinds)

    @cached_property
    def trials(self) -> tuple[int, ...]:
        """Numbers of samples whose outcomes are all looked at."""
        return (2, 3, 6) if self.bound.evidence == "scores" else TRIALS


def check_bound(bound: Bound) -> None:
    """Hold a bound to what every bound promises.

    Parameters
    ----------
    bound : Bound
        On counts, on scores or on all outcomes. One that stands in ``BOUNDS`` also
        certifies a few inputs, whose rows are checked.

    Raises
    ------
    AssertionError
        Naming the bound, the first property that fails, and the numbers.
    ImportError
        Without mpmath and python-flint.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from rsbounds.confidence import BOUNDS
    >>> from rsbounds.testing import check_bound
    >>> exact = BOUNDS["clopper-pearson"]
    >>> check_bound(exact)
    >>> def twice(k, n, alpha):
    ...     return exact.lower(k, n, 2 * alpha)
    >>> check_bound(replace(exact, name="bold", lower=twice, most_alpha=0.4))
    Traceback (most recent call last):
    AssertionError: bound 'bold': It errs with probability alpha at most, ...
    """
    if not isinstance(bound, Bound):
        raise AssertionError(f"a bound must be a Bound; got {bound!r:.80}")
    case = BoundCase(bound)
    entry = f"bound {bound.name!r}"
    if bound.evidence == "outcomes":
        hold(entry, case, ENUMERATED)
    else:
        hold(entry, case, BOUND)
    if bound.evidence != "scores":
        hold(entry, case, COUNTED)
    if bound.at_any_time:
        hold(entry, case, AT_ANY_TIME)
    if bound.looks is not None:
        hold(entry, case, BY_LOOKS)
    if BOUNDS.get(bound.name) is not bound or bound.evidence == "scores":
        return
    x = np.full(4, 153 / 255, np.float32)
    numbers: dict[str, Any] = {"bound": bound.name}
    scheme = gaussian(0.5)
    if bound.evidence == "outcomes":
        scheme = splitting(0.5, 255)
        numbers["n"] = scheme.outcomes
    answer = TopClass(scheme)
    with RunsOfAnswer(answer, linear(x.size), inputs_near(x), numbers) as rows:
        hold(entry, rows, ROWS)


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to deal so many samples to so many kinds."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def chances(
    outcomes: Sequence[Sequence[int]], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The probabilities of all outcomes, for shares of each kind in rows."""
    counts = np.array(outcomes)
    total = int(counts[0].sum())
    ways = [math.factorial(total) / math.prod(map(math.factorial, c)) for c in outcomes]
    powers = shares[:, None, :] ** counts[None, :, :]
    result: NDArray[np.float64] = np.array(ways) * powers.prod(axis=2)
    return result


# --- what it says of itself


def is_an_entry(case: BoundCase) -> None:
    """It can stand in the list of bounds."""
    bound = case.bound
    check_entry(bound)
    named = isinstance(bound.name, str) and bound.name and bound.name.isprintable()
    require(named, f"its name is {bound.name!r}")


def gives_one_end_in_three_forms(case: BoundCase) -> None:
    """p, its complement and its score are one bound, each rounded to the safe side."""
    need("mpmath", "a suite")
    from rsbounds.oracle import ndtr

    for n in case.trials:
        for counts in compositions(n, len(case.values)):
            end = case.lower(case.evidence(counts), n, 0.05)
            z, p, q = (float(part) for part in end)
            where = f"{end} of {counts}"
            require(0 <= p <= 1 and 0 <= q <= 1, where)
            require(abs(p + q - 1) <= 1e-11, f"p and q of two bounds: {where}")
            if p < q:
                require(ndtr(z, dps=30) <= p, f"z is above p: {where}")
            else:
                require(ndtr(-z, dps=30) >= q, f"z is above 1 - q: {where}")
            require(abs(float(ndtr(z)) - p) <= 1e-9, f"z and p of two bounds: {where}")


# --- order and edges


def stays_below_what_was_seen(case: BoundCase) -> None:
    """No success shows nothing, and n successes no certainty."""
    for n, alpha in product(case.trials, case.alphas):
        kinds = len(case.values)
        none = case.evidence((n, *[0] * (kinds - 1)))
        every = case.evidence((*[0] * (kinds - 1), n))
        sure = case.lower(every, n, alpha)
        require(float(sure.p) < 1 and float(sure.z) < math.inf, f"{n} of {n}: {sure}")
        end = case.lower(none, n, alpha)
        require(float(end.p) == 0 and float(end.z) == -math.inf, f"0 of {n}: {end}")


def rises_with_alpha(case: BoundCase) -> None:
    """A bound that may err more often is not lower."""
    for n in case.trials:
        for counts in compositions(n, len(case.values)):
            evidence = case.evidence(counts)
            ends = [case.lower(evidence, n, a) for a in case.alphas]
            for before, after in pairwise(ends):
                require(
                    float(before.p) <= float(after.p) * (1 + 1e-11),
                    f"{before} and, at a larger alpha, {after} of {counts}",
                )


def errs_as_often_as_it_says(case: BoundCase) -> None:
    """It errs with probability alpha at most, by all outcomes of a few samples."""
    for n, alpha in product(case.trials, case.alphas):
        outcomes = list(compositions(n, len(case.values)))
        ends = np.array(
            [float(case.lower(case.evidence(c), n, alpha).p) for c in outcomes]
        )
        for shares, above in truths_of(case, ends):
            mean = float(shares @ case.values)
            wrong = (ends > mean) if above else (ends >= mean)
            error = float(chances(outcomes, shares[None])[0] @ wrong)
            require(
                error <= alpha * (1 + SUMMED),
                f"with probability {error} at p = {mean}, n = {n}, alpha = {alpha}",
            )


def truths_of(
    case: BoundCase, ends: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.float64], bool]]:
    """Shares of the kinds at which a bound errs most; whether only above their mean.

    The probability of an error is largest just below a bound: there a bound equal to
    the mean counts as an error.
    """
    kinds = len(case.values)
    nothing, success = np.eye(kinds)[0], np.eye(kinds)[-1]
    for p in np.unique(ends[ends > 0]):
        yield nothing * (1 - p) + success * p, False
    if kinds > 2:
        for counts in compositions(6, kinds):
            yield np.array(counts) / 6, True


def pairs_err_as_often_as_they_say(case: BoundCase) -> None:
    """A pair errs with probability alpha at most, by all outcomes of a few samples."""
    bound = case.bound
    n, alpha = (FEW, 0.2) if bound.evidence == "counts" else (3, 0.3)
    if bound.evidence == "counts":  # of the first class, of the second, of none
        kinds = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    else:
        kinds = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 0.0]])
    outcomes = list(compositions(n, len(kinds)))
    truths = np.array(list(compositions(12, len(kinds)))) / 12
    with quiet():
        scores = np.asarray(ndtri(truths @ kinds))
    likely = chances(outcomes, truths)
    for runner_up in (True, False):
        ends = np.array(
            [
                case.pair(two_classes(case, c), n, alpha, runner_up=runner_up)
                for c in outcomes
            ]
        )
        too_high = ends[None, :, 0] > scores[:, 0, None] + SUMMED
        too_low = ends[None, :, 1] < scores[:, 1, None] - SUMMED
        errors = (likely * (too_high | too_low)).sum(axis=1)
        worst = int(errors.argmax())
        require(
            errors[worst] <= alpha * (1 + SUMMED),
            f"with probability {errors[worst]} at {truths[worst] @ kinds}, n = {n}, "
            f"alpha = {alpha}, runner_up = {runner_up}",
        )


def two_classes(case: BoundCase, outcome: Sequence[int]) -> Any:
    """The evidence of two classes that these samples left."""
    if case.bound.evidence == "counts":
        return list(outcome[:2])
    first, second, both, none = outcome
    return [
        ScoreHistogram([second + none, both, first], EDGES),
        ScoreHistogram([first + none, both, second], EDGES),
    ]


def sample_of(case: BoundCase) -> tuple[Any, int]:
    """Evidence of two classes, and its number of samples."""
    if case.bound.evidence != "scores":
        return [7, 2], 10
    return two_classes(case, (6, 2, 1, 1)), 10


def pairs_are_of_the_safe_side(case: BoundCase) -> None:
    """z_b stands for 1 - p_a without runner-up, and is at most that with it."""
    evidence, n = sample_of(case)
    alone = case.pair(evidence, n, 0.1, runner_up=False)
    require(alone.z_b == -alone.z_a, f"without runner-up z_b is {alone.z_b}: {alone}")
    both = case.pair(evidence, n, 0.1, runner_up=True)
    require(both.z_b <= -both.z_a, f"z_b is above -z_a: {both}")
    require(both.z_a <= alone.z_a, f"half of alpha gives more: {both}, {alone}")


def refuses_what_is_out_of_its_domain(case: BoundCase) -> None:
    """An argument out of its domain is a ValueError that names it."""
    bound = case.bound
    evidence, n = sample_of(case)

    def pair(
        evidence: Any = evidence,
        top: int = 0,
        n: int = n,
        alpha: float = 0.1,
    ) -> Pair:
        return bound.pair(evidence, top, n, alpha, runner_up=True)

    beyond = 1.0 if bound.most_alpha == 1.0 else math.nextafter(bound.most_alpha, 1)
    for alpha in (0.0, -0.1, math.nan, beyond):
        refuses("alpha", lambda alpha=alpha: pair(alpha=alpha), f"alpha = {alpha}")  # type: ignore[misc]
    refuses("n", lambda: pair(n=0), "n = 0")
    refuses("n", lambda: pair(n=n - 2), f"n = {n - 2} for evidence of {n}")
    refuses("top", lambda: pair(top=2), "top = 2 of two classes")
    refuses("evidence", lambda: pair(evidence=evidence[:1]), "one class")


def is_looked_at_only_where_it_holds(case: BoundCase) -> None:
    """Favourable ends are those of a bound at any time; others refuse them."""
    evidence, n = sample_of(case)

    def favourable() -> tuple[float, float]:
        return case.bound.optimistic(evidence, 0, n, 0.1, runner_up=True)

    if not case.bound.at_any_time:
        refuses(case.bound.name, favourable, "an optimistic end")
        return
    most, least = favourable()
    pair = case.pair(evidence, n, 0.1, runner_up=True)
    require(most >= pair.z_a and least <= pair.z_b, f"({most}, {least}) within {pair}")


BOUND: tuple[Property[BoundCase], ...] = (
    is_an_entry,
    gives_one_end_in_three_forms,
    stays_below_what_was_seen,
    rises_with_alpha,
    errs_as_often_as_it_says,
    pairs_err_as_often_as_they_say,
    pairs_are_of_the_safe_side,
    refuses_what_is_out_of_its_domain,
    is_looked_at_only_where_it_holds,
)


# --- on counts


def rises_with_the_count(case: BoundCase) -> None:
    """One more success does not lower the bound, one more failure does not raise it."""
    for n in case.trials:
        ends = [float(case.lower(np.int64(k), n, 0.05).p) for k in range(n + 1)]
        for k, (before, after) in enumerate(pairwise(ends)):
            require(before <= after, f"{before} for {k} of {n}, {after} for {k + 1}")
        for k, end in enumerate(ends):
            longer = float(case.lower(np.int64(k), n + 1, 0.05).p)
            require(
                longer <= end * (1 + 1e-11),
                f"{end} for {k} of {n}, {longer} of {n + 1}",
            )


def is_the_share_itself(case: BoundCase) -> None:
    """Over all outcomes a class has its share, to the safe side, at any level."""
    for n, alpha in product(case.trials, case.alphas):
        for count in range(n + 1):
            end = case.lower(np.int64(count), n, alpha)
            p, q = Fraction(float(end.p)), Fraction(float(end.q))
            share = Fraction(count, n)
            require(p <= share and 1 - q <= share, f"{end} of {count} of {n}")
            near = abs(p - share) <= 1e-15 and abs(1 - q - share) <= 1e-15
            require(near, f"{end} of {count} of {n}")


#: Of a bound on all outcomes, which never errs.
ENUMERATED: tuple[Property[BoundCase], ...] = (
    is_an_entry,
    gives_one_end_in_three_forms,
    is_the_share_itself,
    pairs_are_of_the_safe_side,
    refuses_what_is_out_of_its_domain,
    is_looked_at_only_where_it_holds,
)

COUNTED: tuple[Property[BoundCase], ...] = (rises_with_the_count,)


# --- at any time


def holds_at_all_looks_together(case: BoundCase) -> None:
    """Looked at after every sample, it ever errs with probability alpha at most."""
    for alpha in (0.05, 0.3):

        @cache
        def end(k: int, n: int, alpha: float = alpha) -> float:
            return float(case.lower(np.int64(k), n, alpha).p)

        looks = [(n, k) for n in (1, 3, 8, LOOKS) for k in range(1, n + 1, 3)]
        for p in sorted({end(k, n) for n, k in looks} - {0.0}):
            # the chances of each count, as long as no bound has been above p
            left = np.array([1.0])
            erred = 0.0
            for n in range(1, LOOKS + 1):
                left = np.append(left * (1 - p), 0.0) + np.append(0.0, left * p)
                above = np.array([end(k, n) >= p for k in range(n + 1)])
                erred += float(left[above].sum())
                left[above] = 0.0
            require(
                erred <= alpha * (1 + SUMMED),
                f"with probability {erred} within {LOOKS} samples at p = {p}, alpha = "
                f"{alpha}",
            )


AT_ANY_TIME: tuple[Property[BoundCase], ...] = (holds_at_all_looks_together,)


# --- by looks


def looks_spend_no_more_than_alpha(case: BoundCase) -> None:
    """Looks rise to all n samples, and their levels sum to at most alpha."""
    for n, alpha in product((1, 7, LOOKS, 1000, 99_999), case.alphas):
        looks = looks_of(case, n, alpha)
        samples = [look.samples for look in looks]
        require(
            samples == sorted(set(samples)) and samples[0] >= 1 and samples[-1] == n,
            f"looks at {samples} of n = {n}",
        )
        spent = sum(Fraction(look.alpha) for look in looks)
        require(spent <= Fraction(alpha), f"{float(spent)} of alpha = {alpha} is spent")


def holds_whatever_stops_the_sampling(case: BoundCase) -> None:
    """The best look so far ever errs with probability alpha at most, by all outcomes.

    Whoever stops the sampling may know the truth: an error at any look is one.
    """
    for alpha in case.alphas:
        looks = looks_of(case, LOOKS, alpha)
        bound = BOUNDS[of_one_look(case)]
        with quiet():
            ends = [
                [
                    float(bound.lower(np.int64(k), *at_level(look)).p)
                    for k in range(look.samples + 1)
                ]
                for look in looks
            ]
        for p in sorted({end for look in ends for end in look} - {0.0}):
            erred = chance_of_an_error(p, [look.samples for look in looks], ends)
            require(
                erred <= alpha * (1 + SUMMED),
                f"with probability {erred} at p = {p}, n = {LOOKS}, alpha = {alpha}",
            )


def chance_of_an_error(
    p: float, samples: Sequence[int], ends: Sequence[Sequence[float]]
) -> float:
    """The probability that the bound of one of the looks reaches p."""
    left = np.array([1.0])  # of each count, as long as no bound has
    erred = 0.0
    drawn = 0
    for number, bounds in zip(samples, ends, strict=True):
        step = number - drawn
        chance = [
            math.comb(step, k) * p**k * (1 - p) ** (step - k) for k in range(step + 1)
        ]
        left = np.convolve(left, chance)
        drawn = number
        above = np.array(bounds) >= p
        erred += float(left[above].sum())
        left[above] = 0.0
    return erred


def looks_of(case: BoundCase, n: int, alpha: float) -> Sequence[Look]:
    """The looks of a run of up to n samples."""
    looks = case.bound.looks
    require(looks is not None, "it has no looks")
    assert looks is not None
    return looks.at(n, alpha)


def of_one_look(case: BoundCase) -> str:
    """The name of the bound of one look."""
    assert case.bound.looks is not None
    name = case.bound.looks.bound
    require(
        name in BOUNDS and BOUNDS[name].evidence == "counts",
        f"looks are by {name!r}, which is no bound on counts",
    )
    return name


def at_level(look: Look) -> tuple[Any, Any]:
    """The number of samples and the level of a look, as a bound takes them."""
    return as_integers("n", look.samples), operand("alpha", look.alpha)


BY_LOOKS: tuple[Property[BoundCase], ...] = (
    looks_spend_no_more_than_alpha,
    holds_whatever_stops_the_sampling,
)
