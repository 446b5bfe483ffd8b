"""What an answer is, and what all of them check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from rsbounds._numerics.checks import instance, number
from rsbounds._numerics.domains import POSITIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers._votes import ClassCounts, Recorded, Votes, class_counts
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.confidence.internal import Pair
from rsbounds.procedure import DEFAULT_BOUND, Procedure
from rsbounds.sampling import Draws, Phase, Sampler, as_sampler
from rsbounds.sampling.internal import grid_of, is_sampler, require_law
from rsbounds.schemes import Option, Scheme

Options = Mapping[str, Any]
#: Which map of a scheme an answer asks for.
Direction = Literal["transport", "inverse"]


class Answered(NamedTuple):
    """The certificate of one input, and the further columns of its row as text."""

    certificate: Certificate
    columns: Mapping[str, str]


def two_phases(procedure: Procedure) -> list[tuple[Phase, int]]:
    """The samples that choose, and those that estimate."""
    return [(Phase.SELECT, procedure.n0), (Phase.ESTIMATE, procedure.n)]


@dataclass(frozen=True)
class Summary:
    """What a report shows of the rows of an answer: a line, a table, and its numbers.

    Attributes
    ----------
    title : str
        The line above the table.
    table : sequence of sequence of str
        Its lines, of which the first is the head.
    figures : mapping
        What a card states, by name.
    """

    title: str
    table: Sequence[Sequence[str]]
    figures: Mapping[str, Any]


class Answer:
    """A question about a model under the noise of a scheme, and how samples answer it.

    An answer of your own is a subclass with a ``name``, ``draw`` and ``certify``; add
    it to :data:`ANSWERS` through the entry point ``rsbounds.answers``.

    Parameters
    ----------
    scheme : Scheme
        The noise, and what a probability under it says of inputs nearby.

    Attributes
    ----------
    name, help : str
        As manifests and ``rsbounds certify --answer`` spell it; a line of help.
    options : tuple of Option
        What the command line asks for besides; ``from_options`` makes the answer of
        them.
    restated : mapping
        Options that counts can be certified under again, by name, with a sentence on
        what holds where one was chosen after looking at them.
    columns : tuple of str
        The columns of its rows beyond those of every file.
    n0, n : int
        How many samples are drawn unless a procedure says otherwise.
    excluded : frozenset of str
        The hashes of inputs that it was chosen by, as rows have them: no run certifies
        them, and its noise is independent of theirs. ``from_parameters`` restores them.
    classifies : bool
        Whether labels are classes of the model, so that a row's ``predict`` and
        ``correct`` mean something and a report shows certified accuracies.
    direction : str
        Which map of its scheme it asks for: "transport" from the input to what it may
        become (radii are of it), or "inverse", from there back to the input.
    takes_scheme : bool
        Whether the command line makes a scheme for it, of ``--method`` and its options;
        if False, the first option defines the answer, and asks for it.

    Examples
    --------
    >>> from rsbounds.answers import ANSWERS
    >>> ANSWERS["class"].help
    'the most likely class'
    """

    name: ClassVar[str] = ""
    help: ClassVar[str] = ""
    options: ClassVar[tuple[Option, ...]] = ()
    restated: ClassVar[Mapping[str, str]] = {}
    columns: tuple[str, ...] = ()
    n0: ClassVar[int] = 100
    n: int = 100_000
    bound: str = DEFAULT_BOUND
    excluded: frozenset[str] = frozenset()
    classifies: ClassVar[bool] = True
    direction: ClassVar[Direction] = "transport"
    takes_scheme: ClassVar[bool] = True
    scheme: Scheme

    # --- its text forms

    def parameters(self) -> dict[str, Any]:
        """What a manifest must say of it besides name and scheme."""
        return {}

    def describe(self) -> dict[str, Any]:
        """What a manifest says of it: its name and :meth:`parameters`."""
        return {"name": self.name, **self.parameters()}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], scheme: Scheme) -> Answer:
        """The answer of a manifest's entries; ValueError where these are damaged."""
        raise ValueError(f"the answer {cls.name!r} can't be made of a manifest")

    @classmethod
    def from_options(cls, options: Options, scheme: Any) -> Answer:
        """The answer of the command line's options."""
        raise ValueError(
            f"the answer {cls.name!r} has no options to be made of: its class "
            f"{cls.__name__} needs options and from_options"
        )

    # --- from a model to a certificate

    def check(self, procedure: Procedure) -> None:
        """ValueError for a procedure that is not for it; may warn."""

    def check_inputs(self, inputs: int) -> None:
        """ValueError unless it goes with data of so many inputs."""

    def check_classes(self, classes: int) -> None:
        """ValueError unless it goes with a model of so many classes."""

    def sampler(self, model: Any, **options: Any) -> Sampler:
        """The sampler of one model; options as for ``as_sampler``."""
        return as_sampler(model, self.scheme, **options)

    def samplers(self, model: Any) -> Sequence[Sampler]:
        """The samplers of a model: one, or one for each of several noise levels.

        ``model`` may be a sampler already, such as one of :meth:`sampler`. ValueError
        if its noise is not that of the radius, or is sound and the radius isn't.
        """
        scheme = self.scheme
        sampler = model if is_sampler(model) else self.sampler(model)
        require_law(sampler, scheme.law)
        scheme.check_grid(grid_of(sampler))
        return [sampler]

    def levels(self, x: Any) -> Sequence[float]:
        """The noise level of each sampler at an input: ValueError unless positive."""
        name = f"sigma(x) of the scheme {self.scheme.name!r}"
        return [POSITIVE.one(name, self.scheme.sigma(x))]

    def settled(self, procedure: Procedure, classes: int) -> Procedure:
        """The procedure as it is for a model of so many classes."""
        return procedure

    def draw(self, draws: Draws, procedure: Procedure) -> Any:
        """The evidence: what it asks for of the samples of one input."""
        raise NotImplementedError(f"{type(self).__name__} draws nothing")

    def asks(self, procedure: Procedure) -> Sequence[tuple[Phase, int]]:
        """What :meth:`draw` asks for in any case: phases, and how many samples of each.

        A device is given them before the counts of the input before are read. Without
        it nothing is asked for early.
        """
        return ()

    def stored(self, row: Recorded) -> Any:
        """The evidence that a row holds; ValueError where rows don't hold it."""
        raise ValueError(
            f"rows of the answer {self.name!r} don't hold their samples: run it again"
        )

    def certify(
        self, evidence: Any, procedure: Procedure, *, label: int, index: int
    ) -> Answered:
        """The certificate that the evidence supports: a pure function.

        Runs, ``recertify`` and ``verify`` call it with the same evidence.

        Parameters
        ----------
        evidence
            What :meth:`draw` or :meth:`stored` returned.
        procedure : Procedure
            At which level, by which bound.
        label, index : int
            Of the input: for an answer about its label, and for bounds that need a
            random number of the input's own.
        """
        raise NotImplementedError(f"{type(self).__name__} certifies nothing")

    def voted(
        self,
        votes: Votes,
        procedure: Procedure,
        *,
        of: int,
        pair: Pair,
        predict: Any,
        radius: float,
    ) -> Certificate:
        """The certificate of class counts.

        Parameters
        ----------
        votes : Votes
            The counts.
        procedure : Procedure
            Which gives the bound's name.
        of : int
            The class whose count and bounds are stated.
        pair : Pair
            Bounds of that class and of the others.
        predict : int
            The class that is certified, or ABSTAIN.
        radius : float
            In the scheme's norm.

        Returns
        -------
        Certificate
        """
        select = tuple(votes.select.tolist())
        counts = tuple(votes.counts.tolist())
        void = procedure.n0 + votes.n - sum(select) - sum(counts)
        return Certificate(
            predict=predict,
            radius=radius,
            z_a=pair.z_a,
            p_a=pair.p_a,
            count=counts[of] if of < len(counts) else 0,
            n=votes.n,
            sigma=votes.sigma,
            method=self.scheme.name,
            scope=self.scheme.scope,
            norm=self.scheme.norm,
            bound=procedure.bound,
            z_b=pair.z_b,
            select=select,
            counts=counts,
            void=void if counts else 0,
        )

    def unclassified(
        self, procedure: Procedure, *, sigma: float, bound: str, void: int
    ) -> Certificate:
        """The certificate where no class is predicted: its columns say the rest."""
        return Certificate(
            predict=ABSTAIN,
            radius=0.0,
            z_a=np.nan,
            p_a=np.nan,
            count=0,
            n=procedure.n,
            sigma=sigma,
            method=self.scheme.name,
            scope=self.scheme.scope,
            norm=self.scheme.norm,
            bound=bound,
            void=void,
        )

    def largest_radius(self, x: Any, procedure: Procedure) -> float | None:
        """The most that the samples can show at an input; None: not known."""
        return None

    # --- what runs ask that may stop early; an answer without it takes all n samples

    def selected(self, select: ClassCounts) -> tuple[int, ...]:
        """The classes that counts of selection samples choose.

        A run that draws no more of inputs whose label is not among them asks for it.
        """
        raise NotImplementedError(f"{type(self).__name__} selects no class")

    def scaled(self, evidence: Any, n: int) -> Any:
        """The evidence that n samples would be, if they fell as those drawn did.

        Runs by looks ask for it, to guess what more samples would show.
        """
        raise NotImplementedError(f"{type(self).__name__} does not look ahead")

    def shown(self, votes: Votes, procedure: Procedure) -> float:
        """The radius that votes show; runs with a target radius ask for it."""
        raise NotImplementedError(f"{type(self).__name__} has no target")

    def reach(self, votes: Votes, procedure: Procedure) -> float:
        """The largest radius that more samples may still show beside these votes."""
        raise NotImplementedError(f"{type(self).__name__} has no target")

    # --- which model it is

    def fingerprint(self, draws: Draws, procedure: Procedure) -> Sequence[int]:
        """Whole numbers of the selection samples, which tell one model from another."""
        return class_counts(draws(Phase.SELECT, procedure.n0)).tolist()  # type: ignore[no-any-return]

    def recorded_fingerprint(self, row: Recorded) -> Sequence[int] | None:
        """The fingerprint as far as a row holds it; None where it doesn't."""
        return row.select or None

    # --- reports

    @classmethod
    def report(
        cls, parameters: Mapping[str, Any], rows: Sequence[Recorded]
    ) -> Summary | None:
        """What a report shows of its rows, whose manifest has these parameters.

        None: certified accuracies, as for a class.
        """
        return None


def require_fixed(scheme: Scheme, direction: Direction = "transport") -> None:
    """ValueError for noise that is not the same at every input, or isn't sampled.

    Also where the scheme doesn't state the map of the direction.
    """
    require_scheme(scheme)
    if scheme.bound:
        raise ArgumentError(
            "scheme",
            f"must have noise that is sampled; of {scheme.name!r} all outcomes are "
            "evaluated, which the class alone knows to use",
        )
    level = scheme.own_level
    getattr(scheme, direction)(0.0, 0.0, 1.0 if level is None else level)


def checked_alpha(alpha: Any) -> float:
    """A probability of error as float64: more digits than it has are rounded down."""
    return number("alpha", alpha, 0.0, 1.0, closed="neither", towards=-np.inf)


def checked_radius(radius: Any) -> float:
    """A distance as float64: more digits than it has are rounded up."""
    return number("radius", radius, 0.0, towards=np.inf, finite=False)


def require_scheme(scheme: Any) -> None:
    """ValueError for anything but a scheme."""
    if not isinstance(scheme, Scheme):
        expected = (
            "a Scheme, such as rsbounds.schemes.gaussian(0.5), or for a data set a "
            "Rule or an Answer"
        )
        raise ArgumentError("scheme", f"must be {expected}; got {scheme!r:.80}")


def require_rows(rows: Any, answer: str, columns: Sequence[str]) -> None:
    """ValueError for anything but rows of an answer, which have its columns."""
    instance("rows", rows, Sequence, "a sequence of rows")
    for row in rows:
        if not hasattr(row, "extra"):
            raise ArgumentError("rows", f"must hold rows; got {row!r:.60}")
    if not rows or not all(name in row.extra for row in rows for name in columns):
        raise ArgumentError("rows", f"must be of the answer {answer!r}, at least one")
