"""``--denoiser`` on the command line: one level, one timestep, and both in the
manifest.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_models import arguments, one_line, package, prepare
from result_table import manifest, outcomes

from rsbounds.cli import main
from rsbounds.results.internal import read_rows

torch = pytest.importorskip("torch")

OWN = """
import numpy as np, torch

ALPHAS = np.cumprod(1 - np.linspace(1e-4, .02, 1000))

def squares(count):
    labels = torch.arange(count) % 2
    image = torch.zeros(count, 1, 6, 6)
    image[labels == 1, :, :, :3] = 1
    image[labels == 0, :, :, 3:] = 1
    return image, labels

class Net(torch.nn.Module):
    '''The expected noise where images are one of two squares on [-1, 1].'''
    def __init__(self, alphas, weight=1.0):
        super().__init__()
        self.register_buffer("alphas", torch.from_numpy(alphas).float())
        self.weight = torch.nn.Parameter(torch.tensor(weight))
    def forward(self, y, t):
        alpha = self.alphas[t][:, None]
        images, flat = (2 * squares(2)[0] - 1).flatten(1), y.flatten(1)
        share = torch.softmax(alpha.sqrt() / (1 - alpha) * flat @ images.T, 1)
        noise = flat - self.weight * alpha.sqrt() * share @ images
        return (noise / (1 - alpha).sqrt()).reshape(y.shape)

def denoiser(alphas=ALPHAS, weight=1.0):
    return Net(alphas, weight), alphas

def untrained():
    return denoiser(weight=0.0)

def coarse():
    return denoiser(ALPHAS[::100])

class Brittle(torch.nn.Module):
    '''Right on clean squares alone: it looks at one pixel of each half.'''
    def forward(self, x):
        return torch.stack([x[:, 0, 3, -1], x[:, 0, 3, 0]], 1)

def brittle():
    return Brittle()

def wrong():
    return Net(ALPHAS)
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    prepare(tmp_path, monkeypatch)
    (tmp_path / "own.py").write_text(OWN)
    space = {}
    exec(OWN, space)
    x, y = space["squares"](8)
    np.savez("squares.npz", x=x, y=y)
    monkeypatch.delitem(sys.modules, "own", raising=False)
    return tmp_path


BASE = {"model": "own:brittle", "data": "squares.npz", "sigma": 0.5, "n": 500}
WITH = {**BASE, "denoiser": "own:denoiser"}
RERUN = [
    "verify",
    "out.tsv",
    "--data",
    "squares.npz",
    "--model",
    "own:brittle",
    "--rerun",
    "3",
]


def rows(name="out.tsv"):
    return read_rows(Path(name))


def test_a_denoiser_raises_what_is_certified_at_the_level_drawn(work):
    assert main(arguments(**WITH)) == 0
    assert main(arguments(**BASE, out="without.tsv")) == 0
    pairs = list(zip(rows(), rows("without.tsv"), strict=True))
    # one pixel against another: Phi(1/(.5 sqrt 2)) = .921, radius .5 Phi^-1 < .71; all
    # 36 pixels together tell the halves apart almost surely: 500 of 500 at alpha/2 give
    # .5 * 2.16 = 1.08
    assert all(a.radius > b.radius + 0.1 for a, b in pairs)
    assert {a.sigma for a, _ in pairs} == {0.5}
    said = manifest()["model"]["denoiser"]
    assert (said["spec"], said["prediction"]) == ("own:denoiser", "epsilon")
    assert said["timestep_sigma"] == pytest.approx(0.5, rel=0.01)
    assert len(said["parameters"]) == len(said["source"]) == 64
    assert main(["verify", "out.tsv"]) == 0


@pytest.mark.slow
def test_a_run_with_a_denoiser_is_resumed_with_it_alone(work, capsys):
    assert main(arguments(**WITH, max=4)) == 0
    one_line(
        capsys,
        arguments(**BASE),
        'model.denoiser.spec was "own:denoiser" and is now null',
    )
    one_line(
        capsys,
        arguments(**{**WITH, "denoiser": "own:untrained"}),
        "model.denoiser.param",
    )
    one_line(
        capsys, arguments(**{**WITH, "denoiser": "own:coarse"}), "model.denoiser.spec"
    )
    assert main(arguments(**WITH)) == 0
    assert [row.idx for row in rows()] == list(range(8))
    assert main(arguments(**BASE, out="without.tsv", max=4)) == 0
    one_line(capsys, arguments(**WITH, out="without.tsv"), "model.denoiser")


@pytest.mark.slow
def test_a_rule_has_a_timestep_for_each_of_its_levels(work):
    item = [{"kind": "margin", "stage": k, "threshold": 0.0} for k in (0, 1)]
    rule = {"format": 1, "sigmas": [0.5, 0.25], "items": [item[:1], item[1:]]}
    Path("rule.json").write_text(json.dumps(rule))
    known = {**WITH, "sigma": None, "rule": "rule.json"}
    assert main(arguments(**known)) == 0
    said = manifest()["model"]["denoiser"]
    assert said[0]["timestep"] > said[1]["timestep"]
    assert main(arguments(**WITH, out="first.tsv")) == 0
    assert manifest("first.tsv")["model"]["denoiser"] == said[0]
    assert main([*RERUN, "--denoiser", "own:denoiser"]) == 0


@pytest.mark.slow
def test_processes_make_it_too(work):
    assert main(arguments(**WITH)) == 0
    assert main(arguments(**WITH, out="dealt.tsv", processes=2)) == 0
    assert outcomes("dealt.tsv") == outcomes("out.tsv")
    assert manifest("dealt.tsv")["model"] == manifest("out.tsv")["model"]


def test_rows_are_drawn_again_with_it(work, capsys):
    assert main(arguments(**WITH)) == 0
    assert main([*RERUN, "--denoiser", "own:denoiser"]) == 0
    one_line(capsys, RERUN, "--rerun needs --denoiser, as out.tsv had")
    assert main([*RERUN, "--denoiser", "own:untrained"]) == 1
    one_line(
        capsys, ["verify", "out.tsv", "--denoiser", "own:denoiser"], "goes with --rerun"
    )


BAD = {
    "no such": ("own:nothing", "--denoiser own:nothing: own has no 'nothing'"),
    "no denoiser": ("own:wrong", "must return (torch module"),
    "no spec": ("own", "--denoiser must be MODULE:CALLABLE"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_denoisers_are_one_line(work, capsys, case):
    spec, said = BAD[case]
    one_line(capsys, arguments(**{**WITH, "denoiser": spec}), said)
    assert not list(work.glob("out*"))


@pytest.mark.slow
def test_a_directory_of_diffusers(work, capsys):
    """A tiny pipeline saved to disk; what is not on disk is not fetched without
    --download.
    """
    diffusers = package("diffusers")
    torch.manual_seed(0)
    kinds = {
        "down_block_types": ["DownBlock2D"] * 2,
        "up_block_types": ["UpBlock2D"] * 2,
    }
    net = diffusers.UNet2DModel(
        sample_size=8, in_channels=1, out_channels=1, layers_per_block=1,
        block_out_channels=(8, 8), norm_num_groups=4, **kinds,
    )  # fmt: skip
    net.save_pretrained(work / "pipeline" / "unet")
    diffusers.DDPMScheduler().save_pretrained(work / "pipeline" / "scheduler")
    with np.load("squares.npz") as data:
        padded = np.pad(data["x"], ((0, 0), (0, 0), (1, 1), (1, 1)))
        np.savez("padded.npz", x=padded, y=data["y"])
    known = {**BASE, "data": "padded.npz", "n": 40, "n0": 10, "max": 2}
    assert main(arguments(**known, denoiser=f"hf:{work / 'pipeline'}")) == 0
    said = manifest()["model"]["denoiser"]
    # 2 sigma = 1 on [-1, 1]: that timestep of the schedule where alpha is nearest to
    # 1/2
    alphas = diffusers.DDPMScheduler().alphas_cumprod.numpy()
    assert said["timestep"] == np.abs(np.log((1 - alphas) / alphas)).argmin()
    assert main(["verify", "out.tsv"]) == 0
    for place in ("no/such", "pipeline/unet"):
        one_line(capsys, arguments(**known, denoiser=f"hf:{place}"), place)
    one_line(capsys, arguments(**known, denoiser="hf:some/one"), "--download")


def test_levels_outside_the_schedule_and_numpy_models_are_one_line(work, capsys):
    one_line(capsys, arguments(**{**WITH, "sigma": 1e4}), "sigma must be a level")
    numpy = {**WITH, "model": "models:linear", "data": "data.npz"}
    one_line(capsys, arguments(**numpy), "a denoiser needs a torch classifier")
