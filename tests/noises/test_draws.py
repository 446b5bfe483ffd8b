"""Noises by name: their laws by counting, what a function sees, what is refused.

Where a law is tested by chance, the seed is fixed and the tolerance is chi-square's at
1e-6: a right sampler failed with that probability when the test was written.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from known_bits import known_bits
from noise_laws import LAWS, SURE, assert_follows
from scipy import sparse, stats

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rationals import exact_probability
from rsbounds.certify import ArraySampler
from rsbounds.noises import _edges
from rsbounds.noises.blocks import Blocks
from rsbounds.noises.categorical import Categorical
from rsbounds.noises.deletion import Deletion
from rsbounds.noises.exponential import Exponential
from rsbounds.noises.flips import Flips
from rsbounds.noises.laplace import Laplace
from rsbounds.noises.mask import Mask
from rsbounds.noises.splitting import Splitting
from rsbounds.noises.uniform import Uniform
from rsbounds.sampling import (
    as_sampler,
    on_strings,
)
from rsbounds.sampling.bits import ArrayBits

N = 10_000
FEW = 2_000  # of sparse matrices, which are slower


@pytest.fixture(params=["seed", "os"])
def source(request, monkeypatch):
    """Let :func:`drawn` take NumPy's stream, or the operating system's bits."""
    if request.param == "os":
        bits = known_bits(monkeypatch)
        monkeypatch.setitem(globals(), "rng", lambda: bits)


each_source = pytest.mark.usefixtures("source")


def drawn(noise, x, n):
    """Copies by :func:`rng`, and which are void."""
    bits = ArrayBits(rng(), n)
    return noise.noisy(noise.checked(x), noise.level, n, bits), bits.void


def law_of(noise, x, outcomes):
    """How often each outcome was drawn; a KeyError for one that can't be."""
    n = FEW if sparse.issparse(x) else N
    copies, void = drawn(noise, x, n)
    assert not void.any()
    counts = dict.fromkeys(outcomes, 0)
    longest = max(map(len, outcomes))
    for copy in copies:
        array = copy.toarray() if sparse.issparse(copy) else copy
        outcome = array.ravel().tolist()
        counts[(*outcome, *[-1] * (longest - len(outcome)))] += 1
    return counts


def rng():
    return np.random.default_rng(2024)


@each_source
@pytest.mark.parametrize(("noise", "x", "law"), LAWS)
def test_numpy_draws_the_law(noise, x, law):
    assert_follows(law_of(noise, x, law), law)


def test_ties_of_keys_leave_subsets_uniform():
    class Coarse:
        """Keys of two bits: most rows have ties."""

        def __init__(self):
            self.rng = rng()

        def integers(self, low, high, size, dtype):
            return self.rng.integers(0, 4, size=size).astype(dtype)

    rows = ArrayBits(Coarse(), N).choose(2, N, (4,))
    counts = dict.fromkeys(combinations(range(4), 2), 0)
    for row in rows:
        counts[tuple(np.flatnonzero(row).tolist())] += 1
    assert_follows(counts, dict.fromkeys(counts, Fraction(1, 6)))


def test_edges_are_added_at_all_places_alike_and_as_often_as_the_binomial_law_says():
    """300 nodes in a ring, 2,000 copies: numbers of new edges, and where they are."""
    nodes, copies, add = 300, 2000, Fraction(1, 1000)
    ring = np.arange(nodes)
    once = sparse.coo_array((np.ones(nodes), (ring, (ring + 1) % nodes)))
    graph = sparse.csr_array(once + once.T)
    noise = Flips(add, 0, symmetric=True)
    graphs, void = drawn(noise, graph, copies)
    assert not void.any()
    numbers = np.array([copy.nnz // 2 - nodes for copy in graphs])
    zeros = nodes * (nodes - 1) // 2 - nodes
    chances = stats.binom.pmf(np.arange(zeros + 1), zeros, float(add))
    middle = slice(*stats.binom.ppf([0.02, 0.98], zeros, float(add)).astype(int))
    counts = np.bincount(numbers, minlength=len(chances))
    observed = [*counts[middle], counts.sum() - counts[middle].sum()]
    expected = [*chances[middle], 1 - chances[middle].sum()]
    expected = copies * np.array(expected)
    assert stats.chisquare(observed, expected).pvalue > SURE
    total = sum(graphs[1:], graphs[0]).toarray()
    above = total[np.triu_indices(nodes, 1)]
    added = above[above < copies]  # all but the ring, which stays
    assert len(added) == zeros
    # 2 of each place are expected: a thousand groups of places
    groups = np.add.reduceat(
        added, np.linspace(0, zeros, 1000, endpoint=False, dtype=int)
    )
    sizes = np.diff([*np.linspace(0, zeros, 1000, endpoint=False, dtype=int), zeros])
    expected = groups.sum() * sizes / zeros
    assert stats.chisquare(groups, expected).pvalue > SURE
    for copy in graphs[:20]:
        assert (copy != copy.T).nnz == 0
        assert copy.diagonal().sum() == 0


@pytest.mark.parametrize("number", [1, 9, 400])
@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(0.001), Fraction(1, 2)])
def test_the_table_of_binomial_draws_holds_scipys_values(number, chance):
    first, thresholds = _edges._table(number, chance)
    k = np.arange(first, first + len(thresholds))
    expected = stats.binom.cdf(k, number, float(chance))
    np.testing.assert_allclose(thresholds / 2**63, expected, rtol=1e-11, atol=2**-60)
    assert thresholds[-1] == 2**63 - 1  # all of the 63 bits


class Bits:
    """In place of a generator: the draws given, one call after the other."""

    def __init__(self, *draws):
        self.draws = list(draws)

    def integers(self, low, high, size, dtype):
        draw = np.array(self.draws.pop(0))
        assert draw.size == np.prod(size)
        return draw


def test_an_event_has_exactly_its_chance_however_many_bits_it_takes():
    """Bits below, at and above those of 1/3; those at it are drawn again."""
    first = 2**16 // 3
    below, at, above = first - 1, first, first + 1
    third = Fraction(1, 3)
    bits = Bits([below, at, above, at], [above, at], [below])

    def happens(chance, count, bits):
        return ArrayBits(bits, count).happens(chance, (count,))

    assert happens(third, 4, bits).tolist() == [True, False, False, True]
    assert not bits.draws
    # a number of so many bits needs no more
    half = Bits([2**15 - 1, 2**15])
    assert happens(Fraction(1, 2), 2, half).tolist() == [True, False]
    assert happens(Fraction(1), 2, Bits()).tolist() == [True, True]
    assert happens(Fraction(0), 1, Bits([0])).tolist() == [False]


def outcomes(noise, checked):
    bits = ArrayBits(None, noise.outcomes)
    return noise.all_outcomes(checked, 0, noise.outcomes, bits)


def test_splitting_goes_through_all_outcomes_whatever_the_generator():
    noise = Splitting(0.75, 8)
    assert noise.outcomes == 12
    x = np.arange(9) / 8
    seen = []

    def model(batch):
        seen.append(batch.copy())
        return np.stack([batch[:, 3], 0.4 + 0 * batch[:, 3]], axis=1)

    sampler = ArraySampler(model, noise=noise)
    one = sampler(x, 0.75, 12, np.random.default_rng(0))
    assert np.array_equal(one, sampler(x, 0.75, 12, np.random.default_rng(1)))
    batch = seen[-1]
    assert len(batch) == 12
    assert ((batch > 0) & (batch < 1)).all()
    # a step of one coordinate moves it in exactly one of the outcomes
    for step in range(8):
        whole = noise.checked(np.full(9, step / 8))
        moved = noise.checked(np.full(9, (step + 1) / 8))
        differ = outcomes(noise, whole) != outcomes(noise, moved)
        assert (differ.sum(axis=0) == 1).all()


def test_splitting_shows_the_middle_of_the_interval():
    """Against borders in rationals, as the paper has them."""
    width, levels = Fraction(1, 2), 4
    noise = Splitting(0.5, levels)
    offsets = noise.offsets((3,))
    x = [Fraction(k, levels) for k in (0, 3, 4)]
    copies = outcomes(noise, noise.checked([float(v) for v in x]))
    for t, copy in enumerate(copies):
        for value, offset, shown in zip(x, offsets.tolist(), copy, strict=True):
            border = (Fraction((offset + t) % noise.outcomes) + Fraction(1, 2)) / levels
            below = (value - border) // (2 * width)
            low = border + 2 * width * below
            high = low + 2 * width
            middle = (max(low, Fraction(0)) + min(high, Fraction(1))) / 2
            assert shown == np.float32(float(middle))


@each_source
def test_uniform_laplace_and_exponential_noise_have_their_quantiles():
    for noise, law in (
        (Uniform(0.5), stats.uniform(-0.25, 1.0)),
        (Laplace(0.5), stats.laplace(0.25, 0.5)),
        (Exponential(2.0), stats.expon(0.25, 0.5)),
    ):
        copies, void = drawn(noise, [0.25], N)
        assert copies.dtype == np.float32
        assert not void.any()
        assert stats.kstest(copies[:, 0], law.cdf).pvalue > SURE


@pytest.mark.parametrize(
    ("noise", "x", "message"),
    [
        (Categorical(0.5, 3), [0, 3], "x must be whole"),
        (Categorical(0.5, 3), [0.5, 1.0], "x must be whole"),
        (Categorical(0.5, 3), [np.nan], "x must be finite"),
        (Categorical(0.5, 3), [], "x must be numbers"),
        (Categorical(0.5, 3), ["cat"], "x must be numbers"),
        (Flips(0.1, 0.2), [0, 2], "x must be whole"),
        (
            Flips(0.1, 0.2, symmetric=True),
            [[0, 1], [0, 0]],
            "x must be a symmetric matrix",
        ),
        (
            Flips(0.1, 0.2, symmetric=True),
            sparse.csr_array([[0, 1], [0, 0]]),
            "x must be a symmetric matrix",
        ),
        (
            Flips(0.1, 0.2, symmetric=True),
            sparse.csr_array([[0, 1, 1]]),
            "x must be a square",
        ),
        (Flips(0.1, 0.2), sparse.csr_array([[2, 1]]), "x must be 0 or 1; got 1"),
        (Mask(3, 1), [1, 2], "dim must be the size"),
        (Mask(2, 1, hidden=0.5), [1, 2], "hidden must be a whole"),
        (Mask(2, 1, hidden=1e300), [1, 2], "hidden must be a whole"),
        (Mask(2, 1, hidden=2.0**62), [1, 2], "hidden must be a whole"),
        (Mask(2, 1, hidden=1e300), [0.5, 2.0], "hidden must be within"),
        (Deletion(0.5), [[1, 2]], "x must be one sequence"),
        (Deletion(0.5), [-1, 2], "x must be whole"),
        (Splitting(0.5, 4), [0.3], "x must be on"),
        (Splitting(0.5, 4), [1.25], r"x must be in \[0, 1\]; got"),
        (Categorical(0.5, 2**30), [2.0**25], "x must be whole"),
        (Uniform(0.5), [1, 2], "x must be floating point"),
        (Laplace(0.5), [1, 2], "x must be floating point"),
        (
            Blocks(Mask(keep_probability=0.1), Flips(0.1, 0.2), splits=[3]),
            [1, 0, 1],
            "x must have more",
        ),
    ],
)
def test_inputs_that_a_noise_is_not_for_are_refused_in_a_line(noise, x, message):
    with pytest.raises(ValueError, match=message) as error:
        noise.checked(x)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Categorical(1.0, 2), "keep must be a probability"),
        (lambda: Categorical(np.nan, 2), "keep must be a probability"),
        (lambda: Categorical(True, 2), "keep must be a probability"),
        (lambda: Categorical(0.5, 1), "values must be >= 2; got 1"),
        (lambda: Flips(0.25, 0.75), "add must not make"),
        (lambda: Flips(0.5, 0.75), "add must be below"),
        (lambda: Flips(0, 0), "add must leave"),
        (lambda: Flips(-0.1, 0.5), "add must be a probability"),
        (lambda: Flips(0.1, 0.5, symmetric=1), "symmetric must be True"),
        (lambda: Mask(), "keep_count must be given"),
        (lambda: Mask(9, 1, keep_probability=0.5), "keep_count must be given, or"),
        (lambda: Mask(9, 0), "keep_count must be >="),
        (lambda: Mask(9, 9), "keep_count must be less"),
        (lambda: Mask(keep_count=1), "dim is missing"),
        (lambda: Mask(9, keep_probability=0.5), "dim goes with keep_count"),
        (lambda: Mask(keep_probability=1), "keep_probability must be a probability"),
        (lambda: Deletion(0), "delete must be a probability"),
        (lambda: Splitting(0.3, 4), "half_width must be a multiple"),
        (lambda: Splitting(0.5, 2**21), "levels must be <= 1048576"),
        (lambda: Uniform(0), "half_width must be in"),
        (lambda: Laplace(-1.0), "scale must be in"),
        (lambda: Blocks(Flips(0.1, 0.2), splits=[]), "parts must be at least two"),
        (
            lambda: Blocks(Flips(0.1, 0.2), Deletion(0.5), splits=[1]),
            "parts must be of categorical",
        ),
    ],
)
def test_noises_out_of_their_domain_are_refused_in_a_line(make, message):
    with pytest.raises(ArgumentError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


def test_a_float_is_the_probability_that_it_is():
    assert exact_probability("p", 0.8) == Fraction(0.8) != Fraction(4, 5)
    assert exact_probability("p", np.float32(0.5)) == Fraction(1, 2)
    assert Categorical(Fraction(4, 5), 3).law == "categorical keep=4/5 values=3"


def test_functions_see_whole_numbers_lists_and_matrices():
    seen = []

    def model(batch):
        seen.append(batch)
        return np.tile([1.0, 0.0], (len(batch), 1))

    def first(noise, x):
        sampler = as_sampler(model, noise=noise)
        assert sampler.law == noise.law
        assert sampler(x, noise.level, 3, rng()).tolist() == [3, 0]
        return seen[-1]

    assert first(Categorical(0.5, 4), [1, 2]).dtype == np.int64
    assert first(Categorical(0.5, 4), [1.0, 2.0]).dtype == np.float32
    assert first(Mask(2, 1), [0.5, 2.5]).dtype == np.float32
    assert {type(s) for s in first(Deletion(0.5), [1, 2, 3])} == {np.ndarray}
    graph = sparse.csr_matrix(np.eye(3))
    (matrix, *_) = first(Flips(0.5, 0.1), graph)
    assert isinstance(matrix, sparse.csr_matrix)
    assert matrix.has_canonical_format
    (matrix, *_) = first(Flips(0.01, 0.1), sparse.coo_array(graph))
    assert isinstance(matrix, sparse.csr_array)


def test_a_sampler_is_called_with_its_noises_level_and_all_its_outcomes():
    model = lambda batch: batch  # noqa: E731
    with pytest.raises(ArgumentError, match=r"sigma.*level"):
        as_sampler(model, noise=Uniform(0.5))([0.5, 1.0], 1.0, 5, rng())
    with pytest.raises(ArgumentError, match=r"n must.*outcomes"):
        as_sampler(model, noise=Splitting(0.5, 4))([0.5, 1.0], 0.5, 5, rng())
    with pytest.raises(ArgumentError, match=r"sound_noise.*grid"):
        as_sampler(model, noise=Mask(2, 1), sound_noise=True)
    sampler = as_sampler(model)
    message = r"must draw the noise .* 'mask kept=1 hidden=0'; got x \+ sigma N\(0, I\)"
    with pytest.raises(ValueError, match=message):
        as_sampler(sampler, noise=Mask(2, 1))


def test_rows_of_lists_that_depend_on_each_other_are_refused():
    total = lambda rows: np.tile([sum(map(len, rows)), 1.0], (len(rows), 1))  # noqa: E731
    with pytest.raises(ValueError, match="row for itself"):
        as_sampler(total, noise=Deletion(0.5))(np.arange(9), 0.5, 20, rng())
    edges = lambda rows: np.tile([sum(r.nnz for r in rows), 1.0], (len(rows), 1))  # noqa: E731
    graph = sparse.csr_array(np.eye(5))
    with pytest.raises(ValueError, match="row for itself"):
        as_sampler(edges, noise=Flips(0.1, 0.5))(graph, 0.5, 20, rng())


def test_a_decoder_that_returns_no_string_is_refused():
    model = on_strings(lambda strings: np.zeros((len(strings), 2)), lambda ids: ids)
    with pytest.raises(ValueError, match=r"decode.*list"):
        as_sampler(model, noise=Deletion(0.5))(np.arange(5), 0.5, 5, rng())


@pytest.mark.parametrize("levels", [4, 255, 65_535, 2**20])
def test_float32_inputs_are_on_the_grid_of_any_number_of_levels(levels):
    steps = rng().integers(0, levels + 1, 1000)
    noise = Splitting(0.5, levels)
    for single in (
        (steps / levels).astype(np.float32),
        steps.astype(np.float32) * np.float32(1 / levels),
    ):
        whole = noise.checked(np.minimum(single, 1))
        assert np.array_equal(whole, steps)
