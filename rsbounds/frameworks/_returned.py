"""What models of several outputs return, and the scores in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Entries that hold the scores where a model returns several: transformers' and
#: torchvision's.
SCORES = ("logits", "out")


def scores_in(returned: Any) -> Any:
    """The scores in what a model returned: its ``logits``, ``["logits"]``, ``["out"]``.

    Parameters
    ----------
    returned : array, tensor, mapping or object with ``logits``
        What has none of these is returned as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.frameworks import scores_in
    >>> scores_in({"out": np.ones((2, 3)), "aux": np.zeros((2, 3))}).shape
    (2, 3)
    """
    if isinstance(returned, Mapping):
        names = [name for name in SCORES if name in returned]
        return returned[names[0]] if names else returned
    return getattr(returned, "logits", returned)
