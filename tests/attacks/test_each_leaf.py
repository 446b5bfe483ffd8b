"""Each entry of each manifest with other values: what is called proved is found.

    PYTHONPATH=tests/helpers python tests/attacks/test_each_leaf.py [given]

prints how many edits were refused, found, or passed as stated, and what passes
otherwise; ``given``: beside data, model and noise, with every row drawn again.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from cases import slow_but
from edited_runs import RUNS, Files, audited, place_of
from edits import entry, leaves, with_another

from rsbounds.confidence import BOUNDS
from rsbounds.schemes import METHODS
from rsbounds.transforms import TRANSFORMS

#: Words of manifests: each of a list may stand where another of that list does, and
#: the first of each list, as the words of none, anywhere.
LISTS = (tuple(METHODS), tuple(BOUNDS), tuple(TRANSFORMS))
WORDS = (*(words[0] for words in LISTS), "os", "measured", "score", "reviewed")
#: Sections that rows show nothing of, each called stated as a whole.
OF_WRITERS = ("versions", "run", "model")
#: What rows prove, if less finely than numbers can differ: ranks, counts and radii of
#: discrete noise are whole. A run selects the same inputs with another limit beyond the
#: last.
PROVED_ALIKE = {
    *("alpha", "answer.p", "answer.radii", "answer.tau", "answer.threshold"),
    "data.max",
}


def others(value: Any) -> list[Any]:
    """Other values of the same kind, and objects with an entry that nobody knows."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, 2 * value, -value, 0]
    if isinstance(value, float):
        scaled = [value * factor for factor in (0.5, 0.9, 1.02, 1.2, 2.0, -1.0)]
        return [*scaled, 0.0, -0.0]
    if isinstance(value, str):
        alike = [word for words in LISTS if value in words for word in words]
        return [f"{value}x", *dict.fromkeys([*alike, *WORDS])]
    if isinstance(value, dict):
        return [{**value, "reviewed": "ImageNet"}]
    if isinstance(value, list) and value:
        return [[*value, value[-1]], value[:-1]]
    return [1, 0.5, "x"] if value is None else []


def status_of(facts: dict[str, Any], place: tuple[Any, ...]) -> set[str]:
    """The statuses of an entry: of all that is in it, or of what it is in."""
    name = ".".join(str(part) for part in place if not isinstance(part, int))
    return {
        str(own)
        for key, own in facts.items()
        if f"{name}.".startswith(f"{key}.") or key.startswith(f"{name}.")
    }


def passing(files: Files, *, few: bool = False) -> tuple[Counter[str], list[Any]]:
    """How edits of one file end, and those that pass though not stated.

    ``few`` of the parameters alone.
    """
    ends: Counter[str] = Counter()
    passed = []
    edits = [
        (place, value)
        for place in leaves(files.manifest)
        if place[0] not in OF_WRITERS and (place[0] == "parameters" or not few)
        for value in others(entry(files.manifest, place))
    ]
    for place, value in edits[:: 5 if few else 1]:
        before = entry(files.manifest, place)
        if value == before and str(value) == str(before):
            continue
        changed = with_another(files.manifest, place, value)
        place_of(files.path).write_text(json.dumps(changed))
        audit = audited(files)
        if audit is None or audit.findings:
            ends["refused" if audit is None else "found"] += 1
            continue
        name = ".".join(str(part) for part in place if not isinstance(part, int))
        status = status_of(audit.facts, place)
        if status == {"stated"}:
            ends["stated"] += 1
        elif name in PROVED_ALIKE and value != 0:
            ends["proved as it stands"] += 1
        else:
            ends["passed"] += 1
            passed.append((files.name, name, before, value, status))
    files.restore()
    return ends, passed


QUICK = ("blocks", "anisotropic", "splitting")


@pytest.mark.parametrize("name", slow_but(QUICK, RUNS))
def test_no_entry_that_is_called_proved_has_another_value(tmp_path, name):
    pytest.importorskip("flint")
    ends, passed = passing(Files.of(tmp_path, name), few=name in QUICK)
    assert passed == []
    assert ends["refused"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_none_of_a_few_has_another_value_at_all(tmp_path, name):
    pytest.importorskip("flint")
    assert passing(Files.of(tmp_path, name))[1] == []


def main(*, given: bool) -> None:
    total: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        for name in RUNS:
            files = Files.of(Path(folder), name, given=given)
            ends, passed = passing(files)
            total += ends
            for each in passed:
                print(*each, sep=" | ")
            print(name, dict(ends), flush=True)
    print(sum(total.values()), "edits:", dict(total))


if __name__ == "__main__":
    main(given="given" in sys.argv[1:])
