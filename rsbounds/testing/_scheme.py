"""The suite of schemes: radii against exact classifiers, transport, noise and rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rsbounds.answers import TopClass
from rsbounds.sampling import Sampler
from rsbounds.schemes import Scheme
from rsbounds.testing._properties import hold
from rsbounds.testing._rows import ROWS, RunsOfAnswer, inputs_near, linear
from rsbounds.testing._scheme_case import (
    SchemeCase,
)
from rsbounds.testing._scheme_noise import CHANCES, NOISE, OUTCOMES
from rsbounds.testing._scheme_radius import SCHEME
from rsbounds.testing._scheme_transport import TRANSPORT


def check_scheme(
    scheme: Scheme,
    *,
    x: Any = None,
    fixed: Mapping[str, Any] | None = None,
    sampler: Callable[[Any], Sampler] | None = None,
    model: Callable[[Any], Any] | None = None,
    data: Any = None,
) -> None:
    """Hold a scheme to what every scheme promises.

    Parameters
    ----------
    scheme : Scheme
        As it certifies, with its noise level.
    x : array_like, optional
        An input at which the level is looked at; by default 153/255 everywhere, of as
        many numbers as the parameter ``dim`` says, or four. Noise of whole numbers
        needs one of whole numbers, the largest of which others are drawn up to.
    fixed : mapping, optional
        Changes of the parameters under which the noise is the same everywhere, so that
        the radius must be Cohen's: ``{"rate": 0.0}``. Nothing to be changed for fixed
        noise: ``{}``.
    sampler : callable, optional
        Makes the sampler of a model, a function of a NumPy batch, where
        ``as_sampler(model, scheme)`` can't.
    model : callable, optional
        A function of a batch of copies of at least two classes, where such batches are
        no arrays: by default one that is linear.
    data : tuple of array_like, optional
        Inputs and labels of a few rows, where inputs are of several kinds: by default
        they are drawn, in the range of ``x``.

    Raises
    ------
    AssertionError
        Naming the scheme, the first property that fails, and the numbers.
    ImportError
        Without mpmath and python-flint.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> from rsbounds.testing import check_scheme
    >>> check_scheme(schemes.gaussian(0.5), fixed={})
    >>> class Bold(schemes.Gaussian):
    ...     def radius(self, z_a, sigma, z_b=None):
    ...         return 1.01 * super().radius(z_a, sigma, z_b)
    >>> check_scheme(Bold({"sigma": 0.5}))
    Traceback (most recent call last):
    AssertionError: scheme 'gaussian': No half-space changes the class within ...
    """
    if not isinstance(scheme, Scheme):
        raise AssertionError(f"a scheme must be a Scheme; got {scheme!r:.80}")
    if x is None:
        size = int(min(scheme.parameters.get("dim", 4), 4096))
        x = np.full(size, 153 / 255)  # on the grid of sound noise
    array = np.asarray(x)
    if array.dtype.kind == "f":
        array = array.astype(np.float32)
    case = SchemeCase(scheme, array, fixed, sampler)
    entry = f"scheme {scheme.name!r}"
    hold(entry, case, SCHEME)
    if case.transports:
        hold(entry, case, TRANSPORT)
    if case.sampler_of is None:
        return
    function = linear(case.x.size) if model is None else model
    numbers: dict[str, Any] = {}
    if scheme.bound:
        hold(entry, case, OUTCOMES)
        numbers = {"n": scheme.outcomes, "bound": "exact"}
    else:
        hold(entry, case, CHANCES if scheme.whole else NOISE)
    data = inputs_near(case.x, function) if data is None else data
    with RunsOfAnswer(
        TopClass(scheme), case.sampler_of(function), data, numbers
    ) as rows:
        hold(entry, rows, ROWS)
