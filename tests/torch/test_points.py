"""Points as tensors of any kind: with a gradient, in half precision, without data."""

import numpy as np
import pytest
import torch
from torch import nn

from rsbounds import lbrs, schemes
from rsbounds.certify import certify
from rsbounds.sampling import ArraySampler, SoftSampler
from rsbounds.sampling.internal import stream
from rsbounds.semielastic import KNNSigma
from rsbounds.torch import Smooth, TorchSampler, locally_biased

ANCHORS = [[0.0, 0.0], [1.0, 0.5], [0.25, 2.0]]
POINT = [0.5, -0.25]  # both exact in 8 bits


@pytest.mark.parametrize(
    "type_", [torch.bfloat16, torch.float16, torch.float32, torch.float64]
)
def test_points_of_any_type_with_gradients(type_):
    def tensor(values):
        return torch.tensor(values, dtype=type_, requires_grad=True)

    x, anchors = tensor(POINT), tensor(ANCHORS)
    plain, knn = (KNNSigma(known, 0.5, 0.1, 2, 0.5) for known in (ANCHORS, anchors))
    assert knn.sigma(x) == plain.sigma(POINT)
    assert knn.distance(tensor([[POINT]])).tolist() == [[plain.distance(POINT)]]
    scheme, model = schemes.semielastic(knn, 2), nn.Linear(2, 2)
    assert scheme.sigma(x) == scheme.sigma(x[None]) == plain.sigma(POINT)
    for sampler in (TorchSampler(model), ArraySampler(lambda batch: batch)):
        assert certify(sampler, x, scheme, n=1000) == certify(
            sampler, POINT, scheme, n=1000
        )
    soft = SoftSampler(lambda batch: np.abs(batch).clip(0, 1))
    assert len(soft(x, 0.5, 100, stream(0, 0, 0))) == 2
    smooth = Smooth(model, 2, scheme)
    assert smooth.certificate(x, 100, 1000, 0.001, 100).sigma == scheme.sigma(POINT)
    labels = torch.tensor([0, 1, 1])
    for norm in (1, 2, np.inf):
        reach = lbrs.neighbour_radius(x, anchors, labels, norm=norm)
        assert reach == lbrs.neighbour_radius(POINT, ANCHORS, [0, 1, 1], norm=norm)
    g = nn.Sequential(nn.Linear(2, 1, bias=False))
    biased = locally_biased(g, anchors, [-1, 1, 1], 0.5)
    answer = locally_biased(g, ANCHORS, [-1, 1, 1], 0.5).certify([POINT])
    assert biased.certify(x[None]) == answer
    assert biased.predict(x[None]) == answer[0]
    assert x.grad is None


@pytest.mark.parametrize(
    "x",
    [torch.empty(2, device="meta"), torch.zeros(2).to_sparse()],
    ids=["meta", "sparse"],
)
def test_tensors_without_numbers(x):
    knn = KNNSigma(ANCHORS, 0.5, 0.1, 2, 0.5)
    calls = [
        knn.sigma,
        schemes.semielastic(knn, 2).sigma,
        lambda x: lbrs.neighbour_radius(x, ANCHORS, [0, 1, 1]),
        lambda x: ArraySampler(lambda batch: batch)(x, 0.5, 10, stream(0, 0, 0)),
        lambda x: Smooth(nn.Linear(2, 2), 2, 0.5).certify(x, 10, 10, 0.1, 10),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"^x.*real"):
            call(x)
    with pytest.raises(ValueError, match=r"anchors.*real"):
        KNNSigma(x, 0.5, 0.1, 2)
