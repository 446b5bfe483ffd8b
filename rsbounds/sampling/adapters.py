"""From a model of any framework to a sampler."""

import sys
from inspect import signature
from typing import Any

from rsbounds.frameworks import as_function
from rsbounds.sampling.arrays import ArraySampler
from rsbounds.sampling.port import Sampler


def as_sampler(model: Any, **options: Any) -> Sampler:
    """The sampler of a model of any framework, or the sampler that it is already.

    Parameters
    ----------
    model : Sampler, torch.nn.Module, callable, or as :func:`rsbounds.frameworks.as_function`
        A callable of one argument takes a float32 batch and returns scores.
    options
        Of :class:`rsbounds.torch.TorchSampler`. A callable ignores ``batch`` and takes
        ``sound_noise`` unless it is a sampler already; it refuses the others.

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
            f"the model must be the classifier that is smoothed; got {type(model).__name__}, which "
            "is smoothed already: give its base_classifier"
        )
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        from rsbounds.sampling.torch_modules import TorchSampler

        return TorchSampler(model, **options)
    model = as_function(model)
    if not callable(model) or isinstance(model, type):
        got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise ValueError(
            "the model must be a torch module, an estimator, a callable or a sampler; got " + got
        )
    try:
        signature(model).bind(None, 1.0, 1, None)  # x, sigma, n, generator: a sampler
        ready = True
    except (TypeError, ValueError):  # ValueError: a builtin says nothing of its arguments
        ready = False
    accepted = ("batch",) if ready else ("batch", "sound_noise")
    for name, value in options.items():
        if name not in accepted and value not in (None, False, "cpu"):
            flag = f"--{name.replace('_', '-')}"
            if name == "sound_noise":
                raise ValueError(
                    f"{flag} needs a model; this one is a sampler, which draws its own noise"
                )
            raise ValueError(f"{flag} needs a torch module; the model is none")
    return model if ready else ArraySampler(model, sound_noise=bool(options.get("sound_noise")))
