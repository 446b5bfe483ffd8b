"""Whole-numbered noise: its law is exact, and what it can't decide counts for no class."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from mpmath import mp
from torch import nn

from rsbounds.certify import stream
from rsbounds.sampling import grid_noise as _grid_noise
from rsbounds.torch import TorchSampler, draw

TOP = 2**63


@pytest.mark.parametrize("sigma", [0.001, 0.12, 0.5])
def test_thresholds_are_exact(sigma):
    thresholds, _, zero = _grid_noise.tables(sigma)
    with mp.workdps(50):
        scale = 255 * mp.mpf(sigma)
        for j in {0, 1, zero - 1, zero, zero + 1, len(thresholds) - 1, *range(0, 2 * zero, 97)}:
            if j < len(thresholds):
                # K = j - zero needs u >= thresholds[j - 1]: P(K < j - zero) is its share
                expected = mp.floor(TOP * mp.ncdf((j - zero + mp.mpf(0.5)) / scale))
                assert int(thresholds[j]) == int(expected)
    assert thresholds[0] == 0
    assert thresholds[-1] == TOP - 1
    assert (np.diff(thresholds) >= 0).all()


def test_levels_beyond_all_use_have_tables_or_are_refused():
    """The series of Phi had no end at a level far below the grid's step."""
    for sigma in (5e-324, 1e-9, 1e-4):
        thresholds, _, zero = _grid_noise.tables(sigma)
        assert thresholds.tolist() == [0] * zero + [TOP - 1] * zero
    for sigma in (0.0, -1.0, 101.0, np.inf, np.nan):
        with pytest.raises(ValueError, match=r"sigma must be in \(0, 100\]"):
            _grid_noise.tables(sigma)


def numbers(thresholds: np.ndarray) -> np.ndarray:
    """Numbers everywhere in [0, 2^63), beside all thresholds and at the borders of cells."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2**16, 1000) << 47
    near = [thresholds + d for d in (-1, 0, 1)] + [cells - 1, cells, cells + 1]
    near += [rng.integers(0, TOP, 100_000), np.array([0, 1, TOP - 1])]
    u = np.concatenate([a.astype(object) for a in near])
    return u[(u >= 0) & (u < TOP)].astype(np.int64)


@pytest.mark.parametrize("sigma", [0.001, 0.25])
def test_counts_and_ambiguous_draws(sigma):
    thresholds, cells, _ = _grid_noise.tables(sigma)
    u = numbers(thresholds)
    u_, thresholds_, cells_ = map(torch.as_tensor, (u, thresholds, cells))
    for known in (cells_, None):  # None: as on a GPU
        count, ambiguous = draw.count_below(u_, thresholds_, known)
        assert count.dtype == torch.int32
        assert np.array_equal(count.numpy(), np.searchsorted(thresholds, u, side="right"))
        assert np.array_equal(ambiguous.numpy(), np.isin(u, thresholds))


def test_noise_has_the_law_of_rounded_normal_numbers():
    sigma, whole = 0.02, torch.arange(256)
    noisy, void = draw.on_grid(draw.whole(whole / 255), sigma, 400, [1, 2, 3], torch.Generator())
    assert not void.any()  # 3e5 draws, each ambiguous with probability 2e-16
    noise = torch.round(255 * noisy) - whole
    assert torch.equal((noise + whole) / 255, noisy)
    with mp.workdps(20):
        for k in range(-15, 16):
            p = float(mp.ncdf((k + 0.5) / (255 * sigma)))
            share = (noise <= k).double().mean()
            assert abs(share - p) < 5 * (p * (1 - p) / noise.numel()) ** 0.5 + 1e-9


def test_inputs_off_the_grid_are_refused():
    x = torch.tensor([0.0, 1.0, 0.5])
    with pytest.raises(ValueError, match=r"grid of 1/255; 1 of 3 numbers are off it, .* 0\.5"):
        draw.whole(x)
    with pytest.raises(ValueError, match="grid of 1/255"):
        _grid_noise.on_grid([np.nan])


def test_inputs_near_the_grid_are_refused_and_float32_on_it_is_not():
    """A tolerance of 1e-3 accepted an input 6e-3 from the point that was certified (d = 150528)."""
    whole = np.arange(256)
    single = whole.astype(np.float32)
    for x in (single / np.float32(255), single * np.float32(1 / 255), whole / 255):
        assert np.array_equal(_grid_noise.on_grid(x), whole)
    for off in (1e-3, 3e-5):
        with pytest.raises(ValueError, match="256 of 256 numbers are off it"):
            _grid_noise.on_grid((whole + off) / 255)


def test_ambiguous_draws_count_for_no_class(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "random_", lambda self, generator: self.fill_(0))
    model = nn.Linear(4, 3)
    counts = TorchSampler(model, sound_noise=True)(torch.zeros(4), 0.5, 100, stream(0, 0, 0))
    assert np.asarray(counts).tolist() == [0, 0, 0]


@pytest.mark.parametrize("batch", [7, 1000])
def test_sampler_sees_the_grid_alone_and_hardly_differs(batch):
    seen = []
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
    model.register_forward_pre_hook(lambda _, args: seen.append(args[0].clone()))
    x = (torch.arange(64).reshape(1, 8, 8) * 4) / 255
    n = 4000
    sound = np.asarray(
        TorchSampler(model, sound_noise=True, batch=batch)(x, 0.25, n, stream(0, 0, 1))
    )
    inputs = 255 * torch.cat(seen)
    assert (inputs - inputs.round()).abs().max() < 1e-4
    plain = np.asarray(TorchSampler(model)(x, 0.25, n, stream(0, 0, 1)))
    assert sound.sum() == n
    assert abs(sound[0] - plain[0]) < 6 * (2 * n * 0.25) ** 0.5  # other samples, much the same law
