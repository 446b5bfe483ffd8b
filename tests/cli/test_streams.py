"""Disks that are full, streams that are closed, Ctrl-C."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_models import (
    ENVIRONMENT,
    arguments,
    one_line,
    package,
    python,
)

from rsbounds import cli
from rsbounds.cli import main
from rsbounds.results import Manifest
from rsbounds.results.internal import read_rows


def shell(line):
    line = line.replace("rsbounds ", f"{sys.executable} -m rsbounds ", 1)
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env=ENVIRONMENT
    )


def failing(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_named_with_its_file(work, capsys, monkeypatch):
    full = "No space left on device"
    assert main(arguments()) == 0
    Path("out.tsv").write_text(
        "".join(Path("out.tsv").read_text().splitlines(True)[:7])
    )
    before = Path("out.tsv").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        one_line(
            capsys,
            arguments(),
            f"can't write out.tsv: {full}",
            "the rows in it are kept",
        )
        one_line(
            capsys,
            arguments(out="new.tsv"),
            f"can't write new.tsv.manifest.json: {full}",
        )
        one_line(
            capsys, ["merge", "all.tsv", "out.tsv"], f"all.tsv.manifest.json: {full}"
        )
        rule = ["fit-rule", "out.tsv", "--out", "rule.json"]
        one_line(capsys, rule, f"can't write rule.json: {full}")
    assert not list(work.glob("rule.json*"))
    assert Path("out.tsv").read_bytes() == before
    assert main(arguments()) == 0
    assert main(["merge", "all.tsv", "out.tsv"]) == 0


@pytest.mark.parametrize("option", ["--html", "--plot"])
def test_a_full_disk_is_named_by_what_writes_pages_too(
    work, capsys, option, monkeypatch
):
    """A page that was there is kept whole."""
    package("matplotlib")
    assert main(arguments()) == 0
    report = ["report", "out.tsv", option, "page.png"]
    assert main(report) == 0
    before = Path("page.png").read_bytes()

    monkeypatch.setattr(os, "fsync", failing)
    one_line(capsys, report, "page.png: No space left on device")
    assert Path("page.png").read_bytes() == before
    assert not list(Path().glob("*.new"))


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&- >&- 2>&-"])
def test_closed_streams_lose_nothing(work, closed):
    command = " ".join(["rsbounds", *arguments(n=100)])
    assert shell(f"{command} {closed}").returncode == 0
    assert len(read_rows(Path("out.tsv"))) == 12
    assert Manifest.read(Path("out.tsv")).procedure.n == 100


@pytest.mark.slow
def test_a_full_standard_output_is_named(work):
    done = shell("rsbounds radius gaussian --score 1 --sigma 1 > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "rsbounds radius: standard output: No space left on device\n"


def test_ctrl_c_while_the_commands_are_loaded(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "parser", interrupted)
    assert main(["report", "x"]) == 130
    assert capsys.readouterr().err == (
        "rsbounds: interrupted; what is written is kept, run it again to go on\n"
    )


@pytest.mark.parametrize("module", ["argparse", "rsbounds.cli.certify"])
def test_ctrl_c_while_python_imports(module):
    """At any import of ours: by the module and by the installed script."""
    code = f"""
import importlib.metadata, runpy, sys
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
for name in list(sys.modules):
    if name.split(".")[0] in ("argparse", "rsbounds", "numpy"):
        del sys.modules[name]
sys.meta_path.insert(0, Interrupts())
sys.argv = ["rsbounds", "report", "x"]
if {{way}} == 0:
    runpy.run_module("rsbounds", run_name="__main__")
(script,) = importlib.metadata.entry_points(group="console_scripts", name="rsbounds")
sys.exit(script.load()())
"""
    for way in (0, 1):
        done = python("-c", code.replace("{way}", str(way)))
        assert done.returncode == 130
        assert done.stderr.startswith("rsbounds: interrupted")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("then", ["pass", "raise RuntimeError('begun already')"])
def test_ctrl_c_that_an_import_drops(then):
    """Compiled packages drop the exception, or raise one of their own in its place."""
    code = f"""
import signal, sys
from rsbounds._numerics import interrupts
from rsbounds.__main__ import main
class Drops:
    def find_spec(self, name, path=None, target=None):
        if name == "rsbounds.cli.report" and interrupts.arrived() is None:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                {then}
sys.meta_path.insert(0, Drops())
sys.argv = ["rsbounds", "report", "x"]
sys.exit(main())
"""
    done = python("-c", code)
    assert done.returncode == 130
    assert done.stderr == (
        "rsbounds: interrupted; what is written is kept, run it again to go on\n"
    )


def test_ctrl_c_at_any_moment_is_one_line_and_no_traceback(work):
    Path("hold").touch()  # so that no run ends before it is interrupted
    # it tells when the command line begins to load; before that it is the interpreter's
    # start
    code = "import sys, rsbounds.__main__ as m, rsbounds.cli as c; whole = c.parser\n"
    code += "c.parser = lambda: print('.', flush=True) or whole()\n"
    code += "sys.exit(m.main())"
    for pause in (0, 0.1, 0.4):
        words = [sys.executable, "-c", code, *arguments(model="models:slow")]
        run = subprocess.Popen(words, stdout=-1, stderr=-1, text=True, env=ENVIRONMENT)
        run.stdout.read(1)
        time.sleep(pause)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=600)
        assert "Traceback" not in err
        assert run.returncode == 130, err
        assert "run it again to go on" in err.splitlines()[-1]
    assert main(arguments(model="models:linear", out="x.tsv")) == 0
