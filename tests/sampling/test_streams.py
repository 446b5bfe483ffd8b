"""No two blocks of noise of a run are the same."""

import numpy as np
import pytest

from rsbounds.sampling import Phase
from rsbounds.sampling.internal import stream
from rsbounds.sampling.streams import _APART, Block, blocks_of


def nearest_multiple(step, modulus, count):
    """How near to 0 a multiple of ``step`` below ``count`` times comes.

    The best are at the denominators of the convergents of step / modulus.
    """
    nearest = modulus
    last, denominator = 0, 1
    a, b = step, modulus
    while a and denominator < count:
        multiple = denominator * step % modulus
        nearest = min(nearest, multiple, modulus - multiple)
        last, denominator = denominator, b // a * denominator + last
        a, b = b % a, a
    return nearest


@pytest.mark.parametrize(("step", "modulus"), [(13, 64), (37, 101), (389, 1000)])
def test_nearest_multiples_are_those_of_a_search(step, modulus):
    for count in range(2, modulus):
        multiples = [k * step % modulus for k in range(1, count)]
        found = min(min(m, modulus - m) for m in multiples)
        assert nearest_multiple(step, modulus, count) == found


def test_seeds_of_64_bits_differ_for_any_inputs_and_blocks_of_a_run():
    """key + number APART is one-to-one: k APART is at least 2^30 away from 0."""
    assert nearest_multiple(_APART, 2**64, 2**33) >= 2**30


def test_a_million_blocks_of_a_run_share_no_name_and_no_seed():
    streams = [stream(0, i, Phase.ESTIMATE) for i in range(1000)]
    keys = [one.blocks(1)[0].key for one in streams]
    assert len(set(keys)) == 1000
    numbers = [name.number for name in stream(0, 0, Phase.ESTIMATE).blocks(1000)]
    assert len(set(numbers)) == 1000
    low = np.array([key % 2**64 for key in keys], np.uint64)
    seeds = low[:, None] + np.array(numbers, np.uint64) * np.uint64(_APART)
    assert len(np.unique(seeds)) == 10**6
    for i, k in ((0, 0), (999, 999), (77, 5)):
        assert seeds[i, k] == Block(keys[i], numbers[k]).seed


def test_names_of_an_input_are_distinct_across_phases_and_stages():
    streams = [stream(7, 3, phase) for phase in Phase]
    streams += [stream(7, 3, phase, stage) for phase in Phase for stage in (0, 1, 63)]
    streams += [stream(7, 2**32 * k + 3, Phase.ESTIMATE, 1) for k in (1, 2)]
    names = [name for one in streams for k in (1, 5, 400) for name in one.blocks(k)]
    assert len(set(names)) == len(streams) * 406
    assert len({name.key for name in names}) == 3
    assert all(0 <= name.number < 2**33 for name in names)


def test_keys_of_a_run_are_consecutive_and_of_128_bits():
    keys = [stream(2**40, i, Phase.SELECT).blocks(1)[0].key for i in range(3)]
    assert keys == [keys[0], keys[0] + 1, keys[0] + 2]
    assert keys[0] >= 2**100
    # of a hash in place of an index, too
    far = stream(2**40, 2**256 - 1, Phase.SELECT).blocks(1)[0].key
    assert far == keys[0] - 1


def test_blocks_do_not_depend_on_how_many_are_asked_for_at_once():
    one, other = (stream(1, 2, Phase.ESTIMATE) for _ in range(2))
    assert one.blocks(5) + one.blocks(2) == other.blocks(7)


def test_a_generator_that_is_no_stream_draws_a_key_for_its_blocks():
    generator = np.random.default_rng(0)
    first, second = blocks_of(generator, 3), blocks_of(generator, 3)
    assert [name.number for name in first] == [0, 1, 2]
    assert len({name.key for name in first + second}) == 2
    assert first == blocks_of(np.random.default_rng(0), 3)


def test_torch_holds_the_whole_name_in_its_state_on_a_cpu():
    torch = pytest.importorskip("torch")
    from rsbounds.sampling import torch_noise

    generator = torch.Generator()
    for name in (Block(2**128 - 1, 2**33 - 1), Block(5, 0)):
        torch_noise.started(generator, name)
        words = generator.get_state().numpy().view(np.int64)[4:10]
        read = sum(int(word) << 32 * place for place, word in enumerate(words))
        assert (read % 2**128, read >> 128) == name


def test_a_block_starts_alike_in_any_order_and_beside_any_others():
    torch = pytest.importorskip("torch")
    from rsbounds.sampling import torch_noise

    names = stream(0, 3, Phase.ESTIMATE).blocks(200)
    generator = torch.Generator()

    def first(name):
        torch_noise.started(generator, name)
        return torch.rand(3, generator=generator).tolist()

    forward = [first(name) for name in names]
    torch_noise._states.cache_clear()
    assert [first(name) for name in reversed(names)] == forward[::-1]
    for k in (0, 1, 5, 64, 130, 199):
        words = torch_noise.words_of(names[k])
        torch_noise.started(generator, names[k])
        state = generator.get_state().numpy().view(np.int64)[4:627]
        assert np.array_equal(state, words)


def test_torch_draws_what_numpy_draws_from_the_same_words():
    torch = pytest.importorskip("torch")
    from rsbounds.sampling import torch_noise

    name = Block(2**127 + 11, 3)
    generator = torch_noise.started(torch.Generator().manual_seed(1), name)
    drawn = torch.empty(2000, dtype=torch.int32).random_(generator=generator).numpy()
    key = np.concatenate([[2**31], torch_noise.words_of(name)]).astype(np.uint32)
    twister = np.random.MT19937()
    twister.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}
    assert np.array_equal(drawn, twister.random_raw(2000) % 2**31)


def test_another_form_of_torchs_state_is_refused(monkeypatch):
    pytest.importorskip("torch")
    from rsbounds.sampling import torch_noise

    monkeypatch.setattr(torch_noise, "_WORDS", slice(5, 628))
    torch_noise._first_state.cache_clear()
    with pytest.raises(RuntimeError, match="keeps the state of its generator"):
        torch_noise._first_state()
    torch_noise._first_state.cache_clear()


def test_numbers_of_a_block_are_normal_and_unlike_those_of_the_next():
    torch = pytest.importorskip("torch")
    from rsbounds.sampling import torch_noise

    names = stream(0, 0, Phase.ESTIMATE).blocks(40)
    drawn, _ = torch_noise.gaussian(torch.zeros(50), 1.0, 20, names, torch.Generator())
    blocks = drawn.flatten(1).double().numpy()
    assert abs(blocks.mean()) < 5 / np.sqrt(blocks.size)
    assert abs(blocks.std() - 1) < 5 / np.sqrt(2 * blocks.size)
    apart = np.corrcoef(blocks)[np.triu_indices(40, 1)]
    assert np.abs(apart).max() < 6 / np.sqrt(blocks.shape[1])
