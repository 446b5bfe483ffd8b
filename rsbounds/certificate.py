"""The record of one certification: result, evidence, and for which classifier."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from rsbounds._numerics.checks import as_floats
from rsbounds._numerics.domains import NORM
from rsbounds._numerics.records import Record

__all__ = ["ABSTAIN", "SCOPES", "Certificate"]

#: The prediction of a smoothed classifier that can't decide, as the field writes it.
ABSTAIN = -1

#: The norm of a radius that counts edits of a sequence, which is no l_p norm.
EDIT = "edit"
#: Norms whose radii are whole numbers: of changed coordinates, and of edits.
WHOLE = (0.0, EDIT)
#: The norm of a radius that bounds the sum of changes which are all at least 0.
UPWARD = "l1, a >= 0"
#: Begins the norm of radii that are inf: all of a finite group is certified.
WHOLE_GROUP = "any "
# "inf" and "nan" are numbers, and "l2" is one by another spelling
_PARAMETER = re.compile(
    r"(any )?(?!(inf|nan|l\d+|linf)$)[a-z][a-z0-9-]{1,30}(, l[12])?(, a >= 0)?"
)
_BESIDE = re.compile(r"l2, changes <= (0|[1-9]\d{0,8})")


def beside(changes: int) -> str:
    """The norm of a radius in l_2 on some columns, beside changes on the others."""
    return f"l2, changes <= {changes}"


def is_beside(norm: Any) -> bool:
    """Whether a norm is that of a radius in l_2 beside changes."""
    return isinstance(norm, str) and bool(_BESIDE.fullmatch(norm))


def is_named_norm(norm: Any) -> bool:
    """Whether a norm of radii is a text.

    That is of edits, of changes that only add, of l_2 beside changes, or the name of a
    parameter that is moved, such as "brightness".
    """
    return isinstance(norm, str) and bool(
        norm in (EDIT, UPWARD) or is_beside(norm) or _PARAMETER.fullmatch(norm)
    )


def norm_of(value: Any) -> float | str:
    """``value`` as a norm of radii: at least 1, 0 or a text; else ValueError."""
    if is_named_norm(value):
        return str(value)
    if np.ndim(value) == 0 and value == 0:
        return 0.0
    return NORM.one("norm", value)


FIXED_NOISE = "fixed noise"
PARAMETER = "fixed noise in a parameter"
ORBIT = "all of a finite group"
ASSERTED_GROUP = "fixed noise in a parameter, asserted to be a group's"
PROVEN_ENVELOPE = "sigma(x) with a proven envelope"
ASSERTED_ENVELOPE = "sigma(x) with an asserted envelope"
PROVEN_MAPS = "sigma(x), mu(x) with proven bounds"
COMPOSITE = "composite of fixed noises; holds for the rule stated"
MEMORY = "memory-based"
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

#: Every scope a certificate of this package can state, as result files spell it.
SCOPES: Mapping[str, Scope] = {
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
    MEMORY: Scope(
        True, "memory-based: holds for the classifier together with what it has stored"
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
