"""Schemes from others' code: proven by the kind of object it returns, asserted, or its own.

A proof belongs to a kind of this package's (never to a method called ``scheme``): SigmaNetwork,
CertifiedGenerator, NoiseMaps, FixedNoise and KNNSigma, no subclass of them. A :class:`Scheme` of
one of this package's methods is taken at its parameters, whose bounds are asserted; one of
another method is another package's, and rows say so.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rsbounds.certificate import ANOTHERS, THIS_INPUT
from rsbounds.composite import Rule
from rsbounds.loading import guarded
from rsbounds.schemes import METHODS, Method, Scheme, gaussian, semielastic
from rsbounds.schemes._scheme import NORM, POSITIVE, RADIUS

_SHAPED = ("anisotropic", "generator")
_KINDS = (
    "a Scheme, a Rule, a SigmaNetwork, a CertifiedGenerator, NoiseMaps, FixedNoise or a KNNSigma"
)


def scheme(
    what: str, made: Any, description: Mapping[str, Any], dim: int, sound: bool
) -> Scheme | Rule:
    """The scheme of what others' code returned, for inputs of ``dim`` numbers.

    ``what`` names the code in messages, ``description`` says in the manifest which it was;
    ``sound`` asks for a scheme that is, where its kind has one.

    Raises
    ------
    ValueError
        If it is of no kind that certifies, or its parameters can't stand in a manifest.
    """
    if isinstance(made, Rule):
        return made
    found = _of(what, made, dim, sound)
    try:
        parameters = json.loads(json.dumps({**found.parameters, "code": dict(description)}))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{what}: its parameters can't stand in a manifest: {error}") from None
    return replace(found, parameters=parameters)


def noise(made: Any) -> Any:
    """Noise of a shape whose ``scheme(norm)`` is that of its own kind; None for anything else."""
    if "torch" in sys.modules:
        from rsbounds.torch import CertifiedGenerator, FixedNoise, NoiseMaps

        if type(made) in (CertifiedGenerator, NoiseMaps):
            return type(made).noise(made)
        if type(made) is FixedNoise:
            return made
    return None


def _of(what: str, made: Any, dim: int, sound: bool) -> Scheme:
    from rsbounds.semielastic import KNNSigma

    if isinstance(made, Scheme):
        return _stated(what, made, dim)
    if type(made) is KNNSigma:
        points = made._anchors.points
        own: dict[str, Any] = {"sigma": made.sigma_base, "k": made.k, "shift": made.shift}
        own["anchors"] = hashlib.sha256(points.tobytes()).hexdigest()
        found = semielastic(made, dim, sound=sound)
        return replace(found, parameters={**found.parameters, **own})
    shaped = noise(made)
    if shaped is not None:
        shape_scheme: Scheme = shaped.scheme(sound=sound)
        return shape_scheme
    if "torch" in sys.modules:
        from rsbounds.torch import NoiseGenerator, SigmaNetwork

        if type(made) is SigmaNetwork:
            return SigmaNetwork.scheme(made, dim, sound=sound)
        if isinstance(made, NoiseGenerator):
            raise ValueError(
                f"{what} returns a NoiseGenerator, which chooses its noise anew at every input and "
                "certifies none: a CertifiedGenerator does"
            )
    raise ValueError(f"{what} must return {_KINDS}; got {type(made).__name__}")


def _stated(what: str, made: Scheme, dim: int) -> Scheme:
    """A scheme as it was stated: of a method of ours, or of another's."""
    method = METHODS.get(made.method)
    if method is None:
        if not (isinstance(made.method, str) and made.method.isprintable() and made.method):
            raise ValueError(f"{what}: the method must be a name; got {made.method!r}")
        return replace(
            made,
            scope=ANOTHERS,
            sigma=partial(_level, what, made.sigma, {}),
            radius=partial(_radius, what, made.radius),
            norm=NORM.one(f"{what}: norm", made.norm),
        )
    if made.method in _SHAPED:
        raise ValueError(f"{what} must return the noise itself, not its scheme: {_KINDS}")
    if made.method == "composite":
        raise ValueError(f"{what} must return the Rule, not a Scheme of method composite")
    if made.sampler is not None:
        raise ValueError(f"{what}: a scheme of method {made.method} has no sampler of its own")
    known = {}
    for name, domain in method.parameters.items():
        if name in made.parameters or name in method.required:
            given: Any = made.parameters.get(name)
            known[name] = domain.one(f"{what}: {name}", given)
    if "dim" in known and not known["dim"] >= dim:
        raise ValueError(f"{what}: dim must be at least {dim}, as --data; got {known['dim']}")
    if made.method == "gaussian":
        fixed = gaussian(known["sigma"], norm=known.get("norm", 2.0), dim=dim)
        return replace(fixed, scope=THIS_INPUT) if made.scope == THIS_INPUT else fixed
    level = partial(_level, what, made.sigma, known)
    found = method.scheme(level, {**made.parameters, **known})
    return replace(found, scope=THIS_INPUT) if made.scope == THIS_INPUT else found


def radius(what: str, method: Method, parameters: Mapping[str, Any]) -> Callable[..., float]:
    """The radius of another package's method as a function of evidence and parameters alone."""
    if lacking := sorted(method.required - parameters.keys()):
        raise ValueError(f"{what}: its parameters lack {', '.join(lacking)}")
    return partial(_radius, what, method.of(parameters))


# module-level functions, so that a scheme can be sent to another process


def _level(what: str, sigma: Callable[[Any], Any], known: Mapping[str, float], x: Any) -> float:
    low, high = known.get("sigma_min", 0.0), known.get("sigma_max", math.inf)
    said = guarded(f"{what}: sigma(x)", partial(sigma, x))
    found = POSITIVE.one(f"{what}: sigma(x)", said)
    if not low <= found <= high:
        raise ValueError(f"{what}: sigma(x) must be in [{low}, {high}]; got {found}")
    return found


def _radius(
    what: str,
    radius: Callable[..., Any],
    score: float,
    sigma: float,
    score_b: float | None = None,
) -> float:
    said = guarded(f"{what}: the radius", partial(radius, score, sigma, score_b))
    return RADIUS.one(f"{what}: the radius", said)
