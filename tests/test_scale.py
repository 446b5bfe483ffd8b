"""The page on scale: its tables are the script's, and the simulated cluster obeys arithmetic."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "howto" / "how-far-does-it-scale.md").read_text()


@pytest.fixture(scope="module")
def scale():
    return runpy.run_path(str(ROOT / "benchmarks" / "pages" / "scale.py"))


def part(name: str) -> str:
    return re.search(f"<!-- {name} -->\n\n(.*?)\n\n<!-- end of {name} -->", PAGE, re.S)[1]


@pytest.mark.parametrize("name", ["samples", "clusters"])
def test_tables_are_the_script_s(scale, name):
    assert part(name) == scale[name]()


@pytest.mark.slow
def test_stopping_is_the_script_s(scale):
    assert part("stops") == scale["stops"]()


def test_equal_workers_without_failures_take_their_share(scale):
    workers = scale["Cluster"](np.ones(10), False)
    assert scale["dealt"](workers, 1000, 2.0) == (200.0, 0)
    assert scale["sharded"](workers, 1000, 2.0) == 200.0


@pytest.mark.parametrize("gpus", [1, 20, 100])
def test_dealing_lies_between_the_work_and_one_slow_row_more(scale, gpus):
    workers = scale["cluster"](gpus, failures=False)
    found, again = scale["dealt"](workers, 3000, 10.0)
    least = 3000 * 10.0 / np.sum(workers.speeds)
    assert again == 0
    assert least <= found <= least + 10.0 / np.min(workers.speeds)
    assert found <= scale["sharded"](workers, 3000, 10.0) + 1e-6


def test_rows_of_failed_workers_are_done_again(scale):
    workers = scale["cluster"](20)
    rows, each = 20_000, 300.0  # a long run: hundreds of failures
    found, again = scale["dealt"](workers, rows, each)
    failures = 20 * found / scale["LIFE"]
    assert again == pytest.approx(failures, abs=4 * np.sqrt(failures))
    # the model's mean against one draw of them: their spread is 6 %, and each costs 1e-5 of the run
    assert found == pytest.approx(scale["predicted"](workers.speeds, rows, each), rel=0.01)


def test_driver_writes_every_row_and_its_memory_is_flat(scale, monkeypatch):
    if not Path("/proc/self/statm").exists():
        pytest.skip("reads resident memory where Linux keeps it")
    monkeypatch.setattr("os.fsync", lambda file: None)
    rate, early, late, size = scale["driver"](20_000)
    assert rate > 0
    assert 100 < size < 400
    assert late - early < 2.0  # MB; 18,000 rows that were kept would take ten times as much
