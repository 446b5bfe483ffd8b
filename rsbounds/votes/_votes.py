"""Votes of parts, of which an attack reaches a few: no chance."""

from __future__ import annotations

from numpy.typing import ArrayLike

from rsbounds._numerics.checks import as_integers, count
from rsbounds._numerics.errors import ArgumentError
from rsbounds.certificate import ABSTAIN


def certify_votes(votes: ArrayLike, reach: int) -> tuple[int, bool, int]:
    """The class that votes elect, and whether it stands when some of them change.

    A vote is that of one part of the input or of the data: a band or block of an image,
    a model trained on one of disjoint partitions. Ties go to the class of the smaller
    number.

    Parameters
    ----------
    votes : array_like of int, shape (classes,)
        Number of votes of each class.
    reach : int
        How many votes an attack can change, >= 0: a patch of s columns reaches s + w -
        1 of the bands of width w, and (s + w - 1)^2 blocks; a training example that is
        added or removed one, that is changed two where its content decides its part.

    Returns
    -------
    cls : int
        The class, ``ABSTAIN`` where there are no votes.
    certified : bool
        Whether no change of ``reach`` votes elects another class.
    most : int
        The largest reach for which that is so; -1 where there are no votes.

    Raises
    ------
    ValueError
        If ``votes`` are not whole numbers >= 0 of one class at least, or ``reach`` is
        not a whole number >= 0.

    References
    ----------
    Levine, Feizi, (De)randomized smoothing for certifiable defense against patch
    attacks, 2020; Deep partition aggregation, 2021. The theory page on discrete noise.

    Examples
    --------
    >>> from rsbounds.votes import certify_votes
    >>> certify_votes([7, 3, 2], 1), certify_votes([3, 7, 2], 2)
    ((0, True, 2), (1, False, 1))
    """
    numbers = as_integers("votes", votes)
    if numbers.ndim != 1 or not numbers.size:
        raise ArgumentError(
            "votes", f"must be one number for each class; got shape {numbers.shape}"
        )
    reach = count("reach", reach)
    counts = [int(n) for n in numbers]
    total = sum(counts)
    if not total:
        return ABSTAIN, False, -1
    cls = counts.index(max(counts))
    # m changed votes take m from the class and give m to another, which wins a tie if
    # its number is the smaller
    leads = [
        counts[cls] - other - (number < cls)
        for number, other in enumerate(counts)
        if number != cls
    ]
    most = min((lead // 2 for lead in leads), default=total)
    return cls, reach <= most, most
