"""However large a cell, an audit takes about as many steps as that of the honest file.

    PYTHONPATH=tests/helpers python tests/audit/test_work.py

prints for each run the largest number of steps, over that of the honest file, and the
longest time.
"""

import re
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cases import slow_but
from edited_runs import RUNS, Files, audited

#: Whole numbers and others at the ends of what a cell can hold.
LARGE = ("100000", "131072", "9007199254740992", "9223372036854775807", "1e308")
NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")
#: Steps beyond twice those of the honest file: a tenth of a second.
ALLOWED = 100_000


class TooManyError(BaseException):
    """An audit takes more steps than it is allowed; no handler stops it."""


def steps_of(files, most=None):
    """Calls of functions, of Python and of C, that an audit makes."""
    taken = 0

    def count(_frame, event, _argument):
        nonlocal taken
        taken += event in ("call", "c_call")
        if most is not None and taken > most:
            sys.setprofile(None)
            raise TooManyError(f"more than {most} steps")

    sys.setprofile(count)
    try:
        audited(files)
    finally:
        sys.setprofile(None)
    return taken


def enlarged(files, values=LARGE):
    """The file with one cell of its first row at another value, one after another."""
    first, *others = files.rows
    for column, cell in first.items():
        texts = {NUMBER.sub(large, cell) for large in values} - {cell}
        for text in sorted(texts):
            files.save([first | {column: text}, *others])
            yield column, text


@pytest.mark.parametrize("name", slow_but(("flips",), RUNS))
def test_no_cell_asks_for_more_work_than_a_file_is_worth(tmp_path, name):
    pytest.importorskip("flint")
    files = Files.of(tmp_path, name)
    most = ALLOWED + 2 * steps_of(files)
    for column, text in enlarged(files, LARGE[-1:] if name == "flips" else LARGE):
        try:
            steps_of(files, most)
        except TooManyError as error:
            pytest.fail(f"{column} = {text}: {error}")


def main():
    with TemporaryDirectory() as folder:
        for name in RUNS:
            files = Files.of(Path(folder), name)
            honest = steps_of(files)
            worst, slowest, cells = (0, ""), (0.0, ""), 0
            for column, text in enlarged(files):
                began = time.process_time()
                audited(files)
                used = time.process_time() - began
                taken = steps_of(files)
                cells += 1
                place = f"{column} = {text:.30}"
                worst = max(worst, (taken, place))
                slowest = max(slowest, (used, place))
            print(name, cells, "cells; honest", honest, worst, slowest, flush=True)


if __name__ == "__main__":
    main()
