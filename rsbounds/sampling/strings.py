"""Functions of strings under noise on tokens: the tokenizer is the user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class OnStrings:
    """See :func:`on_strings`."""

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        decode: Callable[[Sequence[int]], str],
    ) -> None:
        self.function = function
        self.decode = decode

    def __call__(self, batch: Any) -> Any:
        """What the function returns for the strings of a batch of token numbers."""
        return self.function([self._string(tokens) for tokens in batch])

    def _string(self, tokens: NDArray[np.int64]) -> str:
        text = self.decode(tokens.tolist())
        if not isinstance(text, str):
            raise ValueError(
                f"decode must return a string for each list of token numbers; got "
                f"{type(text).__name__}"
            )
        return text


def on_strings(
    function: Callable[[list[str]], Any], decode: Callable[[Sequence[int]], str]
) -> OnStrings:
    """A function of strings as one of token numbers, which noise is drawn on.

    What is certified is a change of tokens: an attack on the string is one of as many
    edits as its tokens need. Where the tokenizer makes many tokens of one changed
    letter, the certificate counts many.

    Parameters
    ----------
    function : callable
        Takes a list of strings and returns scores (count, classes).
    decode : callable
        Takes the numbers of some tokens, a list of int, and returns their string. It
        must know every number that the noise shows, such as that of the mask.

    Raises
    ------
    ValueError
        When it is called, if ``decode`` returns anything but strings.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import schemes
    >>> from rsbounds.sampling import as_sampler, on_strings
    >>> words = ["[hidden]", "a", "good", "bad", "film"]
    >>> def function(strings):
    ...     return np.array([[s.count("good"), s.count("bad")] for s in strings])
    >>> model = on_strings(function, lambda ids: " ".join(words[i] for i in ids))
    >>> scheme = schemes.mask(5, 2, hidden=0)
    >>> sampler = as_sampler(model, scheme)
    >>> x = [words.index(word) for word in "a good good good film".split()]
    >>> sampler(np.array(x), scheme.own_level, 50, np.random.default_rng(0)).tolist()
    [50, 0]
    """
    return OnStrings(function, decode)
