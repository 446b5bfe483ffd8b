"""What a model returns that is no score of a class."""

from types import SimpleNamespace

import numpy as np
import pytest

from rsbounds.certify import certify as certify_one
from rsbounds.schemes import gaussian


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (
            lambda b: {"main": b, "aux": b},
            "dict of 'main', 'aux': return one of these",
        ),
        (lambda b: np.zeros((len(b), 3, 4, 4)), "ask for maps"),
        (lambda b: b[:, 0].round(), "scores have a column for each class"),
    ],
)
def test_outputs_that_are_no_scores_are_named(model, hint):
    with pytest.raises(ValueError, match=hint) as caught:
        certify_one(model, np.zeros(3, np.float32), gaussian(0.5), n=100)
    assert "arrays.py" not in str(caught.value)  # a place in this package helps nobody


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda b: {"logits": b},
        lambda b: {"aux": -b, "out": b},
        lambda b: SimpleNamespace(logits=b, loss=None),
    ],
)
def test_scores_are_found_in_what_frameworks_return(wrapped):
    x, level = np.array([0.3, 0.1], np.float32), gaussian(0.5)
    plain = certify_one(lambda b: b, x, level, n=100)
    assert certify_one(wrapped, x, level, n=100) == plain
    torch = pytest.importorskip("torch")

    class Module(torch.nn.Module):
        def __init__(self, output):
            super().__init__()
            self.output = output

        def forward(self, b):
            return self.output(b)

    expected = certify_one(Module(lambda b: b), x, level, n=100)
    assert certify_one(Module(wrapped), x, level, n=100) == expected


LOGIT = "a logit z: return the columns 0 and z"
PROBABILITY = "a probability p of the second class: return the columns 1 - p and p"


@pytest.mark.parametrize("shape", [(-1, 1), (-1,)])
def test_a_logit_is_not_taken_for_a_probability(shape):
    """1 - z beside a logit z would move the decision from z > 0 to z > 1/2."""

    def advice(model):
        with pytest.raises(ValueError, match="got shape") as caught:
            certify_one(model, np.zeros(3, np.float32), gaussian(0.5), n=100)
        return str(caught.value)

    outside = advice(lambda b: b[:, 0].reshape(shape))
    assert LOGIT in outside
    assert "probability" not in outside
    holes = advice(lambda b: np.full(len(b), np.nan).reshape(shape))
    assert "probability" not in holes
    inside = advice(lambda b: (1 / (1 + np.exp(-b[:, 0]))).reshape(shape))
    assert PROBABILITY in inside
    assert LOGIT in inside


def test_a_module_that_returns_more_than_scores_is_told(work):
    torch = pytest.importorskip("torch")

    class Two(torch.nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(ValueError, match="tuple of 2"):
        certify_one(Two(), np.zeros(3, np.float32), gaussian(0.5), n=100)
