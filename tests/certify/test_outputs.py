"""What a model returns that is no score of a class."""

import numpy as np
import pytest

from rsbounds.certify import certify as certify_one
from rsbounds.schemes import gaussian


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (lambda b: {"out": b, "aux": b}, "dict of 'out', 'aux': return one of these"),
        (lambda b: np.zeros((len(b), 3, 4, 4)), "ask for maps"),
        (lambda b: b[:, :1], "return 1 - it beside it"),
        (lambda b: b[:, 0], "scores have a column for each class"),
    ],
)
def test_outputs_that_are_no_scores_are_named(model, hint):
    with pytest.raises(ValueError, match=hint) as caught:
        certify_one(model, np.zeros(3, np.float32), gaussian(0.5), n=100)
    assert "arrays.py" not in str(caught.value)  # a place in this package helps nobody


def test_a_module_that_returns_more_than_scores_is_told(work):
    torch = pytest.importorskip("torch")

    class Two(torch.nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(ValueError, match="tuple of 2"):
        certify_one(Two(), np.zeros(3, np.float32), gaussian(0.5), n=100)
