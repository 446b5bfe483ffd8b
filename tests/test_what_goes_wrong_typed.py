"""What went wrong once with what is typed and what is shown."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_models import arguments
from optional_packages import package

from rsbounds import gaussian
from rsbounds.cli import main
from rsbounds.confidence import lower_bound
from rsbounds.results import Manifest, Row, write

ROOT = Path(__file__).parent.parent

# --- numbers and words


@pytest.mark.parametrize(
    ("given", "meant"), [("--sgima", "--sigma"), ("--run-up", "--runner-up"), ("--jsn", "--json")]
)
def test_unknown_flags_are_answered_with_near_ones(capsys, given, meant):
    with pytest.raises(SystemExit) as stop:
        main([*arguments(), given, "1"])
    assert stop.value.code == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


def test_a_flag_of_another_command_is_not_answered_with_itself(capsys):
    with pytest.raises(SystemExit):
        main(["merge", "a.tsv", "--out", "b.tsv"])
    assert "did you mean --out?" not in capsys.readouterr().err


def test_numbers_of_samples_as_people_write_them(work, capsys):
    assert main(arguments(n="1e3", n0="5e1", max=1)) == 0
    assert Manifest.read(Path("out.tsv")).n == 1000
    for bad in ("1.5", "1e3.5", "nan", "ten"):
        with pytest.raises(SystemExit) as stop:
            main(arguments(n=bad))
        assert stop.value.code == 2


def made(radii: list[float], classes: int = 2) -> None:
    rows = [Row(i, i % classes, i % classes, r, True, "fixed noise") for i, r in enumerate(radii)]
    write(Path("made.tsv"), Manifest(data={"inputs": len(rows)}), rows)


@pytest.mark.parametrize("radius", [1e300, 1.7e308, 5e-324, 1e-300, float("inf")])
def test_radii_of_any_size_are_shown_in_few_characters(work, capsys, radius):
    made([radius, radius / 3, 0.0])
    for style in ("text", "markdown"):
        assert main(["report", "made.tsv", "--style", style]) == 0
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) < 200
    assert main(["report", "made.tsv", "--json"]) == 0


@pytest.mark.parametrize("radius", [1.7e308, 5e-324])
def test_radii_of_any_size_are_drawn(work, radius):
    for module in ("plotly", "matplotlib"):
        package(module)
    made([radius, radius / 3, 0.0])
    assert main(["report", "made.tsv", "--html", "page.html", "--plot", "plot.png"]) == 0


def test_a_thousand_classes_take_linear_time(work, capsys):
    """Ten times the classes and rows: ten times the time, where quadratic would be a hundred."""
    spent = []
    for classes in (200, 2000):
        made(list(np.linspace(0, 1, 5 * classes)), classes)
        start = time.process_time()
        assert main(["report", "made.tsv", "--classes"]) == 0
        spent.append(time.process_time() - start)
        assert capsys.readouterr().out.count("class ") == classes + 2
    assert spent[1] < 30 * spent[0]


def test_counts_on_the_command_line(capsys):
    counts = ["--count", "9900", "--n", "10000", "--alpha", ".001"]
    words = ["radius", "gaussian", *counts, "--sigma", ".5"]
    assert main(words) == 0
    value = float(capsys.readouterr().out.split()[0])
    # Clopper-Pearson: beta.ppf(.001, 9900, 101) = 0.98655..., its normal score times sigma
    assert 0.5 * 2.21 < value < 0.5 * 2.22
    assert value == pytest.approx(gaussian.radius(lower_bound(9900, 10000, 0.001), 0.5), rel=1e-12)
    assert main([*words, "--json"]) == 0
    assert float(json.loads(capsys.readouterr().out)["radius"]) == value


def test_json_is_json_without_rows_and_at_infinity(work, capsys):
    def strict(text: str) -> Any:
        return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))

    made([])
    assert main(["report", "made.tsv", "--json"]) == 0
    assert strict(capsys.readouterr().out)[0]["clean"] is None
    made([math.inf, 1.0])
    assert main(["report", "made.tsv", "--json", "--radii", "1,inf"]) == 0
    found = strict(capsys.readouterr().out)[0]
    assert (found["acr"], found["certified"]) == ("inf", {"1.0": 1.0, "inf": 0.5})
    assert main(["status", "made.tsv", "--json"]) == 0
    strict(capsys.readouterr().out)
    words = ["--score", "inf", "--sigma", "1", "--norm", "inf", "--dim", "9", "--json"]
    assert main(["radius", "gaussian", *words]) == 0
    found = strict(capsys.readouterr().out)
    assert (found["radius"], found["norm"]) == ("inf", "inf")


def test_bash_completes_commands_and_options(tmp_path):
    script = (
        f'eval "$({sys.executable} -m rsbounds completion bash)"; '
        "COMP_WORDS=(rsbounds certify --run); COMP_CWORD=2; _rsbounds; echo ${COMPREPLY[@]}; "
        "COMP_WORDS=(rsbounds stat); COMP_CWORD=1; _rsbounds; echo ${COMPREPLY[@]}"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env)
    assert done.stdout.split() == ["--runner-up", "status"], done.stderr
