"""Bounds of sigma(x) that were asserted, and that a run's own levels refute."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds.schemes import Scheme

#: Inputs that each further one is compared with, the first of a run.
MOST = 256
#: Numbers of all those inputs together, at most: 128 MiB.
MOST_NUMBERS = 2**24
_SLACK = 1e-6  # relative: what levels and distances in float32 may be off by


class Asserted:
    """Compares the levels of inputs with the bound that was asserted of them.

    It warns once. What passes is not proved: two inputs show a bound wrong, and none
    show it right.

    Parameters
    ----------
    scheme : Scheme
        Of the scope "asserted".
    """

    def __init__(self, scheme: Scheme) -> None:
        self._name = ""
        parameters: Mapping[str, Any] = scheme.parameters
        if parameters.get("norm", 2.0) == 2:
            names = (name for name in ("rate", "lip") if name in scheme.domains)
            self._name = next(names, "")
        self._bound = float(parameters.get(self._name, math.inf))
        self._seen: list[tuple[int, float, NDArray[np.float64]]] = []

    @property
    def watches(self) -> bool:
        """Whether inputs are still compared."""
        return bool(self._name)

    def add(self, index: int, level: float, x: Any) -> None:
        """One more input at its level."""
        point = np.ravel(np.asarray(x, dtype=np.float64))
        for other, before, place in self._seen:
            away = float(np.linalg.norm(point - place))
            if self._least(level, before, away) > self._bound:
                least = self._least(level, before, away)
                warnings.warn(
                    f"{self._name} = {self._bound} is refuted: sigma is {before:.6g} "
                    f"at input {other} and {level:.6g} at input {index}, {away:.6g} "
                    f"away, so that it is at least {least:.6g}; no row of this run "
                    "holds",
                    RuntimeWarning,
                    stacklevel=2,
                )
                self._name = ""
                return
        many = len(self._seen) + 1
        if many <= MOST and many * point.size <= MOST_NUMBERS:
            self._seen.append((index, level, point))

    def _least(self, level: float, before: float, away: float) -> float:
        """The least constant that two levels so far apart allow, rounding aside."""
        larger, smaller = max(level, before), min(level, before)
        larger *= 1 - _SLACK
        if not larger > smaller > 0:
            return 0.0
        apart = larger - smaller
        if self._name == "rate":
            apart = math.log(larger / smaller)
        away *= 1 + _SLACK
        return apart / away if away else math.inf
