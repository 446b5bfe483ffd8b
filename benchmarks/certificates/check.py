"""Check the entries of the public table, as the workflow ``certificates`` does.

    python benchmarks/certificates/check.py [CARD.json ...] [--file RUN.tsv]
    python benchmarks/certificates/check.py --cards FOLDER

Each card must be of the schema and of its group. Where the repository has its result
file, ``rsbounds verify`` proves every row, and the card is made again from the file:
what differs is named. A card of a file in a public repository must be the one that
``published.py`` made of it. Any other card is its writer's word; ``--file`` gives the
file of one. ``--cards`` checks a folder of another clone, as a workflow does by the
scripts, groups and list of the branch that it is to enter. Exit status 1 for an entry
that can't stand, 2 where none can be read.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import make
from entries import CARDS, ROOT
from judge import Judged, judge, judged, strangers

from rsbounds._numerics.text import shown


def lines_of(each: Sequence[Judged]) -> Iterator[str]:
    """A line for each card, or for each of its problems: these start with FAILS."""
    for one in each:
        for text in one.problems:
            yield f"FAILS {one.name}: {text}"
        if not one.problems and one.verdict is not None:
            verdict = one.verdict
            yield f"ok {one.name}: {verdict.kind}, {verdict.text}{_printed(one)}"


def _printed(one: Judged) -> str:
    verdict = one.verdict
    return f"; {verdict.printed}" if verdict is not None and verdict.printed else ""


def main(words: Sequence[str] | None = None, cards: Path = CARDS) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cards", nargs="*", type=Path, metavar="CARD.json")
    parser.add_argument("--file", type=Path, metavar="RUN.tsv")
    parser.add_argument("--cards", dest="folder", type=Path, metavar="FOLDER")
    args = parser.parse_args(words)
    cards = (args.folder or cards).absolute()
    paths = [path.absolute() for path in args.cards]
    for path in paths:
        if not path.is_relative_to(cards):
            parser.error(f"{path} must lie in {cards}")
    if args.file is not None and len(paths) != 1:
        parser.error("--file goes with one card")
    if args.file is not None:
        lines = [*lines_of([judge(paths[0], cards, args.file)])]
    else:
        lines = _checked(paths, cards, whole=cards == CARDS or args.folder is not None)
    # a name or a reason may hold what a terminal takes for its own
    print("\n".join(map(shown, lines)))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as file:
            file.writelines(f"    {shown(line)}\n" for line in lines)  # no markup
    return int(any(line.startswith("FAILS") for line in lines))


def _checked(paths: Sequence[Path], cards: Path, *, whole: bool) -> list[str]:
    """The lines of the cards named, or of all of them and of what else lies there.

    ``whole``: the folder must have all cards that ``published.py`` made.
    """
    each = judged(cards)
    if paths:
        named = [one for one in each if one.path in paths]
        absent = {*paths} - {one.path for one in named}
        return [*lines_of(named), *(f"FAILS {path}: is no card" for path in absent)]
    lines = [f"FAILS {name}: {text}" for name, text in strangers(cards, whole)]
    lines += lines_of(each)
    if cards == CARDS and make.PAGE.read_text("utf-8") != make.page(each):
        page = make.PAGE.relative_to(ROOT).as_posix()
        lines.append(
            f"FAILS {page}: is not that of the cards: "
            "run benchmarks/certificates/make.py"
        )
    return lines


if __name__ == "__main__":
    sys.exit(main())
