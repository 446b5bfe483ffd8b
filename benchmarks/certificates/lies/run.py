"""Hold a checker of certificates to the file of lies.

    python benchmarks/certificates/lies/run.py
    python benchmarks/certificates/lies/run.py --checker "mychecker {file} {options}"

A checker is run once for each line of ``index.tsv``, in this folder, given what the
line says that it needs, and its exit status is its answer: 0 accepts, 1 or 2 refuses.
In its command {file} is the file and {options} what ``rsbounds verify`` takes: --data
and --model with --rerun name functions of model.py, --sigma --n --alpha say what the
paper of a file without a manifest states, --card names the card of the file. Without
--checker it is ``rsbounds verify``. Prints which lies were missed and which honest
files accused; exit status 1 if there are any.
"""

import argparse
import contextlib
import io
import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
#: What a checker is given to find a lie: options for ``rsbounds verify``.
_DATA = "--data model.py:inputs"
_MODEL = f"{_DATA} --model model.py:classifier --rerun 8"
GIVEN = {
    "file": "",
    "data": _DATA,
    "model": _MODEL,
    "levels": f"{_MODEL} --sigma-function model.py:levels",
    "nothing": _MODEL,
}
#: In words, what finds a lie.
WHAT = {
    "file": "that the file shows",
    "data": "that the data show",
    "levels": "that the noise levels show",
    "model": "that the model shows",
}


class Line(NamedTuple):
    """A line of the index, with the options that a checker is given."""

    file: str
    needs: str
    must: str
    about: str
    options: str

    @property
    def words(self) -> list[str]:
        return shlex.split(f"{self.options} {GIVEN[self.needs]}")


def index() -> list[Line]:
    """The lines of the index."""
    text = (HERE / "index.tsv").read_text(encoding="utf-8")
    return [Line(*line.split("\t")) for line in text.splitlines()[1:]]


def ours(line: Line) -> tuple[int, str]:
    """Exit status of ``rsbounds verify``, and what it prints."""
    from rsbounds.cli import main

    said = io.StringIO()
    words = ["verify", f"files/{line.file}", *line.words]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            status = main(words)
        except SystemExit as end:  # of wrong options
            status = int(end.code or 0)
    return status, said.getvalue()


def theirs(command: str) -> Callable[[Line], tuple[int, str]]:
    """A checker of that command."""

    def check(line: Line) -> tuple[int, str]:
        words = []
        for word in shlex.split(command):
            if word == "{options}":
                words += line.words
            else:
                words.append(word.replace("{file}", f"files/{line.file}"))
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return check


def answers(
    checker: Callable[[Line], tuple[int, str]], lines: Sequence[Line]
) -> Iterator[tuple[Line, str, str]]:
    """Each line with the checker's answer (accept, refuse, broke), and its words."""
    before = Path.cwd()
    os.chdir(HERE)
    try:
        for line in lines:
            status, said = checker(line)
            answer = {0: "accept", 1: "refuse", 2: "refuse"}.get(status, "broke")
            yield line, answer, said
    finally:
        os.chdir(before)


def summary(each: Sequence[tuple[Line, str, str]]) -> Iterator[str]:
    """What was missed, who was accused, and the numbers."""
    for line, answer, said in each:
        if answer != line.must:
            word = {"accept": "ACCUSED", "refuse": "MISSED"}[line.must]
            word = "BROKE" if answer == "broke" else word
            last = said.strip().splitlines()[-1:] or [""]
            yield f"{word} {line.file} {line.options}: {line.about}: {last[0]:.160}"
    total: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    for line, answer, _ in each:
        kind = ("nothing" if line.needs == "nothing" else line.must, line.needs)
        total[kind] += 1
        right[kind] += answer == line.must
    for needs, words in WHAT.items():
        found, many = right["refuse", needs], total["refuse", needs]
        yield f"found {found} of {many} lies {words}"
    honest = [kind for kind in total if kind[0] == "accept"]
    accepted, many = (sum(each[kind] for kind in honest) for each in (right, total))
    yield f"accused {many - accepted} of {many} honest files"
    unseen = [line for line, _, _ in each if line.needs == "nothing"]
    for line in unseen:
        yield f"nothing in the file, the data or the model shows: {line.about}"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--checker", metavar="COMMAND", help="with {file}, {options}")
    args = parser.parse_args(words)
    checker = ours if args.checker is None else theirs(args.checker)
    each = [*answers(checker, index())]
    print("\n".join(summary(each)))
    return int(any(answer != line.must for line, answer, _ in each))


if __name__ == "__main__":
    sys.exit(main())
