"""A procedure is made once and checked once, from the command line to the engine."""

import numpy as np
import pytest

from rsbounds import certify_dataset, schemes
from rsbounds.answers import TopClass
from rsbounds.certify import Procedure
from rsbounds.cli import main

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
Y = np.array([0, 1, 2, 2])
MODEL = "def make():\n    return lambda batch: batch\n"


@pytest.fixture
def checks(monkeypatch):
    """How many procedures a command line had made, at each check of one."""
    made, found = [], []
    make, check, read = Procedure.__post_init__, TopClass.check, Procedure.from_dict

    def one_more(self):
        made.append(self)
        make(self)

    def checked(self, procedure):
        found.append(len(made))
        check(self, procedure)

    def of_a_file(entries):
        procedure = read(entries)
        made.pop()
        return procedure

    monkeypatch.setattr(Procedure, "__post_init__", one_more)
    monkeypatch.setattr(Procedure, "from_dict", of_a_file)
    monkeypatch.setattr(TopClass, "check", checked)
    return found


def words(folder, *more):
    (folder / "model.py").write_text(MODEL)
    np.savez(folder / "data.npz", x=X, y=Y)
    given = ["--model", f"{folder}/model.py:make", "--data", f"{folder}/data.npz"]
    return ["certify", *given, "--out", f"{folder}/run.tsv", *more]


def test_a_command_line_makes_and_checks_one(checks, tmp_path):
    assert not main(words(tmp_path, "--sigma", "0.5", "--n", "100"))
    assert checks == [1]


def test_several_noise_levels_share_it(checks, tmp_path):
    assert not main(words(tmp_path, "--sigma", "0.5,1", "--n", "100"))
    assert checks == [1, 1]


def test_noise_whose_outcomes_say_the_number_has_one(checks, tmp_path):
    noise = ["--method", "splitting", "--sigma", "0.5", "--levels", "12"]
    given = words(tmp_path, *noise)
    np.savez(tmp_path / "data.npz", x=np.full((4, 3), 0.5, np.float32), y=Y)
    assert not main(given)
    assert checks == [1]


def test_a_margin_that_is_measured_adds_no_check(checks, tmp_path):
    given = words(tmp_path, "--sigma", "0.5", "--n", "100", "--margin", "auto")
    assert not main(given)
    assert checks == [1]


def test_a_call_makes_and_checks_one(checks):
    certify_dataset(lambda batch: batch, (X, Y), schemes.gaussian(0.5), n=100)
    assert checks == [1]


def test_all_outcomes_need_no_number():
    """Whether all of them are gone through follows from the noise."""
    scheme = schemes.orbit("quarter-turns", (2, 2))
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    run = certify_dataset(lambda b: b.reshape(-1, 4)[:, :3], (x, Y[:2]), scheme)
    procedure = run.manifest.procedure
    assert (procedure.n, procedure.bound) == (4, "exact")
