"""The suite of answers: text forms, purity, levels by all outcomes of a few samples."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.decimals import sparse_counts
from rsbounds.answers import ANSWERS, Answer, Answered, Summary
from rsbounds.certificate import ABSTAIN
from rsbounds.certify.internal import Job, job_of
from rsbounds.procedure import Procedure
from rsbounds.results import Row
from rsbounds.results.internal import COLUMNS, read_rows
from rsbounds.sampling import Draws, Sampler
from rsbounds.schemes import Option
from rsbounds.special import ndtri
from rsbounds.testing._bound import SUMMED, chances, compositions
from rsbounds.testing._properties import Property, hold, quiet, refuses, require
from rsbounds.testing._rows import ROWS, RunsOfAnswer, again, inputs_near, linear

Probabilities = NDArray[np.float64]
Wrong = Callable[[Answered, int, Probabilities], Any]

#: A procedure of which all outcomes can be looked at.
FEW = {"n0": 7, "n": 10, "alpha": 0.3}
#: By the number of kinds: probabilities are multiples of one over it.
GRID = {2: 24, 3: 24, 4: 10}
FINE = 240  # steps of a line of probabilities
KINDS = 3  # of samples, unless the caller says so


@dataclass(frozen=True)
class AnswerCase:
    """An answer, a model and data to ask it about, and what its claims mean."""

    answer: Answer
    model: Callable[[Any], Any]
    draws: Callable[[Any], Sampler] | None
    data: Any
    options: Mapping[str, Any] | None
    returned: Callable[[Any], Any] | None
    kinds: int
    wrong: Wrong | None
    numbers: Mapping[str, Any]

    @property
    def x(self) -> Any:
        """The first input."""
        return self.data[0][0]

    @cached_property
    def procedure(self) -> Procedure:
        """The job of a run with the model."""
        return Procedure(**{"n0": 50, "n": 400, "alpha": 0.01, **self.numbers})

    def job(self, model: Any = None) -> Job:
        """What asks the model, or another one."""
        asked = self.model if model is None else model
        ready = asked if self.draws is None else self.draws(asked)
        return job_of(self.answer, self.procedure).with_model(ready)

    def evidence(self, index: int = 0) -> Any:
        """What it draws at an input."""
        x = self.data[0][index]
        return self.answer.draw(self.job().draws(x, index), self.procedure)

    def certified(self, evidence: Any, index: int = 0) -> Answered:
        """What it makes of the evidence of an input."""
        label = int(self.data[1][index])
        return self.answer.certify(evidence, self.procedure, label=label, index=index)

    # --- outcomes of a few samples

    @cached_property
    def few(self) -> Procedure:
        """The procedure of a few samples."""
        return Procedure(**{**self.numbers, **FEW})

    @cached_property
    def levels(self) -> Sequence[float]:
        """The noise levels at the first input."""
        return self.answer.levels(self.x)

    def of_outcome(
        self, selected: Sequence[int], outcome: Sequence[Sequence[int]], label: int = 0
    ) -> Answered:
        """What it says where each level's samples come out so, by their kinds."""
        samplers = [
            Scripted(self._as_returned(selected), self._as_returned(counts), self.few)
            for counts in outcome
        ]
        draws = Draws(samplers, self.x, self.levels, self.few)
        evidence = self.answer.draw(draws, self.few)
        return self.answer.certify(evidence, self.few, label=label, index=0)

    def _as_returned(self, counts: Sequence[int]) -> Any:
        whole = np.array(counts, dtype=np.int64)
        return whole if self.returned is None else self.returned(whole)


@dataclass(frozen=True)
class Scripted:
    """A sampler that returns what it was told, for each phase of a procedure."""

    selected: Any
    estimated: Any
    procedure: Procedure

    def __call__(self, x: Any, sigma: float, n: int, generator: Any) -> Any:
        return self.selected if n == self.procedure.n0 else self.estimated


def check_answer(
    answer: Answer,
    *,
    model: Callable[[Any], Any] | None = None,
    sampler: Callable[[Any], Sampler] | None = None,
    data: Any = None,
    options: Mapping[str, Any] | None = None,
    numbers: Mapping[str, Any] | None = None,
    wrong: Wrong | None = None,
    returned: Callable[[Any], Any] | None = None,
    kinds: int = KINDS,
) -> None:
    """Hold an answer to what every answer promises.

    Parameters
    ----------
    answer : Answer
        Under the scheme that it is asked about.
    model : callable, optional
        From a NumPy batch to what the answer samples: by default scores of three
        classes.
    sampler : callable, optional
        Makes the sampler of a model, where the answer's ``samplers`` don't.
    data : pair of arrays, optional
        At least three inputs and their labels; by default of four numbers.
    options : mapping, optional
        Values of its options, by name, of which ``from_options`` makes this answer.
    numbers : mapping, optional
        Of the procedure, such as ``bound``.
    wrong : callable, optional
        ``wrong(answered, label, probabilities)``: whether a claim is false where the
        samples of each level fall on the kinds with these probabilities, shape (levels,
        kinds). By default :func:`claims_too_much`, for an answer of one class at one
        level. Without it, levels of answers that don't classify are not looked at.
    returned : callable, optional
        What the sampler returns where so many samples fell on each kind, of counts of
        shape (kinds,); by default the counts, of as many classes.
    kinds : int
        How many kinds of samples there are: 2, 3 or 4.

    Raises
    ------
    AssertionError
        Naming the answer, the first property that fails, and the numbers.
    ImportError
        Without mpmath and python-flint.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> from rsbounds.answers import TopClass
    >>> from rsbounds.testing import check_answer
    >>> check_answer(TopClass(schemes.gaussian(0.5)))
    >>> class Careless(TopClass):
    ...     name = "careless"
    ...     def certify(self, evidence, procedure, **of):
    ...         evidence.counts.sort()
    ...         return super().certify(evidence, procedure, **of)
    >>> check_answer(Careless(schemes.gaussian(0.5)))
    Traceback (most recent call last):
    AssertionError: answer 'careless': Certifying is pure: ...
    """
    if not isinstance(answer, Answer):
        raise AssertionError(f"an answer must be an Answer; got {answer!r:.80}")
    if data is None:
        data = inputs_near(np.full(4, 0.6, np.float32))
    if wrong is None and answer.classifies:
        wrong = _claims_too_much_of(answer)
    case = AnswerCase(
        answer=answer,
        model=model or linear(int(np.size(data[0][0]))),
        draws=sampler,
        data=data,
        options=options,
        returned=returned,
        kinds=kinds,
        wrong=wrong,
        numbers=numbers or {},
    )
    entry = f"answer {answer.name!r}"
    hold(entry, case, ANSWER)
    if answer.classifies and returned is None:
        hold(entry, case, VOTED)
    ready = case.model if sampler is None else sampler(case.model)
    with RunsOfAnswer(answer, ready, data, dict(numbers or {})) as rows:
        hold(entry, rows, (*ROWS, tells_what_was_recorded, reports))


def claims_too_much(
    answered: Answered, scheme: Any, sigma: float, shares: Sequence[float]
) -> bool:
    """Whether a certificate of one class is false where classes have these shares.

    It is where another class is as likely, or the radius is above that of the true
    probabilities.

    Parameters
    ----------
    answered : Answered
        The certificate.
    scheme : Scheme
        Whose radius it is.
    sigma : float
        The noise level at the input.
    shares : sequence of float
        The true probability of each class.
    """
    certificate = answered.certificate
    if certificate.predict == ABSTAIN:
        return False
    first = shares[certificate.predict]
    second = max(p for c, p in enumerate(shares) if c != certificate.predict)
    if not first > second:
        return True
    with quiet():
        z_a, z_b = float(ndtri(first)), float(ndtri(second))
        largest = scheme.radius(z_a, sigma, z_b)
    return not certificate.radius <= largest * (1 + 1e-9)


def _claims_too_much_of(answer: Answer) -> Wrong:
    def wrong(answered: Answered, label: int, probabilities: Probabilities) -> bool:
        sigma = answered.certificate.sigma
        return claims_too_much(answered, answer.scheme, sigma, probabilities[0])

    return wrong


# --- what it says of itself


def is_an_entry(case: AnswerCase) -> None:
    """It can stand in the list of answers."""
    answer = case.answer
    require(
        isinstance(answer.name, str) and answer.name and answer.name.isprintable(),
        f"its name is {answer.name!r}",
    )
    listed = ANSWERS.get(answer.name, type(answer))
    require(listed is type(answer), f"ANSWERS has another of that name, {listed}")
    for option in answer.options:
        require(
            isinstance(option, Option) and option.name.isidentifier(),
            f"an option is {option!r}",
        )
    for kind, names in (
        ("options", [option.name for option in answer.options]),
        ("columns", [*COLUMNS, *answer.columns]),
    ):
        require(len(set(names)) == len(names), f"{kind} are not distinct: {names}")


def describes_itself(case: AnswerCase) -> None:
    """A manifest holds all that its certificates need."""
    description = json.loads(json.dumps(case.answer.describe()))
    require(description.get("name") == case.answer.name, f"it says {description}")
    restored = again(case.answer, case.answer.scheme, description)
    require(
        restored.describe() == case.answer.describe(),
        f"it was {case.answer.describe()} and is {restored.describe()}",
    )
    before = case.certified(case.evidence())
    after = restored.certify(
        case.evidence(), case.procedure, label=int(case.data[1][0]), index=0
    )
    require(shown(before) == shown(after), f"it said {before} and says {after}")


def is_made_of_its_options(case: AnswerCase) -> None:
    """The command line's options make the same answer."""
    options = case.options
    if options is None:
        options = {option.name: option.default for option in case.answer.options}
        if ... in options.values():  # one must be given, and the caller gave none
            return
    made = type(case.answer).from_options(options, case.answer.scheme)
    require(
        case.options is None or made.describe() == case.answer.describe(),
        f"{dict(options)} make {made.describe()}, not {case.answer.describe()}",
    )


def has_levels(case: AnswerCase) -> None:
    """Each of its samplers has a noise level."""
    levels, samplers = case.levels, case.job().samplers
    require(len(levels) == len(samplers) >= 1, f"{len(samplers)} samplers, {levels}")
    require(all(0 < level < np.inf for level in levels), f"levels are {levels}")


# --- from samples to certificates


def shown(answered: Answered) -> str:
    """Certificate and columns as text, NaN like any number."""
    certificate, columns = answered
    names = (field.name for field in fields(certificate))
    entries = {name: getattr(certificate, name) for name in names}
    return repr((entries, dict(columns)))


def snapshot(value: Any) -> Any:
    """What evidence holds, as values that a later change does not reach."""
    if is_dataclass(value):
        names = (field.name for field in fields(value))
        return tuple(snapshot(getattr(value, name)) for name in names)
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), value.tobytes()
    if isinstance(value, Mapping):
        return tuple((key, snapshot(entry)) for key, entry in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(snapshot, value))
    if callable(value):
        return None
    return repr(value)


def draws_again_the_same(case: AnswerCase) -> None:
    """What is drawn at an input depends on the seed and its index alone."""
    first = case.evidence()
    case.evidence(1)
    again = case.evidence()
    require(
        snapshot(first) == snapshot(again), f"first {first!r:.90}, then {again!r:.90}"
    )


def certifies_purely(case: AnswerCase) -> None:
    """Certifying is pure: the same evidence, the same result, and nothing changed."""
    for index in range(len(case.data[0])):
        evidence = case.evidence(index)
        before = snapshot(evidence)
        results = []
        for seed in (1, 2):
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002  (which others' code may draw from)
            results.append(shown(case.certified(evidence, index)))
            require(
                snapshot(evidence) == before,
                f"it changed its evidence, {evidence!r:.99}",
            )
        require(results[0] == results[1], f"it said {results[0]} and then {results[1]}")


def fills_its_columns(case: AnswerCase) -> None:
    """It fills its own columns, with text of one line without tabs."""
    certificate, columns = case.certified(case.evidence())
    require(
        set(columns) <= set(case.answer.columns),
        f"columns {sorted(columns)} of {case.answer.columns}",
    )
    for name, text in columns.items():
        plain = isinstance(text, str) and not set(text) & set("\t\n\r")
        require(plain, f"{name} is {text!r}")
    scheme = case.answer.scheme
    of_certificate = certificate.method, certificate.norm
    require(of_certificate == (scheme.name, scheme.norm), f"it states {of_certificate}")
    require(certificate.radius >= 0, f"the radius is {certificate.radius}")


def tells_models_apart(case: AnswerCase) -> None:
    """Its fingerprint is always the same for a model, and another for another."""

    def other(batch: Any) -> Any:
        return -np.asarray(case.model(batch))

    same, differs = True, False
    for index, x in enumerate(case.data[0]):
        prints = [case.job(m).fingerprint(x, index) for m in (None, None, other)]
        for numbers in prints:
            whole = all(int(number) == number for number in numbers)
            require(whole, f"a fingerprint is {numbers}")
        same = same and list(prints[0]) == list(prints[1])
        differs = differs or list(prints[0]) != list(prints[2])
    require(same, "it changed though the model did not")
    require(differs, "it is the same for the opposite of the model")


def knows_its_largest_radius(case: AnswerCase) -> None:
    """No radius is above the largest that it says its samples can show."""
    largest = case.answer.largest_radius(case.x, case.few)
    if largest is None or case.returned is not None:
        return
    certain = (case.few.n, *[0] * (case.kinds - 1))
    selected = (case.few.n0, *[0] * (case.kinds - 1))
    radius = case.of_outcome(selected, [certain] * len(case.levels)).certificate.radius
    require(radius <= largest, f"the radius is {radius}, the largest {largest}")


def selections(case: AnswerCase) -> Iterator[tuple[int, ...]]:
    """Selection samples: all of the first kind, and more of it than of others."""
    n0 = case.few.n0
    yield (n0, *[0] * (case.kinds - 1))
    if case.kinds > 1 and len(case.levels) == 1:
        yield (n0 - 3, 3, *[0] * (case.kinds - 2))


def truths_of(case: AnswerCase) -> NDArray[np.float64]:
    """Probabilities of the kinds at each level, shape (truths, levels, kinds).

    A grid of them, and fine lines from the first kind to the second and to all others:
    an error is most likely just where a claim begins to be false.
    """
    kinds, levels = case.kinds, len(case.levels)
    grid = np.array(list(compositions(GRID[kinds], kinds))) / GRID[kinds]
    truths = [np.stack(several) for several in product(grid, repeat=levels)]
    first, second, *_ = np.eye(kinds)
    others = (1 - first) / (kinds - 1)
    for end in (second, others):
        for share in np.linspace(0.0, 1.0, FINE + 1):
            point = (1 - share) * first + share * end
            truths.append(np.stack([point] * levels))
    return np.array(truths)


def is_wrong_as_rarely_as_it_says(case: AnswerCase) -> None:
    """Whatever was selected, it is wrong with probability alpha at most.

    By all outcomes of a few samples, on a grid of probabilities.
    """
    wrong = case.wrong
    if wrong is None:
        return
    of_one_level = list(compositions(case.few.n, case.kinds))
    outcomes = list(product(of_one_level, repeat=len(case.levels)))
    truths = truths_of(case)
    chance = np.ones((len(truths), 1))
    for level in range(len(case.levels)):
        of_level = chances(of_one_level, truths[:, level])
        chance = (chance[:, :, None] * of_level[:, None, :]).reshape(len(truths), -1)
    for selected in selections(case):
        claims: dict[str, tuple[Answered, list[int]]] = {}
        for place, outcome in enumerate(outcomes):
            answered = case.of_outcome(selected, outcome)
            claims.setdefault(shown(answered), (answered, []))[1].append(place)
        errors = np.zeros(len(truths))
        for answered, places in claims.values():
            likely = chance[:, places].sum(axis=1)
            for t in np.flatnonzero(likely):
                if wrong(answered, 0, truths[t]):
                    errors[t] += likely[t]
        worst = int(errors.argmax())
        require(
            errors[worst] <= case.few.alpha * (1 + SUMMED),
            f"with probability {errors[worst]} where the kinds have "
            f"{truths[worst].tolist()}, alpha = {case.few.alpha}, n = {case.few.n}, "
            f"selected {selected}",
        )


ANSWER: tuple[Property[AnswerCase], ...] = (
    is_an_entry,
    describes_itself,
    is_made_of_its_options,
    has_levels,
    draws_again_the_same,
    certifies_purely,
    fills_its_columns,
    tells_models_apart,
    knows_its_largest_radius,
    is_wrong_as_rarely_as_it_says,
)


# --- by votes


def grows_with_its_votes(case: AnswerCase) -> None:
    """A vote that moves to the selected class, the label, does not lower the radius."""
    selected = next(selections(case))
    for counts in compositions(case.few.n, case.kinds):
        radius = case.of_outcome(
            selected, [counts] * len(case.levels)
        ).certificate.radius
        for place in range(1, case.kinds):
            if not counts[place]:
                continue
            moved = list(counts)
            moved[0] += 1
            moved[place] -= 1
            more = case.of_outcome(selected, [moved] * len(case.levels))
            require(
                more.certificate.radius >= radius,
                f"{radius} for {counts} and {more.certificate.radius} for {moved}",
            )


def stands_at_the_edges(case: AnswerCase) -> None:
    """No votes earn nothing, and all votes no infinite radius."""
    zeros = [0] * case.kinds
    certain = [case.few.n, *zeros[1:]]
    selected = next(selections(case))
    none = case.of_outcome(selected, [zeros] * len(case.levels)).certificate
    require(none.radius == 0, f"no votes earn {none.radius}")
    every = case.of_outcome(selected, [certain] * len(case.levels)).certificate
    require(every.radius < np.inf, "all votes earn an infinite radius")


def refuses_votes_that_were_not_drawn(case: AnswerCase) -> None:
    """More votes than samples are a ValueError."""
    selected = next(selections(case))
    many = [[case.few.n + 1, *[0] * (case.kinds - 1)]] * len(case.levels)
    refuses(
        "sum", lambda: case.of_outcome(selected, many), "one vote more than samples"
    )


VOTED: tuple[Property[AnswerCase], ...] = (
    grows_with_its_votes,
    stands_at_the_edges,
    refuses_votes_that_were_not_drawn,
)


# --- in rows


def tells_what_was_recorded(rows: RunsOfAnswer) -> None:
    """The fingerprint that a row holds is the one that its model leaves."""
    procedure = Procedure(**{"n0": 50, "n": 400, "alpha": 0.01, **rows.numbers})
    job = job_of(rows.answer, procedure).with_model(rows.model)
    for row in read_rows(rows.whole):
        recorded = rows.answer.recorded_fingerprint(row)
        if recorded is None:
            continue
        drawn = job.fingerprint(rows.data[0][row.idx], row.idx)
        require(
            sparse_counts(recorded) == sparse_counts(drawn),
            f"input {row.idx} holds {recorded}, the model leaves {drawn}",
        )


def reports(rows: RunsOfAnswer) -> None:
    """A report shows None, for accuracies, or a summary of its own."""
    read: list[Row] = list(read_rows(rows.whole))
    parameters = rows.answer.describe()
    summary = type(rows.answer).report(parameters, read)
    if summary is None:
        require(
            rows.answer.classifies, "it has no accuracies and no summary of its own"
        )
        return
    require(isinstance(summary, Summary), f"it reports {summary!r:.80}")
    require(summary.title.isprintable(), f"its title is {summary.title!r}")
    widths = {len(line) for line in summary.table}
    require(len(widths) == 1, f"lines of its table have {sorted(widths)} cells")
    cells = [cell for line in summary.table for cell in line]
    require(all(isinstance(cell, str) for cell in cells), f"cells are {cells}")
    json.dumps(dict(summary.figures))
