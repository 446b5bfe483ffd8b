"""What is asked for and what is loaded: for models, denoisers and Hugging Face."""

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rsbounds._numerics.checks import as_floats
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown
from rsbounds.loading.images import Preprocess


@dataclass(frozen=True)
class Request:
    """What a backend is asked for: the name behind its prefix, and the options."""

    spec: str
    name: str
    args: dict[str, Any]
    checkpoint: str | os.PathLike[str] | None
    download: bool
    trust: Sequence[str] = ()

    @property
    def where(self) -> str:
        """The place of the model, as messages name it."""
        return shown(self.spec)

    def require_classes(self, classes: int) -> None:
        """Raise ValueError if published weights have another number of classes."""
        wanted = self.args.get("num_classes", classes)
        if wanted != classes:
            raise ArgumentError(
                "num_classes",
                f"is {wanted}, but the weights of {self.where} have {classes}; a "
                "checkpoint may have others",
            )


@dataclass(frozen=True)
class Loaded:
    """A model and what is known of it: :func:`load_model` returns it, a CALLABLE may.

    Parameters
    ----------
    model : torch.nn.Module, callable or estimator
        Maps a batch (count, *shape of x) to scores (count, classes), arrays or tensors,
        or to what :func:`rsbounds.frameworks.scores_in` finds them in; or a model of
        another framework, as :func:`rsbounds.frameworks.as_function` takes it.
    mean, std : float or sequence of float, optional
        Of each channel, for pixels in [0, 1]: the model expects (x - mean)/std. The
        model that :func:`load_model` returns normalises by itself, and takes x in its
        own range.
    preprocess : Preprocess, optional
        What images go through before noise.
    labels : sequence, optional
        Names of the classes in their order, or the numbers that data label them with.
    describe : mapping
        For the manifest: what makes this model another one (hashes, versions).
    tokenizer : optional
        Of a text classifier, by which :func:`open_data` makes its inputs.
    """

    model: Any
    mean: float | Sequence[float] = 0.0
    std: float | Sequence[float] = 1.0
    preprocess: Preprocess | None = None
    labels: Sequence[Any] | None = None
    describe: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Any = None


def span(input_range: Any) -> tuple[float, float]:
    """Low and high end of a range of inputs, by default (0, 1)."""
    ends = as_floats("input_range", (0.0, 1.0) if input_range is None else input_range)
    if ends.shape != (2,) or not -np.inf < ends[0] < ends[1] < np.inf:
        raise ValueError(
            f"input_range must be (low, high) with low < high; got {input_range}"
        )
    return float(ends[0]), float(ends[1])


def unknown(argument: str, name: str, names: Sequence[str]) -> ArgumentError:
    """The error for a name that isn't among ``names``, with near matches."""
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif len(names) < 30:
        hint = f"there are {', '.join(names)}"
    else:
        hint = f"there are {len(names)} names"
    return ArgumentError(argument, f"{shown(name)!r} is unknown; {hint}")
