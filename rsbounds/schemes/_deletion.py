"""Sequences that lose elements, in edit distance.

References
----------
Huang et al., RS-Del: edit distance robustness certificates for sequence classifiers via
randomized deletion, 2023.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from rsbounds import discrete
from rsbounds.certificate import EDIT
from rsbounds.discrete import Curve
from rsbounds.sampling import noises
from rsbounds.sampling.noises import Noise
from rsbounds.schemes._curves import CHANCE, CurveScheme
from rsbounds.schemes._domains import Domains
from rsbounds.schemes._options import Option
from rsbounds.schemes._scheme import Scheme

__all__ = ["Deletion", "deletion"]


class Deletion(CurveScheme):
    """Elements of sequences that are deleted; see :func:`deletion`."""

    name = "deletion"
    norm = EDIT
    domains: ClassVar[Domains] = {"delete": CHANCE}
    help = "elements of sequences are deleted, certified in edits"
    options: ClassVar[tuple[Option, ...]] = (
        Option("delete", "probability that an element is deleted (or a 1 becomes 0)"),
    )
    inputs = options

    @classmethod
    def curve_of(cls, parameters: Mapping[str, Any]) -> Curve:
        return discrete.deletion(parameters["delete"])

    @classmethod
    def noise_of(cls, parameters: Mapping[str, Any]) -> Noise:
        return noises.deletion(parameters["delete"])

    @classmethod
    def level_of(cls, parameters: Mapping[str, Any]) -> float:
        return float(parameters["delete"])


def deletion(delete: float) -> Scheme:
    """Each element of a sequence is deleted with one probability, in edit distance.

    The radius counts edits: insertions, deletions and substitutions of one element.

    Parameters
    ----------
    delete : float
        In (0, 1). It is taken as the rational number that it is.

    Raises
    ------
    ValueError
        If ``delete`` is out of its domain.

    References
    ----------
    Huang et al., RS-Del: edit distance robustness certificates for sequence classifiers
    via randomized deletion, 2023; :func:`rsbounds.discrete.deletion`.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.deletion(0.9)
    >>> scheme.radius(2.3264, 0.9), scheme.norm
    (6.0, 'edit')
    """
    return Deletion.made_of(delete=delete)
