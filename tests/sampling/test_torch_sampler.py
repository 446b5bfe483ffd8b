"""The torch sampler: reproducible counts of independent rows, whatever the batch."""

import numpy as np
import pytest
import torch
from torch import nn
from torch_digits import at_zero

from rsbounds.certify import certify
from rsbounds.sampling import as_sampler, torch_modules, torch_noise
from rsbounds.sampling.internal import noisy, stream
from rsbounds.sampling.streams import numbered
from rsbounds.sampling.torch_modes import evaluating
from rsbounds.schemes import gaussian
from rsbounds.torch import TorchSampler

SHAPE = (1, 12, 12)


def conv():
    """A small untrained network whose classes nearly tie: rounding would show."""
    torch.manual_seed(1)
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(16 * 36, 10),
        ),
    )


def linear(size=4):
    torch.manual_seed(2)
    return nn.Sequential(nn.Flatten(), nn.Linear(size, 3))


def draw(sampler, n=5000, index=0):
    x = torch.linspace(0, 1, 144).reshape(SHAPE)
    return np.asarray(sampler(x, 0.5, n, stream(0, index, 1))).tolist()


def seen_by(model):
    seen = []
    model.register_forward_pre_hook(lambda _, args: seen.append(args[0].clone()))
    return seen


@pytest.mark.parametrize("model", [conv, lambda: linear(144)], ids=["conv", "linear"])
def test_neither_counts_nor_shapes_depend_on_the_batch(model):
    net, shapes, counts = model(), set(), []
    net.register_forward_pre_hook(lambda _, args: shapes.add(tuple(args[0].shape)))
    for batch in (1000, 7, 5000):
        counts.append(draw(TorchSampler(net, batch=batch)))
    assert counts[0] == counts[1] == counts[2]
    assert sum(counts[0]) == 5000
    assert len(shapes) == 1  # the reason why, however the network rounds


def test_noise_is_gaussian_and_different_in_each_block():
    net = linear(144)
    seen = seen_by(net)
    x = torch.full(SHAPE, 3.0)
    for index in (0, 1):
        TorchSampler(net)(x, 0.25, 5000, stream(0, index, 1))
    batches = [
        b for b in seen if not torch.equal(b, b[:1].expand_as(b))
    ]  # not those of one row
    noise = (torch.cat(batches).double() - 3.0) / 0.25
    rows = noise.flatten(1)[:, 0]
    assert len(rows) >= 10_000
    # of 10,000 normal floats some hundred agree by chance, blocks that repeat would
    # halve this
    assert len(rows.unique()) > 0.9 * len(rows)
    # 1e6 numbers: five standard errors
    assert abs(noise.mean()) < 5 / noise.numel() ** 0.5
    assert abs(noise.std() - 1) < 5 / (2 * noise.numel()) ** 0.5
    assert abs((noise**4).mean() - 3) < 5 * (96 / noise.numel()) ** 0.5


@pytest.mark.parametrize("offset", [0.25, 0.5, 0.75])
def test_level_between_two_float32_numbers_is_drawn_as_it_is(offset):
    """Rounded up to float32 it was up to 2^-23 larger, by another amount at the next
    input.
    """
    sigma = 0.5 + offset * 2.0**-24
    x = np.linspace(-1, 1, 1000, dtype=np.float32)
    names = numbered(1)
    zero = torch.zeros(1000)
    plain = torch_noise.gaussian(zero, 1.0, 50, names, torch.Generator())[0].double()
    result = torch_noise.gaussian(
        torch.from_numpy(x), sigma, 50, names, torch.Generator()
    )[0]
    assert torch.equal(result, (torch.from_numpy(x).double() + sigma * plain).float())
    arrays = noisy(x, sigma, 50, np.random.default_rng(0))
    z = np.random.default_rng(0).standard_normal((50, 1000), dtype=np.float32)
    assert np.array_equal(arrays, (x + sigma * z.astype(np.float64)).astype(np.float32))
    single = torch_noise.gaussian(
        torch.from_numpy(x), 0.25, 50, names, torch.Generator()
    )[0]
    assert torch.equal(single, 0.25 * plain.float() + torch.from_numpy(x))


def test_forward_batch_bounds_the_rows_of_a_forward_pass():
    model = linear()
    seen = seen_by(model)
    counts = at_zero(TorchSampler(model, forward_batch=30), 500)
    assert max(map(len, seen)) <= 30
    assert (
        np.abs(counts - at_zero(TorchSampler(linear()), 500)).sum() <= 4
    )  # near-ties alone
    with pytest.raises(ValueError, match="forward_batch must"):
        TorchSampler(model, forward_batch=0)


class Centred(nn.Module):
    """Scores less their mean over the batch: 107 of 200 certificates were false."""

    def forward(self, batch):
        return batch[:, :3] - batch[:, :3].mean(0)


class Neighbour(nn.Module):
    def forward(self, batch):
        return batch[:, :3] + 0.01 * batch.roll(1, 0)[:, :3]


class Chance(nn.Module):
    def forward(self, batch):
        return nn.functional.dropout(batch, 0.5, training=True)


def normed():
    return nn.Sequential(linear(64), nn.BatchNorm1d(3, track_running_stats=False))


@pytest.mark.parametrize("model", [Centred, Neighbour, Chance, normed])
def test_rows_that_depend_on_each_other_are_refused(model):
    sampler = TorchSampler(model())
    with pytest.raises(ValueError, match="row for itself"):
        certify(sampler, torch.zeros(64), gaussian(0.5), n=200)
    with pytest.raises(ValueError, match="row for itself"):
        at_zero(sampler, 50, 64)  # not forgotten by a second try


class Order(nn.Module):
    """Sums in another order in odd rows, as kernels do at the edge of their blocks."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, batch):
        batch = batch.to(self.kind)
        scores = batch @ torch.ones(batch.shape[1], 3, dtype=self.kind)
        other = batch.flip(1).cumsum(1)[:, -1:].expand_as(scores)
        return torch.where((torch.arange(len(batch)) % 2 == 0)[:, None], scores, other)


class InPlace(nn.Module):
    def forward(self, batch):
        return batch.mul_(2).add_(1)[:, :3]


class Odd(nn.Module):
    def forward(self, batch):
        return torch.tensor([[torch.nan, torch.inf, 1.0]]) + 0 * batch[:, :1]


def test_other_sums_changed_inputs_and_scores_that_are_not_finite_are_no_dependence():
    for model in (Order(torch.float32), Order(torch.bfloat16), InPlace()):
        assert at_zero(TorchSampler(model), 100, 1000).sum() == 100
    assert at_zero(TorchSampler(Odd()), 50).tolist() == [0, 0, 0]


def test_rows_are_compared_once_and_not_for_one_row():
    model = linear()
    seen = seen_by(model)
    sampler = TorchSampler(model)
    for n in (1, 20, 20):
        at_zero(sampler, n)
    assert [len(batch) for batch in seen] == [1, 20, 20, 20]


def test_the_model_is_in_eval_mode_while_it_is_sampled_and_no_longer():
    """certify_dataset left it in eval mode, silently, and a sampler that was made
    before the model went on to train raised.
    """
    model = nn.Sequential(
        nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout(), nn.Linear(3, 3)
    ).train()
    before = model[1].running_mean.clone()
    sampler = TorchSampler(model)
    at_zero(sampler, 20)
    assert torch.equal(model[1].running_mean, before)
    assert all(part.training for part in model.modules())
    model[0].eval()
    model[2].register_forward_hook(lambda part, *_: seen.append(part.training))
    seen = []
    at_zero(sampler, 20)
    assert set(seen) == {False}
    modes = [part.training for part in model.modules()]
    assert modes == [True, False, True, True, True]
    with pytest.raises(ValueError, match=r"x must.*floating"):
        sampler(torch.zeros(4, dtype=torch.int64), 1.0, 9, stream(0, 0, 0))
    assert [part.training for part in model.modules()] == modes


def test_a_part_that_does_not_leave_training_is_refused():
    class Stubborn(nn.Module):
        def train(self, mode=True):
            return self

        def forward(self, x):
            return x

    sampler = TorchSampler(nn.Sequential(nn.Linear(4, 3), Stubborn()))
    with pytest.raises(ValueError, match=r"Stubborn.*training"):
        at_zero(sampler, 20)


def test_modules_that_share_a_part_may_be_sampled_at_once():
    """The first to leave put the part back into training, under the other's samples."""
    shared = nn.Dropout()
    one, other = nn.Sequential(shared), nn.Sequential(shared, nn.Identity())
    with evaluating(one):
        with evaluating(other):
            assert not shared.training
        assert not shared.training
        assert other.training
    assert shared.training
    with evaluating(one):
        outer = evaluating(other)
        outer.__enter__()
    assert not shared.training
    outer.__exit__(None, None, None)
    assert shared.training
    assert one.training
    assert other[1].training


def test_modules_that_merge_weights_in_eval_mode_take_them_apart_again():
    class Merging(nn.Linear):
        merged = False

        def train(self, mode=True):
            self.merged = not mode
            return super().train(mode)

    model = nn.Sequential(nn.Dropout(), Merging(4, 3)).train()
    model[0].eval()
    with evaluating(model):
        assert model[1].merged
    assert not model[1].merged
    assert [part.training for part in model.modules()] == [True, False, True]


def test_device_is_the_models_own_and_another_gets_a_copy(monkeypatch):
    assert TorchSampler(linear()).device == torch.device("cpu")
    assert TorchSampler(nn.Identity()).device == torch.device("cpu")
    model = linear()
    monkeypatch.setattr(torch_modules, "home", lambda model: torch.device("cuda:0"))
    sampler = TorchSampler(model, device="cpu")  # as if it came from a GPU
    model[1].weight.data.fill_(torch.nan)
    assert at_zero(sampler, 100).sum() == 100


def test_precisions():
    net = conv()
    expected = np.array(draw(TorchSampler(net), 2000))
    mixed = np.array(draw(TorchSampler(net, autocast="bfloat16"), 2000))
    # the same noise; bfloat16 keeps 8 bits, so a few per cent of near-ties move
    assert np.abs(mixed - expected).sum() <= 0.1 * expected.sum()
    half = linear(144).bfloat16()
    seen = seen_by(half)
    assert sum(draw(TorchSampler(half), 500)) == 500
    assert {batch.dtype for batch in seen} == {torch.bfloat16}
    with pytest.warns(RuntimeWarning, match=r"float16.*CPU"):
        TorchSampler(net, autocast="float16")


def test_compiled_model_sees_few_shapes(monkeypatch):
    """Nine shapes were one more than torch compiles before it gives up."""
    shapes = set()

    def compiled(model, dynamic, mode):
        assert dynamic is False

        def call(batch):
            shapes.add(tuple(batch.shape))
            return model(batch)

        return call

    monkeypatch.setattr(torch, "compile", compiled)
    for size in (4, 784):
        shapes.clear()
        sampler = TorchSampler(linear(size), compile=True)
        for n in (100, *(max(64, 1 << (k // 4)) for k in range(24, 56, 3)), 12_345):
            assert at_zero(sampler, n, size).sum() == n
        assert len(shapes) <= 8


@pytest.mark.parametrize(
    "shape", [lambda n: (n,), lambda n: (n, 1), lambda n: (n + 1, 3), None]
)
def test_scores_of_the_wrong_shape_are_refused(shape):
    class Wrong(nn.Module):
        def forward(self, batch):
            return (batch, batch) if shape is None else torch.zeros(shape(len(batch)))

    with pytest.raises(ValueError, match=r"model.*scores.*two"):
        at_zero(TorchSampler(Wrong()), 100)


@pytest.mark.parametrize("kind", [torch.bool, torch.complex64])
def test_scores_that_have_no_order_are_refused(kind):
    """They reached argmax, whose RuntimeError names no model."""

    class Typed(nn.Module):
        def forward(self, batch):
            return torch.zeros(len(batch), 3, dtype=kind)

    with pytest.raises(ValueError, match=rf"model.*scores.* {kind}"):
        at_zero(TorchSampler(Typed()), 100)


def test_a_module_that_reuses_its_scores_is_scored_as_any_other():
    """In float64 on a CPU the row of copies was a view of the buffer, as NumPy has it:
    any model seemed to look at each row alone.
    """

    class Reusing(nn.Module):
        def __init__(self, leak):
            super().__init__()
            self.leak, self.buffer = leak, torch.empty(50, 2, dtype=torch.float64)

        def forward(self, batch):
            mean = self.leak * batch.mean(0)
            return self.buffer.copy_((batch + mean)[:, :2])

    assert at_zero(TorchSampler(Reusing(0.0)), 50).sum() == 50
    with pytest.raises(ValueError, match="row for itself"):
        at_zero(TorchSampler(Reusing(0.5)), 50)


QUINT = torch.quint8
NOT_COMPARABLE = {
    "to_dense": lambda scores: scores.to_sparse(),
    "holds no numbers": lambda scores: scores.to("meta"),
    "dequantize": lambda scores: torch.quantize_per_tensor(
        scores, 0.1, 0, torch.quint8
    ),
    "nested": lambda scores: torch.nested.nested_tensor(list(scores)),
    "double": lambda scores: scores.to(torch.float8_e4m3fn),
    "uint16": lambda scores: (scores > 0).to(torch.uint16),
}


@pytest.mark.filterwarnings("ignore:.*(quantized|nested) tensor")
@pytest.mark.parametrize("said", NOT_COMPARABLE)
def test_scores_that_torch_cannot_compare_are_refused_by_name(said):
    change = NOT_COMPARABLE[said]
    expected = rf"the model must return scores of shape \(5, classes\).*got .*{said}"

    class Strange(torch.nn.Module):
        def forward(self, batch):
            return change(batch)

    sampler = as_sampler(Strange())
    with pytest.raises(ValueError, match=expected):
        sampler(torch.zeros(3), 0.5, 5, stream(0, 0, 0))


def test_a_tensor_that_numpy_cannot_take_is_refused_by_name():
    """A plain function that returns a sparse tensor."""
    sampler = as_sampler(lambda batch: torch.from_numpy(batch).to_sparse())
    with pytest.raises(ValueError, match=r"the model must return scores.*to_dense"):
        sampler(np.zeros(3), 0.5, 5, stream(0, 0, 0))
