"""``rsbounds verify --rigorous``: enclosures hold the truth, genuine rows alone are proved."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import flint
import pytest
from mpmath import mp

from rsbounds import oracle, schemes
from rsbounds.certify import Procedure, certify_counts
from rsbounds.cli import _rigorous, _tails, main
from rsbounds.results import Manifest, Row, write

SHAPED = {"inner": 0.3}
SIGMA = {"lip": 0.05, "sigma_min": 0.25, "dim": 784}
SCHEMES = {
    "gaussian": schemes.gaussian(0.5),
    "gaussian in linf": schemes.gaussian(0.5, norm=float("inf"), dim=784),
    "anisotropic": schemes.Anisotropic(SHAPED),
    "semi-elastic": schemes.SemiElastic({"rate": 0.01, "dim": 784}),
    "semi-elastic, sound": schemes.SemiElastic({"rate": 0.01, "dim": 784, "slack": 2e-14}),
    "lipschitz, sound": schemes.lipschitz(lambda x: 0.5, 0.05, 0.25, 784, rounding=1e-13),
    "no rate": schemes.SemiElastic({"rate": 0.0, "dim": 784}),
    "lipschitz": schemes.lipschitz(lambda x: 0.5, 0.05, 0.25, 784),
    "at the floor": schemes.lipschitz(lambda x: 0.5, 0.05, 0.5, 784),
    "range": schemes.Range({"sigma_min": 0.499, "sigma_max": 0.501, "dim": 784}),
    "generator, sound": schemes.Generator(
        SIGMA | SHAPED | {"mean_lip": 0.5, "slack": 1e-13, "shift": 1e-12}
    ),
    "generator": schemes.Generator(SIGMA | SHAPED | {"mean_lip": 0.5}),
}
COUNTS = [(9900, 60), (5100, 4000), (4500, 700), (5100, 4900), (10000, 0), (300, 200)]
N = 10_000


def run(
    name: str, runner_up: bool = True, path: Path = Path("run.tsv")
) -> tuple[Manifest, list[Row]]:
    scheme = SCHEMES[name]
    known: dict[str, Any] = {"n0": 100, "n": N, "alpha": 0.001, "runner_up": runner_up}
    rows = []
    for i, (first, second) in enumerate(COUNTS):
        counts = (first, second, N - first - second)
        found = certify_counts(scheme, 0.5, (60, 40), counts, index=i, **known)
        rows.append(Row.of(i, 0, found, 0.1))
    manifest = Manifest(
        method=scheme.name,
        scope=scheme.scope,
        parameters=dict(scheme.parameters),
        data={"inputs": len(rows)},
        procedure=Procedure(**known),
    )
    write(path, manifest, rows)
    return manifest, rows


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("runner_up", [True, False])
def test_genuine_rows_are_proved_and_raised_ones_are_not(name: str, runner_up: bool) -> None:
    manifest, rows = run(name, runner_up)
    certified = [row for row in rows if row.radius]
    assert len(certified) >= 2
    for row in rows:
        assert list(_rigorous.findings(row, manifest)) == []
    for row in certified:
        raised = replace(row, radius=row.radius * (1 + 1e-9))
        assert list(_rigorous.findings(raised, manifest)) == [f"not proved: radius {raised.radius}"]


def test_raised_scores_are_not_proved() -> None:
    manifest, rows = run("gaussian")
    surer = replace(rows[0], z_a=rows[0].z_a + 1e-9)
    assert list(_rigorous.findings(surer, manifest)) == [f"not proved: z_a {surer.z_a}"]
    fewer = replace(rows[0], z_b=rows[0].z_b - 1e-9)
    assert f"not proved: z_b {fewer.z_b}" in list(_rigorous.findings(fewer, manifest))
    claimed = replace(rows[0], p_a=rows[0].p_a + 1e-9)
    assert list(_rigorous.findings(claimed, manifest)) == [f"not proved: p_a {claimed.p_a}"]
    nothing = replace(rows[0], z_a=float("nan"))
    assert f"not proved: z_a {nothing.z_a}" in list(_rigorous.findings(nothing, manifest))


def test_context_is_left_as_it_was() -> None:
    manifest, rows = run("semi-elastic")
    before = flint.ctx.prec
    assert not list(_rigorous.findings(rows[0], manifest))
    assert flint.ctx.prec == before


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize(
    ("dim", "s", "u"),
    [
        (1, 0.5, 0.7),
        (1, 0.1, -0.1 + 2.0**-40),  # a ball of probability 1e-12
        (2, 0.0, 3.0),
        (3, 0.0078125, 0.0009765625),
        (10, 3.0, -1.0),
        (784, 100.0, 4.0),
        (784, 1e6, 1.25),
        (784, 0.0, 40.0),
        (3072, 1e12, -20.0),
        (150528, 200.0, 236.0),
        (150528, 200.0, 260.0),
        (150528.5, 1e9, 0.5),
    ],
)
def test_enclosures_hold_the_truth_and_are_narrow(
    dim: float, s: float, u: float, upper: bool
) -> None:
    with flint.ctx.workprec(_tails.bits(s)):
        known = map(flint.arb, (u, dim, s))
        ball = _tails.tail(*known, upper=upper)
        tails = oracle.ball_tails(u, dim, s, dps=40)
        with mp.workdps(60):
            truth = mp.exp(tails.log_upper if upper else tails.log_lower)
        # The oracle's forty digits as a ball; the enclosure's own width is tested below.
        near = flint.arb(mp.nstr(truth, 50)) * (1 + flint.arb(0, 1e-36))
        assert ball.overlaps(near)
        assert ball.rad() <= 1e-15 * abs(near)


def test_an_enclosure_moves_with_its_arguments() -> None:
    """A ball of offsets gives a ball of probabilities: nothing is taken at a midpoint."""
    with flint.ctx.workprec(160):
        dim, s = flint.arb(784), flint.arb(100)
        wide = _tails.tail(flint.arb(4, 1e-6), dim, s, upper=True)
        for u in (4 - 1e-6, 4 + 1e-6):
            assert wide.overlaps(_tails.tail(flint.arb(u), dim, s, upper=True))


def test_the_command_counts_what_is_proved(capsys: Any) -> None:
    manifest, rows = run("semi-elastic")
    assert main(["verify", "run.tsv", "--rigorous"]) == 0
    assert "run.tsv: 6 of 6 rows proved" in capsys.readouterr().out
    rows[0] = replace(rows[0], radius=rows[0].radius * (1 + 1e-9))
    write(Path("run.tsv"), manifest, rows)
    assert main(["verify", "run.tsv", "--rigorous", "--jobs", "2"]) == 1
    out = capsys.readouterr().out
    assert "run.tsv:2: input 0: not proved: radius" in out
    assert "run.tsv: 5 of 6 rows proved" in out
    assert main(["verify", "run.tsv", "--rigorous", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["proved"] == 5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"bound": "anytime"}, "covers the bound clopper-pearson; got anytime"),
        ({"target_radius": 0.5}, "covers the bound clopper-pearson; got anytime"),
    ],
)
def test_what_is_not_covered_is_said(change: dict[str, Any], said: str, capsys: Any) -> None:
    manifest, rows = run("gaussian")
    procedure = replace(manifest.procedure, **change)
    write(Path("run.tsv"), replace(manifest, procedure=procedure), rows)
    assert main(["verify", "run.tsv", "--rigorous"]) == 2
    assert said in capsys.readouterr().err


def test_without_flint_one_line_says_what_to_install(monkeypatch: Any, capsys: Any) -> None:
    run("gaussian")
    monkeypatch.setitem(sys.modules, "flint", None)
    assert main(["verify", "run.tsv", "--rigorous"]) == 2
    error = capsys.readouterr().err
    assert "pip install python-flint" in error
    assert error.count("\n") == 1
