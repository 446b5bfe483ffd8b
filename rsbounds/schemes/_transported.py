"""Where an event's probability may be once the input has moved, and the way back."""

from __future__ import annotations

from typing import Any

from rsbounds._numerics.domains import POSITIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds.schemes._on_grid import Rounded


class Transported(Rounded):
    """What every scheme has of events whose probability moves with the input.

    Its attributes are those of :class:`rsbounds.schemes.Scheme`.
    """

    self_inverse: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        members = vars(cls)
        if "transport" in members and not members.keys() & {"self_inverse", "inverse"}:
            # what a base says is of the base's transport
            cls.self_inverse = False
            cls.inverse = Transported.inverse  # type: ignore[method-assign]

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        """Bounds on an event's probability moved within a radius, as normal scores.

        Parameters
        ----------
        z : array_like
            Normal scores of the event's probability at the input.
        radius : array_like
            Distances in the norm of the scheme, >= 0.
        sigma : float, optional
            The noise level, where the parameters of the scheme don't hold it.

        Returns
        -------
        low, high : float or ndarray
            Anywhere within the radius the event's score lies in [low, high]; rounded
            outward.

        Raises
        ------
        ValueError
            If an argument is out of its domain, or the noise is not the same at every
            input: the extremes of its level don't bound the event's probability then.

        Examples
        --------
        >>> from rsbounds.schemes import gaussian
        >>> low, high = gaussian(0.5).transport(2.0, 0.25)
        >>> round(float(low), 12), round(float(high), 12)
        (1.5, 2.5)
        """
        raise ArgumentError(
            "scheme",
            "must have noise that is the same at every input, such as gaussian(0.5); "
            f"got one of method {self.name!r}",
        )

    def event_radius(self, z: float, least: float, sigma: float) -> float:
        """Radius within which an event's score stays above one, of such a level.

        For noise whose level follows the input, where ``least`` is at most 0; other
        noise has a :meth:`transport`.
        """
        self.transport(z, 0.0, sigma)  # refuses other noise that follows the input
        raise ArgumentError("scheme", f"must have levels that follow; got {self!r}")

    def inverse(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        """Bounds on an event's probability at the input, from one within a radius.

        Answers that name a quantile or a level at a changed input ask for it, such as
        values and conformal sets. The lower end is the largest p whose upper end of
        :meth:`transport` is at most the event's probability, the upper end the least p
        whose lower end is at least that.

        Parameters
        ----------
        z : array_like
            Normal scores of the event's probability at some input within the radius.
        radius, sigma
            As in :meth:`transport`.

        Returns
        -------
        low, high : float or ndarray
            At the input itself the event's score lies in [low, high]; rounded outward.

        Raises
        ------
        ValueError
            As :meth:`transport` does, and where the scheme states a transport alone.

        Examples
        --------
        >>> from rsbounds.schemes import exponential
        >>> scheme = exponential(1.0)  # of changes upward alone
        >>> low, high = scheme.inverse(1.2815515655446, 0.2)
        >>> there, _ = scheme.transport(high, 0.2)
        >>> round(float(high), 9), round(float(there), 9)
        (1.39258226, 1.281551566)
        """
        if self.self_inverse:
            return self.transport(z, radius, sigma)
        self.transport(z, radius, sigma)  # refuses noise that follows the input
        raise ArgumentError(
            "scheme",
            "must state the inverse of its transport for this answer: give "
            f"{type(self).__name__} a method inverse(z, radius, sigma), or "
            "self_inverse = True if a change and its opposite are alike; got one of "
            f"method {self.name!r} without",
        )

    def fixed_level(self, sigma: float | None = None) -> float:
        """Level of noise that is the same at every input: ``sigma``, or its own."""
        fixed = self.own_level
        if sigma is None and fixed is None:
            raise ArgumentError(
                "sigma", f"must be given for a scheme of method {self.name!r}"
            )
        level = POSITIVE.one("sigma", fixed if sigma is None else sigma)
        if fixed is not None and level != fixed:
            raise ArgumentError(
                "sigma", f"must be that of the scheme, {fixed}; got {level}"
            )
        return level

    @property
    def own_level(self) -> float | None:
        """The one level of its noise, where the scheme itself says it."""
        # of noise that follows the input "sigma" is the base of its levels
        return self.parameters.get("sigma") if "sigma" in self.domains else None
