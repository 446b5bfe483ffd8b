"""The largest radius that a run could certify, whatever its rows turned out to be."""

from __future__ import annotations

import math

from rsbounds.answers import TopClass, restored
from rsbounds.procedure import at_looks
from rsbounds.results import Results
from rsbounds.schemes import METHODS


def most_of(file: Results) -> float:
    """The radius that all of a run's samples would earn if they agreed.

    From the manifest alone, so that it bounds each radius before one is seen. NaN where
    it is not known: without a manifest, for noise whose level follows the input, and
    for other answers than the class.
    """
    manifest = file.manifest
    if manifest is None or manifest.method not in METHODS:
        return math.nan
    procedure = manifest.procedure
    if procedure.target_radius is not None:
        return procedure.target_radius
    try:
        scheme = METHODS[manifest.method].from_parameters(manifest.parameters)
        answer = restored(manifest.answer, scheme)
        level = answer.scheme.own_level
        if not isinstance(answer, TopClass) or level is None:
            return math.nan
        return max(answer.most_at(level, look) for look in at_looks(procedure))
    except (ValueError, LookupError):  # parameters that need code beside them
        return math.nan
