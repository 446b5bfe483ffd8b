"""What a run of more samples is expected to show, from a pilot of some tens of inputs.

The scores of the inputs of one kind (selected class right, or wrong) are taken for
normal, with mean and spread as the pilot's counts have them most likely; the counts of
each input then say which scores it may have. Inputs all of whose samples agree are thus
given the scores that inputs like the others would have. Runs on inputs drawn again from
the pilot's, with scores drawn so, are simulated count by count: their means are the
expected numbers, and how they differ is the interval.

An estimate of what to expect, no certificate of anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from rsbounds._numerics.checks import as_floats, as_integers, count, instance
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers import restored
from rsbounds.answers.internal import void_votes
from rsbounds.certify._stopping import FEWEST as FEWEST_SAMPLES
from rsbounds.confidence import BOUNDS, lower_bound, pair_bounds
from rsbounds.confidence.internal import Look
from rsbounds.procedure import TOLERANCE, Procedure, looks_of
from rsbounds.results import Manifest, Results
from rsbounds.schemes import METHODS, Scheme

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Scores that inputs may have, in steps of less than a pilot can tell apart.
SCORES = np.linspace(-6.0, 8.0, 561)
MEANS = np.linspace(-3.0, 6.0, 37)
SPREADS = np.geomspace(0.3, 4.0, 16)
GAPS = np.linspace(0.0, 6.0, 49)  # half the distance of two scores
INTERVAL = (5, 95)  # percentiles
FEWEST = 10  # inputs of a pilot


class Expected(NamedTuple):
    """A mean of simulated runs, and the ends of their middle nine tenths."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Forecast:
    """What a run is expected to show, and to draw.

    Parameters
    ----------
    procedure : Procedure
        Of the run.
    average_radius : Expected
        Its average certified radius.
    accuracy : tuple of Expected
        Its certified accuracy at each of the radii asked for.
    samples : float
        Samples drawn of an input on average, those that select included.
    samples_only_correct : float
        The same where inputs whose selected class is wrong are left out.
    """

    procedure: Procedure
    average_radius: Expected
    accuracy: tuple[Expected, ...]
    samples: float
    samples_only_correct: float


@dataclass(frozen=True)
class _PilotCounts:
    """The inputs of a pilot: counts of the selected class and of the largest other."""

    first: Integers
    second: Integers
    n: Integers
    sigma: Floats
    correct: NDArray[np.bool_]


@dataclass(frozen=True)
class _Simulated:
    """Draw the inputs of simulated runs, shape (runs, inputs).

    Their probabilities, and the share of the rest that falls on the largest other
    class.
    """

    p: Floats
    other: Floats
    sigma: Floats
    correct: NDArray[np.bool_]


class _Run(NamedTuple):
    """The radii of simulated runs, and how many samples they drew of each input."""

    radii: Floats
    drawn: Integers


def forecast(
    pilot: Results,
    numbers: Sequence[int],
    *,
    radii: Sequence[float] = (),
    tolerance: float | None = None,
    runs: int = 100,
    seed: int = 0,
) -> list[Forecast]:
    """What runs of each number of samples are expected to show, fixed and staged.

    Parameters
    ----------
    pilot : Results
        A run of the class on some tens of inputs, with its manifest, such as one of
        ``certify_dataset`` at n = 1,000. Its noise, alpha and ``runner_up`` are those
        of the runs.
    numbers : sequence of int
        The n of the runs.
    radii : sequence of float
        Where certified accuracies are expected.
    tolerance : float, optional
        Of staged runs (:class:`Procedure`): that of the pilot, or the default.
    runs : int
        How many runs are simulated.
    seed : int
        Of the simulation.

    Returns
    -------
    list of Forecast
        Two for each number: with the bound "clopper-pearson" and with "staged".

    Raises
    ------
    ValueError
        For a pilot of fewer than ten inputs, of another answer than the class, of a
        target radius, or without a manifest, or an argument out of its domain.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import certify_dataset, schemes
    >>> from rsbounds.certify import forecast
    >>> x = np.linspace(0.1, 1.0, 20, dtype=np.float32)[:, None] * [1, -1]
    >>> data = x.astype(np.float32), np.zeros(20, dtype=int)
    >>> pilot = certify_dataset(lambda b: b, data, schemes.gaussian(0.5), n=1000)
    >>> fixed, staged = forecast(pilot, [100_000])
    >>> staged.samples < fixed.samples
    True
    >>> staged.average_radius.mean > 0.97 * fixed.average_radius.mean
    True
    """
    manifest = _checked(pilot)
    scheme = _scheme_of(manifest)
    inputs = _inputs_of(pilot)
    rng = np.random.default_rng(count("seed", seed))
    simulated = _simulated(inputs, count("runs", runs, 2), rng)
    asked = manifest.procedure
    if tolerance is None:
        tolerance = TOLERANCE if asked.tolerance is None else asked.tolerance
    forecasts = []
    several = np.ravel(as_integers("numbers", numbers, 1)).tolist()
    radii = np.ravel(as_floats("radii", radii, 0.0, nan=False)).tolist()
    for n in several:
        fixed = asked.fixed(n)
        staged = replace(fixed, tolerance=tolerance)
        for procedure in (fixed, staged):
            run = _run(simulated, procedure, scheme, rng)
            forecasts.append(_summary(run, simulated, procedure, radii))
    return forecasts


def _checked(pilot: Results) -> Manifest:
    """The manifest of a pilot; ValueError where nothing can be expected from it."""
    instance("pilot", pilot, Results, "Results, such as certify_dataset returns")
    manifest = pilot.manifest
    if manifest is None:
        raise ArgumentError("pilot", "must have a manifest, which says what was run")
    if manifest.answer["name"] != "class":
        raise ArgumentError(
            "pilot", f"must be of the class; it answers {manifest.answer['name']!r}"
        )
    if manifest.procedure.ends_at_target:
        raise ArgumentError("pilot", "must have no target radius: it stopped at it")
    if BOUNDS[manifest.procedure.bound].evidence != "counts":
        raise ArgumentError("pilot", "must be by a bound on counts")
    if len(pilot.rows) < FEWEST:
        raise ArgumentError(
            "pilot", f"must have at least {FEWEST} inputs; got {len(pilot.rows)}"
        )
    return manifest


def _scheme_of(manifest: Manifest) -> Scheme:
    """The scheme of the pilot, for its radii alone."""
    if manifest.method not in METHODS:
        raise ArgumentError(
            "pilot", f"must be of a known method; got {manifest.method!r:.60}"
        )
    scheme = METHODS[manifest.method].from_parameters(manifest.parameters)
    return restored(manifest.answer, scheme).scheme


def _inputs_of(pilot: Results) -> _PilotCounts:
    """The counts of the pilot's rows; the second has the void votes, as in a run."""
    first, second, samples, levels, correct = [], [], [], [], []
    for row in pilot.rows:
        if not row.select:
            raise ArgumentError("pilot", "must have the counts of its samples")
        selected = row.select.index(max(row.select))
        others = [k for place, k in enumerate(row.counts) if place != selected]
        first.append(row.counts[selected] if selected < len(row.counts) else 0)
        void = void_votes(np.array(row.counts, np.int64), row.n)
        second.append(max(others, default=0) + void)
        samples.append(row.n)  # none of an input whose selected class was wrong
        levels.append(row.sigma)
        correct.append(selected == row.label)
    return _PilotCounts(
        first=np.array(first, dtype=np.int64),
        second=np.array(second, dtype=np.int64),
        n=np.array(samples, dtype=np.int64),
        sigma=np.array(levels, dtype=np.float64),
        correct=np.array(correct, dtype=np.bool_),
    )


# --- which probabilities the inputs may have


@np.errstate(under="ignore")  # what no count allows has a likelihood of 0
def _simulated(inputs: _PilotCounts, runs: int, rng: np.random.Generator) -> _Simulated:
    """Inputs drawn again from the pilot's, with scores that their counts allow."""
    likely = _likelihood(inputs)
    laws, before = _laws()
    evidence = np.log(np.maximum(likely @ laws.T, 1e-300))
    size = len(inputs.n)
    chosen = rng.integers(0, size, (runs, size))
    scores = np.empty((runs, size))
    for run, drawn in enumerate(chosen):
        for correct in (True, False):
            here = inputs.correct[drawn] == correct
            if here.any():
                # the law that the counts of these inputs make most likely
                kind = drawn[here]
                law = laws[(evidence[kind].sum(axis=0) + before).argmax()]
                scores[run, here] = _drawn_scores(likely[kind] * law, rng)
    first, second, n = inputs.first[chosen], inputs.second[chosen], inputs.n[chosen]
    return _Simulated(
        p=np.exp(log_ndtr(scores)),
        other=rng.beta(second + 0.5, n - first - second + 0.5),
        sigma=inputs.sigma[chosen],
        correct=inputs.correct[chosen],
    )


def _likelihood(inputs: _PilotCounts) -> Floats:
    """The likelihood of each score for each input, its largest 1."""
    hits, misses = inputs.first[:, None], (inputs.n - inputs.first)[:, None]
    logs = hits * log_ndtr(SCORES) + misses * log_ndtr(-SCORES)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _laws() -> tuple[Floats, Floats]:
    """Normal laws that scores may have, and how likely each is beforehand.

    A law is given by its probabilities of ``SCORES``, the likelihood as a logarithm.
    """
    mean, spread = (axis.ravel() for axis in np.meshgrid(MEANS, SPREADS))
    densities = np.exp(-0.5 * ((SCORES - mean[:, None]) / spread[:, None]) ** 2)
    # spreads are about 1, within a factor of 2
    before = -0.5 * (np.log(spread) / np.log(2.0)) ** 2
    return densities / densities.sum(axis=1, keepdims=True), before


def _drawn_scores(weights: Floats, rng: np.random.Generator) -> Floats:
    """A score for each input, by the weights of `SCORES`."""
    steps = np.cumsum(weights, axis=1)
    uniform = rng.random(len(weights)) * steps[:, -1]
    places = (steps < uniform[:, None]).sum(axis=1)
    width = SCORES[1] - SCORES[0]
    within = rng.uniform(-0.5, 0.5, len(weights)) * width
    return np.asarray(SCORES[places] + within)


# --- the runs


def _run(
    inputs: _Simulated, procedure: Procedure, scheme: Scheme, rng: np.random.Generator
) -> _Run:
    """Runs on these inputs, look by look."""
    looks: Sequence[Look] = [Look(procedure.n, procedure.alpha)]
    if procedure.tolerance is not None:
        looks = looks_of(procedure)
    last = looks[-1]
    room = (procedure.tolerance or 0.0) * inputs.sigma
    radius = _Radius(scheme, inputs.sigma)
    first = np.zeros(inputs.p.shape, dtype=np.int64)
    second = np.zeros(inputs.p.shape, dtype=np.int64)
    best = np.zeros(inputs.p.shape)
    drawn = np.zeros(inputs.p.shape, dtype=np.int64)
    live = np.ones(inputs.p.shape, dtype=np.bool_)
    before = 0
    for look in looks:
        step = look.samples - before
        before = look.samples
        hits = rng.binomial(step, inputs.p[live])
        first[live] += hits
        second[live] += rng.binomial(step - hits, inputs.other[live])
        certified = radius(first, second, look, procedure.runner_up, live)
        best[live] = np.maximum(best[live], certified)
        drawn[live] = look.samples
        if look is last:
            break
        if look.samples < FEWEST_SAMPLES:
            continue
        times = last.samples / look.samples
        expected = radius(
            np.floor(first * times).astype(np.int64),
            np.floor(second * times).astype(np.int64),
            last,
            procedure.runner_up,
            live,
        )
        live[live] = expected - best[live] > room[live]
    return _Run(best, drawn)


class _Radius:
    """Radii of many counts, by those of a few scores.

    Between these, and where p_b is not 1 - p_a for noise whose level follows the input,
    they are near and not exact.
    """

    def __init__(self, scheme: Scheme, sigma: Floats) -> None:
        levels, self._place = np.unique(sigma, return_inverse=True)
        self._place = self._place.reshape(sigma.shape)
        self._radii = [
            [scheme.radius(gap, level, -gap) if gap else 0.0 for gap in GAPS.tolist()]
            for level in levels.tolist()
        ]

    def __call__(
        self,
        first: Integers,
        second: Integers,
        look: Look,
        runner_up: bool,
        live: NDArray[np.bool_],
    ) -> Floats:
        """The radii of the inputs that are live, at a look."""
        gaps = _gaps(first[live], second[live], look, runner_up)
        place = self._place[live]
        radii = np.zeros(gaps.shape)
        for level, curve in enumerate(self._radii):
            here = place == level
            radii[here] = np.interp(gaps[here], GAPS, curve)
        return radii


def _gaps(first: Integers, second: Integers, look: Look, runner_up: bool) -> Floats:
    """Half the distance of the scores that counts show; 0 where none is shown."""
    pairs, place = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    low: Any
    high: Any
    if runner_up:
        low, high = pair_bounds(
            pairs[0], pairs[1], look.samples, look.alpha, scores=True
        )
    else:
        low = lower_bound(pairs[0], look.samples, look.alpha, scores=True)
        high = -low
    gaps = np.where(low > high, (low - np.maximum(high, -50.0)) / 2, 0.0)
    return np.asarray(gaps[place.ravel()])


def _summary(
    run: _Run, inputs: _Simulated, procedure: Procedure, radii: Sequence[float]
) -> Forecast:
    """Means and intervals of simulated runs."""
    certified = np.where(inputs.correct, run.radii, 0.0)
    # a radius of 0 is certified where the class is
    accuracy = [
        _expected(((certified >= radius) & (certified > 0)).mean(axis=1))
        for radius in radii
    ]
    asked = np.where(inputs.correct, run.drawn, 0)
    return Forecast(
        procedure=procedure,
        average_radius=_expected(certified.mean(axis=1)),
        accuracy=tuple(accuracy),
        samples=procedure.n0 + float(run.drawn.mean()),
        samples_only_correct=procedure.n0 + float(asked.mean()),
    )


def _expected(values: Floats) -> Expected:
    low, high = np.percentile(values, INTERVAL)
    return Expected(float(values.mean()), float(low), float(high))


def cheapest(
    forecasts: Sequence[Forecast], reference: Forecast, lose: float
) -> Forecast:
    """The forecast of fewest samples that loses at most a share of the average radius.

    Parameters
    ----------
    forecasts : sequence of Forecast
        Of the runs to choose from, ``reference`` among them.
    reference : Forecast
        The run that others are compared with.
    lose : float
        The share of its average radius that may be lost.
    """
    least = (1.0 - lose) * reference.average_radius.mean
    enough = [option for option in forecasts if option.average_radius.mean >= least]
    return min(enough, key=lambda option: option.samples, default=reference)
