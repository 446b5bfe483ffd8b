"""What a proof of an answer's rows is, and what all of them share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf, isnan
from typing import Any, ClassVar, NamedTuple

from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers import Answer, restored
from rsbounds.audit._finding import Finding, Kind, Remark
from rsbounds.audit.schemes import RADII
from rsbounds.certify.internal import job_of
from rsbounds.results import Manifest, Row
from rsbounds.schemes import METHODS, Scheme

LOST = (
    1e-6  # of a number and its unit: a value this far below what was computed is weak
)
SAME = 1e-9  # what numbers that another machine computed may differ by

#: What a row repeats: each column is compared unless its answer's proof has it.
REPEATED = (
    "predict",
    "bound",
    "norm",
    "n",
    "sigma",
    "count",
    "select",
    "counts",
    "void",
    "z_a",
    "z_b",
    "p_a",
)


class Claim(NamedTuple):
    """A row, what it is of, and the row that its own evidence gives."""

    row: Row
    manifest: Manifest
    answer: Any
    expected: Row


class Proof:
    """How the rows of one answer are checked; a file of this room each.

    Attributes
    ----------
    answer : str
        The name of the answer.
    methods : tuple of str
        The schemes under which it is proved here.
    proves : tuple of str
        Columns that :meth:`compared` or :meth:`prove` of the answer itself decide
        about; all others are compared with what the evidence gives.
    states_levels : bool
        Whether the manifest holds the noise levels of its rows.
    shown_by_rerun : tuple of str
        What rows rest on that only drawing them again shows.
    """

    answer: ClassVar[str]
    methods: ClassVar[tuple[str, ...]] = tuple(RADII)
    proves: ClassVar[tuple[str, ...]] = ()
    states_levels: ClassVar[bool] = False
    shown_by_rerun: ClassVar[tuple[str, ...]] = ("counts",)

    def check(self, answer: Any) -> None:
        """ValueError for an answer that can't be proved here in a short time."""

    def against(
        self, rows: Sequence[tuple[int, Row]], manifest: Manifest, truth: Any
    ) -> Iterator[Finding]:
        """What rows state otherwise than the truth that their answer refers to."""
        raise ArgumentError("truth", f"is nothing that {self.answer!r} refers to")

    def is_hopeless(self, row: Row, manifest: Manifest) -> bool:
        """Whether the label is no part of what the selection samples chose.

        A run of which only certified accuracies are wanted draws no more of it.
        """
        selected = row.select.index(max(row.select)) if row.select else 0
        return row.label != selected

    def findings(self, row: Row, manifest: Manifest, prove: bool) -> Iterator[Remark]:
        """What is wrong with a row; ValueError for numbers that no run can have."""
        answer = answer_of(manifest)
        expected = self.computed(row, answer, manifest)
        claim = Claim(row, manifest, answer, expected)
        yield from self.compared(claim)
        if prove:
            yield from self.proved(claim)

    def computed(self, row: Row, answer: Answer, manifest: Manifest) -> Row:
        """The row that its own evidence gives."""
        certificate, columns = job_of(answer, manifest.procedure).recomputed(row)
        return Row.of(row.idx, row.label, certificate, 0.0, extra=columns)

    def compared(self, claim: Claim) -> Iterator[Remark]:
        """Columns that the row has otherwise than its evidence gives them."""
        row, expected = claim.row, claim.expected
        pairs = [
            (name, getattr(row, name), getattr(expected, name)) for name in REPEATED
        ]
        pairs += [
            (name, row.extra.get(name), value) for name, value in expected.extra.items()
        ]
        for name, in_row, computed in pairs:
            if name not in self.proves and not is_same(in_row, computed):
                text = f"{name} is {in_row!r}, {computed!r} by its counts"
                yield Kind.CONTRADICTION, text

    def proved(self, claim: Claim) -> Iterator[Remark]:
        """Bounds and radii of the row that the balls don't prove, or that are weak."""
        raise NotImplementedError(f"{type(self).__name__} proves nothing")


def answer_of(manifest: Manifest, **options: Any) -> Answer:
    """The answer of a manifest, or ValueError; options are the scheme's.

    Without options the last one is kept, for all rows of a file have the same.
    """
    return _restored(manifest, options) if options else _last(_Identity(manifest))


def _restored(manifest: Manifest, options: Mapping[str, Any]) -> Answer:
    method = METHODS[manifest.method]
    scheme = method.from_parameters(manifest.parameters, **options)
    return restored(manifest.answer, scheme)


class _Identity:
    """A manifest by what it is, and not by what it holds."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest

    def __hash__(self) -> int:
        return id(self.manifest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.manifest is other.manifest


@lru_cache(maxsize=1)
def _last(identity: _Identity) -> Answer:
    return _restored(identity.manifest, {})


@lru_cache(maxsize=1)
def _last_scheme(identity: _Identity) -> Scheme:
    """The scheme of a manifest's own parameters, for all rows of a file."""
    manifest = identity.manifest
    return METHODS[manifest.method].from_parameters(manifest.parameters)


def own_level(manifest: Manifest) -> float | None:
    """The one noise level of all rows, where the parameters say it."""
    if METHODS.get(manifest.method) is None:
        return None
    return _last_scheme(_Identity(manifest)).own_level


def void_votes(row: Row) -> int:
    """Samples without a class, which any other than the certified one may have."""
    return row.n - sum(row.counts)


def is_same(recorded: Any, computed: Any) -> bool:
    """Whether two columns of a row are the same; NaN is itself."""
    if isinstance(recorded, float) and isinstance(computed, float):
        return recorded == computed or (isnan(recorded) and isnan(computed))
    return bool(recorded == computed)


def is_near(recorded: Any, computed: Any) -> bool:
    """Whether two entries of a row are the same, as far as machines differ."""
    if not (isinstance(recorded, float) and isinstance(computed, float)):
        return bool(recorded == computed)
    if isnan(recorded) and isnan(computed):
        return True
    near = abs(recorded - computed) <= SAME * (1 + abs(computed)) < inf
    return recorded == computed or near


def is_below(value: float, computed: float, unit: float) -> bool:
    """Whether a value is well below what was computed."""
    return value + LOST * (unit + abs(computed)) < computed


def is_far_above(row: Row, expected: Row, manifest: Manifest) -> bool:
    """Whether a radius is so far above that of its counts that nothing proves it.

    To prove it may take any time. Radii are computed within a whole change of the
    largest one, or within the share that their docstrings promise, so that what is
    more than twice as large and a unit is larger than any that holds.
    """
    scheme = _last_scheme(_Identity(manifest))
    unit = 1.0 if scheme.whole else row.sigma
    return row.radius > 2 * expected.radius + unit
