"""A thousand simulated workers, and a writing process that is killed between syncs."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rsbounds.results import read

PAGES = Path(__file__).parents[2] / "benchmarks" / "pages"
ROWS, WORKERS = 10_000, 1000

# kills itself before the sync of this number, after telling what was synced before
KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import crowd
from rsbounds.results import _file

number, flush = int(sys.argv[3]), _file.flush

def counted(descriptor):
    global number
    number -= 1
    if number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    flush(descriptor)
    print(os.fstat(descriptor).st_size, flush=True)

_file.flush = counted
crowd.run(Path(sys.argv[2]), *map(int, sys.argv[4:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_kills_lose_no_row_that_was_synced_and_double_none(tmp_path):
    path = tmp_path / "run.tsv"
    numbers = map(str, (ROWS, WORKERS, WORKERS))
    command = [sys.executable, "-c", KILLED, str(PAGES), str(path)]
    *rest, before = *numbers, 0
    for syncs in (2, 3, 2):
        done = subprocess.run(
            [*command, str(syncs), *rest], capture_output=True, text=True, check=False
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        synced = [int(size) for size in done.stdout.split()]
        assert all(size <= path.stat().st_size for size in synced)
        rows = read(path).rows
        assert len(rows) > before
        before = len(rows)
    subprocess.run([*command, "-1", *rest], check=True, capture_output=True)
    assert [row.idx for row in read(path).rows] == list(range(ROWS))
