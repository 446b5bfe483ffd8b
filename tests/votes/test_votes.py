"""Votes of parts against brute force over all changed votes."""

from itertools import product

import pytest

from rsbounds._numerics.errors import ArgumentError
from rsbounds.certificate import ABSTAIN
from rsbounds.oracle import discrete as brute
from rsbounds.votes import certify_votes


def assert_votes(part_counts, class_counts):
    for count, classes in product(part_counts, class_counts):
        for parts in product(range(classes), repeat=count):
            if list(parts) != sorted(parts):
                continue
            votes = [parts.count(c) for c in range(classes)]
            for reach in range(count + 1):
                cls, certified, margin = certify_votes(votes, reach)
                assert votes[cls] == max(votes)
                assert cls == votes.index(max(votes))
                assert certified == brute.certified_votes(parts, classes, reach)
                assert certified == (reach <= margin)


def test_votes_are_brute_force():
    assert_votes([1, 2, 3, 4], [1, 2, 3])


@pytest.mark.slow
def test_votes_are_brute_force_in_six_parts():
    assert_votes([5, 6], [2, 3])


def test_a_patch_reaches_as_many_bands_as_the_page_says():
    size = 7
    for width, patch in product(range(1, size + 1), repeat=2):
        meets = sum(
            any((start + i) % size < patch for i in range(width))
            for start in range(size)
        )
        assert meets == min(patch + width - 1, size)
        # wherever the patch lies, and if it lies across the edge too
        for at in range(size):
            covered = {(at + i) % size for i in range(patch)}
            bands = [{(s + i) % size for i in range(width)} for s in range(size)]
            assert sum(bool(band & covered) for band in bands) == meets


def test_votes_refuse():
    assert certify_votes([0, 0], 0) == (ABSTAIN, False, -1)
    for votes, reach in [([], 0), ([1, -1], 0), ([[1]], 0), ([1.5], 0), ([1], -1)]:
        with pytest.raises(ArgumentError):
            certify_votes(votes, reach)
