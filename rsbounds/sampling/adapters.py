"""The port between certification and a classifier, for models of any framework."""

import sys
from inspect import signature
from typing import Any, Protocol

import numpy as np

from rsbounds._numerics.checks import instance
from rsbounds._numerics.errors import ArgumentError
from rsbounds.frameworks import as_function
from rsbounds.noises import Noise
from rsbounds.sampling.arrays import ArrayFunction, ArraySampler
from rsbounds.sampling.questions import Kind, question_of
from rsbounds.sampling.sampler import ModelSampler
from rsbounds.schemes import Scheme

_HASH = 64  # hexadecimal digits


class Sampler(Protocol):
    """Classifies noisy copies of one input and counts the classes.

    Called as ``sampler(x, sigma, n, generator)``; returns, for each class, how many of
    n samples of x + sigma N(0, I) the classifier put there, as anything
    ``numpy.asarray`` turns into whole numbers (on demand: a device may still be at
    work). All randomness comes from ``generator``. A sample whose scores hold a NaN
    counts for no class. A sampler of another noise than that says so in an attribute
    ``law``, the same as its scheme's. The scope of certificates says that a law of
    one's own sampler is asserted.
    """

    def __call__(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> Any: ...


def require_law(sampler: Sampler, law: str) -> None:
    """ValueError unless the sampler draws noise of that law; "" is sigma N(0, I)."""
    drawn = str(getattr(sampler, "law", ""))
    if drawn != law:
        raise ValueError(
            f"the sampler must draw the noise that the radius is for, {_spelled(law)}; "
            f"got {_spelled(drawn)} (as_sampler(model, scheme) draws the noise of the "
            "scheme)"
        )


def _spelled(law: str) -> str:
    """A law for a message: the name of noise of a shape is a long hash."""
    if not law:
        return "x + sigma N(0, I)"
    return f"{law!r}" if len(law) != _HASH else f"noise of a shape, {law[:8]}..."


def as_sampler(model: Any, scheme: Scheme | None = None, **options: Any) -> Sampler:
    """The sampler of a model of any framework, or the sampler that it is already.

    Parameters
    ----------
    model : Sampler, torch.nn.Module, callable, or as in
            :func:`rsbounds.frameworks.as_function`
        A callable of one argument takes a batch, in the type of the input, and returns
        scores.
    scheme : Scheme, optional
        Whose noise is drawn, such as ``schemes.mask(50, 5)``; by default sigma N(0, I).
        A sampler of your own must have its law.
    options
        Of :class:`rsbounds.torch.TorchSampler`. A callable ignores ``batch``; it
        refuses the others.

    Returns
    -------
    Sampler
        Called as ``sampler(x, sigma, n, generator)``.

    Raises
    ------
    ValueError
        For what is no model, and for options that it has no use for.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling import as_sampler
    >>> sampler = as_sampler(lambda batch: batch)
    >>> as_sampler(sampler) is sampler
    True
    """
    noise = None if scheme is None else _noise_of(scheme, is_sampler(model))
    if hasattr(model, "base_classifier") and hasattr(model, "certify"):
        raise ValueError(
            "the model must be the classifier that is smoothed; got "
            f"{type(model).__name__}, which is smoothed already: give its "
            "base_classifier"
        )
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        from rsbounds.sampling.torch_sampler import TorchSampler

        if noise is not None:
            options["noise"] = noise
        return TorchSampler(model, **options)
    function = as_function(model)
    if not callable(function) or isinstance(function, type):
        kind = type(function).__name__
        if isinstance(function, type):
            kind = f"the class {function.__name__}"
        raise ValueError(
            "the model must be a torch module, an estimator, a callable or a sampler; "
            f"got {kind}"
        )
    ready = _is_sampler(function)
    _refuse_options(options)
    if ready:
        sampler: Sampler = function
        if scheme is not None:
            require_law(sampler, scheme.law)
        return sampler
    return ArraySampler(function, noise=noise)


def _noise_of(scheme: Scheme, ready: bool) -> Noise | None:
    """What is drawn for a scheme, None for sigma N(0, I).

    ArgumentError for a law that the scheme doesn't say how to draw, unless the model
    is a sampler, which does.
    """
    instance("scheme", scheme, Scheme, "a scheme, such as schemes.gaussian(0.5)")
    noise = scheme.drawn
    if scheme.law and noise is None and not ready:
        raise ArgumentError(
            "model",
            f"must be a sampler, called as sampler(x, sigma, n, generator), of the law "
            f"{_spelled(scheme.law)}: this scheme of method {scheme.name!r} doesn't "
            "say how its noise is drawn",
        )
    return noise


def grid_of(sampler: Any) -> int | None:
    """The levels of the grid that its noise is rounded to, None of any other noise."""
    noise = getattr(sampler, "noise", None)
    return noise.grid if isinstance(noise, Noise) else None


def is_watched(model: Any) -> bool:
    """Whether a model's samples are episodes, in which an attacker may watch."""
    return bool(getattr(model, "is_watched", False))


def is_sampler(model: Any) -> bool:
    """Whether a model is a sampler already, which draws its own noise."""
    if isinstance(model, type) or not callable(model):
        return False
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        return False
    return as_function(model) is model and _is_sampler(model)


def _is_sampler(function: Any) -> bool:
    """Whether a callable takes x, sigma, n and a generator."""
    try:
        signature(function).bind(None, 1.0, 1, None)
    except (TypeError, ValueError):  # ValueError: a builtin doesn't tell its arguments
        return False
    return True


def _refuse_options(options: dict[str, Any]) -> None:
    """ArgumentError for an option that a model without torch doesn't take."""
    for name, value in options.items():
        if name != "batch" and value not in (None, False, "cpu"):
            raise ArgumentError(name, "needs a torch module; the model is none")


def output_sampler(
    model: Any,
    kind: Kind,
    scheme: Scheme | None = None,
    **options: Any,
) -> Sampler:
    """The sampler of a model's outputs, or of the class counts of its positions.

    Parameters
    ----------
    model : Sampler, torch.nn.Module, callable, or as in :func:`as_sampler`
        A module or a function of a NumPy batch is sampled. What it
        returns has the shape (count,) or (count, outputs) for values, and (count,
        classes, *positions) for maps. A sampler of your own is returned as it is.
    kind : {"values", "maps"}
        What a call of the sampler, ``sampler(x, sigma, n, generator)``, returns:

        "values"
            The outputs of the n samples, floats of shape (n, outputs); a void sample
            is a row of NaN.
        "maps"
            For each position how many samples chose each class, whole numbers of shape
            (positions, classes); a sample whose scores hold a NaN at a position counts
            for no class there.
    scheme : Scheme, optional
        As for :func:`as_sampler`.
    **options
        As for :func:`as_sampler`; maps take one block of noise at a time, whatever
        ``batch`` says.

    Raises
    ------
    ValueError
        If the model is none of these, or the noise has another law.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling.adapters import output_sampler
    >>> sampler = output_sampler(lambda batch: batch.sum(axis=1), "values")
    >>> sampler(np.zeros(3), 1.0, 5, np.random.default_rng(0)).shape
    (5, 1)
    """
    model = as_function(model, outputs=True)
    ready: Sampler = as_sampler(model)
    noise = None if scheme is None else _noise_of(scheme, ready is model)
    if ready is model:
        require_law(ready, "" if scheme is None else scheme.law)
        _refuse_options(options)
        own_sampler: Sampler = model
        return own_sampler
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        from rsbounds.sampling.torch_modules import TorchModule

        if noise is not None:
            options["noise"] = noise
        if kind == "maps":  # one block at a time: their outputs outweigh inputs
            options["batch"] = 1
        return ModelSampler(TorchModule(model, **options), question_of(kind))
    _refuse_options(options)
    return ModelSampler(ArrayFunction(model, noise), question_of(kind))
