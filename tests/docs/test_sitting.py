"""CONTRIBUTING's "Read it in a sitting" is the way of one input, file by file."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import path

path.certify(2, 1000)
print(*path.files_of(path.calls_of(1)), sep="\\n")
"""


@pytest.mark.slow
def test_a_reader_meets_every_file_that_an_input_passes_in_order():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition("## Read it in a sitting")[2].partition("\n## ")[0]
    listed = re.findall(r"^ *\d+\. (.*?):", section, re.M | re.S)
    files = re.findall(r"`([\w/]+\.py)`", " ".join(listed))
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT / "benchmarks" / "pages",
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert files == run.stdout.split()
