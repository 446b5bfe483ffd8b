"""Schemes from others' code: proven by the kind of object it returns, asserted, or its own.

A proof belongs to a kind of this package's (never to a method called ``scheme``): SigmaNetwork,
CertifiedGenerator, NoiseMaps, FixedNoise and KNNSigma, no subclass of them. A :class:`Scheme` of
one of this package's methods is taken at its parameters, whose bounds are asserted; one of
another method is another package's, and rows say so.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from copy import copy
from typing import Any

from rsbounds.certificate import ANOTHERS, THIS_INPUT
from rsbounds.composite import Rule
from rsbounds.schemes import METHODS, Scheme, gaussian, semielastic
from rsbounds.schemes._domains import NORM

_KINDS = (
    "a Scheme, a Rule, a SigmaNetwork, a CertifiedGenerator, NoiseMaps, FixedNoise or a KNNSigma"
)
_AS_ITSELF = {"anisotropic": "noise itself", "generator": "noise itself", "composite": "Rule"}


def scheme(
    what: str, made: Any, description: Mapping[str, Any], dim: int, sound: bool
) -> Scheme | Rule:
    """The scheme of what others' code returned, for inputs of ``dim`` numbers.

    ``what`` names the code in messages, ``description`` says in the manifest which it was;
    ``sound`` asks for a scheme that is, where its kind has one. ValueError if it is of no kind
    that certifies, or its parameters can't stand in a manifest.
    """
    if isinstance(made, Rule):
        return made
    scheme = _stated(what, made, dim) if isinstance(made, Scheme) else _proven(made, dim, sound)
    if scheme is None:
        raise ValueError(f"{what} must return {_KINDS}; got {type(made).__name__}")
    try:
        parameters = json.loads(json.dumps({**scheme.parameters, "code": dict(description)}))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{what}: its parameters can't stand in a manifest: {error}") from None
    scheme.parameters = parameters
    return scheme


def noise(made: Any) -> Any:
    """Noise of a shape whose ``scheme(norm)`` is that of its own kind; None for anything else."""
    if "torch" in sys.modules:
        from rsbounds.torch import CertifiedGenerator, FixedNoise, NoiseMaps

        if type(made) in (CertifiedGenerator, NoiseMaps):
            return type(made).noise(made)
        if type(made) is FixedNoise:
            return made
    return None


def _proven(made: Any, dim: int, sound: bool) -> Scheme | None:
    """The scheme of an object that proves its bounds; None for anything else."""
    from rsbounds.semielastic import KNNSigma

    if type(made) is KNNSigma:
        anchors = hashlib.sha256(made._anchors.points.tobytes()).hexdigest()
        neighbours = semielastic(made, dim, sound=sound)
        neighbours.parameters |= {"sigma": made.sigma_base, "k": made.k, "shift": made.shift}
        neighbours.parameters["anchors"] = anchors
        return neighbours
    if "torch" not in sys.modules:
        return None
    from rsbounds.torch import NoiseGenerator, SigmaNetwork

    if type(made) is SigmaNetwork:
        return SigmaNetwork.scheme(made, dim, sound=sound)
    if isinstance(made, NoiseGenerator):
        raise ValueError(
            "a NoiseGenerator chooses its noise anew at every input and certifies none: a "
            "CertifiedGenerator does"
        )
    shaped = noise(made)
    return None if shaped is None else shaped.scheme(sound=sound)


def _stated(what: str, made: Scheme, dim: int) -> Scheme:
    """A scheme as it was stated: of a method of ours, or of another's."""
    if not (isinstance(made.name, str) and made.name.isprintable() and made.name):
        raise ValueError(f"{what}: the method must be a name; got {made.name!r}")
    if made.name not in METHODS:
        another = copy(made)
        another.norm, another.scope = NORM.one(f"{what}: norm", made.norm), ANOTHERS
        return another
    if made.name in _AS_ITSELF:
        raise ValueError(f"{what} must return the {_AS_ITSELF[made.name]}, not its scheme")
    # Only the parameters are taken, and sigma(x) checked against them: the radius is the method's.
    try:
        scheme = METHODS[made.name].from_parameters(made.parameters, level=made.sigma)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    own = scheme.parameters
    if not (size := own.get("dim", dim)) >= dim:
        raise ValueError(f"{what}: dim must be at least {dim}, as --data; got {size}")
    if made.name == "gaussian":
        scheme = gaussian(own["sigma"], norm=own.get("norm", 2.0), dim=dim)
    if made.scope == THIS_INPUT:
        scheme.scope = THIS_INPUT
    return scheme
