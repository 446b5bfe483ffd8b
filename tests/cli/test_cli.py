"""The command line as a whole, and ``rsbounds radius``."""

import importlib
import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import rsbounds
from rsbounds import gaussian
from rsbounds._numerics.errors import ArgumentError
from rsbounds.cli import _COMMANDS, main, radius
from rsbounds.confidence import lower_bound

ROOT = Path(__file__).parents[2]


def run(argv, capsys):
    try:
        status = main(argv.split())
    except SystemExit as stop:
        status = int(str(stop.code))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


RADII = {
    # numbers from the tables of the theory, to all digits known
    "radius semi-elastic --p-a 0.9 --sigma 0.25 --rate 0.01 --dim 784": "0.318828",
    "radius semi-elastic --p-a .99993 --sigma .25 --rate .01 --dim 150528": "0.560157",
    "radius gaussian --p-a 0.9 --sigma 0.25": "0.32038789138615",  # sigma Phi^-1(.9)
    "radius gaussian --score 1.5 --sigma 2": "3",
    "radius gaussian --p-a 0.7 --p-b 0.2 --sigma 1": "0.683010873140",
    "radius lipschitz --p-a .999 --sigma .5 --lip 0 --sigma-min .5 --dim 9": "1.545116",
    "radius anisotropic --p-a 0.9 --sigma 0.5 0.25 1": "0.32038789138615",
}


@pytest.mark.parametrize("argv", RADII)
def test_radius_prints_the_number_cut_off_and_its_inputs(argv, capsys):
    status, out, err = run(argv, capsys)
    assert (status, err) == (0, "")
    value, method, *inputs = out.split()
    expected = Decimal(RADII[argv])
    unit = Decimal(1).scaleb(expected.as_tuple().exponent)
    assert abs(Decimal(value) - expected) <= unit
    assert method == argv.split()[1]
    given = argv.split()[2::2]
    if method != "anisotropic":  # its sigma takes several words
        assert {word.partition("=")[0] for word in inputs} >= {
            name.removeprefix("--").replace("-", "_") for name in given
        }


@pytest.mark.parametrize("evidence", ["--p-a 1", "--p-a 0.6 --p-b 0.0", "--score inf"])
def test_radius_is_infinite_only_on_certain_evidence(evidence, capsys):
    status, out, err = run(f"radius gaussian {evidence} --sigma 1", capsys)
    assert (status, err) == (0, "")
    assert out.startswith("inf gaussian ")
    _, out, _ = run("radius gaussian --score 1e10 --sigma 1e290", capsys)
    assert 0.999e300 < float(out.split()[0]) <= 1e300


def test_radius_is_a_lower_bound_as_printed(capsys):
    sigma = 0.1
    _, out, _ = run(f"radius gaussian --score 2 --sigma {sigma}", capsys)
    assert Decimal(out.split()[0]) <= 2 * Decimal(sigma)


def test_counts_on_the_command_line(capsys):
    argv = "radius gaussian --count 9900 --n 10000 --alpha .001 --sigma .5"
    value = float(run(argv, capsys)[1].split()[0])
    # Clopper-Pearson: beta.ppf(.001, 9900, 101) = 0.98655..., its normal score times
    # sigma
    assert 0.5 * 2.21 < value < 0.5 * 2.22
    assert value == pytest.approx(
        gaussian.radius(lower_bound(9900, 10000, 0.001), 0.5), rel=1e-12
    )
    assert float(json.loads(run(f"{argv} --json", capsys)[1])["radius"]) == value
    argv = "radius gaussian --score inf --sigma 1 --norm inf --dim 9 --json"
    found = json.loads(run(argv, capsys)[1], parse_constant=pytest.fail)
    assert (found["radius"], found["norm"]) == ("inf", "inf")


BAD = {
    "fly": "there is no command fly",
    "radius": "the following arguments are required: METHOD",
    "radius --p-a .9 --sigma 1": "METHOD comes before --p-a",
    "radius gaussian --sigma 1": "one of the arguments --p-a --score --count is",
    "radius gaussian --p-a 0.9 --score 1 --sigma 1": "not allowed with argument",
    "radius gaussian --p-a 1.5 --sigma 1": "--p-a must be in",
    "radius gaussian --p-a x --sigma 1": "invalid float value: 'x'",
    "radius gaussian --score 1 --p-b 0.1 --sigma 1": "--p-b goes with --p-a",
    "radius gaussian --p-a nan --sigma 1": "--p-a must be a number",
    "radius gaussian --p-a 0.99999999999999999999 --sigma 1": "would be rounded to 1",
    "radius gaussian --p-a 0.6 --p-b 1e-400 --sigma 1": "would be rounded to 0",
    "radius gaussian --p-a 0.9 --sigma 1 --sig 2": "unrecognized arguments: --sig 2",
    "certify --model a:b --data c --out d --sgima 1": "did you mean --sigma?",
    "report a.tsv --jsn": "did you mean --json?",
    "merge a.tsv b.tsv --out c.tsv": "unrecognized arguments: --out c.tsv; see",
}


@pytest.mark.parametrize("argv", BAD)
def test_bad_input_gives_one_line_and_status_2(argv, capsys):
    status, out, err = run(argv, capsys)
    assert (status, out) == (2, "")
    assert re.match(r"rsbounds[\w -]*: ", err)
    assert err.count("\n") == 1
    assert BAD[argv] in err


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ArgumentError("p_a", "must be small"), "--p-a must be small"),
        (ArgumentError("p_c", "must be small"), "p_c must be small"),
        (ArgumentError("command", "must be small"), "command must be small"),
        (ValueError("p_a must be small"), "p_a must be small"),
        (ValueError("f: p_a must be 1"), "f: p_a must be 1"),
        (ValueError("p_a=True, jason=True"), "p_a=True, jason=True"),
    ],
)
def test_arguments_are_spelled_as_options(monkeypatch, capsys, error, line):
    """Where the command that runs has such an option, and nowhere else."""

    def run(args):
        raise error

    monkeypatch.setattr(radius, "run", run)
    assert main(["radius", "gaussian", "--p-a", ".9", "--sigma", "1"]) == 2
    assert capsys.readouterr().err == f"rsbounds radius: {line}\n"


def test_help_imports_no_command():
    code = "import sys; from rsbounds.cli import main\n"
    code += "try: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print(*(m for m in sys.modules if m.startswith('rsbounds.cli.')))\n"
    code += "print('numpy' in sys.modules, 'scipy' in sys.modules)"
    words = [sys.executable, "-c", code]
    *text, modules, numerics = subprocess.check_output(
        words, text=True, cwd=ROOT
    ).splitlines()
    assert modules == "rsbounds.cli._flags rsbounds.cli._parser"
    assert numerics == "False False"
    for name in _COMMANDS:
        module = importlib.import_module(f"rsbounds.cli.{name.replace('-', '_')}")
        summary = module.__doc__.partition("\n")[0]
        assert summary[1:].removesuffix(".") in " ".join(" ".join(text).split())


def test_version(capsys):
    assert run("--version", capsys)[:2] == (0, f"rsbounds {rsbounds.__version__}\n")


@pytest.mark.parametrize(
    "argv", [["--version"], ["--version", "--verbose"], ["--verbose", "--version"]]
)
def test_version_imports_no_numpy(argv):
    code = f"import sys; from rsbounds.cli import main\ntry: main({argv})\n"
    code += "except SystemExit: pass\nprint('numpy' in sys.modules)"
    *lines, numerics = subprocess.check_output(
        [sys.executable, "-c", code], text=True, cwd=ROOT
    ).splitlines()
    assert numerics == "False"
    assert lines[0] == f"rsbounds {rsbounds.__version__}"
    verbose = "--verbose" in argv
    assert (len(lines) > 1) == verbose
    if verbose:
        described = dict(line.split(": ", 1) for line in lines[2:])
        assert described["numpy"] == np.__version__
        assert int(described["threads"]) >= 1
        assert described["processor"]


def test_closed_pipe_is_no_error():
    # more than a pipe holds, to a reader that is gone
    code = "import sys; from rsbounds import cli\n"
    code += "def run(args):\n    print('x' * 10**6)\n    return 0\n"
    code += "from rsbounds.cli import radius; radius.run = run\n"
    code += "sys.exit(cli.main(['radius', 'gaussian', '--score', '1', '--sigma', '1']))"
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    os.close(writer)
    assert done.returncode == 0
    assert done.stderr == ""


def test_the_command_alone_prints_its_help(capsys):
    """It was an error: "the following arguments are required: COMMAND"."""
    assert main([]) == 0
    assert "certify" in capsys.readouterr().out


@pytest.mark.parametrize("command", _COMMANDS)
def test_each_command_prints_its_help(command, capsys):
    """A per cent sign in a help text is argparse's own."""
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    assert f"rsbounds {command}" in capsys.readouterr().out
