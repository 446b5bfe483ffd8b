"""Numba's compiler, as the scans of anchors use it."""

import os
import subprocess
import sys

import pytest
from numba.core import caching

from rsbounds._neighbours._compiled import compiled


def test_what_can_be_kept_nowhere_is_compiled_all_the_same(monkeypatch):
    """As without a home, in a package of another user's: importing lbrs failed."""
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert compiled()(lambda x: x + 1)(1) == 2


RADII = """
import numpy as np
from rsbounds import lbrs, semielastic

random = np.random.default_rng(0)
for dim in (3, 7, 100):
    anchors, x = random.normal(size=(200, dim)), random.normal(size=(20, dim))
    for norm in (1, 2, np.inf):
        radii = lbrs.neighbour_radius(x, anchors, np.arange(200) % 3, norm=norm)
        print(radii.tobytes().hex())
    levels = semielastic.KNNSigma(anchors, 0.5, 0.1, 5, 1.0).sigma(x)
    print(levels.tobytes().hex())
"""


@pytest.mark.slow  # it compiles
def test_a_process_that_compiles_and_one_that_loads_give_the_same_bits(tmp_path):
    """Sums were added in another order by the copies of a function in its callers."""
    surroundings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", RADII]
    first, second = (
        subprocess.run(command, env=surroundings, capture_output=True, check=True)
        for _ in range(2)
    )
    assert first.stdout == second.stdout
