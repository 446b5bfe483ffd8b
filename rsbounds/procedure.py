"""The numbers of a Monte Carlo certificate: how many samples, at which level, by which
bound.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from rsbounds._numerics.checks import as_floats, choice, count, number
from rsbounds._numerics.errors import ArgumentError
from rsbounds.confidence import BOUNDS

MOST_SAMPLES = 10**9  # of a file's rows: a bound of more takes minutes to prove


@dataclass(frozen=True, slots=True)
class Procedure:
    """The numbers that certify an input; ValueError at once for one that is out of its
    domain.

    Parameters
    ----------
    n0, n : int
        Numbers of samples that choose the class and that bound its probability, >= 1.
    alpha : float
        Probability that the certificate is wrong, in (0, 1), and at most what the bound
        allows: 1/2 for the one that holds at any time.
    seed : int
        Names the random samples, >= 0.
    bound : str
        The confidence bound, a key of :data:`rsbounds.confidence.BOUNDS`.
    runner_up : bool
        Bound the runner-up's probability too, at alpha/2 each; otherwise it counts as
        all of the rest, 1 - p_a, as in Cohen's procedure.
    target_radius : float, optional
        Certify this radius (> 0) or nothing, and stop sampling when that is decided.
        The bound is then the one that holds at whatever number of samples the sampling
        stops.

    Examples
    --------
    >>> from rsbounds.certify import Procedure
    >>> Procedure(n=1000, target_radius=0.5).bound
    'anytime'
    """

    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    seed: int = 0
    bound: str = "clopper-pearson"
    runner_up: bool = True
    target_radius: float | None = None

    def __post_init__(self) -> None:
        self._settle("n0", count("n0", self.n0, 1))
        self._settle("n", count("n", self.n, 1))
        self._settle("seed", count("seed", self.seed, 0))
        if not isinstance(self.bound, str) or self.bound not in BOUNDS:
            choice("bound", self.bound, tuple(BOUNDS))
        if self.target_radius is not None:
            target = as_floats(
                "target_radius", self.target_radius, 0, closed="neither", nan=False
            )
            self._settle("target_radius", number("target_radius", target))
            self._settle("bound", _bound_at_any_time(self.bound))
        self._settle("alpha", BOUNDS[self.bound].check_alpha(self.alpha))
        if not isinstance(self.runner_up, bool):
            raise ArgumentError(
                "runner_up", f"must be True or False; got {self.runner_up!r}"
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

    def _settle(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """The numbers by name, as a manifest holds them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Self:
        """The procedure of :meth:`to_dict`'s entries; ValueError if one is missing or
        wrong.
        """
        if not isinstance(entries, Mapping):
            raise ArgumentError(
                "procedure", f"must be a mapping by name; got {entries!r}"
            )
        names = [field.name for field in fields(cls)]
        missing = [name for name in names if name not in entries]
        if missing:
            raise ArgumentError(missing[0], "must be given")
        return cls(**{name: entries[name] for name in names})


def _bound_at_any_time(bound: str) -> str:
    """``bound`` itself if it holds at any time, or the first of the list that does."""
    if BOUNDS[bound].at_any_time:
        return bound
    return next(entry.name for entry in BOUNDS.values() if entry.at_any_time)
