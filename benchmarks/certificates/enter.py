"""Enter a result file into the public table: its card, and the page made again.

    python benchmarks/certificates/enter.py RUN.tsv --to cifar-10/l2 \\
        --title "Our method" --code https://github.com/us/method --chosen "the only run"

The file and its manifest are copied beside the card, so that everybody can make the
card again, unless they lie among its pages; ``--card-only`` leaves them out. A file
of another tool has no manifest: ``--sigma``, ``--n``, ``--alpha`` say what its run was.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

import make
from entries import CARDS, ROOT, Stated, as_text, is_ours, make_card
from groups import group_of
from judge import judge
from texts import LONGEST

from rsbounds.results.internal import commitment_path, manifest_path


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("file", type=Path, metavar="RUN.tsv")
    add("--to", required=True, metavar="DATA/THREAT", help="such as cifar-10/l2")
    add("--title", required=True, help="the method and its network, as a paper has it")
    add("--code", required=True, metavar="https://...", help="where model and code are")
    chosen = "out of how many runs this one was chosen, and by what"
    add("--chosen", required=True, metavar="TEXT", help=chosen)
    add("--paper", help="such as arXiv 1902.02918")
    add("--name", help="the name of the card (from title and sigma)")
    add("--sigma", type=float, help="of a file without a manifest")
    add("--n", type=int, help="of a file without a manifest")
    add("--alpha", type=float, help="of a file without a manifest")
    add("--card-only", action="store_true", help="keep the result file to yourself")
    return parser


def stated(args: argparse.Namespace) -> Stated | None:
    """What is said of a file that has no manifest; None of one that has."""
    given = [value is not None for value in (args.sigma, args.n, args.alpha)]
    if manifest_path(args.file).exists():
        if any(given):
            raise ValueError("--sigma, --n and --alpha are for a file without manifest")
        return None
    if not all(given):
        raise ValueError(f"{args.file} has no manifest: give --sigma, --n and --alpha")
    return Stated(args.sigma, args.n, args.alpha)


def enter(args: argparse.Namespace, cards: Path = CARDS) -> Path:
    """Write the card and copy its file; the card's path."""
    group = group_of(args.to)
    card = make_card(args.file, group, stated=stated(args))
    said = {name: getattr(args, name) for name in ("title", "code", "chosen", "paper")}
    card["about"] |= {name: text[:LONGEST] for name, text in said.items() if text}
    sigma = card["about"].get("sigma", "")
    words = f"{args.title} {sigma}" if args.name is None else args.name
    name = re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-.")
    place = cards / group.folder / f"{name}.json"
    if place.exists():
        raise ValueError(f"{place} is there already: give another --name")
    place.parent.mkdir(parents=True, exist_ok=True)
    here = args.file.resolve()
    if here.is_relative_to(ROOT) and is_ours(here.relative_to(ROOT).as_posix()):
        card["about"]["file"] = here.relative_to(ROOT).as_posix()
    elif not args.card_only:
        run = place.with_suffix(".tsv")
        for of in (lambda path: path, manifest_path, commitment_path):
            if of(args.file).exists():
                shutil.copyfile(of(args.file), of(run))
    place.write_text(as_text(card), encoding="utf-8")
    return place


def main() -> int:
    args = options().parse_args()
    try:
        place = enter(args)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    found = judge(place).problems
    for text in found:
        print(f"{place.relative_to(ROOT)}: {text}")
    make.main()
    folder, page = (path.relative_to(ROOT) for path in (place.parent, make.PAGE))
    print(f"{place.relative_to(ROOT)}: the card. Commit {folder} and {page}.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
