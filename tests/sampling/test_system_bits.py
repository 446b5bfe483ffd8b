"""Noise whose bits come from the operating system, through ChaCha20."""

import json
import sys

import numpy as np
import pytest
import torch
from noise_laws import assert_rounds_normal
from refusals import refusals

from rsbounds import certify_dataset, results
from rsbounds.answers import TopK, Values
from rsbounds.audit import verify
from rsbounds.certify import Job, Procedure, Settings, certify
from rsbounds.cli import main
from rsbounds.results import read
from rsbounds.sampling import (
    ArraySampler,
    SystemBits,
    draws,
    grid_noise,
    system_bits,
    torch_noise,
)
from rsbounds.schemes import gaussian, sigma_range
from rsbounds.torch import FixedNoise, TorchSampler

pytest.importorskip("cryptography")

SIGMA = 0.5
X = np.array([[200, 51], [102, 204], [153, 140]], np.float32) / np.float32(255)
Y = np.array([0, 1, 0])
#: RFC 8439, appendix A.1, test vector 1: key and nonce zero.
STREAM = "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"


def identity(batch):
    return batch


SAMPLERS = {
    "numpy": lambda: ArraySampler(identity, sound_noise=True),
    "torch": lambda: TorchSampler(torch.nn.Identity(), sound_noise=True),
}
EACH = pytest.mark.parametrize("make", SAMPLERS.values(), ids=list(SAMPLERS))


@pytest.fixture
def zero_key(monkeypatch):
    """Keys of zeros: a stream that everybody knows, for tests alone."""
    monkeypatch.setattr(system_bits.os, "urandom", bytes)


def test_the_stream_is_that_of_the_standard(zero_key):
    words = np.frombuffer(bytes.fromhex(STREAM), "<u8") & (2**63 - 1)
    assert SystemBits().whole(4).tolist() == words.tolist()


def test_a_stream_has_no_seams_and_gets_new_keys(monkeypatch):
    keys = iter([bytes(32), bytes(32), b"1" * 32])
    monkeypatch.setattr(system_bits.os, "urandom", lambda size: next(keys))
    at_once = SystemBits().whole(300_000)  # three pieces
    monkeypatch.setattr(system_bits, "_MOST", at_once.nbytes)
    bits = SystemBits()
    pieces = [bits.whole(count) for count in (1, 131_072, 168_927)]
    assert (np.concatenate(pieces) == at_once).all()
    assert (bits.whole(1000) != at_once[:1000]).any()  # the third key
    with pytest.raises(StopIteration):
        bits.whole(300_000)


def test_noise_has_the_law_of_rounded_normal_numbers(zero_key):
    sigma = 5 / 255
    steps = np.arange(400, dtype=np.int32) - 90
    arrays, void = grid_noise.noisy(steps, sigma, 900, SystemBits())
    tensors, void_too = torch_noise.on_grid(
        torch.from_numpy(steps), sigma, 300, [0, 1, 2], SystemBits()
    )
    assert not void.any()
    assert not void_too.any()
    for noisy in (arrays, tensors.reshape(900, -1).numpy()):
        noise = np.rint(255 * noisy.astype(float)) - steps
        assert_rounds_normal(noise, 5)
    assert (arrays[0] == tensors[0, 0].numpy()).all()  # of one key


@EACH
@pytest.mark.parametrize("answer", [gaussian(SIGMA), TopK(gaussian(SIGMA), 1)])
def test_rows_take_no_bit_from_anywhere_else(make, answer, monkeypatch):
    def no_stream(*args):
        raise AssertionError("a stream of a seed")

    def no_random(self, **options):
        raise AssertionError("torch's own random numbers")

    drawn = []
    whole = SystemBits.whole

    def counted(self, count):
        drawn.append(count)
        return whole(self, count)

    procedure = Procedure(n0=50, n=1000, noise_source="os")
    job = Job.of(make(), answer, procedure)
    monkeypatch.setattr(draws, "stream", no_stream)
    monkeypatch.setattr(torch.Tensor, "random_", no_random)
    monkeypatch.setattr(SystemBits, "whole", counted)
    answered = job.certify(X[0], 0, 0)
    assert sum(drawn) == 1050 * X[0].size
    assert sum(answered.certificate.counts) == 1000


@EACH
@pytest.mark.parametrize("bound", ["clopper-pearson", "staged", "anytime"])
def test_files_are_proved_and_gone_on_with(make, bound, tmp_path):
    path = tmp_path / "run.tsv"
    numbers = {"n": 1000, "bound": bound, "noise_source": "os"}
    data = (X, Y)
    certify_dataset(make(), data, gaussian(SIGMA), out=path, **numbers)
    whole = path.read_text().splitlines(keepends=True)
    assert json.loads((tmp_path / "run.tsv.manifest.json").read_text())[
        "noise_source"
    ] == ("os")
    assert not verify(path, data=data).findings
    assert "no seed draws these samples again" in " ".join(read(path).notes())
    assert results.card(read(path))["procedure"]["noise_source"] == "os"
    path.write_text("".join(whole[:2]))  # interrupted after the first row
    again = certify_dataset(make(), data, gaussian(SIGMA), out=path, **numbers)
    rows = path.read_text().splitlines(keepends=True)
    assert rows[:2] == whole[:2]
    assert [row.idx for row in again.rows] == [0, 1, 2]
    assert rows[2:] != whole[2:]  # their noise is fresh
    assert not verify(path, data=data).findings
    with pytest.raises(ValueError, match="can't draw"):
        verify(path, data=data, model=make(), rerun=1)
    # the votes of fresh samples, and what is stated
    checked = verify(path, data=data, model=make(), rerun=3, margin=True)
    assert (checked.drawn, checked.votes.samples) == (0, 3000)
    assert {"counts", "noise_source"} <= {*checked.stated}
    with pytest.raises(ValueError, match="noise_source"):
        certify_dataset(make(), data, gaussian(SIGMA), out=path, n=1000, bound=bound)


def test_another_model_is_noticed_by_the_probe(tmp_path):
    path = tmp_path / "run.tsv"
    numbers = {"n": 500, "noise_source": "os", "out": path}
    sampler = ArraySampler(identity, sound_noise=True)
    certify_dataset(sampler, (X, Y), gaussian(SIGMA), **numbers)
    other = ArraySampler(lambda batch: batch[:, ::-1], sound_noise=True)
    with pytest.raises(ValueError, match="probe"):
        certify_dataset(other, (X, Y), gaussian(SIGMA), **numbers)
    found = verify(path, data=(X, Y), model=other, rerun=3, margin=True).findings
    assert "probe" in found[0].text


def test_a_commitment_does_not_fix_the_noise(tmp_path):
    path, said = tmp_path / "run.tsv", []
    certify_dataset(
        torch.nn.Linear(2, 2),
        (X, Y),
        gaussian(SIGMA),
        n=100,
        out=path,
        settings=Settings(commit=True, notify=said.append),
    )
    assert "noise" not in said[0]
    manifest = read(path).manifest
    assert "noise" not in str(manifest.unfixed())
    with_os = Procedure(n=100, noise_source="os")
    object.__setattr__(manifest, "procedure", with_os)
    assert "the noise: it is of the operating system" in manifest.unfixed()


def own(x, sigma, n, generator):
    return np.array([n, 0])


@pytest.mark.parametrize(
    ("sampler", "scheme"),
    [
        (ArraySampler(identity), gaussian(SIGMA)),
        (TorchSampler(torch.nn.Identity()), gaussian(SIGMA)),
        (own, gaussian(SIGMA)),
        (ArraySampler(identity), sigma_range(lambda x: 0.5, 0.4, 0.6, 2)),
    ],
)
def test_other_noise_is_refused(sampler, scheme):
    with pytest.raises(ValueError, match="'os' needs sound_noise") as error:
        certify(sampler, X[0], scheme, n=100, noise_source="os")
    assert "\n" not in str(error.value)
    if sampler is not own:
        with pytest.raises(ValueError, match="'os' needs sound_noise"):
            sampler(X[0], SIGMA, 10, SystemBits())


test_what_needs_the_seed_is_refused = refusals(
    {
        "noise_source must": lambda: Procedure(noise_source="urandom"),
        "bound 'randomized'": lambda: Procedure(bound="randomized", noise_source="os"),
    }
)


def test_real_outputs_of_a_module_take_it():
    answer = Values(gaussian(SIGMA), [0.1])
    sampler = answer.sampler(torch.nn.Flatten(), sound_noise=True)
    numbers = {"n": 400, "noise_source": "os"}
    run, again = (certify_dataset(sampler, X, answer, **numbers) for _ in range(2))
    assert len(run.rows) == 3
    assert run.rows[0].extra != again.rows[0].extra


def test_noise_of_a_level_for_each_axis_takes_it():
    noise = FixedNoise(torch.zeros(2), torch.tensor([0.5, 1.0]))
    sampler = noise.sampler(torch.nn.Identity(), sound_noise=True)
    numbers = {"n": 500, "noise_source": "os"}
    found = certify(sampler, X[0], noise.scheme(), **numbers)
    assert found.predict == 0
    assert sum(found.counts) == 500


def test_a_missing_package_is_named(monkeypatch):
    name = "cryptography.hazmat.primitives.ciphers"
    monkeypatch.setitem(sys.modules, name, None)
    sampler = ArraySampler(identity, sound_noise=True)
    with pytest.raises(ImportError, match=r"needs cryptography: .*rsbounds\[os\]") as e:
        certify(sampler, X[0], gaussian(SIGMA), n=100, noise_source="os")
    assert "\n" not in str(e.value)


def test_the_command_line_records_it(tmp_path, capsys):
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    (tmp_path / "model.py").write_text("def make():\n    return lambda b: b\n")
    out = tmp_path / "run.tsv"
    given = ["--model", f"{tmp_path}/model.py:make"]
    given += ["--data", str(tmp_path / "data.npz")]
    words = ["certify", *given, "--sigma", "0.5", "--n", "200", "--out", str(out)]
    words += ["--noise-source", "os"]
    assert main(words)
    assert "--noise-source 'os' needs" in capsys.readouterr().err
    assert not main([*words, "--sound-noise", "--margin", "1e-9"])
    assert read(out).manifest.procedure.noise_source == "os"
    capsys.readouterr()
    assert not main(["report", str(out)])
    assert "operating system's bits through ChaCha20" in capsys.readouterr().out
    again = ["verify", str(out), *given, "--rerun", "2", "--sound-noise"]
    assert not main(["verify", str(out)])
    assert "the counts (no seed draws them again)" in capsys.readouterr().out
    assert main(again)
    assert "--rerun can't draw the rows" in capsys.readouterr().err
    assert not main([*again, "--margin"])
