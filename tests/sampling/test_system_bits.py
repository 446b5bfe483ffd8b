"""Noise whose bits come from the operating system, through ChaCha20."""

import json
import sys

import numpy as np
import pytest
import torch
from known_bits import known_bits
from noise_laws import assert_rounds_normal
from refusals import refusals

from rsbounds import certify_dataset, reports, schemes
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers import TopK, Values, asked
from rsbounds.audit import verify
from rsbounds.certify import Procedure, Settings, certify
from rsbounds.certify.internal import job_of
from rsbounds.cli import main
from rsbounds.noises import Noise, grid_noise
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.results import read
from rsbounds.sampling import (
    ArraySampler,
    as_sampler,
    streams,
    system_bits,
    torch_bits,
    torch_noise,
)
from rsbounds.sampling.internal import SystemBits
from rsbounds.sampling.streams import numbered
from rsbounds.schemes import gaussian, sigma_range
from rsbounds.torch import FixedNoise, Smooth, TorchSampler

pytest.importorskip("cryptography")

SIGMA = 0.5
X = np.array([[200, 51], [102, 204], [153, 140]], np.float32) / np.float32(255)
Y = np.array([0, 1, 0])
#: RFC 8439, appendix A.1, test vector 1: key and nonce zero.
STREAM = "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"


def identity(batch):
    return batch


SAMPLERS = {
    "numpy": lambda: ArraySampler(identity, noise=OnGrid()),
    "torch": lambda: TorchSampler(torch.nn.Identity(), noise=OnGrid()),
}
EACH = pytest.mark.parametrize("make", SAMPLERS.values(), ids=list(SAMPLERS))


@pytest.fixture
def zero_key(monkeypatch):
    return known_bits(monkeypatch)


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
        torch.from_numpy(steps),
        sigma,
        300,
        numbered(3),
        torch_noise.SystemGenerator(SystemBits(), torch.device("cpu")),
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
    words = SystemBits._words

    def counted(self, size, dtype):
        drawn.append(np.prod(size))
        return words(self, size, dtype)

    procedure = Procedure(n0=50, n=1000, seed="os")
    job = job_of(asked(answer), procedure).with_model(make())
    monkeypatch.setattr(streams, "Stream", no_stream)
    monkeypatch.setattr(torch.Tensor, "random_", no_random)
    monkeypatch.setattr(SystemBits, "_words", counted)
    answered = job.certify(X[0], 0, 0)
    assert sum(drawn) == 1050 * X[0].size
    assert sum(answered.certificate.counts) == 1000


@EACH
@pytest.mark.parametrize("bound", ["clopper-pearson", "staged", "anytime"])
def test_files_are_proved_and_gone_on_with(make, bound, tmp_path):
    path = tmp_path / "run.tsv"
    numbers = {"n": 1000, "bound": bound, "seed": "os"}
    data = (X, Y)
    certify_dataset(make(), data, gaussian(SIGMA), out=path, **numbers)
    whole = path.read_text().splitlines(keepends=True)
    assert json.loads((tmp_path / "run.tsv.manifest.json").read_text())["seed"] == (
        "os"
    )
    assert not verify(path, data=data).findings
    assert "no seed draws these samples again" in " ".join(read(path).notes())
    assert reports.card(read(path))["procedure"]["seed"] == "os"
    path.write_text("".join(whole[:2]))  # interrupted after the first row
    again = certify_dataset(make(), data, gaussian(SIGMA), out=path, **numbers)
    rows = path.read_text().splitlines(keepends=True)
    assert rows[:2] == whole[:2]
    assert [row.idx for row in again.rows] == [0, 1, 2]
    assert rows[2:] != whole[2:]  # their noise is fresh
    assert not verify(path, data=data).findings
    with pytest.raises(ValueError, match="can't draw"):
        verify(path, data=data, model=make(), rerun=1)
    # the votes of fresh samples, as many as the rows have, and what is stated; by
    # chance the look that certifies may be one before the last
    checked = verify(path, data=data, model=make(), rerun=3, margin=True)
    samples = sum(row.n for row in read(path).rows)
    assert (checked.drawn, checked.votes.samples) == (0, samples)
    assert {"counts", "system_bits"} <= {*checked.stated}
    with pytest.raises(ValueError, match="seed"):
        certify_dataset(make(), data, gaussian(SIGMA), out=path, n=1000, bound=bound)


def test_a_file_that_states_the_bits_otherwise_is_found_and_not_gone_on_with(tmp_path):
    """As files of before state them: a number, and beside it whose bits noise is of."""
    path = tmp_path / "run.tsv"
    numbers = {"n": 500, "seed": "os", "out": path}
    certify_dataset(SAMPLERS["numpy"](), (X, Y), gaussian(SIGMA), **numbers)
    place = tmp_path / "run.tsv.manifest.json"
    stated = json.loads(place.read_text()) | {"seed": 0, "noise_source": "os"}
    place.write_text(json.dumps(stated))
    texts = [found.text for found in verify(path, data=(X, Y)).findings]
    assert any("noise_source" in text and "\n" not in text for text in texts)
    for seed in (0, "os"):
        with pytest.raises(ValueError, match="noise_source") as error:
            certify_dataset(
                SAMPLERS["numpy"](), (X, Y), gaussian(SIGMA), **numbers | {"seed": seed}
            )
        assert "\n" not in str(error.value)


def test_counts_for_others_programs_take_the_bits_too(monkeypatch):
    procedure = Procedure(seed="os")
    smooth = Smooth(
        torch.nn.Identity(), 2, gaussian(SIGMA).on_grid(), procedure=procedure
    )
    monkeypatch.setattr(streams, "Stream", None)
    counts = smooth._sample_noise(torch.from_numpy(X[0]), 100, 50)
    assert counts.sum() == 100


def test_another_model_is_noticed_by_the_probe(tmp_path):
    path = tmp_path / "run.tsv"
    numbers = {"n": 500, "seed": "os", "out": path}
    sampler = ArraySampler(identity, noise=OnGrid())
    certify_dataset(sampler, (X, Y), gaussian(SIGMA), **numbers)
    other = ArraySampler(lambda batch: batch[:, ::-1], noise=OnGrid())
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
    with_os = Procedure(n=100, seed="os")
    object.__setattr__(manifest, "procedure", with_os)
    assert "the noise: it is of the operating system" in manifest.unfixed()


def own(x, sigma, n, generator):
    return np.array([n, 0])


BESIDE = schemes.blocks(gaussian(0.5), schemes.flips(0.1, 0.3), splits=[1])
REFUSED = {
    "normal": [
        (ArraySampler(identity), gaussian(SIGMA)),
        (TorchSampler(torch.nn.Identity()), gaussian(SIGMA)),
        (ArraySampler(identity), sigma_range(lambda x: 0.5, 0.4, 0.6, 2)),
        (identity, schemes.transformed(gaussian(SIGMA), "brightness")),
        (torch.nn.Identity(), schemes.transformed(gaussian(SIGMA), "brightness")),
        (identity, schemes.brightness_contrast(0.4, 0.4)),
        (identity, BESIDE),
    ],
    "generator of its own": [(own, gaussian(SIGMA))],
}


@pytest.mark.parametrize(
    ("why", "sampler", "scheme"),
    [(why, *given) for why, cases in REFUSED.items() for given in cases],
)
def test_other_noise_is_refused(why, sampler, scheme):
    with pytest.raises(ArgumentError, match=why) as error:
        certify(sampler, X[0], scheme, n=100, seed="os")
    assert error.value.name == "seed"
    assert "\n" not in str(error.value)


def test_noise_without_chance_takes_no_bits():
    for scheme in (schemes.splitting(0.5, 255), schemes.orbit("shift", (1, 2))):
        numbers = {"n": scheme.outcomes, "bound": "exact", "seed": "os"}
        with pytest.raises(ArgumentError, match="draws none") as error:
            certify(lambda batch: batch.reshape(-1, 2), X[:1], scheme, **numbers)
        assert error.value.name == "seed"


def test_a_sampler_refuses_the_bits_too():
    for sampler in (ArraySampler(identity), TorchSampler(torch.nn.Identity())):
        with pytest.raises(ArgumentError, match="normal"):
            sampler(X[0], SIGMA, 10, SystemBits())


class Careless(Noise):
    """Noise of another package that says of itself what isn't so."""

    law, level, of_bits = "careless", None, True

    def checked(self, x):
        return np.asarray(x, np.float32)

    def noisy(self, x, sigma, size, bits):
        return bits.like(bits.normal((size, *x.shape)), x)


@pytest.mark.parametrize("make", [ArraySampler, TorchSampler])
def test_normal_numbers_are_refused_where_they_are_drawn(make):
    sampler = make(torch.nn.Identity(), noise=Careless())
    with pytest.raises(ArgumentError, match="'os' draws none"):
        sampler(X[0], 1.0, 10, SystemBits())


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("ways", [1, 2, 3, 6, 100, 127])
def test_whole_numbers_are_exactly_alike(dtype, ways, monkeypatch):
    """Of all words of a type each number gets as many; the others are drawn again."""
    held = np.iinfo(dtype).max + 1
    first = iter([np.arange(held)])
    again = []

    def words(self, size, kind):
        given = next(first, None)
        if given is None:  # once more one that stands for no number, then 0
            again.append(size)
            given = np.zeros(size) if len(again) > 1 else np.full(size, held - 1)
        return given.astype(kind)

    monkeypatch.setattr(SystemBits, "_words", words)
    numbers = SystemBits().integers(5, 5 + ways, held, dtype)
    each, left = divmod(held, ways)
    expected = np.full(ways, each)
    expected[0] += left
    assert numbers.dtype == dtype
    assert (np.bincount(numbers - 5, minlength=ways) == expected).all()
    assert again == [left] * (2 if left else 0)


def test_the_largest_ends_and_sizes_of_0(zero_key):
    bits = SystemBits()
    assert bits.integers(0, 2**63, 5).tolist() == SystemBits().whole(5).tolist()
    assert bits.integers(0, 2**16, (2, 0), np.uint16).shape == (2, 0)
    assert bits.integers(0, 3, ()).shape == ()
    assert bits.random((0, 3)).size == 0


def test_uniform_numbers_are_the_first_53_bits(monkeypatch):
    edges = np.array([0, 2**10 - 1, 2**10, 2**63 - 1])
    monkeypatch.setattr(SystemBits, "_words", lambda self, size, dtype: edges.copy())
    expected = [0.0, 0.0, 2.0**-53, 1 - 2.0**-53]
    assert SystemBits().random(4).tolist() == expected
    generator = torch_noise.SystemGenerator(SystemBits(), torch.device("cpu"))
    tensors = torch_bits.TorchBits(generator, 4, torch.device("cpu"))
    assert tensors.uniform((4,)).tolist() == expected


def columns(batch):
    """Scores of a few classes by the first numbers of a copy."""
    flat = [np.append(np.ravel(copy), [0, 0])[:2] for copy in batch]
    first = np.array(flat, np.float64)
    return np.column_stack([first, first.sum(1) / 2 + 0.1])


class Columns(torch.nn.Module):
    def forward(self, batch):
        return torch.from_numpy(columns(batch.numpy()))


#: Every scheme whose noise the operating system's bits decide, and its inputs.
DRAWN = {
    "laplace": (schemes.laplace(0.5), X),
    "uniform": (schemes.uniform(0.5), X),
    "exponential": (schemes.exponential(2.0), X),
    "transformed": (schemes.transformed(schemes.exponential(2.0), "brightness"), X),
    "categorical": (schemes.categorical(0.8, 3), np.array([[0, 2], [1, 0], [2, 2]])),
    "flips": (schemes.flips(0.1, 0.3), np.array([[0, 1], [1, 0], [1, 1]])),
    "mask": (schemes.mask(2, 1, hidden=7), np.array([[0, 2], [1, 0], [2, 2]])),
    "mask of any length": (
        schemes.mask(keep_probability=0.6, hidden=7),
        np.array([[0, 2], [1, 0], [2, 2]]),
    ),
    "deletion": (schemes.deletion(0.2), np.array([[4, 2, 1], [1, 4, 2], [2, 2, 2]])),
    "blocks": (
        schemes.blocks(
            schemes.flips(0.1, 0.3), schemes.categorical(0.8, 3), splits=[1]
        ),
        np.array([[0, 2], [1, 0], [0, 1]]),
    ),
}


# masks and deletions are too weak for sequences this short, and a run whose samples all
# agree says so: bits of the operating system decide whether they do
@pytest.mark.filterwarnings("ignore:this noise certifies nothing")
@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("model", [columns, Columns()], ids=["numpy", "torch"])
def test_named_noises_are_certified_proved_and_gone_on_with(model, name, tmp_path):
    scheme, x = DRAWN[name]
    path, data = tmp_path / "run.tsv", (x, Y)
    numbers = {"n": 300, "seed": "os", "out": path}
    run = certify_dataset(model, data, scheme, **numbers)
    assert read(path).manifest.procedure.seed == "os"
    assert [row.n for row in run.rows] == [300] * 3
    whole = path.read_text().splitlines(keepends=True)
    path.write_text("".join(whole[:2]))
    again = certify_dataset(model, data, scheme, **numbers)
    assert [row.idx for row in again.rows] == [0, 1, 2]
    assert path.read_text().splitlines(keepends=True)[:2] == whole[:2]
    assert "no seed draws these samples again" in " ".join(read(path).notes())
    assert not verify(path, data=data).findings
    with pytest.raises(ValueError, match="can't draw"):
        verify(path, data=data, model=model, rerun=1)


test_what_needs_the_seed_is_refused = refusals(
    {
        "seed must": lambda: Procedure(seed="urandom"),
    }
)


def test_real_outputs_of_a_module_take_it():
    answer = Values(gaussian(SIGMA).on_grid(), [0.1])
    sampler = answer.sampler(torch.nn.Flatten())
    numbers = {"n": 400, "seed": "os"}
    run, again = (certify_dataset(sampler, X, answer, **numbers) for _ in range(2))
    assert len(run.rows) == 3
    assert run.rows[0].extra != again.rows[0].extra


def test_noise_of_a_level_for_each_axis_takes_it():
    noise = FixedNoise(torch.zeros(2), torch.tensor([0.5, 1.0]))
    sampler = as_sampler(torch.nn.Identity(), noise.scheme().on_grid())
    numbers = {"n": 500, "seed": "os"}
    found = certify(sampler, X[0], noise.scheme(), **numbers)
    assert found.predict == 0
    assert sum(found.counts) == 500


def test_a_missing_package_is_named(monkeypatch):
    name = "cryptography.hazmat.primitives.ciphers"
    monkeypatch.setitem(sys.modules, name, None)
    sampler = ArraySampler(identity, noise=OnGrid())
    with pytest.raises(ImportError, match=r"needs cryptography: .*rsbounds\[os\]") as e:
        certify(sampler, X[0], gaussian(SIGMA), n=100, seed="os")
    assert "\n" not in str(e.value)


def test_the_command_line_records_it(tmp_path, capsys):
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    (tmp_path / "model.py").write_text("def make():\n    return lambda b: b\n")
    out = tmp_path / "run.tsv"
    given = ["--model", f"{tmp_path}/model.py:make"]
    given += ["--data", str(tmp_path / "data.npz")]
    words = ["certify", *given, "--sigma", "0.5", "--n", "200", "--out", str(out)]
    words += ["--seed", "os"]
    assert main(words)
    assert "--seed 'os' needs" in capsys.readouterr().err
    assert not main([*words, "--sound-noise", "--margin", "1e-9"])
    assert read(out).manifest.procedure.seed == "os"
    capsys.readouterr()
    assert not main(["report", str(out)])
    assert "operating system's bits through ChaCha20" in capsys.readouterr().out
    again = ["verify", str(out), *given, "--rerun", "2", "--sound-noise"]
    assert not main(["verify", str(out)])
    assert "counts (no seed draws them again)" in capsys.readouterr().out
    assert main(again)
    assert "--rerun can't draw the rows" in capsys.readouterr().err
    laplace = str(tmp_path / "laplace.tsv")
    assert not main([*words, "--method", "laplace", "--out", laplace])
    assert read(laplace).manifest.procedure.seed == "os"
    assert not main([*again, "--margin"])
