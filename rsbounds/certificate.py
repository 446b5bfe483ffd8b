"""The record of one certification: result, evidence, and for which classifier."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, cast

from rsbounds._numerics.checks import as_floats, shape_of
from rsbounds._numerics.domains import NORM
from rsbounds._numerics.records import Record

__all__ = ["ABSTAIN", "SCOPES", "Certificate"]

#: The prediction of a smoothed classifier that can't decide, as the field writes it.
ABSTAIN = -1

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_NAME = _LETTERS | frozenset("0123456789-")
_ANY = "any "
_UPWARD = "a >= 0"
_CHANGES = "changes <= "


class Norm(NamedTuple):
    """What a radius measures: files, certificates and schemes spell it.

    It is a number, the p of the l_p norm, or a text, such as "edit", "l1, a >= 0",
    "l2, changes <= 3" or "gamma, a >= 0".

    Attributes
    ----------
    p : float or None
        Of the l_p norm of the change, 0 where a radius counts changed coordinates; None
        where what is moved is one number, or a sequence.
    moved : str
        What is moved, unless it is the input's numbers: a parameter, or "edit" where a
        radius counts edits of a sequence.
    upward : bool
        Whether changes are all at least 0.
    changes : int or None
        Beside how many changes of other columns a radius stands.
    whole_group : bool
        Whether all of it is certified, whatever the radius: of a finite group, or of
        what one patch may show.

    Examples
    --------
    >>> from rsbounds.certificate import Norm
    >>> Norm.of("l2, changes <= 3")
    Norm(p=2.0, moved='', upward=False, changes=3, whole_group=False)
    >>> Norm.of(0).counts, Norm(moved="edit").spelled
    (True, 'edit')
    """

    p: float | None = None
    moved: str = ""
    upward: bool = False
    changes: int | None = None
    whole_group: bool = False

    @classmethod
    def of(cls, value: Any) -> Self:
        """The norm of a number, at least 1 or 0, or of a text; else ValueError."""
        named = cls.named(value)
        if named is not None:
            return named
        if shape_of("norm", value) == () and value == 0:
            return cls(0.0)
        return cls(NORM.one("norm", value))

    @classmethod
    def named(cls, text: Any) -> Self | None:
        """The norm that a text names; None for a number, or for what names none."""
        if not isinstance(text, str):
            return None
        head, *rest = text.split(", ")
        upward = rest[-1:] == [_UPWARD]
        rest = rest[:-1] if upward else rest
        if upward and head == "l1" and not rest:
            return cls(1.0, upward=True)
        if head == "l2" and len(rest) == 1 and not upward:
            changes = _count(rest[0])
            return None if changes is None else cls(2.0, changes=changes)
        name = head.removeprefix(_ANY)
        if not _is_name(name) or rest not in ([], ["l1"], ["l2"]):
            return None
        p = float(rest[0][1:]) if rest else None
        return cls(p, name, upward, whole_group=head != name)

    @property
    def counts(self) -> bool:
        """Whether radii are whole numbers: of changed coordinates, or of edits."""
        return self in (Norm(0.0), EDITS)

    @property
    def spelled(self) -> float | str:
        """How files, certificates and schemes state it."""
        first = f"{_ANY}{self.moved}" if self.whole_group else self.moved
        number = "" if self.p is None else f"l{self.p:g}"
        beside = "" if self.changes is None else f"{_CHANGES}{self.changes}"
        sign = _UPWARD if self.upward else ""
        if self.p is not None and not (first or beside or sign):
            return self.p
        return ", ".join(filter(None, (first, number, beside, sign)))


def _count(beside: str) -> int | None:
    """The whole number K < 10^9 of a text "changes <= K"; None for any other text."""
    digits = beside.removeprefix(_CHANGES)
    if digits == beside:
        return None
    plain = digits.isascii() and digits.isdecimal() and len(digits) < 10
    return int(digits) if plain and str(int(digits)) == digits else None


def _is_name(name: str) -> bool:
    """Whether a text may name a parameter, and is no number by another spelling."""
    if not (2 <= len(name) <= 31 and name[0] in _LETTERS and _NAME.issuperset(name)):
        return False
    is_norm = name[0] == "l" and name[1:].isdecimal()
    return not is_norm and name not in ("inf", "nan", "linf")


#: Of radii that count edits of a sequence.
EDITS = Norm(moved="edit")

FIXED_NOISE = "fixed noise"
PARAMETER = "fixed noise in a parameter"
ORBIT = "all of a finite group"
DOUBLE_MASKING = "masks in pairs"
WATCHED = "adaptive attacker, total l2 budget"
ASSERTED_GROUP = "fixed noise in a parameter, asserted to be a group's"
PROVEN_ENVELOPE = "sigma(x) with a proven envelope"
ASSERTED_ENVELOPE = "sigma(x) with an asserted envelope"
PROVEN_MAPS = "sigma(x), mu(x) with proven bounds"
COMPOSITE = "composite of fixed noises; holds for the rule stated"
THIS_INPUT = "fixed noise at this input only"
TWO_QUERIES = "two queries"
ANOTHERS = "another package's method"


class Scope(NamedTuple):
    """Whether certificates hold for the classifier that is run; what a report must add.

    Reports take the best of several runs only where ``valid``.
    """

    valid: bool
    footnote: str


#: Scopes of proven bounds of sigma(x). Nothing has one without being told so.
PROVEN = (PROVEN_ENVELOPE, PROVEN_MAPS)

_OWN_SCOPES: Mapping[str, Scope] = {
    **dict.fromkeys((FIXED_NOISE, *PROVEN, COMPOSITE), Scope(True, "")),
    PARAMETER: Scope(
        True,
        "noise in a parameter: holds against T_a x as real numbers; what is clipped to "
        "a range, interpolated or rounded to 8 bits afterwards is another input",
    ),
    ORBIT: Scope(
        True,
        "all of a finite group: holds for every element of it, whatever the radius, "
        "and for nothing else",
    ),
    DOUBLE_MASKING: Scope(
        True,
        "masks in pairs: holds for the prediction by one mask and then two, whatever "
        "one patch of the norm's size shows, and for nothing else",
    ),
    WATCHED: Scope(
        True,
        "adaptive attacker, total l2 budget: holds of whole episodes, whatever is "
        "chosen step by step after what was seen, if all changes together are within "
        "the radius",
    ),
    ASSERTED_GROUP: Scope(
        False,
        "noise in a parameter: holds if T_a T_b = T_(a + b) does, which was given and "
        "not proven",
    ),
    ASSERTED_ENVELOPE: Scope(
        False,
        "sigma(x) with an asserted envelope: holds if the bounds of sigma(x) do, which "
        "were given and not proven",
    ),
    TWO_QUERIES: Scope(
        True,
        "two queries: holds for the classifier that looks at the input twice, the "
        "second time at what the first answer chose",
    ),
    THIS_INPUT: Scope(
        False,
        "fixed noise at this input only: no certificate of the classifier that chooses "
        "its noise anew at every input",
    ),
    ANOTHERS: Scope(
        False,
        "another package's method: holds if that package's theory and code do, which "
        "rsbounds verify has no oracle for",
    ),
}
# ends the scope of rows whose noise code that isn't this package's has drawn
_ASSERTED_NOISE = ", drawn by an asserted sampler"
_NOISE_FOOTNOTE = (
    "drawn by an asserted sampler: holds if the sampler, which was given and not "
    "proven, draws the noise that the radius is for"
)


def with_asserted_noise(scope: str) -> str:
    """The scope where noise is drawn by code of the user's own."""
    return without_asserted_noise(scope) + _ASSERTED_NOISE


def without_asserted_noise(scope: str) -> str:
    """The scope of the same certificate under noise that this package draws."""
    return scope.removesuffix(_ASSERTED_NOISE)


def as_drawn(scope: str, of_file: str) -> str:
    """The scope, of samples that were drawn as a file's scope says."""
    return with_asserted_noise(scope) if asserts_noise(of_file) else scope


def asserts_noise(scope: str) -> bool:
    """Whether a scope says that code of the user's own has drawn the noise."""
    return scope.endswith(_ASSERTED_NOISE)


def _under_asserted_noise(about: Scope) -> Scope:
    footnotes = (about.footnote, _NOISE_FOOTNOTE)
    return Scope(False, "; ".join(filter(None, footnotes)))


#: Every scope a certificate of this package can state, as result files spell it.
SCOPES: Mapping[str, Scope] = {
    **_OWN_SCOPES,
    **{
        with_asserted_noise(scope): _under_asserted_noise(about)
        for scope, about in _OWN_SCOPES.items()
    },
}


@dataclass(frozen=True, slots=True, eq=False)
class Certificate(Record):
    """One input's certificate.

    Abstention is a result like any other: ``predict`` is ``ABSTAIN``, ``radius`` 0.0,
    and the counts say why. Certificates are equal if they say the same; a NaN equals
    another NaN.

    Parameters
    ----------
    predict : int
        The certified class, or ``ABSTAIN`` (-1).
    radius : float
        The prediction doesn't change within this distance (a lower bound); units of the
        input.
    z_a : float
        Normal score of the lower confidence bound of the top class's probability.
    p_a : float
        That bound itself, rounded down.
    count, n : int
        Samples that fell on the class, and samples drawn to estimate it.
    sigma : float
        Noise level at the input.
    method : str
        The scheme, a key of ``rsbounds.schemes.METHODS``.
    scope : str
        For which classifier the certificate holds, a key of ``SCOPES``.
    norm : float or str
        The p of the l_p norm that measures the radius, 0 where it counts changed
        coordinates; "edit" where it counts edits of a sequence; the name of the
        parameter that it bounds, such as "brightness".
    bound : str
        The confidence bound, a key of ``rsbounds.confidence.BOUNDS``.
    z_b : float
        Normal score of the upper confidence bound of every other class's probability;
        left out, -z_a, which stands for 1 - p_a.
    select, counts : tuple of int
        Full class counts of the samples that chose the class and of those that bound
        it.
    void : int
        Samples of both kinds that have no class: their scores held a NaN or were within
        a margin, or their draw decided nothing. Bounds of one class, and of the top k,
        count them for the runner-up.

    Examples
    --------
    >>> from rsbounds.certificate import Certificate
    >>> c = Certificate(3, 0.5, 2.0, 0.977, 990, 1000, 0.25, "gaussian", "fixed noise")
    >>> c.predict, c.radius, c.abstained
    (3, 0.5, False)
    """

    predict: int
    radius: float
    z_a: float
    p_a: float
    count: int
    n: int
    sigma: float
    method: str
    scope: str
    norm: float | str = 2.0
    bound: str = "clopper-pearson"
    z_b: float = cast("float", None)
    select: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    void: int = 0

    def __post_init__(self) -> None:
        if cast("float | None", self.z_b) is None:
            z_a = as_floats("z_a", self.z_a)
            z_b = -z_a if z_a.ndim else -float(z_a)
            object.__setattr__(self, "z_b", z_b)

    @property
    def abstained(self) -> bool:
        """Whether the smoothed classifier gave no answer."""
        return self.predict == ABSTAIN


def __dir__() -> list[str]:
    return sorted(__all__)
