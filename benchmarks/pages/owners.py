"""The files of the package that hold a fact's name: how many owners the fact has.

    python benchmarks/pages/owners.py [--files] [WORD ...]

A file holds a word that is an identifier, an attribute, an argument, a keyword or a
whole string of it; words in docstrings, comments and longer texts don't count, nor do
homonyms. For `.WORD` attributes alone count. --files lists the files.
"""

import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import rsbounds

PACKAGE = Path(rsbounds.__file__).parent
#: Those that were threaded through the package as flags, and the numbers of a run.
FACTS = (
    *("sound", "sound_noise", "grid", "noise_source", ".outcomes", "slack"),
    *("void", "looks", "margin"),
)


#: Files in which a word is the name of something else: a lattice of numbers or the
#: lines of a figure, and what another computation may be off by.
HOMONYMS = {
    "grid": {
        *("composite/fitting.py", "oracle/_radii.py", "reports/_draw.py"),
        *("reports/_paired.py", "testing/_answer.py"),
    },
    "slack": {
        *("_neighbours/anchors.py", "anisotropic/_ellipsoid.py"),
        *("anisotropic/_laplace.py", "audit/_bounds.py"),
        *("audit/_printing.py", "audit/_published.py", "composite/geometry.py"),
        *("envelope/_radius.py", "torch/radius/_radii.py"),
    },
}


def words_of(tree: ast.AST) -> Iterator[str]:
    """The words of a file's code; an attribute's also with a dot in front."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.arg(arg=word) | ast.Constant(value=str(word)):
                yield word
            case ast.Attribute(attr=word):
                yield from (word, f".{word}")
            case ast.keyword(arg=str(word)):
                yield word
            case ast.FunctionDef(name=word) | ast.ClassDef(name=word):
                yield word
            case ast.alias(name=word):
                yield word


def owners(words: Sequence[str]) -> dict[str, list[str]]:
    """By word the package's files that hold it."""
    files: dict[str, list[str]] = {word: [] for word in words}
    for path in sorted(PACKAGE.rglob("*.py")):
        held = {*words_of(ast.parse(path.read_text(encoding="utf-8")))}
        place = path.relative_to(PACKAGE).as_posix()
        for word in held & files.keys():
            if place not in HOMONYMS.get(word, ()):
                files[word].append(place)
    return files


def main(arguments: Sequence[str]) -> None:
    """Print a line for each word."""
    words = [word for word in arguments if not word.startswith("--")] or FACTS
    for word, files in owners(words).items():
        print(f"{word:14} {len(files):3} files")
        if "--files" in arguments:
            print(*(f"    {file}" for file in files), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
