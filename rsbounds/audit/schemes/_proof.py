"""What a proof of a scheme's radii is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from rsbounds.audit._balls import Arb, Event

Parameters: TypeAlias = Mapping[str, Any]


class SchemeProof(ABC):
    """How the radii of one scheme are proved; a file of this room each.

    Attributes
    ----------
    method : str
        The name of the scheme.
    transports : bool
        Whether :meth:`least` bounds any event, at all inputs alike. Answers other than
        the class rest on that.
    up_to_half : bool
        Whether :meth:`least` bounds any event at all inputs alike, as far as it is at
        most a half: flags rest on that.
    """

    method: ClassVar[str]
    transports: ClassVar[bool] = False
    up_to_half: ClassVar[bool] = False

    @abstractmethod
    def proved(
        self,
        parameters: Parameters,
        sigma: float,
        radius: float,
        z_a: float,
        z_b: float | None = None,
    ) -> bool:
        """Whether scores z_a and z_b (None: -z_a) certify a radius.

        Of scores less than some 1e-6 apart it may not see that they do.
        """

    def chosen(
        self, parameters: Parameters, select: Sequence[int], z_a: float, z_b: float
    ) -> bool:
        """Whether samples that choose, and scores, show which class is predicted."""
        return z_a > z_b

    def least(
        self, parameters: Parameters, sigma: float, radius: float, z: Arb
    ) -> Event:
        """Bound an event of probability Phi(z) from below within a radius."""
        raise NotImplementedError(f"{type(self).__name__} bounds no event")

    def least_before(
        self, parameters: Parameters, sigma: float, radius: float, z: Arb
    ) -> Event:
        """Bound at the input an event that has probability Phi(z) within a radius.

        From below: for all but one-sided noise the input is as far from a changed one,
        and under the same law.
        """
        return self.least(parameters, sigma, radius, z)

    def least_at(
        self, parameters: Parameters, sigma: float, entry: str, z: Arb
    ) -> Event:
        """Bound an event from below within an entry of a row's frontier."""
        raise NotImplementedError(f"{type(self).__name__} has no frontier")

    def too_many(self, parameters: Parameters, radius: float) -> bool:
        """Whether a radius is beyond what is proved here."""
        return False

    def counts_changes(self, parameters: Parameters) -> bool:
        """Whether radii are numbers of changes, of which half a change is none."""
        return False

    def entry_proved(
        self, parameters: Parameters, entry: str, z_a: float, z_b: float | None
    ) -> bool:
        """Whether scores certify an entry of a row's frontier."""
        return False


def by_method(*proofs: SchemeProof) -> dict[str, SchemeProof]:
    """Proofs by the names of their schemes."""
    return {proof.method: proof for proof in proofs}
