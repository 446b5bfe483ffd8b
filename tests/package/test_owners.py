"""A fact's name stands in few files: what was a flag of many rooms has one owner."""

from pathlib import Path

import pytest
from scripts import module_at

ROOT = Path(__file__).parents[2]
NOISE = ("noises/", "schemes/", "sampling/")
#: The command line's table of flags, and what files may state.
TABLES = {"cli/_grid.py", "results/_facts.py"}


@pytest.fixture(scope="module")
def pages():
    return module_at(ROOT / "benchmarks" / "pages" / "owners.py")


@pytest.fixture(scope="module")
def owners(pages):
    words = ("sound", "sound_noise", "grid", "noise_source", ".outcomes", "slack")
    private = ("_option_string_actions", "_actions", "_SubParsersAction")
    return pages.owners((*words, *private))


@pytest.mark.parametrize("word", ["sound", "sound_noise", "grid"])
def test_noise_on_a_grid_is_a_matter_of_noise_and_of_two_tables(owners, word):
    beside = {file for file in owners[word] if not file.startswith(NOISE)}
    assert beside <= TABLES


def test_whose_bits_noise_is_of_is_said_by_the_seed(owners):
    assert owners["noise_source"] == []


@pytest.mark.parametrize(("word", "most"), [(".outcomes", 8), ("slack", 4)])
def test_what_is_allowed_for_has_few_owners(owners, word, most):
    assert 0 < len(owners[word]) <= most


def test_nobody_reads_argparses_private_tables(owners):
    private = ("_option_string_actions", "_actions", "_SubParsersAction")
    assert all(owners[word] == [] for word in private)


def test_a_homonym_is_a_word_of_its_file(pages):
    """A file that no longer holds the word leaves the list."""
    for word, files in pages.HOMONYMS.items():
        for file in files:
            tree = pages.ast.parse((pages.PACKAGE / file).read_text(encoding="utf-8"))
            assert word in pages.words_of(tree), (word, file)
