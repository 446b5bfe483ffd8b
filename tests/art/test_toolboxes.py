"""The Adversarial Robustness Toolbox and Foolbox: their classes take ours, and don't
break them.
"""

import doctest
import warnings

import numpy as np
import pytest
from cli_models import package

from rsbounds.certify import Procedure, certify
from rsbounds.schemes import gaussian

torch = pytest.importorskip("torch")
from rsbounds.torch import LogVotes, Smooth  # noqa: E402

pytestmark = pytest.mark.slow  # needs the packages of the extra frameworks

X = np.random.default_rng(0).random((10, 1, 4, 4), dtype=np.float32)
Y = np.eye(3, dtype=np.float32)[np.arange(10) % 3]


@pytest.fixture
def base():
    classification = package("art.estimators.classification")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 3))
    options = {
        "optimizer": torch.optim.Adam(net.parameters(), 0.01),
        "clip_values": (0, 1),
    }
    loss = torch.nn.CrossEntropyLoss()
    return classification.PyTorchClassifier(net, loss, (1, 4, 4), 3, **options)


def wrapped(base, **options):
    from rsbounds.art import RandomizedSmoothing

    return RandomizedSmoothing(base, **{"sample_size": 100, "scale": 0.01, **options})


# --- what ART asks of its own class


def test_predictions_under_little_noise_are_the_classifiers(base):
    votes = wrapped(base).predict(X)
    assert votes.shape == (10, 3)
    np.testing.assert_array_equal(votes.argmax(1), base.predict(X).argmax(1))
    np.testing.assert_array_equal(votes.sum(1), 1)


def test_abstentions_are_rows_of_zeros(base):
    smooth = wrapped(base, alpha=1e-40)  # a hundred samples can't show so much
    with pytest.warns(UserWarning, match="abstains"):
        assert (smooth.predict(X).sum(1) == 0).all()
    assert (smooth.predict(X, is_abstain=False).sum(1) == 1).all()


def test_certificates_are_those_of_numpy(base):
    prediction, radius = wrapped(base, scale=0.25).certify(X, n=250)
    assert prediction.shape == radius.shape == (10,)
    (w, b) = (p.detach().numpy() for p in base.model.parameters())
    for i, x in enumerate(X):
        found = certify(
            lambda batch: batch.reshape(-1, 16) @ w.T + b,
            x,
            gaussian(0.25),
            n=250,
            index=i,
        )
        assert (found.predict, found.radius) == (prediction[i], radius[i])
    again = wrapped(base, scale=0.25).certify(X, 250, batch_size=7)
    assert again[1].tolist() == radius.tolist()


def test_with_cohens_bound_radii_are_the_toolboxs_rounded_down(base):
    """With Cohen's bound, ART's formula for the same counts: ours is never larger."""
    stats = package("scipy.stats")
    smooth = wrapped(base, scale=0.5, procedure=Procedure(runner_up=False))
    (w, b) = (p.detach().numpy() for p in base.model.parameters())

    def scores(batch):
        return batch.reshape(-1, 16) @ w.T + b

    for i, (x, label, radius) in enumerate(
        zip(X, *smooth.certify(X, 1000), strict=True)
    ):
        if label >= 0:
            own = certify(scores, x, gaussian(0.5), n=1000, runner_up=False, index=i)
            theirs = 0.5 * stats.norm.ppf(
                smooth._lower_confidence_bound(own.count, 1000)
            )
            assert radius <= theirs * (1 + 1e-11)
            assert radius >= theirs * (1 - 1e-9)


def test_it_fits_and_has_gradients(base):
    smooth = wrapped(base)
    smooth.fit(X, Y, nb_epochs=1)
    assert smooth.class_gradient(X).shape == (10, 3, 1, 4, 4)
    one, mean = (smooth.loss_gradient(X, Y, sampling=many) for many in (False, True))
    assert one.shape == mean.shape == X.shape
    cosine = (one * mean).sum((1, 2, 3)) / np.sqrt(
        (one**2).sum((1, 2, 3)) * (mean**2).sum((1, 2, 3))
    )
    assert (cosine > 0.99).all()  # a linear network under little noise


def test_the_toolboxs_attacks_run_on_it(base):
    evasion = package("art.attacks.evasion")
    smooth = wrapped(base)
    for estimator in (smooth, base):
        attacked = evasion.FastGradientMethod(estimator, eps=0.1).generate(X)
        assert attacked.shape == X.shape
        assert 0 < np.abs(attacked - X).max() < 0.1001
        assert attacked.min() >= 0
        assert attacked.max() <= 1
    assert (smooth.predict(attacked).argmax(1) != smooth.predict(X).argmax(1)).any()


def test_bad_arguments_are_named(base):
    for options, name in (({"scale": 0.0}, "scale"), ({"procedure": 0}, "procedure")):
        with pytest.raises(ValueError, match=name):
            wrapped(base, **options)
    with pytest.raises(ValueError, match="sample_size"):
        wrapped(base, sample_size=0)
    with pytest.raises(ValueError, match="batch_size"):
        wrapped(base).certify(X, 100, batch_size=0)


# --- Foolbox


def digits():
    torch.manual_seed(1)
    net = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(16, 8), torch.nn.Tanh()
    )
    return Smooth(
        net.append(torch.nn.Linear(8, 3)).requires_grad_(False), 3, 0.1, samples=32
    )


def test_foolbox_finds_nothing_within_the_radius_and_something_beyond():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its imports
        foolbox = package("foolbox")
    smooth, x = digits(), torch.from_numpy(X)
    found = [smooth.certificate(row, 100, 10_000, 0.001, 1000) for row in x]
    kept = [i for i, c in enumerate(found) if c.radius > 0][:5]
    x, labels = x[kept], torch.tensor([found[i].predict for i in kept])
    radii = torch.tensor([found[i].radius for i in kept])
    model = foolbox.PyTorchModel(LogVotes(smooth, seed=0), bounds=(-9, 9), device="cpu")
    attack = foolbox.attacks.L2PGD(steps=10, rel_stepsize=0.25)
    assert len(kept) > 3
    broken = []
    for times in (0.99, 20.0):
        answers = []
        for row, label, radius in zip(x, labels, radii, strict=True):
            _, (changed,), _ = attack(
                model, row[None], label[None], epsilons=[times * float(radius)]
            )
            assert (changed - row).norm() <= times * radius * 1.0001
            answers.append(smooth.predict(changed[0], 1000, 0.001, 1000))
        broken.append(
            sum(a not in (-1, int(b)) for a, b in zip(answers, labels, strict=True))
        )
    assert broken[0] == 0
    assert broken[1] > 0


def test_votes_have_the_gradient_of_their_mean():
    smooth, x = digits(), torch.from_numpy(X).requires_grad_()
    scores = LogVotes(smooth, seed=3)
    assert torch.equal(scores(x), scores(x))
    torch.testing.assert_close(scores(x).exp().sum(1), torch.ones(10))
    state = torch.random.get_rng_state()
    (gradient,) = torch.autograd.grad(scores(x).sum(), x)
    assert torch.equal(state, torch.random.get_rng_state())
    step = 1e-3 * torch.ones_like(x)
    moved = float((scores(x + step) - scores(x - step)).sum().detach())
    assert moved == pytest.approx(2 * float((gradient * step).sum()), rel=0.02)
    assert not torch.equal(LogVotes(smooth)(x), LogVotes(smooth)(x))
    with pytest.raises(ValueError, match=r"smooth.*Linear"):
        LogVotes(torch.nn.Linear(2, 2))


def test_the_example_of_the_class_runs():
    package("art.estimators")
    import rsbounds.art

    outcome = doctest.testmod(rsbounds.art)
    assert outcome.attempted > 5
    assert not outcome.failed
