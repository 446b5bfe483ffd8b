"""Sound noise on its grids: pictures of 8 and 16 bits, and sound."""

import numpy as np
import pytest
import torch
from cases import quick_each
from mpmath import mp
from noise_laws import assert_rounds_normal

from rsbounds import certify_dataset, schemes
from rsbounds._numerics.errors import ArgumentError
from rsbounds.audit import verify
from rsbounds.certify import certify
from rsbounds.cli import main
from rsbounds.noises import grid_noise
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.results import read
from rsbounds.sampling import ArraySampler, torch_noise
from rsbounds.sampling.streams import numbered
from rsbounds.schemes import gaussian, sigma_range
from rsbounds.torch import TorchSampler

TOP = 2**63


def spread(count, size):
    """Places in order, the ends and the middle among them."""
    return sorted({0, count // 2 - 1, count // 2, count - 1, *range(0, count, size)})


@pytest.mark.parametrize(
    ("levels", "sigma"),
    # by the series of each, and above 2048 steps by Taylor's
    quick_each(
        3,
        [
            (255, 0.12),
            (255, 0.001),
            (255, 0.5),
            (32767, 0.07),
            (65535, 0.001),
            (65535, 0.07),
        ],
    ),
)
def test_thresholds_are_exact(levels, sigma):
    thresholds, _, zero = grid_noise.tables(sigma, levels)
    assert thresholds[0] == 0
    assert thresholds[-1] == TOP - 1
    assert (np.diff(thresholds) >= 0).all()
    with mp.workdps(60):
        for place in spread(len(thresholds), len(thresholds) // 97 + 1)[1:-1]:
            score = (place - zero + mp.mpf("0.5")) / (levels * mp.mpf(sigma))
            score = max(min(score, 15), -15)
            assert thresholds[place] == int(mp.floor(TOP * mp.ncdf(score)))


def test_both_series_give_the_same_thresholds(monkeypatch):
    fine = grid_noise.tables.__wrapped__(9.0)[0]
    assert 9.0 * 255 > 2048
    scale = grid_noise.LEVELS * grid_noise.Decimal(9)
    with grid_noise.localcontext(prec=60):
        for k in spread(len(fine) // 2, 499):
            z = min((k + grid_noise.Decimal("0.5")) / scale, grid_noise.Decimal(15))
            place = len(fine) // 2 + k
            assert fine[place] == int(2**63 * grid_noise._normal(z))


@pytest.mark.parametrize("levels", [255, 65535, 32767])
def test_noise_has_the_law_of_rounded_normal_numbers(levels):
    sigma = 5 / levels
    steps = np.arange(-200, 200, dtype=np.int32) + levels // 3
    x = torch.from_numpy((steps / levels).astype(np.float32))
    whole = torch_noise.whole(x, levels)
    assert torch.equal(whole, torch.from_numpy(steps))
    drawn = torch_noise.on_grid(
        whole, sigma, 300, numbered(3), torch.Generator(), levels
    )[0].double()
    rng = np.random.default_rng(0)
    arrays = grid_noise.noisy(steps, sigma, 900, rng, levels)[0].astype(float)
    for noisy in (drawn.reshape(900, -1).numpy(), arrays):
        noise = np.rint(levels * noisy) - steps
        exact = ((noise + steps) / levels).astype(np.float32)
        assert (exact == noisy).all()
        assert_rounds_normal(noise, 5)


def test_inputs_off_the_grid_are_refused():
    sampler = ArraySampler(lambda batch: batch, noise=OnGrid(65535))
    x = (np.array([1, 40000]) / 65535).astype(np.float32)
    found = certify(sampler, x, gaussian(0.05), n=500)
    assert found.predict == 1
    off = x + np.float32(0.4 / 65535)
    for made in (
        sampler,
        TorchSampler(torch.nn.Identity(), noise=OnGrid(65535)),
    ):
        with pytest.raises(ValueError, match="grid of 1/65535"):
            certify(made, off, gaussian(0.05), n=100)
    with pytest.raises(ValueError, match=r"sigma must.*2"):
        certify(sampler, x, gaussian(2.5), n=100)
    range_ = sigma_range(lambda x: 0.05, 0.04, 0.06, 2)
    with pytest.raises(ValueError, match=r"grid.*255"):
        certify(sampler, x, range_, n=100)


def test_the_command_line_records_the_grid(tmp_path, capsys):
    x = (np.array([[1, 40000], [30000, 2]]) / 32767).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x, y=np.array([1, 0]))
    (tmp_path / "model.py").write_text("def make():\n    return lambda b: b\n")
    out = tmp_path / "run.tsv"
    given = ["--model", f"{tmp_path}/model.py:make"]
    given += ["--data", str(tmp_path / "data.npz")]
    words = ["certify", *given, "--sigma", "0.005", "--n", "200", "--out", str(out)]
    assert not main([*words, "--sound-noise", "--grid", "32767"])
    assert read(out).manifest.engine["grid"] == 32767
    again = ["verify", str(out), *given, "--rerun", "2", "--sound-noise"]
    assert not main([*again, "--grid", "32767"])
    assert main(again)
    assert "needs --grid 32767" in capsys.readouterr().err
    results = certify_dataset(
        ArraySampler(lambda b: b, noise=OnGrid(32767)),
        (x, np.array([1, 0])),
        gaussian(0.005),
        n=200,
    )
    assert [row.counts for row in results.rows] == [r.counts for r in read(out).rows]


def test_noise_on_a_grid_moves_no_parameter_and_is_no_part_of_another():
    """Their copies would be drawn in floating point, whatever the scheme says."""
    law = gaussian(0.5).on_grid()
    with pytest.raises(ArgumentError, match="scheme must not be on a grid"):
        schemes.transformed(law, "brightness")
    with pytest.raises(ArgumentError, match="parts must be"):
        schemes.blocks(law, schemes.flips(0.1, 0.3), splits=[1])


def test_a_level_that_follows_the_input_needs_a_bound_of_its_rounding():
    """Whatever its parameters hold: another package's, and a callable's."""

    class Followed(schemes.Scheme):
        name = "followed"

        def sigma(self, x):
            return 0.5

    for scheme in (
        Followed({"sigma": 0.5}),
        schemes.lipschitz(lambda x: 0.5, 0.1, 0.25, 4),
    ):
        with pytest.raises(ArgumentError, match="grid needs a bound of the rounding"):
            scheme.on_grid()


def test_the_scheme_says_the_noise_and_the_file_says_it_too(tmp_path):
    """A model under a scheme on a grid is drawn on it, stated so, and drawn again."""
    x = np.array([[51, 0, 204], [0, 102, 255]], np.float32) / np.float32(255)
    data = (x, np.array([2, 2]))
    for scheme, entries in (
        (gaussian(0.25).on_grid(), {"sound_noise": True}),
        (gaussian(0.25).on_grid(510), {"sound_noise": True, "grid": 510}),
        (gaussian(0.25), {}),
    ):
        path = tmp_path / f"{scheme.grid}.tsv"
        run = certify_dataset(lambda batch: batch, data, scheme, n=200, out=path)
        assert run.manifest.engine == entries
        audit = verify(path, data=data, model=lambda batch: batch, rerun=2)
        assert (audit.findings, audit.drawn) == ((), 2)
