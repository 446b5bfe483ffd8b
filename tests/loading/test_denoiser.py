"""A denoiser in front: the right timestep, the right range, the level that is
certified.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rsbounds.loading import load_model  # noqa: E402
from rsbounds.loading.denoiser import Denoised, denoised, load_denoiser, timestep  # noqa: E402
from rsbounds.torch import TorchSampler  # noqa: E402

ALPHAS = np.cumprod(1 - np.linspace(1e-4, 0.02, 1000))  # the linear schedule of DDPM


class Recorder(torch.nn.Module):
    """A denoiser that keeps what it was given and knows nothing of noise."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def forward(self, y, t):
        self.calls.append((y.clone(), t.clone()))
        return torch.zeros_like(y)


@pytest.mark.parametrize("sigma", [0.05, 0.12, 0.25, 0.5, 1.0])
def test_the_noise_the_network_sees_is_that_of_its_timestep(sigma):
    """On x = 0 and x = 1 of the range [0, 1]: mean -a and +a, standard deviation b."""
    net = Recorder()
    model = Denoised(net, torch.nn.Flatten(), ALPHAS, sigma)
    generator = torch.Generator().manual_seed(0)
    noise = sigma * torch.randn((64, 1, 50, 50), generator=generator)
    for x, centre in ((0.0, -1.0), (1.0, 1.0)):
        net.calls.clear()
        model(x + noise)
        ((y, t),) = net.calls
        assert t.tolist() == [model.timestep] * 64
        alpha = ALPHAS[model.timestep]
        # 160000 samples: their mean is within .0125 b, their deviation within .9 % (5
        # sd); the schedule's steps are up to 7 % apart where sigma is small, .3 %
        # elsewhere
        b = np.sqrt(1 - alpha)
        assert abs(float(y.mean()) - centre * np.sqrt(alpha)) < 0.0125 * b * 1.04
        assert abs(float(y.std()) / b - 1) < 0.009 + abs(
            sigma / model.timestep_sigma - 1
        )
    assert abs(model.timestep_sigma / sigma - 1) < 0.04


def test_the_range_doubles_the_level():
    level = np.sqrt((1 - ALPHAS) / ALPHAS)
    assert timestep(ALPHAS, 0.5) == Denoised(Recorder(), len, ALPHAS, 0.25).timestep
    wide = Denoised(Recorder(), len, ALPHAS, 0.25 * 255, input_range=(0, 255))
    assert wide.timestep == timestep(ALPHAS, 0.5)
    assert wide.timestep_sigma == pytest.approx(255 / 2 * level[wide.timestep])
    assert (
        Denoised(Recorder(), len, ALPHAS, 0.5, input_range=(-1, 1)).timestep
        == wide.timestep
    )


@pytest.mark.parametrize("t", [0, 10, 500, 999])
def test_every_timestep_is_found_again(t):
    assert timestep(ALPHAS, np.sqrt((1 - ALPHAS[t]) / ALPHAS[t])) == t


@pytest.mark.parametrize("level", [0, -1, np.nan, np.inf, 1e-3, 1e4])
def test_levels_outside_the_schedule_are_refused(level):
    with pytest.raises(ValueError, match="sigma must be"):
        timestep(ALPHAS, level)


@pytest.mark.parametrize("prediction", ["epsilon", "sample", "v_prediction"])
def test_a_network_that_knows_the_noise_gives_the_image_back(prediction):
    x = torch.rand((5, 1, 4, 4), generator=torch.Generator().manual_seed(0))
    noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
    a2 = float(ALPHAS[timestep(ALPHAS, 0.5)])
    a, b = a2**0.5, (1 - a2) ** 0.5
    sigma = b / a / 2  # a level of the schedule
    image = 2 * x - 1
    says = {"epsilon": noise, "sample": image, "v_prediction": a * noise - b * image}[
        prediction
    ]
    model = Denoised(
        lambda y, t: says, lambda clean: clean, ALPHAS, sigma, prediction=prediction
    )
    torch.testing.assert_close(model(x + sigma * noise), x, atol=1e-5, rtol=0)


def test_the_sampler_draws_the_certified_level():
    """What reaches the composition is x + sigma N(0, I), whatever the timestep's own
    level.
    """
    net, sigma, coarse = Recorder(), 0.6, ALPHAS[::200]
    classifier = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2))
    model = Denoised(net, classifier, coarse, sigma)
    np.asarray(
        TorchSampler(model)(
            np.full((1, 4, 4), 0.5), sigma, 4000, np.random.default_rng(0)
        )
    )
    y = net.calls[1][
        0
    ].double()  # the first call checks that rows don't depend on each other
    assert len(y) == 4000
    noise = y / np.sqrt(coarse[model.timestep]) / 2  # x = .5 is 0 there
    # 64000 samples: five standard deviations of their own; the timestep's level is far
    # away
    assert abs(float(noise.std()) - sigma) < 5 * sigma / np.sqrt(128_000)
    assert abs(model.timestep_sigma - sigma) > 0.1


OWN = """
import numpy as np, torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(1))
    def forward(self, y, t):
        return self.w * y
def denoiser():
    return Net(), np.linspace(.999, .01, 100), "v_prediction"
def net():
    return Net()
def classifier():
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2))
def function():
    return lambda b: b
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_denoiser.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)


def test_a_denoiser_by_name(own):
    loaded = load_model("own_denoiser.py:classifier")
    both = denoised(loaded, load_denoiser("own_denoiser.py:denoiser"), 0.25)
    assert both.model(torch.rand(3, 1, 2, 2)).shape == (3, 2)
    said = both.describe["denoiser"]
    assert (said["prediction"], said["timestep"]) == ("v_prediction", 20)
    assert said["timestep_sigma"] == pytest.approx(0.251, abs=1e-3)
    assert said["parameters"] != loaded.describe["parameters"]
    with pytest.raises(ValueError, match="alphas_cumprod"):
        denoised(loaded, load_denoiser("own_denoiser.py:net"), 0.25)
    with pytest.raises(ValueError, match="torch classifier"):
        denoised(
            load_model("own_denoiser.py:function"),
            load_denoiser("own_denoiser.py:denoiser"),
            0.25,
        )


def test_schedules_refused():
    for bad in (ALPHAS[::-1], 0.5, [0.5], [1.5, 0.5], [[0.5, 0.4]], [np.nan, 0.4]):
        with pytest.raises(ValueError, match="alphas_cumprod must be"):
            Denoised(Recorder(), len, bad, 0.5)
    with pytest.raises(ValueError, match=r"prediction.*one of"):
        Denoised(Recorder(), len, ALPHAS, 0.5, prediction="score")
    with pytest.raises(ValueError, match=r"return.*shape"):
        Denoised(lambda y, t: y[:1], len, ALPHAS, 0.5)(torch.zeros(2, 1, 2, 2))
