"""Episodes of an agent: samplers of their returns, or of their classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count, number
from rsbounds._numerics.errors import ArgumentError


class EpisodeStep(NamedTuple):
    """One step of an episode, as policy and environment tell it.

    Attributes
    ----------
    seen : ndarray of float64
        The observation with its noise, which is what the policy acted on.
    action : object
        What the policy did.
    reward : float
        What the environment gave for it.
    """

    seen: NDArray[np.float64]
    action: Any
    reward: float


class Episodes:
    """A sampler of episodes under noise on observations: of returns, or of classes.

    :func:`episodes` makes one. It draws sigma N(0, I) alone, for which the theory page
    on attackers who watch has its proof; a scheme of another law is refused.
    """

    law = ""
    #: Whether noise is drawn step by step, and an attacker may watch.
    is_watched = True

    def __init__(
        self,
        environment: Any,
        policy: Callable[[Any], Any],
        classify: Callable[[Sequence[EpisodeStep]], int] | None = None,
        classes: int = 2,
    ) -> None:
        self.environment = environment
        self.policy = policy
        self.classify = classify
        self.classes = classes

    @property
    def evidence(self) -> str:
        """What a call returns: the counts of classes, or values."""
        return "values" if self.classify is None else "counts"

    def above(self, threshold: float) -> Episodes:
        """The sampler of whether an episode's return is above a number."""

        def is_above(steps: Sequence[EpisodeStep]) -> int:
            total = _total(steps)
            if math.isnan(total):  # on neither side
                raise ArgumentError(
                    "environment", "must give rewards whose sum is a number; got nan"
                )
            return int(total > threshold)

        return Episodes(self.environment, self.policy, is_above)

    def __call__(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> NDArray[Any]:
        """The returns of n episodes, shape (n, 1); or how many are of each class."""
        level = number("sigma", sigma, 0.0)
        if not hasattr(generator, "standard_normal"):
            raise ArgumentError(
                "generator", f"must be a numpy.random.Generator; got {generator!r:.60}"
            )
        played = (self._episode(level, generator) for _ in range(count("n", n, 1)))
        if self.classify is None:
            return np.array([_total(steps) for steps in played])[:, None]
        classes = [self._class_of(steps) for steps in played]
        return np.bincount(classes, minlength=self.classes)

    def _class_of(self, steps: Sequence[EpisodeStep]) -> int:
        assert self.classify is not None
        label = self.classify(steps)
        if not (isinstance(label, int | np.integer) and 0 <= label < self.classes):
            raise ArgumentError(
                "classify",
                f"must return a class, 0 to {self.classes - 1}; got {label!r:.60}",
            )
        return int(label)

    def _episode(
        self, sigma: float, generator: np.random.Generator
    ) -> list[EpisodeStep]:
        # the episode's own seed and noise, so that episodes are independent
        seed = int(generator.integers(2**31))
        observation, _ = self.environment.reset(seed=seed)
        steps = []
        ended = False
        while not ended:
            clean = _observed(observation)
            seen = clean + sigma * generator.standard_normal(clean.shape)
            action = self.policy(seen)
            observation, reward, terminated, truncated, _ = self.environment.step(
                action
            )
            steps.append(EpisodeStep(seen, action, float(reward)))
            ended = bool(terminated or truncated)
        return steps


def _total(steps: Sequence[EpisodeStep]) -> float:
    return sum((step.reward for step in steps), 0.0)


def _observed(observation: Any) -> NDArray[np.float64]:
    """An observation as float64; ValueError for one that noise can't be added to."""
    array = np.asarray(observation)
    if array.dtype.kind not in "fiu":
        raise ArgumentError(
            "environment",
            "must show arrays of real numbers, to which noise can be added; got "
            f"{observation!r:.60}",
        )
    return array.astype(np.float64)


def episodes(
    environment: Any,
    policy: Callable[[Any], Any],
    classify: Callable[[Sequence[EpisodeStep]], int] | None = None,
    classes: int = 2,
) -> Episodes:
    """The sampler of an agent's episodes, of environments with Gymnasium's interface.

    An episode is one sample. Each begins with a seed of its own, ``reset(seed=...)``,
    and every observation that the policy sees has fresh noise.

    Parameters
    ----------
    environment : object
        With ``reset(seed=seed)``, which returns an observation and a mapping, and
        ``step(action)``, which returns observation, reward, whether the episode is
        terminated, whether it is truncated, and a mapping. Its episodes end. It must
        not go on from one episode to the next but by its seed.
    policy : callable
        From a noisy observation, float64, to an action; without memory of earlier
        episodes.
    classify : callable, optional
        From the steps of an episode, each with what was ``seen``, ``action`` and
        ``reward``, to its class: 0 ... classes - 1. It keeps nothing from one episode
        to the next.
    classes : int
        How many there are.

    Returns
    -------
    Episodes
        For :class:`rsbounds.answers.Values` under ``schemes.gaussian``: quantiles of
        the return against changes of the observations by at most the radius, the root
        of the sum of all their squares, that an attacker may choose step by step. For
        :class:`rsbounds.answers.Flag` of ``"score>T"``: whether the return is above T.
        With ``classify``: for the class of an episode, or flags of classes. The inputs
        of the run are of no matter: one of zeros does.

    Raises
    ------
    ValueError
        If they are no such objects; while sampling, for observations of no numbers.

    References
    ----------
    Kumar, Levine, Feizi, Policy smoothing for provably robust reinforcement learning,
    2022; the theory page on attackers who watch.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.frameworks import episodes
    >>> class Walk:  # five steps towards 0, from a start that the seed decides
    ...     def reset(self, seed):
    ...         self.at, self.left = np.random.default_rng(seed).normal(0, 1, 1), 5
    ...         return self.at, {}
    ...     def step(self, action):
    ...         self.at, self.left = self.at + action, self.left - 1
    ...         return self.at, -abs(self.at[0]), not self.left, False, {}
    >>> sampler = episodes(Walk(), lambda seen: -0.5 * seen)
    >>> sampler(np.zeros(1), 0.1, 3, np.random.default_rng(0)).shape
    (3, 1)
    """
    for name in ("reset", "step"):
        if not callable(getattr(environment, name, None)):
            raise ArgumentError(
                "environment",
                f"must have the methods reset and step; got {environment!r:.60}",
            )
    if not callable(policy):
        raise ArgumentError("policy", f"must be callable; got {policy!r:.60}")
    if not (classify is None or callable(classify)):
        raise ArgumentError("classify", f"must be callable; got {classify!r:.60}")
    return Episodes(environment, policy, classify, count("classes", classes, 2))
