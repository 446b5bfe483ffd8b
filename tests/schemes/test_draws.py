"""Noises by name: their laws by counting, what a function sees, what is refused.

Where a law is tested by chance, the seed is fixed and the tolerance is chi-square's at
1e-6: a right sampler failed with that probability when the test was written.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import of_fractions
import pytest
from known_bits import known_bits
from noise_laws import LAWS, SURE, assert_follows
from scipy import sparse, stats

from rsbounds import schemes
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rationals import exact_probability
from rsbounds.certificate import ANOTHERS
from rsbounds.discrete import _edges
from rsbounds.sampling import (
    ArraySampler,
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
    noise = of_fractions.flips(add, 0, symmetric=True)
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
    return noise.copies(checked, noise.level, 0, noise.outcomes, bits)


def test_splitting_goes_through_all_outcomes_whatever_the_generator():
    noise = schemes.splitting(0.75, 8)
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
    noise = schemes.splitting(0.5, levels)
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
        (schemes.uniform(0.5), stats.uniform(-0.25, 1.0)),
        (schemes.laplace(0.5), stats.laplace(0.25, 0.5)),
        (schemes.exponential(2.0), stats.expon(0.25, 0.5)),
    ):
        copies, void = drawn(noise, [0.25], N)
        assert copies.dtype == np.float64
        assert not void.any()
        assert stats.kstest(copies[:, 0], law.cdf).pvalue > SURE


@pytest.mark.parametrize(
    ("noise", "x", "message"),
    [
        (schemes.categorical(0.5, 3), [0, 3], "x must be whole"),
        (schemes.categorical(0.5, 3), [0.5, 1.0], "x must be whole"),
        (schemes.categorical(0.5, 3), [np.nan], "x must be finite"),
        (schemes.categorical(0.5, 3), [], "x must be numbers"),
        (schemes.categorical(0.5, 3), ["cat"], "x must be numbers"),
        (schemes.flips(0.1, 0.2), [0, 2], "x must be whole"),
        (
            schemes.flips(0.1, 0.2, symmetric=True),
            [[0, 1], [0, 0]],
            "x must be a symmetric matrix",
        ),
        (
            schemes.flips(0.1, 0.2, symmetric=True),
            sparse.csr_array([[0, 1], [0, 0]]),
            "x must be a symmetric matrix",
        ),
        (
            schemes.flips(0.1, 0.2, symmetric=True),
            sparse.csr_array([[0, 1, 1]]),
            "x must be a square",
        ),
        (
            schemes.flips(0.1, 0.2),
            sparse.csr_array([[2, 1]]),
            "x must be 0 or 1; got 1",
        ),
        (schemes.mask(3, 1), [1, 2], "dim must be the size"),
        (schemes.mask(2, 1, hidden=0.5), [1, 2], "hidden must be a whole"),
        (schemes.mask(2, 1, hidden=1e300), [1, 2], "hidden must be a whole"),
        (schemes.mask(2, 1, hidden=2.0**62), [1, 2], "hidden must be a whole"),
        (schemes.mask(2, 1, hidden=1e300), [0.5, 2.0], "hidden must be within"),
        (schemes.deletion(0.5), [[1, 2]], "x must be one sequence"),
        (schemes.deletion(0.5), [-1, 2], "x must be whole"),
        (schemes.splitting(0.5, 4), [0.3], "x must be on"),
        (schemes.splitting(0.5, 4), [1.25], r"x must be in \[0, 1\]; got"),
        (schemes.categorical(0.5, 2**30), np.float32([2**25]), "x must be whole"),
        (schemes.categorical(0.5, 2**60), [2.0**54], "x must be whole"),
        (schemes.uniform(0.5), [1, 2], "x must be floating point"),
        (schemes.laplace(0.5), [1, 2], "x must be floating point"),
        (
            schemes.blocks(
                schemes.mask(keep_probability=0.1), schemes.flips(0.1, 0.2), splits=[3]
            ),
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
        (lambda: schemes.categorical(1.0, 2), "keep must be a probability"),
        (lambda: schemes.categorical(np.nan, 2), "keep must be a probability"),
        (lambda: schemes.categorical(True, 2), "keep must be a probability"),
        (lambda: schemes.categorical(0.5, 1), "values must be >= 2; got 1"),
        (lambda: schemes.flips(0.25, 0.75), "add must not make"),
        (lambda: schemes.flips(0.5, 0.75), "add must be below"),
        (lambda: schemes.flips(0, 0), "add must leave"),
        (lambda: schemes.flips(-0.1, 0.5), "add must be a probability"),
        (lambda: schemes.flips(0.1, 0.5, symmetric=1), "symmetric must be True"),
        (lambda: schemes.mask(), "keep_count must be given"),
        (
            lambda: schemes.mask(9, 1, keep_probability=0.5),
            "keep_count must be given, or",
        ),
        (lambda: schemes.mask(9, 0), "keep_count must be >="),
        (lambda: schemes.mask(9, 9), "keep_count must be less"),
        (lambda: schemes.mask(keep_count=1), "dim is missing"),
        (lambda: schemes.mask(9, keep_probability=0.5), "dim goes with keep_count"),
        (
            lambda: schemes.mask(keep_probability=1),
            "keep_probability must be a probability",
        ),
        (lambda: schemes.deletion(0), "delete must be a probability"),
        (lambda: schemes.splitting(0.3, 4), "half_width must be a multiple"),
        (lambda: schemes.splitting(0.5, 2**21), "levels must be <= 1048576"),
        (lambda: schemes.uniform(0), "half_width must be in"),
        (lambda: schemes.laplace(-1.0), "scale must be in"),
        (
            lambda: schemes.blocks(schemes.flips(0.1, 0.2), splits=[]),
            "parts must be at least two",
        ),
        (
            lambda: schemes.blocks(
                schemes.flips(0.1, 0.2), schemes.deletion(0.5), splits=[1]
            ),
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
    assert (
        of_fractions.categorical(Fraction(4, 5), 3).law
        == "categorical keep=4/5 values=3"
    )


def test_functions_see_whole_numbers_lists_and_matrices():
    seen = []

    def model(batch):
        seen.append(batch)
        return np.tile([1.0, 0.0], (len(batch), 1))

    def first(noise, x):
        sampler = ArraySampler(model, noise=noise)
        assert sampler.law == noise.law
        assert sampler(x, noise.level, 3, rng()).tolist() == [3, 0]
        return seen[-1]

    assert first(schemes.categorical(0.5, 4), [1, 2]).dtype == np.int64
    assert first(schemes.categorical(0.5, 4), [1.0, 2.0]).dtype == np.float64
    assert first(schemes.mask(2, 1), [0.5, 2.5]).dtype == np.float64
    assert first(schemes.mask(2, 1), np.float32([0.5, 2.5])).dtype == np.float32
    assert {type(s) for s in first(schemes.deletion(0.5), [1, 2, 3])} == {np.ndarray}
    graph = sparse.csr_matrix(np.eye(3))
    (matrix, *_) = first(schemes.flips(0.5, 0.1), graph)
    assert isinstance(matrix, sparse.csr_matrix)
    assert matrix.has_canonical_format
    (matrix, *_) = first(schemes.flips(0.01, 0.1), sparse.coo_array(graph))
    assert isinstance(matrix, sparse.csr_array)


def test_a_sampler_is_called_with_its_noises_level_and_all_its_outcomes():
    model = lambda batch: batch  # noqa: E731
    with pytest.raises(ArgumentError, match=r"sigma.*level"):
        ArraySampler(model, noise=schemes.uniform(0.5))([0.5, 1.0], 1.0, 5, rng())
    with pytest.raises(ArgumentError, match=r"n must.*outcomes"):
        ArraySampler(model, noise=schemes.splitting(0.5, 4))([0.5, 1.0], 0.5, 5, rng())
    with pytest.raises(ArgumentError, match=r"grid is for Gaussian noise; got.*mask"):
        schemes.mask(2, 1).on_grid()
    sampler = as_sampler(model)
    message = r"must draw the noise .* 'mask kept=1 hidden=0'; got x \+ sigma N\(0, I\)"
    with pytest.raises(ValueError, match=message):
        as_sampler(sampler, schemes.mask(2, 1))


def test_rows_of_lists_that_depend_on_each_other_are_refused():
    total = lambda rows: np.tile([sum(map(len, rows)), 1.0], (len(rows), 1))  # noqa: E731
    with pytest.raises(ValueError, match="row for itself"):
        ArraySampler(total, noise=schemes.deletion(0.5))(np.arange(9), 0.5, 20, rng())
    edges = lambda rows: np.tile([sum(r.nnz for r in rows), 1.0], (len(rows), 1))  # noqa: E731
    graph = sparse.csr_array(np.eye(5))
    with pytest.raises(ValueError, match="row for itself"):
        ArraySampler(edges, noise=schemes.flips(0.1, 0.5))(graph, 0.5, 20, rng())


def test_a_decoder_that_returns_no_string_is_refused():
    model = on_strings(lambda strings: np.zeros((len(strings), 2)), lambda ids: ids)
    with pytest.raises(ValueError, match=r"decode.*list"):
        ArraySampler(model, noise=schemes.deletion(0.5))(np.arange(5), 0.5, 5, rng())


@pytest.mark.parametrize("levels", [4, 255, 65_535, 2**20])
def test_float32_inputs_are_on_the_grid_of_any_number_of_levels(levels):
    steps = rng().integers(0, levels + 1, 1000)
    noise = schemes.splitting(0.5, levels)
    for single in (
        (steps / levels).astype(np.float32),
        steps.astype(np.float32) * np.float32(1 / levels),
    ):
        whole = noise.checked(np.minimum(single, 1))
        assert np.array_equal(whole, steps)


def test_a_gaussian_scheme_given_as_noise_is_drawn_as_by_default():
    def model(batch):
        return np.stack([batch[:, 0], -batch[:, 0]], axis=1)

    x = np.array([0.1, 0.2], np.float32)
    counts = [
        sampler(x, 0.5, 300, rng()).tolist()
        for sampler in (
            ArraySampler(model),
            ArraySampler(model, noise=schemes.gaussian(0.5)),
        )
    ]
    assert counts[0] == counts[1]
    assert 0 < counts[0][0] < 300


class Silent(schemes.Laplace):
    def offsets(self, shape, bits):
        return 0 * bits.uniform(shape)


class Still(schemes.METHODS["categorical"]):
    def noisy(self, x, sigma, size, bits):
        return np.tile(x, (size, *[1] * x.ndim))


def test_a_subclass_that_draws_otherwise_is_no_part_of_another_scheme():
    with pytest.raises(ArgumentError, match="scheme must be one of"):
        schemes.transformed(Silent({"sigma": 0.5}), "brightness")
    with pytest.raises(ArgumentError, match="parts must be of"):
        schemes.blocks(
            Still({"keep": 0.5, "values": 3}), schemes.flips(0.1, 0.2), splits=[2]
        )
    assert Silent({"sigma": 0.5}).scope == ANOTHERS


@pytest.mark.parametrize("method", ["flips", "laplace", "two-queries", "orbit"])
def test_a_scheme_of_a_mapping_names_the_parameter_that_is_missing(method):
    with pytest.raises(ArgumentError, match="is missing"):
        schemes.METHODS[method]({"other": 1.0})
