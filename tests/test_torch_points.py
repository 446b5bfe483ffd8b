"""Points as tensors of any kind: with a gradient, in half precision, without data."""

import numpy as np
import pytest
import torch
from torch import nn

from rsbounds import lbrs, schemes
from rsbounds.certificate import Certificate
from rsbounds.certify import Memory, certify, instance_sigma
from rsbounds.sampling import ArraySampler, SoftSampler, stream
from rsbounds.semielastic import KNNSigma
from rsbounds.torch import Smooth, TorchSampler, locally_biased

TYPES = [torch.bfloat16, torch.float16, torch.float32, torch.float64]
ANCHORS = [[0.0, 0.0], [1.0, 0.5], [0.25, 2.0]]
POINT = [0.5, -0.25]  # both exact in 8 bits
FOUND = Certificate(0, 0.5, 2.0, 0.9, 990, 1000, 0.5, "gaussian", "")

of_any_type = pytest.mark.parametrize("type_", TYPES)


def tensor(values, type_):
    return torch.tensor(values, dtype=type_, requires_grad=True)


@of_any_type
def test_levels(type_):
    plain = KNNSigma(ANCHORS, 0.5, 0.1, 2, 0.5)
    knn = KNNSigma(tensor(ANCHORS, type_), 0.5, 0.1, 2, 0.5)
    x = tensor(POINT, type_)
    assert knn.sigma(x) == plain.sigma(POINT)
    assert knn.distance(tensor([[POINT]], type_)).tolist() == [[plain.distance(POINT)]]
    scheme = schemes.semielastic(knn, 2)
    assert scheme.sigma(x) == scheme.sigma(x[None]) == plain.sigma(POINT)
    assert x.grad is None


@of_any_type
def test_procedures(type_):
    scheme = schemes.semielastic(KNNSigma(ANCHORS, 0.5, 0.1, 2, 0.5), 2)
    x = tensor(POINT, type_)
    model = nn.Linear(2, 2)
    for sampler in (TorchSampler(model), ArraySampler(lambda batch: batch)):
        found = certify(sampler, x, scheme, n=1000)
        assert found == certify(sampler, POINT, scheme, n=1000)
        assert instance_sigma(sampler, x, [0.25, 0.5]) in (0.25, 0.5)
    soft = SoftSampler(lambda batch: np.abs(batch).clip(0, 1))
    assert len(soft(x, 0.5, 100, stream(0, 0, 0))) == 2
    smooth = Smooth(model, 2, scheme)
    assert smooth.certificate(x, 100, 1000, 0.001, 100).sigma == scheme.sigma(POINT)


@of_any_type
def test_memory(type_):
    memory, plain = Memory(), Memory()
    for x, found in ((POINT, FOUND), ([0.5, 0.0], FOUND), ([1.5, 1.0], FOUND)):
        assert memory.correct(tensor(x, type_), found) == plain.correct(x, found)


@of_any_type
def test_neighbours(type_):
    labels = torch.tensor([0, 1, 1])
    anchors = tensor(ANCHORS, type_)
    for norm in (1, 2, np.inf):
        radius = lbrs.neighbour_radius(tensor(POINT, type_), anchors, labels, norm=norm)
        assert radius == lbrs.neighbour_radius(POINT, ANCHORS, [0, 1, 1], norm=norm)
    g = nn.Sequential(nn.Linear(2, 1, bias=False))
    biased = locally_biased(g, tensor(ANCHORS, type_), [-1, 1, 1], 0.5)
    label, radius = biased.certify(tensor([POINT], type_))
    assert (label, radius) == locally_biased(g, ANCHORS, [-1, 1, 1], 0.5).certify([POINT])
    assert biased.predict(tensor([POINT], type_)) == label


@pytest.mark.parametrize(
    "x", [torch.empty(2, device="meta"), torch.zeros(2).to_sparse()], ids=["meta", "sparse"]
)
def test_tensors_without_numbers(x):
    knn = KNNSigma(ANCHORS, 0.5, 0.1, 2, 0.5)
    calls = [
        knn.sigma,
        schemes.semielastic(knn, 2).sigma,
        lambda x: Memory().correct(x, FOUND),
        lambda x: lbrs.neighbour_radius(x, ANCHORS, [0, 1, 1]),
        lambda x: ArraySampler(lambda batch: batch)(x, 0.5, 10, stream(0, 0, 0)),
        lambda x: Smooth(nn.Linear(2, 2), 2, 0.5).certify(x, 10, 10, 0.1, 10),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"^x must be real numbers; got Tensor"):
            call(x)
    with pytest.raises(ValueError, match="anchors must be real numbers; got Tensor"):
        KNNSigma(x, 0.5, 0.1, 2)
