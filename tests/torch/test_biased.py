"""Locally biased torch models on real digits: 8 against the rest, all classes."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch_digits import digits, model

from rsbounds.torch import (
    augment,
    fit,
    gradient_lipschitz_upper_bound,
    locally_biased,
    pgd,
    value_and_grad,
)


@pytest.mark.slow
def test_locally_biased_model_certifies_and_holds():
    x, y = (column[:300] for column in digits()[:2])
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.Softplus(), nn.Linear(8, 1))
    sign = torch.where(y == 8, 1, -1)

    def loss(x, sign):
        return nn.functional.softplus(-sign * net(augment(x, 0.5))[:, 0]).mean()

    fit(net, loss, (x, sign), epochs=10, rate=1e-2)
    queries = digits()[2][:15]
    flat, points = queries.flatten(1).double().numpy(), x.flatten(1).double().numpy()
    ends = {
        0.0: np.sign(value_and_grad(net, (1, 28, 28))(flat)[0]),  # g itself
        1e6: sign.numpy()[
            ((flat[:, None] - points) ** 2).sum(2).argmin(1)
        ],  # the nearest anchor
    }
    for alpha in (0.0, 0.5, 1e6):
        f = locally_biased(net, x, sign.numpy(), alpha)
        label, radius = f.certify(flat)
        assert label.tolist() == ends.get(alpha, label).tolist()
        side = torch.from_numpy(label).float()
        for part in (0.5, 0.999):
            reach = torch.from_numpy(radius * part).float()
            moved = pgd(
                lambda p, side=side: -side * net(p)[:, 0], queries, reach, steps=20
            )
            assert f.predict(moved.flatten(1).numpy()).tolist() == label.tolist()
        assert attacked_towards_anchors(f, x, sign, queries, 2.0) > 5


def attacked_towards_anchors(f, anchors, labels, queries, norm):
    """Steps of the radius towards anchors of other labels, where the bias turns; how
    many.
    """
    flat, points = (
        queries.flatten(1).double().numpy(),
        anchors.flatten(1).double().numpy(),
    )
    label, radius = f.certify(flat)
    count = 0
    for row, own, reach in zip(flat, label, radius, strict=True):
        rivals = points[labels.numpy() != own]
        near = np.argsort(np.linalg.norm(rivals - row, axis=1))[:10]
        steps = rivals[near] - row
        steps = np.sign(steps) if norm == np.inf else steps
        length = np.linalg.norm(steps, ord=norm, axis=1, keepdims=True)
        if reach > 0:
            assert set(f.predict(row + 0.9999 * reach * steps / length).tolist()) == {
                own
            }
            count += 1
    return count


@pytest.mark.slow
def test_multiclass_model_and_its_bound():
    net = model()
    _, _, x, _ = digits()
    rows = x[:5].flatten(1).numpy()
    value, grad = value_and_grad(net, (1, 28, 28))(rows)
    assert value.shape == (5, 10)
    assert grad.shape == (5, 10, 784)
    step = 1e-5 * np.random.default_rng(0).normal(size=784)
    ahead = value_and_grad(net, (1, 28, 28))(rows + step)[0]
    behind = value_and_grad(net, (1, 28, 28))(rows - step)[0]
    assert (ahead - behind) / 2 == pytest.approx(grad @ step, rel=1e-4, abs=1e-9)
    anchors, labels = (column[:200] for column in digits()[:2])
    two = locally_biased(net, anchors, labels.numpy(), 0.5)
    sup = locally_biased(net, anchors, labels.numpy(), 0.5, norm=np.inf)
    assert np.all(two.certify(rows)[1] > sup.certify(rows)[1])
    assert attacked_towards_anchors(two, anchors, labels, x[:10], 2.0) > 5
    assert attacked_towards_anchors(sup, anchors, labels, x[:10], np.inf) > 5
    top, reach = net(x[:5]).argmax(1), torch.from_numpy(two.certify(rows)[1]).float()
    moved = pgd(
        lambda p: cross_entropy(net(p), top, reduction="none"), x[:5], reach, steps=20
    )
    assert two.predict(moved.flatten(1).numpy()).tolist() == two.predict(rows).tolist()
    known = np.sqrt(2) * gradient_lipschitz_upper_bound(net, (1, 28, 28)) * (1 + 1e-9)
    by_hand = locally_biased(net, anchors, labels.numpy(), 0.5, lip_grad=known)
    assert by_hand.certify(rows)[1] == pytest.approx(two.certify(rows)[1], rel=1e-6)


def test_relu_is_refused():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    with pytest.raises(ValueError, match="smooth activation"):
        locally_biased(net, [[0.0, 0.0]], [1], 0.5)


@pytest.mark.parametrize("norm", [1.0, 1.5, 3.0, np.inf])
def test_no_point_of_an_l_p_ball_has_another_class(norm):
    """Three nearest vote; the default constant holds from l_p to its dual."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.Softplus(), nn.Linear(6, 1))
    anchors, labels = rng.standard_normal((9, 4)), np.resize([-1, 1], 9)
    f = locally_biased(net, anchors, labels, 0.3, norm=norm, k=3)
    x = rng.standard_normal((10, 4))
    label, radius = f.certify(x)
    assert (radius > 0.05).any()
    corners = np.sign(rng.standard_normal((20, 4)))
    steps = np.vstack([rng.standard_normal((40, 4)), corners])
    steps /= np.linalg.norm(steps, norm, axis=1)[:, None]
    moved = x[:, None] + steps * radius[:, None, None] * (1 - 1e-9)
    assert (f.predict(moved) == label[:, None]).all()
    gradients = value_and_grad(net, (4,))
    dual = {1.0: np.inf, np.inf: 1.0}.get(norm) or norm / (norm - 1)
    bound = gradient_lipschitz_upper_bound(net, (4,)) * 4 ** max(1 - 2 / norm, 0.0)
    changes = gradients(x + 0.01 * steps[:10])[1] - gradients(x)[1]
    assert np.all(np.linalg.norm(changes, dual, axis=1) <= 0.01 * bound * (1 + 1e-9))


def test_a_norm_by_a_function_needs_a_constant():
    with pytest.raises(ValueError, match="lip_grad must be given"):
        locally_biased(
            nn.Linear(2, 1), np.eye(2), [-1, 1], 0.5, norm=lambda v: np.abs(v).sum(-1)
        )
