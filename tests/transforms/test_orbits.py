"""Finite groups gone through whole: every element is certified, nothing is drawn."""

import math
from pathlib import Path

import numpy as np
import pytest
from cli_models import one_line

from rsbounds import audit, certify_dataset, results, schemes
from rsbounds.certificate import ORBIT
from rsbounds.certify import certify
from rsbounds.cli import main
from rsbounds.sampling import as_sampler
from rsbounds.testing import check_transform
from rsbounds.transforms import TRANSFORMS, FiniteGroup

RNG = np.random.default_rng(11)
GROUPS = {"shift": (2, 4, 5), "quarter-turns": (2, 5, 5), "mirror": (2, 4, 5)}


def random_model(shape, classes=3):
    """A nonlinear function of the pixels, of no symmetry; few rows take one class."""
    weights = RNG.standard_normal((math.prod(shape), classes))

    def scores(batch):
        return np.sin(3 * batch.reshape(len(batch), -1)) @ weights

    return scores


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("channels", [True, False])
def test_a_finite_group_is_one(name, channels):
    shape = GROUPS[name] if channels else GROUPS[name][1:]
    check_transform(TRANSFORMS[name], RNG.random(shape))


def test_every_finite_group_is_tried_here():
    finite = {n for n in TRANSFORMS if isinstance(TRANSFORMS[n], FiniteGroup)}
    assert finite == set(GROUPS)


def test_shifts_are_numpys():
    x = RNG.random((3, 4, 5))
    copies = TRANSFORMS["shift"].apply(x, 0, 20, np)
    for number, copy in enumerate(copies):
        expected = np.roll(x, divmod(number, 5), axis=(-2, -1))
        np.testing.assert_array_equal(copy, expected)


@pytest.mark.parametrize("name", GROUPS)
def test_counts_are_the_same_at_every_element(name):
    """By brute force: each element's picture has its orbit counted anew."""
    shape = GROUPS[name]
    scheme = schemes.orbit(name, shape)
    model, x = random_model(shape), RNG.random(shape).astype(np.float32)
    options = {"n": scheme.outcomes, "bound": "exact"}
    found = certify(model, x, scheme, **options)
    elements = TRANSFORMS[name].apply(x, 0, scheme.outcomes, np)
    by_hand = np.bincount(model(elements).argmax(1), minlength=3)
    assert found.counts == tuple(by_hand)
    first, second = np.sort(by_hand)[::-1][:2]
    assert found.radius == (math.inf if first > second else 0.0)
    for copy in elements:
        again = certify(model, copy, scheme, **options)
        assert (again.predict, again.counts) == (found.predict, found.counts)


def test_a_plurality_leads_and_a_tie_does_not():
    """Of four turns the classes have 2, 1, 1, and then 2, 2."""
    x = np.zeros((2, 2), np.float32)
    x[0, 0] = 1
    scheme = schemes.orbit("quarter-turns", x.shape)
    columns = {"plurality": (0, 1, 2, 0), "tie": (0, 1, 1, 0)}
    for name, classes in columns.items():

        def scores(batch, classes=classes):
            return np.eye(3)[np.array(classes)[batch.reshape(-1, 4).argmax(1)]]

        found = certify(scores, x, scheme, n=4, bound="exact")
        assert found.radius == (math.inf if name == "plurality" else 0.0)
        assert (found.predict >= 0) == (name == "plurality")


def test_copies_that_have_no_class_are_the_runner_ups():
    def scores(batch):
        first = batch.reshape(-1, 4).argmax(1)
        return np.where(first[:, None] < 2, [[1.0, 0.0]], np.nan)

    x = np.eye(2, dtype=np.float32)
    x[1, 1] = 0
    scheme = schemes.orbit("quarter-turns", x.shape)
    found = certify(scores, x, scheme, n=4, bound="exact")
    assert (found.counts[0], found.radius) == (2, 0.0)


def test_torch_goes_through_the_same_copies():
    torch = pytest.importorskip("torch")

    class Sines(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.last = torch.nn.Linear(40, 3)

        def forward(self, batch):
            return self.last(torch.sin(3 * batch.flatten(1)))

    module, x = Sines(), RNG.random((2, 4, 5)).astype(np.float32)
    scheme = schemes.orbit("shift", x.shape)
    counts = as_sampler(module, scheme)(x, 1.0, 20, np.random.default_rng(0))

    def function(batch):
        with torch.no_grad():
            return module(torch.from_numpy(batch)).numpy()

    expected = as_sampler(function, scheme)(x, 1.0, 20, np.random.default_rng(0))
    assert np.asarray(counts).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: schemes.orbit("brightness", (8, 8)), "transform"),
        (lambda: schemes.orbit("rotation", (8, 8)), "transform"),
        (lambda: schemes.orbit(4, (8, 8)), "transform"),
        (lambda: schemes.orbit("shift", (8,)), "shape"),
        (lambda: schemes.orbit("shift", (8, 8, 3)), "shape"),
        (lambda: schemes.orbit("quarter-turns", (8, 9)), "shape"),
        (lambda: schemes.orbit("shift", (2000, 2000)), "shape"),
    ],
)
def test_what_is_no_orbit_is_refused(call, argument):
    with pytest.raises(ValueError, match=rf"^{argument} "):
        call()


def test_numbers_of_a_run_are_those_of_the_group():
    scheme = schemes.orbit("shift", (4, 5))
    model, x = random_model((4, 5)), RNG.random((4, 5)).astype(np.float32)
    for numbers, argument in (
        ({"n": 19, "bound": "exact"}, "n"),
        ({"n": 20}, "bound"),
    ):
        with pytest.raises(ValueError, match=rf"^{argument} "):
            certify(model, x, scheme, **numbers)
    with pytest.raises(ValueError, match=r"^x .*20 copies"):
        certify(model, RNG.random((4, 4)), scheme, n=20, bound="exact")


@pytest.mark.parametrize(
    "damaged",
    [{"transform": "gain"}, {"transform": 3}, {"elements": 2.5}, {"elements": 0}],
)
def test_damaged_parameters_are_named(damaged):
    (name,) = damaged
    stated = {"transform": "shift", "elements": 20, **damaged}
    with pytest.raises(ValueError, match=rf"^parameters.{name} "):
        schemes.METHODS["orbit"].from_parameters(stated)


def test_rows_say_any_shift_and_a_forgery_is_found(tmp_path):
    scheme = schemes.orbit("shift", (4, 5))
    data = (RNG.random((6, 4, 5)).astype(np.float32), np.zeros(6, int))
    out = tmp_path / "run.tsv"
    model = random_model((4, 5), 2)
    certify_dataset(model, data, scheme, out=out, n=20, bound="exact")
    read = results.read(out)
    assert {row.norm for row in read.rows} == {"any shift"}
    assert read.scopes() == [ORBIT]
    assert any(row.radius == math.inf for row in read.rows)
    assert audit.verify(out).findings == ()
    text = out.read_text()
    for before, after in (("any shift", "any mirror"), ("any shift", "2.0")):
        out.write_text(text.replace(before, after))
        assert audit.verify(out).findings
    # a tie, which leads nowhere
    line = next(line for line in text.splitlines()[1:] if line.split("\t")[2] != "-1")
    columns = line.split("\t")
    header = text.splitlines()[0].split("\t")
    columns[header.index("counts")] = "0:10,1:10"
    columns[header.index("count")] = "10"
    out.write_text(text.replace(line, "\t".join(columns)))
    assert audit.verify(out).findings


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = RNG.random((5, 1, 4, 4)).astype(np.float32)
    np.savez("x.npz", x=x, y=np.zeros(5, int))
    Path("code.py").write_text(
        "import numpy as np\n"
        "def edges():\n"
        "    def scores(batch):\n"
        "        corner = batch[:, 0, 0, 0]\n"
        "        return np.stack([corner, 0.4 + 0 * corner], axis=1)\n"
        "    return scores\n"
    )
    begin = ["certify", "--model", "code.py:edges", "--data", "x.npz"]
    begin += ["--out", "out.tsv", "--method", "orbit"]
    assert main([*begin, "--transform", "shift"]) == 0
    read = results.read(Path("out.tsv"))
    assert {row.n for row in read.rows} == {16}
    assert {row.bound for row in read.rows} == {"exact"}
    drawn = ["--data", "x.npz", "--model", "code.py:edges", "--rerun", "3"]
    assert main(["verify", "out.tsv", *drawn]) == 0
    capsys.readouterr()
    assert main(["report", "out.tsv"]) == 0
    assert "any shift" in capsys.readouterr().out
    again = ["recertify", "out.tsv", "--bound", "exact", "--out", "again.tsv"]
    assert main(again) == 0
    with pytest.raises(SystemExit):
        main([*begin, "--transform", "gain"])
    assert "--transform" in capsys.readouterr().err
    one_line(capsys, [*begin, "--transform", "shift", "--n", "99"], "--n")
    words = ["--transform", "shift", "--answer", "top-k", "--k", "1"]
    one_line(capsys, [*begin, *words], "evaluated")
