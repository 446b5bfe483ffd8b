"""Numba's compiler, as the scans of anchors use it."""

from numba.core import caching

from rsbounds._neighbours._compiled import compiled


def test_what_can_be_kept_nowhere_is_compiled_all_the_same(monkeypatch):
    """As without a home, in a package of another user's: importing lbrs failed."""
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert compiled()(lambda x: x + 1)(1) == 2
