"""Where the parameters of radii lie."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rsbounds._numerics.checks import instance, number, on_host
from rsbounds._numerics.errors import ArgumentError


class Domain(NamedTuple):
    """Where a parameter lies, and which ends belong to it; whether it must be given."""

    low: float
    high: float
    closed: str = "both"
    required: bool = True

    def one(self, name: str, value: Any, towards: float | None = None) -> float:
        """``value`` as one number of the domain, or ValueError.

        More digits than float64 has are rounded in the direction of ``towards``, -inf
        or inf, by default to the nearest.
        """
        if type(value) is float and self.low < value < self.high:
            return value  # quickly: it is asked of every input
        value = on_host(name, value)
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.reshape(())  # of a function that was given a batch of one
        return number(
            name,
            value,
            self.low,
            self.high,
            closed=self.closed,
            towards=towards,
            finite=False,
        )


POSITIVE = Domain(0.0, math.inf, "neither")
NOT_NEGATIVE = Domain(0.0, math.inf, "left")
SLACK = Domain(0.0, math.inf, "left", required=False)
DIMENSION = Domain(1.0, 1e8)
OPTIONAL_DIMENSION = DIMENSION._replace(required=False)
NORM = Domain(1.0, math.inf, required=False)
RADIUS = Domain(0.0, math.inf)
Domains: TypeAlias = Mapping[str, Domain]


def require(domains: Domains, parameters: Mapping[str, Any], prefix: str = "") -> None:
    """ArgumentError unless the parameters lie in their domains, one number each."""
    instance("parameters", parameters, Mapping, "a mapping by name")
    for name, domain in domains.items():
        if name in parameters:
            value = parameters[name]
            if np.ndim(value):
                raise ArgumentError(
                    f"{prefix}{name}", f"must be one number; got {value!r:.60}"
                )
            domain.one(f"{prefix}{name}", value)
        elif domain.required:
            raise ArgumentError(f"{prefix}{name}", "is missing")


def plain(value: Any) -> Any:
    """NumPy's numbers as Python's, which manifests hold; all else as it is."""
    if not isinstance(value, (np.number, np.ndarray)) or np.ndim(value):
        return value
    number = value.item()
    # that of a long double is one again
    return float(number) if isinstance(number, np.floating) else number
