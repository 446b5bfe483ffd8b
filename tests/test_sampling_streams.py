"""Seeds of blocks of noise: distinct within an input, and those of NumPy's own streams."""

import numpy as np
import pytest

from rsbounds.sampling import Phase, block_seeds, stream


def test_block_seeds_of_an_input_are_distinct_in_and_across_phases():
    for seed, index in ((0, 0), (7, 123), (2**40, 3)):
        streams = [stream(seed, index, phase) for phase in Phase]
        seeds = [s for one in streams for k in (1, 5, 4000) for s in block_seeds(one, k)]
        assert len(set(seeds)) == len(seeds) == len(Phase) * 4006
        assert all(0 <= s < 2**32 for s in seeds)
    again = block_seeds(stream(2**40, 3, Phase.SELECT), 3)
    assert again == block_seeds(stream(2**40, 3, Phase.SELECT), 2) + again[2:]
    assert again != block_seeds(stream(2**40, 4, Phase.SELECT), 3)
    other = block_seeds(np.random.default_rng(0), 1000)  # of a generator that is no stream
    assert len(set(other)) == 1000


def test_stream_keeps_the_numbers_of_its_seed():
    plain = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(5, 1)))
    drawn = stream(3, 5, Phase.ESTIMATE).integers(2**60, size=5)
    assert drawn.tolist() == plain.integers(2**60, size=5).tolist()
    with pytest.raises(ValueError, match=r"phase must be in \[0, 8\)"):
        stream(0, 0, 8)
    with pytest.raises(ValueError, match=r"stage must be in \[0, 64\); got 64"):
        stream(3, 4, Phase.SELECT, 64)
