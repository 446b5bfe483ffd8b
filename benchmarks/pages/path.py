"""The path of one input: files and calls that `certify_dataset` enters, those that its
scheme is handed to, the files that fields of a procedure stand in, and rows a second of
processor time.

    python benchmarks/pages/path.py [--files]

A first run warms what is compiled or remembered. Then files of one input, of two, of
100 and of 200 are written, and the calls of Python functions of the package are
counted, those of threads included. The first inputs of a file are read and drawn once
more than others: for the hash of the data, and for what tells one model from another.
--files lists the calls by file in place of the speed.
"""

import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import rsbounds
from rsbounds import certify_dataset, schemes

PACKAGE = Path(rsbounds.__file__).parent
FIELDS = ("margin", "only_correct", "runner_up", "target_radius")
NOISE = "[Ff]lips"
#: Where a margin is none of votes: a neighbour's over its rival, a class's in a rule's
#: condition, a step's in a search, a radius in another program's file.
OTHER_MARGINS = (
    *("_neighbours/", "composite/", "torch/", "oracle/", "answers/_list.py"),
    *("audit/_list.py", "discrete/_mixed_way.py", "results/_foreign.py", "demo.py"),
)
FEATURES = 100
CLASSES = 10
ROWS = 300
MANY = 100
TIMES = 5

#: By file and name of a function.
Calls = Counter[tuple[str, str]]


def linear_model() -> Callable[[Any], Any]:
    """A linear model of ten classes."""
    weights = np.random.default_rng(0).standard_normal((FEATURES, CLASSES))
    weights = weights.astype(np.float32)
    return lambda batch: batch @ weights


def inputs(number: int) -> tuple[Any, Any]:
    """Random inputs, with the classes that the model gives them."""
    x = np.random.default_rng(1).standard_normal((number, FEATURES), dtype=np.float32)
    return x, linear_model()(x).argmax(1)


def certify(number: int, n: int) -> float:
    """Certify inputs into a new file; returns the processor's seconds."""
    data = inputs(number)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        certify_dataset(
            linear_model(),
            data,
            schemes.gaussian(0.5),
            n=n,
            out=Path(folder) / "rows.tsv",
        )
        return time.process_time() - begun


def calls_of(number: int, n: int = 1000) -> Calls:
    """How often each function of the package is called: by file and name."""
    calls: Calls = Counter()
    package = f"{PACKAGE}/"

    def seen(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(package):
            calls[name[len(package) :], frame.f_code.co_name] += 1

    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        certify(number, n)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def way_of_scheme() -> list[str]:
    """The files that are handed the scheme of one input, in the order of the calls.

    A file that hands it to itself is one stay.
    """
    scheme = schemes.gaussian(0.5)
    stays: list[str] = []
    package = f"{PACKAGE}/"

    def seen(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(package):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        file = code.co_filename[len(package) :]
        is_handed = any(frame.f_locals.get(name) is scheme for name in names)
        if is_handed and stays[-1:] != [file]:
            stays.append(file)

    sys.setprofile(seen)
    try:
        certify_dataset(linear_model(), inputs(1), scheme, n=1000)
    finally:
        sys.setprofile(None)
    return stays


def of_many() -> float:
    """Calls of an input in the middle of a file.

    Bounds of counts are remembered: a second call finds those of the first.
    """
    few = calls_of(MANY, 1001).total()
    return (calls_of(2 * MANY, 1002).total() - few) / MANY


def files_of(calls: Calls) -> list[str]:
    """The files in which calls are, in the order of entry."""
    return list(dict.fromkeys(file for file, _ in calls))


def is_check(file: str, name: str) -> bool:
    """Whether a function checks an argument, by its file or its name."""
    return file == "_numerics/checks.py" or bool(
        re.match(r"_?(check|checked|require)(_|$)", name)
    )


def files_with(pattern: str) -> list[str]:
    """The files of the package in which a word stands."""
    return [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(rf"\b{pattern}\b", path.read_text())
    ]


def rate(n: int) -> float:
    """Rows a second, the best of several runs."""
    return ROWS / min(certify(ROWS, n) for _ in range(TIMES))


def print_files(
    one: Counter[tuple[str, str]], further: Counter[tuple[str, str]]
) -> None:
    """The files in the order of entry, with the calls of a further input by name."""
    for file in files_of(one):
        total = sum(count for (place, _), count in one.items() if place == file)
        names = {
            name: count for (place, name), count in further.items() if place == file
        }
        print(f"{file:34} {total:4} {names}")


def main() -> None:
    certify(2, 1000)
    one = calls_of(1)
    further = calls_of(2) - one
    checks = sum(count for key, count in further.items() if is_check(*key))
    print(f"one input      {len(files_of(one))} files, {one.total()} calls")
    print(f"the second     {further.total()} calls, {checks} of them checks")
    print(f"one of many    {of_many():.0f} calls,", end=" ")
    print(f"{of_many():.0f} where its counts were seen before")
    stays = way_of_scheme()
    print(f"the scheme     {len(set(stays))} files in {len(stays)} stays")
    for field in (*FIELDS, NOISE):
        files = files_with(field)
        print(f"{field:14} stands in {len(files)} files", end="")
        others = [file for file in files if file.startswith(OTHER_MARGINS)]
        if field == "margin":
            print(f", in {len(others)} of them as another word", end="")
        print()
    if "--files" in sys.argv:
        print_files(one, further)
        return
    for n in (1000, 10_000):
        print(f"n = {n:<10,} {rate(n):.0f} rows a second")


if __name__ == "__main__":
    main()
