"""``--method`` of other packages, found by their entry points."""

from __future__ import annotations

import sys
from pathlib import Path

import anothers_method
import pytest
from cli_models import arguments, one_line
from result_table import manifest, outcomes

from rsbounds.certificate import ANOTHERS
from rsbounds.cli import main
from rsbounds.results import read_rows


@pytest.fixture
def installed(work, monkeypatch):
    monkeypatch.syspath_prepend(str(anothers_method.install(work)))
    monkeypatch.delitem(sys.modules, "careful", raising=False)
    return work


CAREFUL = {"method": "careful", "share": 0.25}


def test_an_installed_method_is_certified_reported_and_recertified(installed, capsys):
    assert main(arguments(**CAREFUL)) == 0
    assert main(arguments(out="whole.tsv")) == 0
    a, b = read_rows(Path("out.tsv")), read_rows(Path("whole.tsv"))
    assert [row.counts for row in a] == [row.counts for row in b]
    assert any(row.radius > 0 for row in a)
    for one, all_of_it in zip(a, b, strict=True):
        assert one.radius <= 0.25 * all_of_it.sigma * max(one.z_a, 0) * (1 + 1e-15)
    assert {row.scope for row in a} == {ANOTHERS}
    code = manifest()["parameters"]["code"]
    assert (code["package"], code["version"]) == ("careful-smoothing", "1.2")
    capsys.readouterr()
    assert main(["report", "out.tsv"]) == 0
    assert "has no oracle for" in capsys.readouterr().out
    assert main(["recertify", "out.tsv", "--alpha", "0.01", "--out", "b.tsv"]) == 0
    again = read_rows(Path("b.tsv"))
    assert {row.scope for row in again} == {ANOTHERS}
    assert all(new.radius >= old.radius for new, old in zip(again, a, strict=True))
    one_line(capsys, ["verify", "b.tsv"], "method 'careful', which rsbounds has no oracle for")
    assert main(arguments(**CAREFUL)) == 0
    assert "0 of them new" in capsys.readouterr().out


def test_the_norm_of_an_installed_method_is_that_of_its_rows(installed):
    """Its parameters don't tell; a radius in l_1 would be none in l_2."""
    assert main(arguments(**CAREFUL | {"share": 0.125})) == 0
    assert main(["recertify", "out.tsv", "--out", "b.tsv"]) == 0
    for name in ("out.tsv", "b.tsv"):
        assert {row.norm for row in read_rows(Path(name))} == {1.0}
    assert outcomes("b.tsv") == outcomes("out.tsv")


def test_its_options_stand_in_files_too(installed, capsys):
    Path("run.toml").write_text('method = "careful"\nshare = 0.25\nout = "a.tsv"\n')
    assert main([*arguments(out=None), "--config", "run.toml"]) == 0
    assert manifest("a.tsv")["parameters"]["share"] == 0.25
    with pytest.raises(SystemExit):
        main(arguments(share=0.25))
    assert "unrecognized arguments: --share" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"method": "carefull"}, "'carefull' is unknown; did you mean careful?"),
        ({"method": "clash"}, "its option --seed is rsbounds certify's own"),
        ({"method": "nothing"}, "must be an rsbounds.schemes.Method of that name"),
        ({"method": "lost"}, "can't be loaded: ModuleNotFoundError"),
        ({**CAREFUL, "sigma": None}, "--method careful needs --sigma"),
        ({**CAREFUL, "rate": 1}, "--rate has no meaning for --method careful"),
        ({**CAREFUL, "share": 13}, "--method careful failed: RuntimeError: no such share"),
        ({**CAREFUL, "share": 14}, "--method careful must return a Scheme"),
        ({**CAREFUL, "share": 15}, "the radius failed: TypeError"),
        ({**CAREFUL, "share": 16}, "its parameters lack share"),
        ({**CAREFUL, "denoiser": "a:b"}, "one timestep, that of a fixed noise level"),
    ],
)
def test_what_goes_wrong_in_an_installed_method_is_one_line(installed, capsys, changes, said):
    one_line(capsys, arguments(**changes), said)
    assert not list(installed.glob("out*"))


def test_a_method_that_is_no_longer_installed_is_one_line(installed, capsys, monkeypatch):
    assert main(arguments(**CAREFUL)) == 0
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not p.endswith("site")])
    one_line(capsys, ["recertify", "out.tsv", "--out", "b.tsv"], "'careful' is unknown")
