"""Smoothing schemes: the noise level at an input and the radius that scores earn there.

A scheme is all that certification needs to know of a theory. Each file of this room holds one:
name, scope, command-line options, construction from them, radius. Result files, the command
line and reports look methods up in ``METHODS``; ``rsbounds.oracle.certificates`` evaluates each
independently.
"""

from __future__ import annotations

from collections.abc import Mapping

from rsbounds.certificate import ANOTHERS, FIXED_NOISE, PROVEN_ENVELOPE, PROVEN_MAPS, THIS_INPUT
from rsbounds.schemes import (
    _composite,
    _gaussian,
    _lipschitz,
    _range,
    _registered,
    _semielastic,
    _shaped,
)
from rsbounds.schemes._gaussian import gaussian, this_input
from rsbounds.schemes._lipschitz import lipschitz
from rsbounds.schemes._range import sigma_range
from rsbounds.schemes._registered import registered
from rsbounds.schemes._scheme import Domain, Given, Method, Option, Scheme, level_slack
from rsbounds.schemes._semielastic import semielastic
from rsbounds.schemes._shaped import inner_radius

__all__ = [
    "ANOTHERS",
    "FIXED_NOISE",
    "METHODS",
    "PROVEN_ENVELOPE",
    "PROVEN_MAPS",
    "THIS_INPUT",
    "Domain",
    "Given",
    "Method",
    "Option",
    "Scheme",
    "find",
    "gaussian",
    "inner_radius",
    "level_slack",
    "lipschitz",
    "registered",
    "semielastic",
    "sigma_range",
    "this_input",
]

#: Every method that writes result rows, by its name in them.
METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        _gaussian.METHOD,
        _semielastic.METHOD,
        *_lipschitz.METHODS.values(),
        _range.METHOD,
        _shaped.ANISOTROPIC,
        _shaped.GENERATOR,
        _composite.METHOD,
    )
}


def find(name: str) -> Method:
    """The method of that name: one of ``METHODS``, or one that another package registers.

    Another package's method is an entry point of the group "rsbounds.schemes" that is a
    :class:`Method`, with its options and ``build``; its rows state the scope ``ANOTHERS``.

    Parameters
    ----------
    name : str
        As result files and ``rsbounds certify --method`` have it.

    Returns
    -------
    Method

    Raises
    ------
    ValueError
        If there is none (with near matches), or what is registered is no method of that name.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> schemes.find("semi-elastic").scope
    'sigma(x) with a proven envelope'
    """
    return _registered.find(name, METHODS)
