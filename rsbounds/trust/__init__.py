"""What is proven and what is asserted: the one place that decides which.

A proof belongs to a kind of this package's (never to a method called ``scheme``), which
its room enters here:
:class:`~rsbounds.torch.SigmaNetwork`, :class:`~rsbounds.torch.CertifiedGenerator`,
:class:`~rsbounds.torch.NoiseMaps`, :class:`~rsbounds.torch.FixedNoise` and
:class:`~rsbounds.semielastic.KNNSigma`, no subclass of them. A
:class:`~rsbounds.schemes.Scheme` of one of this package's methods is taken at its
parameters, whose bounds are asserted; one of another method is another package's, and
rows say so.
"""

import json
import math
import warnings
from collections.abc import Mapping
from copy import copy
from functools import partial
from types import SimpleNamespace
from typing import Any

from rsbounds._numerics.errors import ArgumentError
from rsbounds.certificate import (
    ANOTHERS,
    ASSERTED_ENVELOPE,
    PROVEN,
    THIS_INPUT,
    Norm,
)
from rsbounds.composite import Rule
from rsbounds.loading import internal as loading
from rsbounds.schemes import METHODS, Scheme, semielastic, transformed
from rsbounds.schemes.internal import Given
from rsbounds.semielastic import KNNSigma
from rsbounds.trust import _kinds
from rsbounds.trust._kinds import kind_of, why_refused

_KINDS = (
    "a Scheme, a Rule, a SigmaNetwork, a CertifiedGenerator, NoiseMaps, FixedNoise or "
    "a KNNSigma"
)


def by_name(name: str, options: Mapping[str, Any], given: Given) -> Scheme:
    """The scheme that a method of the list makes of its options.

    Parameters
    ----------
    name : str
        A key of :data:`rsbounds.schemes.METHODS`.
    options : mapping
        The values of the method's options, by name.
    given : Given
        What is known of the inputs, and what loads what the options name.
    """
    scheme = METHODS[name].from_options(options, given)
    if not METHODS.is_own(name):
        scheme.scope = ANOTHERS  # whatever the other package's code makes of it
    return scheme


def moving(scheme: Scheme, spec: str) -> Scheme:
    """The scheme whose noise moves the parameter of a transformation.

    Parameters
    ----------
    scheme : Scheme
        The law of the parameter.
    spec : str
        A name of :data:`rsbounds.transforms.TRANSFORMS`, or MODULE:CALLABLE: what
        CALLABLE() returns is asserted to be a group.
    """
    if ":" not in spec:
        return transformed(scheme, spec)
    made = loading.call("transform", spec)
    moved = transformed(scheme, made)
    entry = moved.parameters["transform"]
    if not isinstance(entry, str):
        code = loading.fingerprint(spec, made)
        moved.parameters["transform"] = {**entry, "code": code}
    return moved


def by_code(
    spec: str, arguments: str | None, shape: int | tuple[int, ...]
) -> Scheme | Rule:
    """The scheme of what the CALLABLE of ``MODULE:CALLABLE`` returns.

    Parameters
    ----------
    spec, arguments : str
        The code, and ``key=value,...`` that CALLABLE is called with.
    shape : int or tuple of int
        Shape of one input, or how many numbers it has.

    Raises
    ------
    ArgumentError
        Of the argument ``method``, if the object is of no kind that certifies, or can't
        stand in a manifest.
    """
    options = loading.parse_arguments(arguments or "")
    made = loading.call("method", spec, **options)
    try:
        scheme = scheme_of(made, shape)
        code = {**loading.fingerprint(spec, made), "args": options}
    except ValueError as error:
        raise ArgumentError("method", f"{spec}: {error}") from error
    if isinstance(scheme, Rule):
        return scheme
    claims = isinstance(made, Scheme) and made.scope in PROVEN
    if claims and scheme.scope == ASSERTED_ENVELOPE:
        warnings.warn(
            f"{spec} returns a scheme that says {made.scope!r}: from code of one's own "
            f"it is taken as {scheme.scope!r}",
            RuntimeWarning,
            stacklevel=2,
        )
    try:
        parameters = json.dumps({**scheme.parameters, "code": code})
    except (TypeError, ValueError, RecursionError) as error:
        problem = f"{spec}: its parameters can't stand in a manifest: {error}"
        raise ArgumentError("method", problem) from None
    scheme.parameters = json.loads(parameters)
    return scheme


def scheme_of(made: Any, shape: int | tuple[int, ...]) -> Scheme | Rule:
    """The scheme of an object for inputs of that shape, or the rule that it is.

    Raises
    ------
    ValueError
        If the object is of no kind that certifies, or certifies no such inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.trust import scheme_of
    >>> from rsbounds.semielastic import KNNSigma
    >>> class Faster(KNNSigma):
    ...     pass
    >>> scheme_of(KNNSigma(np.zeros((3, 4)), 0.5, 0.01, 1, 0.0), 4).scope
    'sigma(x) with a proven envelope'
    >>> scheme_of(Faster(np.zeros((3, 4)), 0.5, 0.01, 1, 0.0), 4)
    Traceback (most recent call last):
    ValueError: what certifies must be a Scheme, a Rule, ...; got Faster
    """
    if isinstance(made, Rule):
        return made
    if isinstance(made, Scheme):
        return _of_our_method(made, _dim(shape))
    scheme = _proven(made, shape)
    if scheme is None:
        raise ValueError(f"what certifies must be {_KINDS}; got {type(made).__name__}")
    return scheme


def noise_of(made: Any) -> Any:
    """Return noise of a shape, whose method ``scheme`` rests on its proof.

    None for anything else.
    """
    kind = kind_of(made)
    return None if kind is None or kind.noise is None else kind.noise(made)


def network_of(made: Any) -> Any:
    """Return an object whose method ``scheme`` is that of a SigmaNetwork.

    Whatever a subclass or the instance puts for it; None for what is no such network.
    """
    scheme = _kinds.network_of(made)
    return None if scheme is None else SimpleNamespace(scheme=partial(scheme, made))


def _dim(shape: int | tuple[int, ...]) -> int:
    """How many numbers an input has."""
    return shape if isinstance(shape, int) else math.prod(shape)


def _proven(made: Any, shape: int | tuple[int, ...]) -> Scheme | None:
    """The scheme of an object that proves its bounds; None for anything else."""
    if type(made) is KNNSigma:
        neighbours = semielastic(made, _dim(shape))
        neighbours.parameters |= made.parameters
        return neighbours
    why = why_refused(made)
    if why is not None:
        raise ValueError(why)
    kind = kind_of(made)
    if kind is None:
        return None
    if kind.scheme is not None:
        return kind.scheme(made, shape)
    scheme: Scheme = noise_of(made).scheme()
    return scheme


def _of_our_method(made: Scheme, dim: int) -> Scheme:
    """A scheme as it was stated: of a method of ours, or of another's."""
    if not (isinstance(made.name, str) and made.name.isprintable() and made.name):
        raise ValueError(f"the method must be a name; got {made.name!r}")
    if not METHODS.is_own(made.name):
        another = copy(made)
        another.norm = Norm.of(made.norm).spelled
        another.scope = ANOTHERS
        return another
    method = METHODS[made.name]
    if method.made_by:
        raise ValueError(f"the code must return {method.made_by}, not its scheme")
    # Only the parameters are taken, and sigma(x) checked against them: the object's own
    # radius may be any.
    scheme = method.for_inputs(made.parameters, made.sigma, dim)
    if made.scope == THIS_INPUT:  # it claims less than the method, which is its right
        scheme.scope = THIS_INPUT
    return scheme
