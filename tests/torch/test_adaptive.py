"""Adaptive smoothing: two queries, what their certificates rest on, how they run."""

import math
import pickle

import numpy as np
import pytest
import torch
from cases import quick_each
from scipy.special import ndtr, ndtri

from rsbounds import schemes
from rsbounds._numerics.errors import ArgumentError
from rsbounds.cli import main
from rsbounds.sampling import Phase, as_sampler, torch_bits
from rsbounds.sampling.internal import stream
from rsbounds.sampling.streams import Block
from rsbounds.schemes._two_queries import combined, query_levels
from rsbounds.torch import Adaptive, Smooth

SIGMA, DIM = 0.5, 9
SAMPLES = 200_000


def everything(first):
    return torch.ones_like(first)


def best_guess(shares):
    """Scores of the sign of the sum, by what both answers say of it."""

    def model(first, second):
        total = (shares[0] * first + shares[1] * second).flatten(1).sum(1)
        return torch.stack([total, -total], 1)

    return model


def drawn(mask, x, n, seed=0):
    """The answers of both queries of n copies, and the levels of the queries."""
    adaptive = Adaptive(mask, lambda first, second: (first, second), SIGMA)
    noise = adaptive.scheme(x.shape)
    checked = torch.from_numpy(noise.checked(x))
    copies, void = torch_bits.copies(
        noise, checked, noise.level, n, [Block(seed, 0)], torch.Generator()
    )
    assert not void.any()
    return *adaptive(copies[0]), *adaptive.query_levels


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_both_queries_amount_to_the_level_that_was_asked_for(share):
    first, second = query_levels(SIGMA, share)
    assert first == pytest.approx(SIGMA / math.sqrt(share), rel=1e-15)
    exact = 1 / math.sqrt(1 / first**2 + 1 / second**2)
    assert SIGMA * (1 - 1e-14) < combined(first, second) <= exact * (1 + 3e-16)


@pytest.mark.parametrize("ends", [(1e-320, 1.0), (1e308, 1e308), (1e-300, 1e300)])
def test_the_level_of_extreme_queries_is_at_most_the_smaller(ends):
    level = combined(*ends)
    assert 0 < level <= min(ends)
    assert combined(*reversed(ends)) == level


def test_the_queries_have_their_laws():
    x = torch.linspace(0, 1, DIM)
    first, second, level, other = drawn(
        lambda first: (first[:, :1] > 0).float(), x, 60_000
    )
    assert abs((first - x).mean() / level) < 5 / math.sqrt(first.numel())
    assert float((first - x).std()) == pytest.approx(level, rel=0.01)
    # a mask of one weight for all numbers: all of them, or none
    kept = first[:, 0] > 0
    noise = second[kept] - x
    assert float(noise.std()) == pytest.approx(other, rel=0.01)
    assert not second[~kept].any()
    correlation = np.corrcoef(noise.flatten(), (first[kept] - x).flatten())[0, 1]
    assert abs(correlation) < 5 / math.sqrt(noise.numel())


def test_a_mask_of_few_numbers_sees_them_with_less_noise():
    """At the same certificate: the level falls with the root of the share kept."""
    weight = torch.zeros(DIM)
    weight[4] = 1.0
    _, second, _, level = drawn(
        lambda first: weight.expand_as(first), torch.full((DIM,), 9.0), 60_000
    )
    expected = level / math.sqrt(DIM)
    assert float(second[:, 4].std()) == pytest.approx(expected, rel=0.02)
    # nothing of the input is left elsewhere
    assert abs(second[:, weight == 0].mean()) < 5 * expected / math.sqrt(60_000)


@pytest.mark.parametrize(
    ("size", "dtype"),
    [
        *((size, torch.float32) for size in (1e-45, 1e-38, 1e-20, 1.0, 3e38)),
        *((size, torch.float64) for size in (5e-324, 1e-310, 1.0, 1.7e308)),
    ],
)
def test_weights_of_any_size_leave_the_noise_of_their_level(size, dtype):
    """In float32 a level of 1e-45 would be 0, and 3e38 x infinite or not by x alone."""
    adaptive = Adaptive(
        lambda first: torch.full_like(first, size), lambda first, second: second, SIGMA
    )
    number = float(torch.tensor(size, dtype=dtype))
    n = 20_000
    generator = torch.Generator().manual_seed(3)
    noise = torch.randn((n, DIM), generator=generator, dtype=dtype)
    level = adaptive.query_levels[1]
    for x in (1.2, 0.3):
        copies = torch.stack([torch.zeros_like(noise), noise * 0 + x, noise], 1)
        second = adaptive(copies)
        # at a threshold of half a weight: rounding to 0 or one is on its other side
        expected = ndtr((x - 0.5) / level)
        share = float((second.double() / number > 0.5).double().mean())
        assert share == pytest.approx(expected, abs=5 * 0.5 / math.sqrt(n * DIM))


@pytest.mark.parametrize("weight", [math.inf, -math.inf, math.nan])
def test_a_weight_that_is_not_finite_leaves_nothing_to_see(weight):
    def mask(first):
        weights = torch.ones_like(first)
        weights[::2, 1] = weight
        return weights

    adaptive = Adaptive(mask, lambda first, second: second, SIGMA)
    for x in (0.0, 1.0):
        copies = torch.stack([torch.zeros(6, DIM), torch.full((6, DIM), x),
                              torch.ones(6, DIM)], 1)  # fmt: skip
        second = adaptive(copies)
        assert second[::2].isnan().all()
        assert second[1::2].isfinite().all()


def test_a_mask_of_zeros_hides_the_signs():
    adaptive = Adaptive(torch.zeros_like, lambda first, second: second, SIGMA)
    for x in (-1.0, 1.0):
        copies = torch.stack([torch.ones(2, DIM), torch.full((2, DIM), x),
                              torch.full((2, DIM), -1.0)], 1)  # fmt: skip
        second = adaptive(copies)
        assert not second.any()
        assert not second.signbit().any()


def test_the_best_classifier_reaches_the_radius():
    """Where the mask keeps all, both answers together are one query of the level."""
    shares = 0.3, 0.7
    adaptive = Adaptive(everything, best_guess(shares), SIGMA, share=0.3)
    x = torch.full((DIM,), 0.2)
    smooth = Smooth(adaptive, 2, adaptive.scheme((DIM,)))
    label, radius = smooth.certify(x, 100, SAMPLES, 0.001, 10_000)
    assert label == 0
    assert 0.97 * 0.2 < radius < 0.2  # the class changes at 0


@pytest.mark.parametrize("seed", quick_each(3, range(6)))
def test_no_event_of_two_queries_falls_below_what_is_certified(seed):
    """The likelihood ratio's own event, which loses most, under masks that follow the
    first answer: by simulation, within six of its standard errors.
    """
    rng = np.random.default_rng(seed)
    x, step = rng.standard_normal((2, DIM))
    step *= rng.choice([0.05, 0.2]) / abs(step).max()  # l_inf
    turn = rng.standard_normal((DIM, DIM))
    share, p = rng.uniform(0.1, 0.9), rng.uniform(0.6, 0.99)
    sigma_1, sigma_2 = query_levels(SIGMA, share)

    def weights(first):
        steep = rng_steep * (first @ turn)
        return np.clip(steep, 0.0, 1.0)

    rng_steep = rng.choice([0.3, 30.0])

    def ratio(at, n):
        """Log likelihood ratios of x + step to x, of answers drawn at ``at``."""
        first = at + sigma_1 * rng.standard_normal((n, DIM))
        w = weights(first)
        level = sigma_2 * np.linalg.norm(w, axis=1, keepdims=True) / math.sqrt(DIM)
        noise = rng.standard_normal((n, DIM))
        second = w * at + level * noise
        total = ((first - x) ** 2 - (first - x - step) ** 2).sum(1) / (2 * sigma_1**2)
        there = level[:, 0] > 0
        gained = (second - w * x) ** 2 - (second - w * (x + step)) ** 2
        total[there] += (gained[there] / (2 * level[there] ** 2)).sum(1)
        return total

    threshold = np.quantile(ratio(x, SAMPLES), p)
    kept = (ratio(x + step, SAMPLES) <= threshold).mean()
    distance = abs(step).max()
    scheme = schemes.two_queries(sigma_1, sigma_2, DIM)
    low, _ = scheme.transport(ndtri(p), distance)
    assert kept >= ndtr(low) - 6 * 0.5 / math.sqrt(SAMPLES)
    # and it does lose something: the event is not trivial
    assert kept < p


def test_no_result_depends_on_the_batch():
    adaptive = Adaptive(torch.relu, best_guess((0.5, 0.5)), SIGMA)
    x = torch.linspace(-0.1, 0.4, DIM)

    def radius(batch):
        smooth = Smooth(adaptive, 2, adaptive.scheme(DIM))
        return smooth.certify(x, 50, 3000, 0.01, batch)

    assert radius(10) == radius(3000)


def test_a_margin_covers_both_queries():
    """The comparison in float64 asks the second query again, by the mask in float64."""

    class Coarse(torch.nn.Module):
        def forward(self, first):
            return (first * 1e5).sin() if first.dtype == torch.float32 else first

    class Sum(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1))

        def forward(self, first, second):
            total = self.scale * second.sum(1)
            return torch.stack([total, -total], 1)

    x = torch.linspace(0, 1, DIM)
    differences = []
    for mask in (torch.nn.Sigmoid(), Coarse()):
        adaptive = Adaptive(mask, Sum(), SIGMA)
        scheme = adaptive.scheme(DIM)
        sampler = as_sampler(adaptive, scheme)
        found = sampler.compared(x, scheme.own_level, 500, stream(0, 0, Phase.ESTIMATE))
        differences.append(found.largest)
    assert differences[0] < 1e-4 < 0.1 < differences[1]


@pytest.mark.parametrize(
    "model",
    [
        lambda batch: batch,
        torch.nn.Linear(DIM, 2),
        Adaptive(everything, best_guess((0.5, 0.5)), 0.4),
    ],
    ids=["function", "module", "another level"],
)
def test_a_model_that_asks_no_second_query_is_refused(model):
    scheme = Adaptive(everything, best_guess((0.5, 0.5)), SIGMA).scheme(DIM)
    with pytest.raises(ArgumentError, match="Adaptive") as refused:
        as_sampler(model, scheme)
    assert refused.value.name == "model"


@pytest.mark.parametrize(
    "scheme",
    [schemes.gaussian(SIGMA), schemes.laplace(SIGMA), schemes.two_queries(1.0, 2.0, 4)],
)
def test_two_queries_are_not_asked_under_other_noise(scheme):
    """Three channels of a picture would pass for what the queries answered."""
    adaptive = Adaptive(lambda first: first, lambda first, second: second, SIGMA)
    with pytest.raises(ArgumentError, match=r"^model .*Adaptive"):
        as_sampler(adaptive, scheme)


def test_a_second_query_of_a_rounded_input_is_refused():
    """An input rounded before the noise is added may be further away than it was."""

    class Half(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(DIM, 2).to(torch.bfloat16)

        def forward(self, first, second):
            return self.linear(second)

    adaptive = Adaptive(everything, Half(), SIGMA)
    smooth = Smooth(adaptive, 2, adaptive.scheme(DIM))
    with pytest.raises(ArgumentError, match="float32") as refused:
        smooth.certify(torch.zeros(DIM), 10, 100, 0.1, 100)
    assert refused.value.name == "model"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("mask", (3, abs, 0.5)),
        ("model", (abs, None, 0.5)),
        ("sigma", (abs, abs, 0.0)),
        ("share", (abs, abs, 0.5, 1.0)),
        ("share", (abs, abs, 0.5, math.nan)),
    ],
)
def test_bad_arguments_are_named(name, arguments):
    with pytest.raises(ArgumentError) as refused:
        Adaptive(*arguments)
    assert refused.value.name == name


def test_training_reaches_mask_and_model_and_copies_keep_their_levels():
    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2 * DIM, 3)

        def forward(self, first, second):
            return self.linear(torch.cat([first, second], 1))

    mask = torch.nn.Sequential(torch.nn.Linear(DIM, DIM), torch.nn.Sigmoid())
    adaptive = Adaptive(mask, Both(), SIGMA, 0.3)
    scores = adaptive.sample(torch.zeros(5, DIM))
    scores.square().sum().backward()
    assert scores.shape == (5, 3)
    assert all(part.grad.abs().sum() > 0 for part in adaptive.parameters())
    again = pickle.loads(pickle.dumps(Adaptive(torch.relu, torch.add, SIGMA, 0.3)))
    assert again.query_levels == adaptive.query_levels


MODEL = """
import torch
from rsbounds.torch import Adaptive


class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 6))

    def forward(self, first, second):
        total = ((first + second) * self.weight).sum(1)
        return torch.stack([total, -total], 1)


def model():
    return Adaptive(torch.nn.Sigmoid(), Both(), 0.25, share=0.4)
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "twice.py").write_text(MODEL)
    x = np.random.default_rng(2).random((5, 6), dtype=np.float32)
    np.savez("data.npz", x=x, y=(x @ np.linspace(-1, 1, 6) < 0).astype(int))
    return tmp_path


def command(*more, sigma="0.25"):
    given = ["--model", "twice.py:model", "--data", "data.npz", "--n", "500"]
    method = ["--method", "two-queries", "--sigma", sigma, "--share", ".4"]
    return ["certify", *given, *method, "--out", "out.tsv", *more]


def test_the_command_line_certifies_resumes_verifies_and_certifies_again(work, capsys):
    assert main(command("--max", "3", "--margin", "auto")) == 0
    assert main(command("--margin", "auto")) == 0
    rows = (work / "out.tsv").read_text()
    assert rows.count("\n") == 6
    assert "two queries" in rows
    drawn = ["--data", "data.npz", "--model", "twice.py:model", "--rerun", "2"]
    assert main(["verify", "out.tsv", *drawn, "--margin"]) == 0
    assert main(["recertify", "out.tsv", "--alpha", ".01", "--out", "b.tsv"]) == 0
    assert main(["report", "out.tsv"]) == 0
    assert "two queries" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "named"),
    [(["--norm", "2"], "--norm"), (["--share", "1.5"], "--share")],
)
def test_the_command_line_refuses_in_one_line(work, words, named, capsys):
    assert main(command(*words)) == 2
    message = capsys.readouterr().err
    assert named in message
    assert message.count("\n") == 1
    assert not (work / "out.tsv").exists()


def test_a_level_that_the_queries_do_not_earn_is_a_finding(work, capsys):
    """Rows of a larger sigma than 1/sqrt(1/sigma_1^2 + 1/sigma_2^2)."""
    assert main(command()) == 0
    manifest = work / "out.tsv.manifest.json"
    text = manifest.read_text()
    first = str(query_levels(0.25, 0.4)[0])
    assert first in text
    manifest.write_text(text.replace(first, str(query_levels(0.25, 0.4)[0] / 1.5)))
    assert main(["verify", "out.tsv"]) == 1
