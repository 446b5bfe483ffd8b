"""Every public object can be pickled and copied: workers and notebooks do both."""

import copy
import pickle

import numpy as np
import pytest

import rsbounds as rs
from rsbounds import answers, composite, confidence, sampling, schemes
from rsbounds.certify import Procedure, Settings, certify
from rsbounds.results import Results, Row

X = np.array([[0.9, 0.1], [0.2, 0.7], [0.4, 0.5]])
LABELS = np.array([0, 1, 1])


def scores(batch):
    return batch


def knn():
    return rs.semielastic.KNNSigma(X, 0.5, 0.1, 2, 1.0)


def votes():
    return sampling.ArraySampler(scores)


def certificate():
    return certify(votes(), X[0], schemes.gaussian(0.5), n=100)


def rule():
    gate = [composite.Cond("margin", 0), composite.Cond("score", 0, -0.3)]
    return composite.Rule([1.0, 0.5], [gate, [composite.Cond("margin", 1)]])


MADE = {
    "procedure": lambda: Procedure(n=1000, margin=0.1),
    "settings": Settings,
    "certificate": certificate,
    "certificate of nothing": lambda: certify(
        votes(), np.zeros(2), schemes.gaussian(0.5), n=100
    ),
    "row": lambda: Row(0, 1, 1, float("nan"), True, "fixed noise", sigma=0.5),
    "results": lambda: Results("", (Row(0, 1, 1, 0.5, True, "fixed noise"),)),
    "array sampler": votes,
    "sound sampler": lambda: sampling.ArraySampler(scores, sound_noise=True),
    "draws": lambda: sampling.Draws([votes()], X[0], [0.5], Procedure(), 0),
    "stream": lambda: sampling.stream(0, 0, sampling.Phase.SELECT),
    "nearest neighbours": knn,
    "rule": rule,
    "envelope": lambda: rs.envelope.SemiElastic(0.1),
    "sequential test": lambda: confidence.SequentialTest(0.25, 0.25, 0.001),
    "histogram": confidence.ScoreHistogram,
    "distribution": lambda: rs.stats.ncx2(784, 20.0),
    "gaussian": lambda: schemes.gaussian(0.5),
    "this input": lambda: schemes.this_input(0.5),
    "semi-elastic": lambda: schemes.semielastic(knn(), 2),
    "laplace": lambda: schemes.laplace(0.5),
    "uniform": lambda: schemes.uniform(0.5),
    "exponential": lambda: schemes.exponential(2.0),
    "transformed": lambda: schemes.transformed(schemes.laplace(0.5), "gamma"),
    "two queries": lambda: schemes.two_queries(0.6, 0.8, 4),
    "brightness and contrast": lambda: schemes.brightness_contrast(0.4, 0.4),
    "orbit": lambda: schemes.orbit("shift", (2, 3)),
    "splitting": lambda: schemes.splitting(0.5, 255),
    "categorical": lambda: schemes.categorical(0.8, 4),
    "flips": lambda: schemes.flips(0.1, 0.3),
    "mask": lambda: schemes.mask(6, 2),
    "deletion": lambda: schemes.deletion(0.4),
    "blocks": lambda: schemes.blocks(
        schemes.flips(0.05, 0.3), schemes.categorical(0.7, 3), splits=[3]
    ),
    "curve": lambda: schemes.flips(0.1, 0.3).curve,
    "noise": lambda: schemes.flips(0.1, 0.3).noise,
    "class": lambda: answers.TopClass(schemes.gaussian(0.5)),
    "top-k": lambda: answers.TopK(schemes.gaussian(0.5), 2),
    "values": lambda: answers.Values(schemes.gaussian(0.5), [0.0, 0.1]),
    "maps": lambda: answers.Maps(schemes.gaussian(0.5), 0.6),
    "list": lambda: answers.DecisionList(rule()),
}
COPIES = {
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", MADE)
def test_a_public_object_can_be_copied(name, way):
    made = MADE[name]()
    again = COPIES[way](made)
    assert type(again) is type(made)
    if type(made).__eq__ is not object.__eq__:
        assert again == made


def test_a_copied_smooth_draws_what_its_original_would():
    torch = pytest.importorskip("torch")
    smooth = rs.torch.Smooth(torch.nn.Linear(2, 2), 2, 0.5)
    again = pickle.loads(pickle.dumps(smooth))
    x = torch.zeros(2)
    first = smooth.certify(x, n0=10, n=100, alpha=0.01, batch_size=50)
    assert copy.copy(again).certify(x, n0=10, n=100, alpha=0.01, batch_size=50) == first


@pytest.mark.parametrize("way", COPIES)
def test_a_copied_stream_goes_on_where_its_original_was(way):
    stream = sampling.stream(3, 5, sampling.Phase.ESTIMATE)
    stream.random(7)
    stream.seeds(2)
    again = COPIES[way](stream)
    assert again.seeds(3) == stream.seeds(3)
    np.testing.assert_array_equal(again.random(5), stream.random(5))
