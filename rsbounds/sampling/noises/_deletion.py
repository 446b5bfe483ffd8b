"""Sequences that lose elements by chance."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rationals import exact_probability
from rsbounds.sampling.noises._noise import (
    Noise,
    as_whole,
    happens,
    spelled,
)

__all__ = ["END", "Deletion", "deletion"]

END = -1  # in a tensor, behind the end of a sequence that has become shorter


class Deletion(Noise):
    """See :func:`deletion`."""

    def __init__(self, delete: Any, *, padding: int = 0) -> None:
        self.delete = exact_probability("delete", delete, "neither")
        self.padding = count("padding", padding)
        self.law = f"deletion delete={spelled(self.delete)}"

    def checked(self, x: Any) -> NDArray[np.int64]:
        if np.ndim(x) != 1:
            raise ArgumentError(
                "x", f"must be one sequence of whole numbers; got shape {np.shape(x)}"
            )
        return as_whole(x).astype(np.int64)

    def noisy(
        self, x: Any, sigma: float, size: int, generator: np.random.Generator
    ) -> tuple[Any, Any]:
        left = ~happens(self.delete, (size, x.size), generator)
        return [x[row] for row in left], False

    def presented(self, batch: Any) -> list[NDArray[np.int64]]:
        """A list of sequences, each as long as what is left of it."""
        return list(batch)


def deletion(delete: Any, *, padding: int = 0) -> Deletion:
    """Each element of a sequence is deleted with one probability, independently.

    The elements that are left close up. A function is called with a list of int64
    arrays of different lengths, some perhaps empty. The probability is exact: see
    :func:`categorical`.

    Parameters
    ----------
    delete : float or Fraction
        In (0, 1).
    padding : int
        What a torch module sees behind the end of a sequence that has become shorter:
        its batches are as long as the input. The certificate is one for a function of
        sequences, so the module must not see how many there are: by the
        ``attention_mask`` that it is called with, or because this number stands for
        nothing else.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Huang et al., RS-Del: edit distance robustness certificates for sequence classifiers
    via randomized deletion, NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling import as_sampler, noises
    >>> def model(sequences):  # whether at least half are left
    ...     return np.array([[len(s) >= 5, len(s) < 5] for s in sequences], float)
    >>> sampler = as_sampler(model, noise=noises.deletion(0.1))
    >>> sampler(np.arange(10), 1.0, 100, np.random.default_rng(0)).tolist()
    [100, 0]
    """
    return Deletion(delete, padding=padding)
