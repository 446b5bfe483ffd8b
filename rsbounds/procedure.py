"""The numbers of a Monte Carlo certificate: samples, level, bound."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np

from rsbounds._numerics.checks import choice, count
from rsbounds._numerics.domains import NOT_NEGATIVE, POSITIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds.confidence import BOUNDS
from rsbounds.confidence.internal import Look

#: What a run that stops may expect to miss, in units of the noise level.
TOLERANCE = 0.04
DEFAULT_BOUND = "clopper-pearson"
FROM_SYSTEM = "os"  # in place of a seed: bits that no seed repeats
MOST_SAMPLES = 10**9  # of a file's rows: a bound of more takes minutes to prove


@dataclass(frozen=True, slots=True)
class Procedure:
    """The numbers that certify an input, each checked against its domain.

    ValueError at once for a number outside.

    Parameters
    ----------
    n0, n : int
        Numbers of samples that choose the class and that bound its probability, >= 1.
    alpha : float
        Probability that the certificate is wrong, in (0, 1), and at most what the bound
        allows: 1/2 for the one that holds at any time.
    seed : int or "os"
        Names the random samples, >= 0. With "os" the bits of the noise come from the
        operating system through ChaCha20: nobody can predict them, and nobody repeat
        them.
    bound : str
        The confidence bound, a key of :data:`rsbounds.confidence.BOUNDS`.
    runner_up : bool
        Bound the runner-up's probability too, at alpha/2 each; otherwise it counts as
        all of the rest, 1 - p_a, as in Cohen's procedure. Of two classes the second has
        no bound: it is the rest, so that the first has all of alpha.
    target_radius : float, optional
        Certify this radius (> 0) or nothing, and stop sampling when that is decided.
        The bound is then the one that holds at whatever number of samples the sampling
        stops.
    tolerance : float, optional
        Stop sampling an input where the radius expected of all n samples is at most
        this many sigma above the one that is certified, >= 0. The bound is then one
        that looks at fixed numbers of samples, "staged"; with that bound it is 0.04
        unless stated.
    only_correct : bool
        Draw no further samples of an input whose selected class, or classes, are not
        its label: its row certifies nothing. For runs of which only certified
        accuracies are wanted.
    margin : float, optional
        A sample counts only if its largest score leads the second by more than this,
        >= 0; others are void, and count against the class. If computed scores are
        within half of it of those of exact arithmetic, the certificate holds for the
        exact network and for every program as near to it.

    Examples
    --------
    >>> from rsbounds.certify import Procedure
    >>> Procedure(n=1000, target_radius=0.5).bound
    'anytime'
    """

    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    seed: int | str = 0
    bound: str = DEFAULT_BOUND
    runner_up: bool = True
    target_radius: float | None = None
    tolerance: float | None = None
    only_correct: bool = False
    margin: float | None = None

    def __post_init__(self) -> None:
        self._settle("n0", count("n0", self.n0, 1))
        self._settle("n", count("n", self.n, 1))
        self._settle("seed", _checked_seed(self.seed))
        if not isinstance(self.bound, str) or self.bound not in BOUNDS:
            choice("bound", self.bound, tuple(BOUNDS))
        if self.target_radius is not None:
            target = POSITIVE.one("target_radius", self.target_radius)
            self._settle("target_radius", target)
            self._settle("bound", _bound_at_any_time(self.bound))
            if self.tolerance is not None:
                raise ArgumentError("tolerance", "has no meaning with a target radius")
        if self.tolerance is not None:
            self._settle("tolerance", NOT_NEGATIVE.one("tolerance", self.tolerance))
            self._settle("bound", _bound_with_looks(self.bound))
        elif BOUNDS[self.bound].looks is not None:
            self._settle("tolerance", TOLERANCE)
        self._settle("alpha", BOUNDS[self.bound].check_alpha(self.alpha))
        if not isinstance(self.runner_up, bool):
            raise ArgumentError(
                "runner_up", f"must be True or False; got {self.runner_up!r}"
            )
        if not isinstance(self.only_correct, bool):
            raise ArgumentError(
                "only_correct", f"must be True or False; got {self.only_correct!r}"
            )
        if self.margin is not None:
            # rounded up: less would count more samples than were asked for
            margin = NOT_NEGATIVE.one("margin", self.margin, towards=np.inf)
            self._settle("margin", margin)
        self._require_counts()

    def _require_counts(self) -> None:
        """ArgumentError for what a bound on anything but counts has no use for."""
        evidence = BOUNDS[self.bound].evidence
        if evidence == "counts":
            return
        if self.only_correct:
            raise ArgumentError("only_correct", "needs a bound on counts")
        if self.margin is not None:
            raise ArgumentError(
                "margin",
                "needs a bound on counts of votes drawn by chance; "
                f"{self.bound!r} is on {evidence}",
            )

    def require_provable(self) -> None:
        """ValueError for more samples than rows of a file can be proved for."""
        for name in ("n", "n0"):
            samples = getattr(self, name)
            if not samples <= MOST_SAMPLES:
                raise ArgumentError(
                    name,
                    f"must be at most {MOST_SAMPLES} for a run that writes a file, "
                    f"which could not be verified; got {samples}",
                )

    def require_defaults(self, answer: str, *, counts_votes: bool = False) -> None:
        """ValueError where bounds other than those of an answer are asked for.

        ``counts_votes`` says whether void samples can count against its classes.
        """
        if self.margin is not None and not counts_votes:
            raise ArgumentError(
                "margin",
                f"is for votes, and the answer {answer!r} has real outputs: add the "
                "error of these to the ends of its intervals",
            )
        if not (self.runner_up and self.bound == DEFAULT_BOUND):
            raise ValueError(
                f"the answer {answer!r} has its own bounds: target_radius, bound and "
                "runner_up are not for it"
            )

    def _settle(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def fixed(
        self, n: int, alpha: float | None = None, bound: str = DEFAULT_BOUND
    ) -> Self:
        """The procedure of n samples of every input, fixed in advance."""
        return replace(
            self,
            n=n,
            alpha=self.alpha if alpha is None else alpha,
            bound=bound,
            target_radius=None,
            tolerance=None,
            only_correct=False,
        )

    @property
    def ends_at_target(self) -> bool:
        """Whether sampling ends once a target radius is decided.

        By a bound for a number of samples fixed in advance such counts have no level.
        """
        return self.target_radius is not None

    @property
    def may_stop(self) -> bool:
        """Whether some inputs may have fewer samples than n."""
        return self.ends_at_target or self.tolerance is not None or self.only_correct

    @property
    def void_against(self) -> bool:
        """Whether samples without a class may be of any class, as a margin leaves them.

        They count against whatever is certified.
        """
        return self.margin is not None

    @property
    def repeats(self) -> bool:
        """Whether rows follow from the seed, so that they can be drawn again."""
        return self.seed != FROM_SYSTEM

    def to_dict(self) -> dict[str, Any]:
        """The numbers by name, as a manifest holds them.

        Without ``tolerance``, ``only_correct`` and ``margin`` where they are not asked
        for.
        """
        entries = asdict(self)
        for name in _LEFT_OUT:
            if entries[name] == _DEFAULTS[name]:
                del entries[name]
        return entries

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Self:
        """Make the procedure of :meth:`to_dict`'s entries.

        ValueError if one is missing or wrong.
        """
        if not isinstance(entries, Mapping):
            raise ArgumentError(
                "procedure", f"must be a mapping by name; got {entries!r}"
            )
        names = [field.name for field in fields(cls)]
        missing = [name for name in names if name not in {*entries, *_LEFT_OUT}]
        if missing:
            raise ArgumentError(missing[0], "must be given")
        arguments = {name: entries[name] for name in names if name in entries}
        made = cls(**arguments)
        if made.bound != arguments["bound"]:  # one replaces the other
            other = "target_radius" if made.ends_at_target else "tolerance"
            raise ArgumentError(
                "bound",
                f"must be {made.bound!r} beside {other} = {arguments[other]}; got "
                f"{arguments['bound']!r}",
            )
        return made


_DEFAULTS = {field.name: field.default for field in fields(Procedure)}
#: Entries of few procedures: others don't state them.
_LEFT_OUT = ("tolerance", "only_correct", "margin")


def _checked_seed(seed: Any) -> int | str:
    """The seed as a whole number, or the word for bits of the operating system."""
    if isinstance(seed, str):
        if seed != FROM_SYSTEM:
            raise ArgumentError(
                "seed",
                f"must be a whole number >= 0 or {FROM_SYSTEM!r}; got {seed!r:.60}",
            )
        return FROM_SYSTEM
    return count("seed", seed, 0)


def _bound_at_any_time(bound: str) -> str:
    """``bound`` itself if it holds at any time, or the first of the list that does."""
    if BOUNDS[bound].at_any_time:
        return bound
    return next(entry.name for entry in BOUNDS.values() if entry.at_any_time)


def _bound_with_looks(bound: str) -> str:
    """Return ``bound`` if it looks at fixed sample sizes, or the first that does."""
    if BOUNDS[bound].looks is not None:
        return bound
    return next(entry.name for entry in BOUNDS.values() if entry.looks is not None)


def require_procedure(procedure: Any) -> None:
    """ValueError for anything but a procedure."""
    if not isinstance(procedure, Procedure):
        raise ArgumentError(
            "procedure",
            f"must be a Procedure, such as Procedure(n=1000); got {procedure!r:.80}",
        )


def looks_of(procedure: Procedure) -> tuple[Look, ...]:
    """The looks of a procedure: at all n samples alone, unless its bound has others."""
    looks = BOUNDS[procedure.bound].looks
    if looks is None:
        return (Look(procedure.n, procedure.alpha),)
    return looks.at(procedure.n, procedure.alpha)


@lru_cache(maxsize=64)
def at_looks(procedure: Procedure) -> Sequence[Procedure]:
    """The procedure of each look, as if it were the only one."""
    looks = BOUNDS[procedure.bound].looks
    if looks is None:
        return [procedure]
    return [
        procedure.fixed(look.samples, look.alpha, looks.bound)
        for look in looks_of(procedure)
    ]
