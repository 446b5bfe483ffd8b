"""Noises by name as torch draws them: their laws, what a module sees, its batches.

Laws by counting, with chi-square at 1e-6 and fixed seeds, as in
``tests/schemes/test_draws.py``.
"""

from fractions import Fraction

import numpy as np
import of_fractions
import pytest
from scipy import sparse, stats

torch = pytest.importorskip("torch")

from known_bits import known_bits  # noqa: E402
from noise_laws import (  # noqa: E402
    HALF,
    LAWS,
    SURE,
    TENTH,
    THIRD,
    assert_follows,
)

from rsbounds import schemes  # noqa: E402
from rsbounds._numerics.errors import ArgumentError  # noqa: E402
from rsbounds.sampling import Phase, as_sampler, torch_bits, torch_noise  # noqa: E402
from rsbounds.sampling.adapters import output_sampler  # noqa: E402
from rsbounds.sampling.bits import ArrayBits  # noqa: E402
from rsbounds.sampling.internal import stream  # noqa: E402
from rsbounds.sampling.streams import numbered  # noqa: E402
from rsbounds.torch import TorchSampler  # noqa: E402

CPU = torch.device("cpu")


def by_seed():
    return torch.Generator()


@pytest.fixture(params=["seed", "os"])
def source(request, monkeypatch):
    """Let :func:`drawn` take torch's generator, or the operating system's bits."""
    if request.param == "os":
        bits = torch_noise.SystemGenerator(known_bits(monkeypatch), CPU)
        monkeypatch.setitem(globals(), "by_seed", lambda: bits)


def drawn(noise, x, n, names=()):
    """Copies on the CPU, of a block's name in a list, and which are void."""
    names = names or numbered(1, 2024)
    ready = torch_bits.on_device(noise.checked(x), CPU)
    copies, void = torch_bits.copies(noise, ready, noise.level, n, names, by_seed())
    return copies[0], void


def law_of(noise, x, outcomes, n=10_000):
    copies, void = drawn(noise, x, n)
    assert not void.any()
    copies = copies.to_dense() if copies.is_sparse else copies
    counts = dict.fromkeys(outcomes, 0)
    for copy in copies.flatten(1).tolist():
        counts[tuple(copy)] += 1
    return counts


@pytest.mark.parametrize(("noise", "x", "law"), LAWS)
@pytest.mark.usefixtures("source")
def test_torch_draws_the_law(noise, x, law):
    assert_follows(law_of(noise, x, law), law)


@pytest.mark.usefixtures("source")
def test_uniform_laplace_and_exponential_noise_have_their_quantiles():
    for noise, law in (
        (schemes.uniform(0.5), stats.uniform(-0.25, 1.0)),
        (schemes.laplace(0.5), stats.laplace(0.25, 0.5)),
        (schemes.exponential(2.0), stats.expon(0.25, 0.5)),
    ):
        copies, void = drawn(noise, np.array([0.25]), 20_000)
        assert copies.dtype == torch.float64
        assert not void.any()
        assert stats.kstest(copies[:, 0].numpy(), law.cdf).pvalue > SURE


def test_splitting_shows_what_numpys_sampler_shows():
    noise = schemes.splitting(0.75, 8)
    x = np.arange(9) / 8
    whole = noise.checked(x)
    ready = torch_bits.on_device(whole, CPU)
    copies, _ = torch_bits.copies(
        noise, ready, noise.level, 5, numbered(3), torch.Generator()
    )
    shown = copies.flatten(0, 1)[: noise.outcomes].numpy()
    assert np.array_equal(
        shown,
        noise.copies(
            whole, noise.level, 0, noise.outcomes, ArrayBits(None, noise.outcomes)
        ),
    )


class Bits:
    """In place of random bits: those given."""

    def __init__(self, *values):
        self.values = torch.tensor(values)

    def __call__(self, bits, shape):
        return self.values.expand(shape).clone()


def test_bits_that_decide_nothing_make_a_copy_void(monkeypatch):
    """1/3 is no number of 63 bits: those below it decide, those that equal it don't."""
    border = 2**63 // 3
    generator = torch.Generator()
    x = torch.tensor([1, 1, 1])

    def one(noise, *bits, x=x):
        given = Bits(*bits)
        monkeypatch.setattr(
            torch_bits.TorchBits, "_bits", lambda self, shape: given(self, shape)
        )
        bits = torch_bits.TorchBits(generator, 1, CPU)
        batch = noise.noisy(x, noise.level, 1, bits)
        return batch[0].tolist(), bool(bits.void)

    third = of_fractions.categorical(THIRD, 4)
    assert one(third, border - 1, border + 1, border + 2) == ([1, 0, 2], False)
    assert one(third, border - 1, border, border - 1)[1]
    # 63 bits leave a multiple of three and two more: the last two choose nobody
    last = 2**63 - 1
    rest = (last - border) % 3
    assert one(third, last, 0, 0)[1] == (rest > 0)
    quarter = of_fractions.categorical(HALF / 2, 2)
    assert one(quarter, 2**61 - 1, 2**61, last) == ([1, 0, 0], False)
    assert one(of_fractions.flips(TENTH, THIRD), border, 0, 0)[1]
    assert not one(of_fractions.flips(TENTH, HALF), 2**62, 0, 0)[1]
    assert one(of_fractions.mask(THIRD), border, 0, 0)[1]
    assert one(of_fractions.deletion(THIRD), border, 0, 0)[1]
    assert one(schemes.mask(3, 1), 5, 5, 7)[1]  # a tie across the border
    assert one(schemes.mask(3, 2), 5, 5, 7) == ([1, 1, 0], False)


class Seen(torch.nn.Module):
    """Notes its batches; the first class is chosen."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.batches = []

    def forward(self, batch):
        self.batches.append(batch)
        return torch.tensor([[1.0, 0.0]]).repeat(len(batch), 1)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_a_module_sees_whole_numbers_floats_and_sparse_tensors():
    def first(noise, x):
        model = Seen().double()
        counts = TorchSampler(model, noise=noise)(x, noise.level, 30, stream(0, 0, 1))
        assert np.asarray(counts).tolist() == [30, 0]
        return model.batches[-1]

    assert first(schemes.categorical(0.5, 4), [1, 2]).dtype == torch.int64
    assert first(schemes.categorical(0.5, 4), [1.0, 2.0]).dtype == torch.float64
    assert first(schemes.uniform(0.5), [0.5, 0.25]).dtype == torch.float64
    graph = first(schemes.flips(0.01, 0.5), sparse.csr_array(np.eye(3)))
    assert graph.is_sparse
    assert graph.is_coalesced()
    assert graph.shape == (30, 3, 3)
    for stored in (
        torch.eye(3).long().to_sparse(),
        torch.eye(3).long().to_sparse_csr(),
    ):
        again = first(schemes.flips(0.01, 0.5), stored)
        assert torch.equal(again.to_dense(), graph.to_dense().long())


class Masked(torch.nn.Module):
    """The mean of embeddings of what the mask leaves."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = torch.nn.Embedding(9, 4)
        self.head = torch.nn.Linear(4, 3)
        self.shapes = set()

    def forward(self, ids, attention_mask):
        self.shapes.add(tuple(ids.shape))
        assert (ids[attention_mask == 0] == 7).all()
        shown = attention_mask[..., None].float()
        total = (self.embed(ids) * shown).sum(1) / shown.sum(1).clamp(min=1)
        return self.head(total)


def test_a_mask_says_which_elements_are_there():
    model = Masked()
    sampler = TorchSampler(model, noise=schemes.deletion(0.4, padding=7))
    counts = np.asarray(sampler(np.arange(6), 0.4, 500, stream(0, 0, 1)))
    assert counts.sum() == 500
    assert max(shape[1] for shape in model.shapes) == 6

    # as a function of lists sees them
    def alone(sequences):
        rows = []
        for sequence in sequences:
            ids = torch.tensor(sequence)[None]
            rows.append(model(ids, torch.ones_like(ids))[0].detach().numpy())
        return np.stack(rows)

    names = stream(0, 0, 1).blocks(1)
    copies, _ = drawn(schemes.deletion(0.4), np.arange(6), 500, names)
    lists = [row[row >= 0] for row in copies.numpy()]
    expected = np.bincount(alone(lists).argmax(1), minlength=3)
    assert abs(counts - expected).sum() <= 2  # ties of rounding


def test_a_module_that_sees_the_padding_is_refused():
    """A mean over all places: the same sequence has other scores in a longer input."""

    class Mean(Masked):
        def forward(self, ids):
            return self.head(self.embed(ids).mean(1))

    sampler = TorchSampler(Mean(), noise=schemes.deletion(0.4))
    with pytest.raises(ValueError, match="padding") as error:
        sampler(np.arange(1, 9), 0.4, 20, stream(0, 0, 1))
    assert "at block 0 of input 0" in str(error.value)


@pytest.mark.parametrize("batch", [1, 10_000])
@pytest.mark.parametrize("rows", [None, 77])
def test_counts_do_not_depend_on_batch_and_threads(batch, rows):
    """Order and shards: the same call is the same, whatever was asked before."""
    weight = torch.randn(600, generator=torch.Generator().manual_seed(0))
    weight -= weight.mean()
    net = torch.nn.Linear(600, 2, bias=False)
    net.weight.data = torch.stack([weight, -weight])
    noise = schemes.mask(600, 30)
    x = np.ones(600)

    def counts(index, **options):
        sampler = TorchSampler(net, noise=noise, **options)
        drawn = [
            np.asarray(sampler(x, noise.level, 300, stream(0, i, Phase.ESTIMATE)))
            for i in ((index, 3) if options else (3, index))
        ]
        return drawn[0 if options else 1].tolist()

    before = torch.get_num_threads()
    expected = counts(5)
    try:
        torch.set_num_threads(2)
        assert counts(5, batch=batch, forward_batch=rows) == expected
    finally:
        torch.set_num_threads(before)
    assert 0 < expected[0] < 300


def test_sparse_batches_in_parts_are_the_same():
    weight = torch.arange(25.0).reshape(5, 5) - 12

    class Edges(torch.nn.Module):
        def forward(self, batch):
            score = (batch.to_dense() * weight).sum((1, 2))
            return torch.stack([score, -score], 1)

    graph = sparse.csr_array(np.triu(np.ones((5, 5)), 2))
    noise = schemes.flips(0.03, 0.5)
    whole, parts = (
        np.asarray(
            TorchSampler(Edges(), noise=noise, forward_batch=rows)(
                graph, noise.level, 200, stream(0, 0, 1)
            )
        )
        for rows in (None, 33)
    )
    assert whole.tolist() == parts.tolist()
    assert whole.min() > 0


def test_blocks_of_sparse_matrices_are_one_sparse_tensor():
    noise = schemes.blocks(
        schemes.flips(0, HALF, symmetric=True),
        schemes.flips(Fraction(3, 4), 0),
        splits=[2],
    )
    graph = sparse.csr_array(np.array([[0, 1, 0, 0], [1, 0, 0, 1]]))
    copies, void = drawn(noise, graph, 400)
    assert copies.is_coalesced()
    assert not void.any()
    dense = copies.to_dense()
    assert dense.shape == (400, 2, 4)
    assert torch.equal(dense[:, 0, 1], dense[:, 1, 0])
    assert (dense[:, 1, 3] == 1).all()  # ones never become zeros
    assert (dense[:, [0, 1], [0, 1]] == 0).all()
    stored = torch.from_numpy(graph.toarray()).to_sparse()
    for same in (stored, graph.tocoo()):
        assert torch.equal(drawn(noise, same, 400)[0].to_dense(), dense)
    tensor = torch.from_numpy(graph.toarray())
    assert [part.tolist() for part in noise.checked(tensor)] == [
        [[0, 1], [1, 0]],
        [[0, 0], [0, 1]],
    ]
    assert 150 < dense[:, 0, 1].sum() < 250  # five standard deviations: 50
    assert 257 < dense[:, 0, 3].sum() < 343  # of 300: 43


def test_values_and_maps_of_modules_under_a_noise():
    noise = schemes.flips(0.5, 0.25)
    x = np.array([1.0, 0.0, 1.0])

    class Values(torch.nn.Module):
        def forward(self, batch):
            return batch.sum(1)

    class Maps(torch.nn.Module):
        def forward(self, batch):
            return torch.stack([batch, 1 - batch], 1)

    sampler = output_sampler(Values(), "values", schemes.flips(0.5, 0.25))
    assert sampler.law == noise.law
    assert np.asarray(sampler(x, 0.5, 50, stream(0, 0, 1))).shape == (50, 1)
    maps = output_sampler(Maps(), "maps", schemes.flips(0.5, 0.25))
    counts = np.asarray(maps(x, 0.5, 1000, stream(0, 0, 1)))
    assert (counts.sum(axis=1) == 1000).all()
    assert (abs(counts[:, 0] - [750, 500, 750]) < 80).all()  # five deviations


def test_a_modules_sampler_refuses_what_its_noise_is_not_for():
    model = Seen()
    with pytest.raises(ArgumentError, match=r"sigma.*level"):
        TorchSampler(model, noise=schemes.uniform(0.5))([0.5], 1.0, 5, stream(0, 0, 1))
    with pytest.raises(ArgumentError, match=r"n must.*outcomes"):
        TorchSampler(model, noise=schemes.splitting(0.5, 4))(
            [0.5], 0.5, 5, stream(0, 0, 1)
        )
    with pytest.raises(ArgumentError, match=r"grid is for Gaussian noise; got.*mask"):
        schemes.mask(2, 1).on_grid()
    with pytest.raises(ArgumentError, match=r"x must.*whole"):
        TorchSampler(model, noise=schemes.flips(0.5, 0.1))([2], 0.5, 5, stream(0, 0, 1))
    with pytest.raises(ValueError, match=r"x must.*floating"):
        as_sampler(model)([2, 3], 1.0, 5, stream(0, 0, 1))


@pytest.mark.parametrize("end", [1, 3, 2**62, 2**63])
def test_whole_numbers_are_alike_below_any_end(end, monkeypatch):
    """In order of their bits; those past the last whole multiple choose nothing."""
    bits = torch_bits.TorchBits(torch.Generator().manual_seed(0), 6000, CPU)
    drawn_numbers = bits.below(end, (6000, 1)).flatten().numpy()
    assert not bits.void.any()
    places = np.minimum(drawn_numbers / (end / 3), 2).astype(int)
    if end >= 3:
        assert stats.chisquare(np.bincount(places, minlength=3)).pvalue > SURE
    last = 2**63 - 1
    monkeypatch.setattr(
        torch_bits.TorchBits, "_bits", lambda self, shape: torch.tensor([[last], [0]])
    )
    bits = torch_bits.TorchBits(torch.Generator(), 2, CPU)
    assert bits.below(end, (2, 1))[1] == 0
    assert bits.void.tolist() == [2**63 % end != 0, False]


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_normal_bits_follow_the_standard_normal_law(backend):
    """Kolmogorov and Smirnov's test at 1e-6; 64 bits, so that no tie is seen."""
    shape = (200, 100)
    if backend == "numpy":
        numbers = ArrayBits(np.random.default_rng(5), 200).normal(shape)
    else:
        bits = torch_bits.TorchBits(torch.Generator().manual_seed(5), 200, CPU)
        numbers = bits.normal(shape).numpy()
    assert numbers.shape == shape
    assert numbers.dtype == np.float64
    assert len(np.unique(numbers)) == numbers.size
    assert stats.kstest(numbers.ravel(), "norm").pvalue > SURE
