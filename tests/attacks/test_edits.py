"""Many edits of honest files: whatever still passes is weaker, or called stated.

    PYTHONPATH=tests/helpers python tests/attacks/test_edits.py 10000 [given]

prints how many edits were refused, found or passed, and what passes unexplained;
``given``: beside the data, the model and the noise, with every row drawn again.
"""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pytest
from cases import slow_among, slow_but
from edited_runs import RUNS, Files, audited, place_of, said
from edits import DELETED, another, entry, leaves, other_text, with_another

from rsbounds.audit import Audit, check_card
from rsbounds.audit._levels import SINGLE_LEVEL
from rsbounds.audit._proof import SAME
from rsbounds.certificate import SCOPES
from rsbounds.confidence import BOUNDS
from rsbounds.reports import read_card
from rsbounds.results import read
from rsbounds.results._entries import name_of
from rsbounds.results._facts import MANIFEST
from rsbounds.schemes import METHODS, By

COUNTS = {"select", "counts", "stage_select", "stage_counts", "chosen", "hits", "void"}
#: What an audit calls stated, and the columns that stand for it.
STANDS_FOR = {
    "counts": COUNTS,
    "outputs": {"low", "high", "quantile", "void"},
    "data": {"label", "input"},
    "times": {"time"},
    "sigma": {"sigma"},
}
#: Columns of which less, or of ``z_b`` more, is a weaker claim.
WEAKER = {"radius": 1, "p_a": 1, "z_a": 1, "z_b": -1}
#: How far below the theorem's number a run's radii may be, where not by rounding alone.
SLACK = {"brightness and contrast": 1.1e-3}
#: Entries of another value that may prove the same: a larger alpha, another rank.
#: or a limit beyond the last input.
PROVED_ALIKE = {"alpha", "answer.p", "tolerance", "bound", "runner_up", "data.max"}
BY = {fact.name: fact.by for fact in MANIFEST}


class Edit(NamedTuple):
    """One edit that passed: where, what, and what it was and is."""

    run: str
    place: str
    before: Any
    after: Any


def of_a_row(
    files: Files, rng: np.random.Generator
) -> tuple[str, Edit | None, Audit | None]:
    """Edit a cell, or several of one row together, or take another row's."""
    i = int(rng.integers(len(files.rows)))
    row = dict(files.rows[i])
    many = 1 if rng.random() < 0.7 else int(rng.integers(2, 5))
    names = [str(name) for name in rng.choice([*row], size=many, replace=False)]
    for name in names:
        if rng.random() < 0.2:
            row[name] = files.rows[int(rng.integers(len(files.rows)))][name]
        else:
            row[name] = other_text(rng, row[name])
    if is_alike(files.rows[i], row):
        return "same", None, None
    files.save([*files.rows[:i], row, *files.rows[i + 1 :]])
    audit = audited(files)
    if audit is None:
        return "refused", None, None
    if audit.findings:
        return "found", None, None
    free = set().union(*(STANDS_FOR.get(name, set()) for name in audit.stated))
    for name in names:
        before, after = files.rows[i][name], row[name]
        if is_alike({name: before}, {name: after}) or name in free:
            continue
        if name == "correct" and "label" in free and "label" in names:
            continue  # it follows from the label
        if name in WEAKER and WEAKER[name] * (float(before) - float(after)) >= 0:
            continue
        if name in WEAKER and is_true(before, after, SLACK.get(files.name, 1e-10)):
            continue
        if name == "sigma" and same_level(before, after):
            continue
        return "passed", Edit(files.name, name, before, after), audit
    return "weaker or stated", None, audit


def says_less(before: Any, after: Any) -> bool:
    """Whether an object, or nothing, stands there that says nothing new."""
    if after is None or not isinstance(before, dict) or not isinstance(after, dict):
        return after is None
    return all(before.get(name) == own for name, own in after.items())


def is_true(before: str | float, after: str | float, slack: float) -> bool:
    """Whether a number differs by its slack alone: the balls proved the other."""
    return abs(float(after) - float(before)) <= slack * (1 + abs(float(before)))


def same_level(before: str | float, after: str | float) -> bool:
    """Whether two levels are one as networks on other machines compute it."""
    return abs(float(after) - float(before)) <= SINGLE_LEVEL * float(before)


def is_alike(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two rows say the same, numbers as numbers."""
    return all(same_text(one[name], other[name]) for name in one)


def same_text(one: str, other: str) -> bool:
    try:
        return one.strip() == other.strip() or float(one) == float(other)
    except ValueError:
        return False


def of_a_manifest(
    files: Files, rng: np.random.Generator
) -> tuple[str, Edit | None, Audit | None]:
    """Edit, delete or add an entry of the manifest."""
    places = [*leaves(files.manifest)]
    place = places[int(rng.integers(len(places)))]
    before = entry(files.manifest, place)
    value = DELETED if rng.random() < 0.1 else another(rng, before)
    if rng.random() < 0.1 and isinstance(before, dict):
        place, value, before = (*place, "reviewed"), "ImageNet", None
    if value is not DELETED and value == before and type(value) is type(before):
        return "same", None, None
    changed = with_another(files.manifest, place, value)
    place_of(files.path).write_text(json.dumps(changed))
    audit = audited(files)
    if audit is None:
        return "refused", None, None
    if audit.findings:
        return "found", None, None
    name = ".".join(str(part) for part in place if not isinstance(part, int))
    status = {name_of(key): str(own) for key, own in audit.facts.items()}
    own = {key for key in status if f"{name}.".startswith(f"{key}.")}
    inside = {key for key in status if key.startswith(f"{name}.")}
    known = own | inside
    if value is DELETED or says_less(before, value):
        return "says less", None, audit  # an entry that is gone says nothing
    if known and all(status[key] == "stated" for key in known):
        return "weaker or stated", None, audit
    # radii are proved under the noise that is stated: that samples were of it is
    # among what "counts" stands for
    if name == "n0" and not any(row.get("select", "-") != "-" for row in files.rows):
        return "weaker or stated", None, audit  # another n0 may choose alike
    declared = next((BY[key] for key in BY if f"{name}.".startswith(f"{key}.")), None)
    numbers = isinstance(before, float) and isinstance(value, float)
    alike = numbers and is_true(before, value, SLACK.get(files.name, 0.0))
    if numbers and place[0] == "parameters":
        is_compared = "compared" in {status[key] for key in known}
        # rows drawn again may be those of another machine
        alike |= is_compared and is_true(before, value, SAME)
        # and so may the constants of a network that is given
        domains = METHODS[files.manifest["method"]].domains
        alike |= is_compared and place[-1] in domains and same_level(before, value)
    if alike or name in PROVED_ALIKE or declared is By.COUNTS:
        return "proved as it stands", Edit(files.name, name, before, value), audit
    return "passed", Edit(files.name, name, before, value), audit


def of_a_card(
    files: Files, rng: np.random.Generator
) -> tuple[str, Edit | None, Audit | None]:
    """Edit, delete or add an entry of the card."""
    places = [*leaves(files.card)]
    place = places[int(rng.integers(len(places)))]
    before = entry(files.card, place)
    value = DELETED if rng.random() < 0.1 else another(rng, before)
    if value is not DELETED and value == before:
        return "same", None, None
    changed = with_another(files.card, place, value)
    own = files.path.with_suffix(".json")
    own.write_text(json.dumps(changed))
    try:
        findings = check_card(read_card(own), files.path)
    except ValueError:
        return "refused", None, None
    if findings:
        return "found", None, None
    name = ".".join(str(part) for part in place if not isinstance(part, int))
    if name == "rsbounds":
        return "weaker or stated", None, None
    return "passed", Edit(files.name, f"card {name}", before, value), None


def renamed(rows: list[dict[str, str]], name: str, other: str) -> list[dict[str, str]]:
    return [{other if k == name else k: v for k, v in row.items()} for row in rows]


def of_a_table(
    files: Files, rng: np.random.Generator
) -> tuple[str, Edit | None, Audit | None]:
    """Drop, repeat or rename rows and columns of the whole table."""
    names = [*files.rows[0]]
    name, other = (str(each) for each in rng.choice(names, size=2, replace=False))
    i, j = (int(each) for each in rng.integers(len(files.rows), size=2))
    tables = {
        "a row dropped": files.rows[:i] + files.rows[i + 1 :],
        "a row twice": [*files.rows, files.rows[i]],
        "a row's evidence for another": [
            {**files.rows[i], "idx": row["idx"], "label": row["label"]}
            if row is files.rows[j] else row for row in files.rows
        ],
        f"no {name}": [{k: v for k, v in row.items() if k != name}
                       for row in files.rows],
        f"{name} as reviewed": renamed(files.rows, name, "reviewed"),
        f"{name} and {other} exchanged": [
            {**row, name: row[other], other: row[name]} for row in files.rows
        ],
        f"{name} of one row in all": [
            {**row, name: files.rows[i][name]} for row in files.rows
        ],
    }  # fmt: skip
    place = str(rng.choice([*tables]))
    table = tables[place]
    is_same = len(table) == len(files.rows) and all(
        one.keys() == own.keys() and is_alike(one, own)
        for one, own in zip(table, files.rows, strict=True)
    )
    if is_same or not table:
        return "same", None, None
    files.save(table)
    audit = audited(files)
    if audit is None or audit.findings:
        return "refused" if audit is None else "found", None, None
    if said(read(files.path)) == files.said:
        return "says less", None, audit  # a column that is gone, or one at its default
    free = set().union(*(STANDS_FOR.get(each, set()) for each in audit.stated))
    if place.startswith(("no ", f"{name} ")) and {name, other} & free:
        return "weaker or stated", None, audit
    if place == "radius of one row in all" and all(
        float(one["radius"]) <= float(own["radius"])
        for one, own in zip(table, files.rows, strict=True)
    ):
        return "weaker or stated", None, audit
    if place == "a row's evidence for another" and "label" in free:
        return "weaker or stated", None, audit
    return "passed", Edit(files.name, place, None, None), audit


#: Columns whose entry stands in the manifest too.
REPEATED = {"sigma": "parameters.sigma", "scope": "scope", "bound": "bound",
            "method": "method", "norm": "parameters.norm", "n": "n"}  # fmt: skip


def of_both(
    files: Files, rng: np.random.Generator
) -> tuple[str, Edit | None, Audit | None]:
    """Edit a column and the entry of the manifest that it repeats, alike."""
    name = str(rng.choice([*REPEATED]))
    section, _, last = REPEATED[name].rpartition(".")
    place = (section, last) if section else (last,)
    owner = entry(files.manifest, place[:-1])
    if name not in files.rows[0] or last not in owner:
        return "same", None, None
    before = owner[last]
    choices = {
        "scope": [*SCOPES], "bound": [*BOUNDS], "method": [*METHODS],
        "norm": [1.0, 2.0, float("inf")], "sigma": [0.1, 0.49, 0.51, 1.0],
        "n": [100, 299, 301, 10_000],
    }[name]  # fmt: skip
    value = choices[int(rng.integers(len(choices)))]
    if value == before:
        return "same", None, None
    files.save([{**row, name: str(value)} for row in files.rows])
    changed = with_another(files.manifest, place, value)
    place_of(files.path).write_text(json.dumps(changed))
    audit = audited(files)
    if audit is None or audit.findings:
        return "refused" if audit is None else "found", None, None
    if name == "scope" and ("scope" in audit.stated or not SCOPES[value].valid):
        return "weaker or stated", None, audit
    if name != "scope":  # radii are proved under the noise that is stated
        return "proved as it stands", Edit(files.name, name, before, value), audit
    return "passed", Edit(files.name, f"{name} of both", before, value), audit


EDITS = (of_a_row, of_a_row, of_a_row, of_a_manifest, of_a_manifest, of_a_card,
         of_a_table, of_both)  # fmt: skip


def attacked(files: Files, many: int, seed: int) -> tuple[Counter[str], list[Edit]]:
    """How many edits of a file ended how, and those that pass unexplained."""
    rng = np.random.default_rng(seed)
    ends: Counter[str] = Counter()
    passed: list[Edit] = []
    while sum(ends.values()) < many:
        kind = EDITS[int(rng.integers(len(EDITS)))]
        end, edit, _ = kind(files, rng)
        files.restore()
        if end == "same":
            continue
        ends[f"{kind.__name__.split('_')[-1]}: {end}"] += 1
        if end == "passed" and edit is not None:
            passed.append(edit)
    return ends, passed


LONG = {"brightness and contrast", "generator", "orbit", *list(RUNS)[1::2]}


@pytest.mark.parametrize("name", slow_among(LONG, RUNS))
def test_a_few_edits_pass_only_as_stated(tmp_path, name):
    pytest.importorskip("flint")
    _, passed = attacked(Files.of(tmp_path, name), 10, seed=1)
    assert passed == []


@pytest.mark.parametrize("name", slow_but(("blocks", "maps of mask"), RUNS))
def test_a_file_without_the_parameters_of_its_noise_is_refused(tmp_path, name):
    """A scheme of no parameters is half made: it must never be asked anything."""
    pytest.importorskip("flint")
    files = Files.of(tmp_path, name)
    place_of(files.path).write_text(json.dumps(files.manifest | {"parameters": {}}))
    audit = audited(files)
    assert audit is None or audit.findings


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_edits_pass_only_as_stated(tmp_path, name):
    pytest.importorskip("flint")
    _, passed = attacked(Files.of(tmp_path, name), 10_000 // len(RUNS), seed=2)
    assert passed == []


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_edits_beside_data_and_model_pass_only_as_stated(tmp_path, name):
    pytest.importorskip("flint")
    files = Files.of(tmp_path, name, given=True)
    _, passed = attacked(files, 4000 // len(RUNS), seed=3)
    assert passed == []


def main(many: int, *, given: bool) -> None:
    total: Counter[str] = Counter()
    unexplained: Counter[tuple[str, str]] = Counter()
    with TemporaryDirectory() as folder:
        for i, name in enumerate(RUNS):
            files = Files.of(Path(folder), name, given=given)
            ends, passed = attacked(files, many // len(RUNS), seed=i)
            total += ends
            for edit in passed:
                unexplained[edit.run, edit.place] += 1
                print(edit, flush=True)
            print(name, dict(ends), flush=True)
    print(sum(total.values()), "edits:", dict(sorted(total.items())))
    print("unexplained:", dict(unexplained))


if __name__ == "__main__":
    main(int(sys.argv[1]), given="given" in sys.argv[2:])
