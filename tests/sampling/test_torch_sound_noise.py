"""Sound noise: its laws are exact, and what a draw can't decide counts for no class."""

from functools import partial

import numpy as np
import pytest
import torch
from mpmath import mp
from noise_laws import assert_rounds_normal
from torch import nn

from rsbounds.noises import grid_noise
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.sampling import torch_noise as draw
from rsbounds.sampling.internal import stream
from rsbounds.sampling.streams import numbered
from rsbounds.torch import TorchSampler

TOP = 2**63


def test_levels_beyond_all_use_have_tables_or_are_refused():
    """The series of Phi had no end at a level far below the grid's step."""
    for sigma in (5e-324, 1e-9, 1e-4):
        thresholds, _, zero = grid_noise.tables(sigma)
        assert thresholds.tolist() == [0] * zero + [TOP - 1] * zero
    for sigma in (0.0, -1.0, 101.0, np.inf, np.nan):
        with pytest.raises(ValueError, match=r"sigma must.*100"):
            grid_noise.tables(sigma)


def numbers(thresholds):
    """Numbers everywhere in [0, 2^63), beside all thresholds and at the borders of
    cells.
    """
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2**16, 1000) << 47
    near = [thresholds + d for d in (-1, 0, 1)] + [cells - 1, cells, cells + 1]
    near += [rng.integers(0, TOP, 100_000), np.array([0, 1, TOP - 1])]
    u = np.concatenate([a.astype(object) for a in near])
    return u[(u >= 0) & (u < TOP)].astype(np.int64)


@pytest.mark.parametrize("sigma", [0.001, 0.25])
def test_counts_and_ambiguous_draws(sigma):
    thresholds, cells, _ = grid_noise.tables(sigma)
    u = numbers(thresholds)
    u_, thresholds_, cells_ = map(torch.as_tensor, (u, thresholds, cells))
    for known in (cells_, None):  # None: as on a GPU
        count, ambiguous = draw.count_below(u_, thresholds_, known)
        assert count.dtype == torch.int32
        assert np.array_equal(
            count.numpy(), np.searchsorted(thresholds, u, side="right")
        )
        assert np.array_equal(ambiguous.numpy(), np.isin(u, thresholds))


def test_inputs_off_the_grid_are_refused_and_float32_on_it_is_not():
    """A tolerance of 1e-3 accepted an input 6e-3 from the point that was certified (d =
    150528).
    """
    whole = np.arange(256)
    single = whole.astype(np.float32)
    for x in (single / np.float32(255), single * np.float32(1 / 255), whole / 255):
        assert np.array_equal(grid_noise.on_grid(x), whole)
    for off in (1e-3, 3e-5):
        with pytest.raises(ValueError, match="256 of 256"):
            grid_noise.on_grid((whole + off) / 255)
    with pytest.raises(ValueError, match=r"1 of 3.* 0\.5"):
        draw.whole(torch.tensor([0.0, 1.0, 0.5]))
    with pytest.raises(ValueError, match="grid of 1/255"):
        grid_noise.on_grid([np.nan])


def test_ambiguous_draws_count_for_no_class(monkeypatch):
    count = draw.count_below

    def first_ambiguous(u, *tables):
        below, ambiguous = count(u, *tables)
        ambiguous[:8] = True  # of the first two rows of four numbers
        return below, ambiguous

    monkeypatch.setattr(draw, "count_below", first_ambiguous)
    sampler = TorchSampler(nn.Linear(4, 3), noise=OnGrid())
    assert np.asarray(sampler(torch.zeros(4), 0.5, 100, stream(0, 0, 0))).sum() == 98


def test_sampler_sees_the_grid_alone_and_hardly_differs():
    seen = []
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
    model.register_forward_pre_hook(lambda _, args: seen.append(args[0].clone()))
    x, n = (torch.arange(64).reshape(1, 8, 8) * 4) / 255, 4000
    sound, other, plain = (
        np.asarray(TorchSampler(model, **options)(x, 0.25, n, stream(0, 0, 1)))
        for options in ({"noise": OnGrid()}, {"noise": OnGrid(), "batch": 7}, {})
    )
    inputs = 255 * torch.cat(seen[: len(seen) * 2 // 3])
    assert (inputs - inputs.round()).abs().max() < 1e-4
    assert sound.tolist() == other.tolist()
    assert sound.sum() == n
    assert (
        abs(sound[0] - plain[0]) < 6 * (2 * n * 0.25) ** 0.5
    )  # other samples, much the same law


def drawn(u, centre, scale):
    count, ambiguous = draw.rounded(
        *(torch.tensor(a) for a in (u[None], centre, scale))
    )
    return count[0].numpy(), ambiguous[0].numpy()


def whole_of(u, centre, scale):
    z = mp.sqrt(2) * mp.erfinv(2 * mp.mpf(int(u)) / TOP - 1)
    return int(mp.floor(mp.mpf(float(centre)) + mp.mpf(float(scale)) * z + mp.mpf(0.5)))


def test_rounded_noise_is_decided_rightly_or_not_at_all():
    """Next to thresholds, in the tails, for all levels and means; and nearly all is
    decided.
    """
    rng = np.random.default_rng(0)
    u, centre, scale = [], [], []
    with mp.workdps(40):
        for case in range(450):
            s, c = 10 ** rng.uniform(-1, 2.5), rng.choice([0.0, rng.uniform(-300, 300)])
            k = int(np.floor(c + s * rng.standard_normal() * rng.choice([1, 3])))
            threshold = int(mp.floor(TOP * mp.ncdf((k + 0.5 - mp.mpf(c)) / mp.mpf(s))))
            off = int(rng.choice([0, 1, 2, 10**3, 10**6, 10**9, 10**12])) * int(
                rng.choice([-1, 1])
            )
            near = threshold + off
            u.append(
                near
                if case % 3 and 0 < near < TOP - 1
                else int(rng.integers(1, TOP - 1))
            )
            centre.append(c)
            scale.append(s)
        u = np.array(u)
        counts, ambiguous = drawn(u, np.array(centre, float), np.array(scale))
        for i in np.flatnonzero(~ambiguous):
            ends = [whole_of(u[i] + d, centre[i], scale[i]) for d in (0, 1)]
            assert ends == [counts[i]] * 2
    assert not ambiguous[::3].any()  # those anywhere
    assert ambiguous[[i for i in range(450) if i % 3]].any()
    assert drawn(np.array([0, TOP - 1]), np.zeros(2), np.ones(2))[1].all()


def test_noise_of_a_shape_has_the_law_of_rounded_normal_numbers():
    whole = torch.zeros(4000, 2, dtype=torch.int32)
    scale, centre = (
        torch.tensor([2.0, 20.0]).double(),
        torch.tensor([0.3, -1.7]).double(),
    )
    steps = partial(draw.rounded, centre=centre, scale=scale)
    noisy, void = draw.moved(whole, steps, 20, numbered(2), torch.Generator())
    assert not void.any()
    for axis in (0, 1):
        noise = torch.round(255 * noisy[..., axis])
        assert_rounds_normal(noise, scale[axis].item(), centre[axis].item())
    # one level on every axis: what the table of that level draws
    scale, centre = (
        torch.full((256,), v, dtype=torch.float64) for v in (255 * 0.25, 0.0)
    )
    whole = torch.arange(256, dtype=torch.int32)
    steps = partial(draw.rounded, centre=centre, scale=scale)
    a, _ = draw.moved(whole, steps, 40, numbered(3), torch.Generator())
    b, _ = draw.on_grid(whole, 0.25, 40, numbered(3), torch.Generator())
    assert torch.equal(a, b)
