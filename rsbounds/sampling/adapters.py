"""The port between certification and a classifier, for models of any framework."""

import sys
from inspect import signature
from typing import Any, Protocol

import numpy as np

from rsbounds._numerics.errors import ArgumentError
from rsbounds.frameworks import as_function
from rsbounds.noises import Noise
from rsbounds.sampling.arrays import ArrayFunction, ArraySampler
from rsbounds.sampling.grid_noise import LEVELS
from rsbounds.sampling.questions import Kind, question_of
from rsbounds.sampling.sampler import ModelSampler

_HASH = 64  # hexadecimal digits


class Sampler(Protocol):
    """Classifies noisy copies of one input and counts the classes.

    Called as ``sampler(x, sigma, n, generator)``; returns, for each class, how many of
    n samples of x + sigma N(0, I) the classifier put there, as anything
    ``numpy.asarray`` turns into whole numbers (on demand: a device may still be at
    work). All randomness comes from ``generator``. A sample whose scores hold a NaN
    counts for no class. A sampler of another noise than that says so in an attribute
    ``law``, the same as its scheme's.
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
            f"got {_spelled(drawn)} (a noise of rsbounds.noises is an argument of "
            "as_sampler; noise with a mean or a level of its own on every axis gives "
            "sampler and scheme, as noise.sampler(model) and noise.scheme())"
        )


def _spelled(law: str) -> str:
    """A law for a message: the name of noise of a shape is a long hash."""
    if not law:
        return "x + sigma N(0, I)"
    return f"{law!r}" if len(law) != _HASH else f"noise of a shape, {law[:8]}..."


def as_sampler(model: Any, *, noise: Noise | None = None, **options: Any) -> Sampler:
    """The sampler of a model of any framework, or the sampler that it is already.

    Parameters
    ----------
    model : Sampler, torch.nn.Module, callable, or as in
            :func:`rsbounds.frameworks.as_function`
        A callable of one argument takes a float32 batch and returns scores.
    noise : Noise, optional
        What is drawn in place of sigma N(0, I), such as ``schemes.mask(50, 5).noise``.
        A sampler of your own must have its law.
    options
        Of :class:`rsbounds.torch.TorchSampler`. A callable ignores ``batch`` and takes
        ``sound_noise`` unless it is a sampler already; it refuses the others.

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
    if hasattr(model, "base_classifier") and hasattr(model, "certify"):
        raise ValueError(
            "the model must be the classifier that is smoothed; got "
            f"{type(model).__name__}, which is smoothed already: give its "
            "base_classifier"
        )
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        from rsbounds.sampling.torch_modules import TorchSampler

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
    _refuse_options(options, ready)
    if ready:
        sampler: Sampler = function
        if noise is not None:
            require_law(sampler, noise.law)
        return sampler
    sound_noise = bool(options.get("sound_noise"))
    return ArraySampler(
        function,
        sound_noise=sound_noise,
        grid=options.get("grid", LEVELS),
        noise=noise,
    )


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


def _refuse_options(
    options: dict[str, Any], ready: bool, *, scores: bool = True
) -> None:
    """ArgumentError for an option that a model without torch doesn't take.

    Sound noise goes with the ``scores`` of a model that isn't a sampler yet.
    """
    for name, value in options.items():
        if name == "batch" or value in (None, False, "cpu"):
            continue
        if name in ("sound_noise", "grid") and scores:
            if not ready:
                continue
            raise ArgumentError(
                name, "needs a model; this one is a sampler, which draws its own noise"
            )
        raise ArgumentError(name, "needs a torch module; the model is none")


def output_sampler(
    model: Any,
    kind: Kind,
    law: str = "",
    *,
    noise: Noise | None = None,
    **options: Any,
) -> Sampler:
    """The sampler of a model's outputs, or of the class counts of its positions.

    Parameters
    ----------
    model : Sampler, torch.nn.Module, callable, or as in :func:`as_sampler`
        A module or a function of a NumPy batch is sampled under Gaussian noise. Its
        batches have the shape (count,) or (count, outputs) for values, and (count,
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
    law : str
        Names the noise where it is not sigma N(0, I): without ``noise`` only a sampler
        of your own that draws that law is accepted then.
    noise : Noise, optional
        As for :func:`as_sampler`; its law is taken for ``law``.
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
    law = law if noise is None else noise.law
    model = as_function(model, outputs=True)
    ready: Sampler = as_sampler(model)
    if ready is model:
        require_law(ready, law)
        _refuse_options(options, ready=True, scores=False)
        own_sampler: Sampler = model
        return own_sampler
    if law and noise is None:
        raise ValueError(
            f"{kind} under noise that is not sigma N(0, I) need a sampler of your own, "
            "called as sampler(x, sigma, n, generator), with the law of the scheme"
        )
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        from rsbounds.sampling.torch_modules import TorchModule

        if noise is not None:
            options["noise"] = noise
        if kind == "maps":  # one block at a time: their outputs outweigh inputs
            options["batch"] = 1
        return ModelSampler(TorchModule(model, **options), question_of(kind))
    _refuse_options(options, ready=True, scores=False)
    return ModelSampler(ArrayFunction(model, noise), question_of(kind))
