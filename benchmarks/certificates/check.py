"""Check the entries of the public table, as the workflow ``certificates`` does.

    python benchmarks/certificates/check.py [CARD.json ...] [--file RUN.tsv]

Each card must be of the schema and of its folder. Where the repository has its result
file, ``rsbounds verify`` proves every row, and the card is made again from the file:
what differs is named. ``--file`` gives the file of a card that is elsewhere. Exit
status 1 for an entry that can't stand, 2 where none can be read.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import make
from entries import CARDS, ROOT, card_paths, file_of, problems

from rsbounds.results import read_card

_SUFFIXES = (".json", ".tsv")


def report(paths: Sequence[Path], cards: Path, file: Path | None) -> Iterator[str]:
    """A line for each card, or for each of its problems: these start with FAILS."""
    for path in paths:
        name = path.relative_to(cards).as_posix()
        found = list(problems(path, cards, file))
        for text in found:
            yield f"FAILS {name}: {text}"
        if found:
            continue
        card = read_card(path)
        of_file = file or file_of(path, card)
        if of_file is not None:
            yield f"ok {name}: {_verdict(card)}, and the card is that of its file"
        elif "commit" in card["about"]:
            yield f"ok {name}: its file is elsewhere, --file checks the card against it"
        else:
            yield f"ok {name}: without a file, its writer's word"


def _verdict(card: Mapping[str, Any]) -> str:
    verified = card["verified"]
    if verified["findings"]:
        return f"{verified['findings']} of {verified['rows']} radii are rounded up"
    return f"{verified['rows']} rows proved"


def strangers(cards: Path) -> Iterator[str]:
    """Files among the cards that are neither cards nor result files."""
    for path in sorted(cards.rglob("*")):
        if path.is_symlink() or (path.is_file() and path.suffix not in _SUFFIXES):
            name = path.relative_to(cards).as_posix()
            yield f"FAILS {name}: is no card and no result file"


def main(words: Sequence[str] | None = None, cards: Path = CARDS) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cards", nargs="*", type=Path, metavar="CARD.json")
    parser.add_argument("--file", type=Path, metavar="RUN.tsv")
    args = parser.parse_args(words)
    paths = [path.resolve() for path in args.cards]
    for path in paths:
        if not path.is_relative_to(cards.resolve()):
            parser.error(f"{path} must lie in {cards}")
    if args.file is not None and len(paths) != 1:
        parser.error("--file goes with one card")
    lines = [*strangers(cards), *report(paths or card_paths(cards), cards, args.file)]
    if not paths and cards == CARDS and make.PAGE.read_text("utf-8") != make.page():
        page = make.PAGE.relative_to(ROOT).as_posix()
        lines.append(
            f"FAILS {page}: is not that of the cards: "
            "run benchmarks/certificates/make.py"
        )
    print("\n".join(lines))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as file:
            file.writelines(f"    {line}\n" for line in lines)  # as code: no markup
    return int(any(line.startswith("FAILS") for line in lines))


if __name__ == "__main__":
    sys.exit(main())
