"""What the table says of a card: nothing that its writer says of it counts here.

A verdict is computed from the card's result file, where this repository has it; or the
card is, byte for byte, one that ``published.py`` made of a file in a public repository,
whose commit, path and hash are in the list of that script. Any other card is a word.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import figures
import texts
from entries import (
    CARDS,
    HERE,
    ROOT,
    SAID,
    card_paths,
    failing,
    file_of,
    make_card,
    stated_of,
)
from groups import Group, card_misfits, file_misfits, group_of

from rsbounds.reports import read_card
from rsbounds.results import Results, read
from rsbounds.results.internal import manifest_path

#: What ``published.py`` made, and of which files.
PUBLISHED = HERE / "published.json"
#: The largest card, and the largest result file, in bytes.
LARGEST = {".json": 2**16, ".tsv": 2**25}
#: What stands behind the name of a result file in those of its manifest and commitment.
_BESIDE = (".manifest.json", ".commitment.json")


class Verdict(NamedTuple):
    """What is said of a card, by what was computed here.

    ``kind`` is proved, consistent, printed, level, fails or word; ``text`` says of
    what, ``printed`` what printing did to the radii, ``notes`` where that comes from.
    """

    kind: str
    text: str
    printed: str = ""
    notes: tuple[str, ...] = ()


class Judged(NamedTuple):
    """A card with its verdict; or with the reasons why it can't stand.

    ``said``: the notes that its writer added. ``files``: what tells its result file
    from all others.
    """

    path: Path
    name: str
    problems: tuple[str, ...]
    group: Group | None = None
    card: Mapping[str, Any] | None = None
    verdict: Verdict | None = None
    said: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()


WORD = Verdict("word", "nothing of it was checked here")


def judge(path: Path, cards: Path = CARDS, file: Path | None = None) -> Judged:
    """The verdict of a card, from its own file or from ``file``."""
    name = path.relative_to(cards).as_posix()
    try:
        return _judged(path, name, cards, file)
    except Exception as error:  # whatever a stranger's file provokes is a reason
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        text = " ".join(f"{kind}{error}".split()).replace(f"{path.parent}/", "")
        return Judged(path, name, (text[:300] or "it can't be checked",))


def _judged(path: Path, name: str, cards: Path, file: Path | None) -> Judged:
    _require_small(path)
    group = group_of(path.parent.relative_to(cards))
    made = read_card(path)
    found = [*_of_card(path, made, group)]
    listed = published().get(name)
    own = file or (None if listed else file_of(path, made))
    if listed is not None:
        found += _of_list(path, made, listed, file)
        verdict, said = _of_proof(made, _source(made)), ()
        files = frozenset({f"bytes {listed['sha256']}", f"rows {listed['rows']}"})
    elif own is not None:
        _require_small(own)
        again = _again(own, group, made)
        found += _of_file(made, again, group, read(own))
        verdict = _of_proof(again, _source(made, own, path))
        said = tuple(note for note in made["notes"] if note not in again["notes"])
        files = frozenset(files_of(own))
    else:
        found += card_misfits(group, made)
        verdict, said = WORD, tuple(made["notes"])
        files = frozenset(_stated_file(made))
    found += texts.of_notes([*said])
    return Judged(path, name, tuple(found), group, made, verdict, said, files)


def published() -> dict[str, dict[str, str]]:
    """What ``published.py`` made: name of the card -> where its file is, hashes."""
    entries: dict[str, dict[str, str]] = json.loads(PUBLISHED.read_text("utf-8"))
    return entries


def digest(content: bytes) -> str:
    """SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def rows_digest(file: Results) -> str:
    """Hash of what rows say, whatever their times are: a copy has the same."""
    lines = [
        f"{row.idx} {row.label} {row.predict} {row.radius!r} {row.counts}\n"
        for row in sorted(file.rows, key=lambda row: row.idx)
    ]
    return digest("".join(lines).encode())


def files_of(path: Path) -> Iterator[str]:
    """What tells a result file from all others."""
    yield f"bytes {digest(path.read_bytes())}"
    yield f"rows {rows_digest(read(path))}"


def _stated_file(made: Mapping[str, Any]) -> Iterator[str]:
    if rows := made["hashes"].get("rows"):
        yield f"bytes {rows}"


def _require_small(path: Path) -> None:
    largest = LARGEST.get(path.suffix, LARGEST[".tsv"])
    if path.stat().st_size > largest:
        raise ValueError(f"{path.name} is larger than {largest} bytes")


def _of_card(path: Path, made: Mapping[str, Any], group: Group) -> Iterator[str]:
    """What a card must say, wherever its file is."""
    if not texts.is_name(path.stem):
        yield "its name must be of small letters, digits, dots and hyphens"
    yield from texts.problems(made["about"])
    yield from figures.problems(group, made)


def _of_list(
    path: Path, made: Mapping[str, Any], listed: Mapping[str, str], file: Path | None
) -> Iterator[str]:
    """What a card of ``published.py`` has otherwise than its list."""
    if digest(path.read_bytes()) != listed["card"]:
        yield "is not the card that published.py made: run that script again"
    about = made["about"]
    stated = {
        "repository": about.get("code", "").removeprefix("https://github.com/"),
        "commit": about.get("commit"),
        "path": about.get("file"),
        "sha256": made["hashes"].get("rows"),
    }
    for name, value in stated.items():
        if value != listed[name]:
            yield f"its {name} is {value!r:.80}, {listed[name]!r} by {PUBLISHED.name}"
    if path.with_suffix(".tsv").exists():
        yield "has a file beside it, and is a card of published.py"
    if file is not None and digest(file.read_bytes()) != listed["sha256"]:
        yield f"{file.name} is not the file that published.py read"


def _again(file: Path, group: Group, made: Mapping[str, Any]) -> dict[str, Any]:
    """The card that the result file gives, its audit included."""
    stated = None if manifest_path(file).exists() else stated_of(made)
    return make_card(file, group, stated=stated)


def _of_file(
    made: Mapping[str, Any], again: Mapping[str, Any], group: Group, file: Results
) -> Iterator[str]:
    """What is wrong with the file, and what its card has otherwise."""
    proof = again["verified"]
    # radii that printing rounded up are shown as such; whatever else fails is refused
    if failing(proof):
        yield from (f"verify: {text}" for text in proof["first"])
        if proof["findings"] > len(proof["first"]):
            yield f"verify: {proof['findings']} findings in all"
    yield from card_misfits(group, again)
    yield from file_misfits(group, file)
    yield from differences(made, again)


def differences(made: Mapping[str, Any], again: Mapping[str, Any]) -> Iterator[str]:
    """What a card has otherwise than the one made again from its file."""
    for name in sorted(made.keys() | again.keys()):
        stated, computed = made.get(name), again.get(name)
        if name in ("rsbounds", "name"):
            continue
        if name == "about":
            stated = {k: v for k, v in stated.items() if k not in SAID}
        if name == "notes":  # its writer may add some
            stated = [note for note in stated if note in computed]
        if stated != computed:
            text = f"the card's {name} is {stated!r:.80}, {computed!r:.80} by the file"
            yield text


def _of_proof(made: Mapping[str, Any], source: Sequence[str]) -> Verdict:
    """The verdict of an audit that was made here, or by ``published.py``."""
    proof, scope = made["verified"], made["scope"]
    rows, many = proof["rows"], failing(proof)
    notes = (*source, *filter(None, [scope["footnote"]]), *made["notes"])
    printed = _of_printing(proof)
    n = made["procedure"].get("n", "?")
    if scope["text"] and not scope["valid"]:
        text = "its scope is not that of a certificate of the classifier"
        return Verdict("fails", text, printed, notes)
    if level := made["about"].get("holds_at"):
        text = f"{many} of {rows} radii are above every count's at the alpha stated"
        return Verdict("level", f"{level}: {text}", printed, notes)
    if many:
        text = f"{many} of {rows} radii are above what the evidence shows"
        return Verdict("fails", text, printed, (*notes, *proof["first"]))
    if doubt := made["about"].get("as_printed"):
        return Verdict("printed", f"{rows} rows, of {doubt}", printed, notes)
    if proof["proved"] == rows and not printed:
        return Verdict("proved", f"{rows} rows from their counts", "", notes)
    return Verdict("consistent", f"with {n} samples, {rows} rows", printed, notes)


def _of_printing(proof: Mapping[str, Any]) -> str:
    """What printing did to radii, in words."""
    parts = []
    if many := proof.get("rounded"):
        parts.append(f"{many} of {proof['rows']} radii rounded up in print")
    if many := proof.get("unearned"):
        parts.append(f"{many} that no count prints as, below the largest")
    return "; ".join(parts)


def _source(
    made: Mapping[str, Any], file: Path | None = None, path: Path | None = None
) -> list[str]:
    """Where the file is from which a verdict was computed."""
    sha = made["hashes"].get("rows", "")[:16]
    if file is None or path is None:
        about = made["about"]
        where = f"{about['file']} at commit {about['commit'][:12]}"
        return [f"computed by published.py from {where}, SHA-256 {sha}..."]
    inside = file.resolve().is_relative_to(ROOT)
    where = file.resolve().relative_to(ROOT).as_posix() if inside else file.name
    name = file.name if file.parent == path.parent else where
    return [f"computed from {name}, SHA-256 {sha}..."]


def judged(cards: Path = CARDS) -> list[Judged]:
    """All cards with their verdicts; what two of them share, neither may have."""
    return apart([judge(path, cards) for path in card_paths(cards)])


def apart(each: Sequence[Judged]) -> list[Judged]:
    """The cards, those that share a result file or a title with the reason.

    A word takes nothing from a card that something was computed of.
    """
    holders: dict[str, list[Judged]] = {}
    for one in each:
        for key in _keys(one):
            holders.setdefault(key, []).append(one)
    after = []
    for one in each:
        shared = {
            f"has the {key.partition(' ')[0]} of {other.name}"
            for key in _keys(one)
            for other in holders[key]
            if other is not one and (one.verdict is WORD or other.verdict is not WORD)
        }
        after.append(one._replace(problems=(*one.problems, *sorted(shared))))
    return after


def _keys(one: Judged) -> set[str]:
    """What no other card may have: its file, and its title at its noise level."""
    if one.card is None or one.group is None:
        return set()
    about = one.card["about"]
    words = [one.group.folder, about.get("title"), about.get("sigma"), about.get("n")]
    return {*one.files, f"title {words}"}


def strangers(cards: Path, whole: bool) -> Iterator[tuple[str, str]]:
    """Files among the cards that no card is of, each with what is wrong; and cards that
    are missing, where the folder is the whole table.
    """
    for path in sorted(cards.rglob("*")):
        name = path.relative_to(cards).as_posix()
        if path.is_symlink():
            yield name, "is a link"
        elif path.is_dir():
            continue
        elif path.suffix == ".tsv":
            if not path.with_suffix(".json").is_file():
                yield name, "is a result file without a card"
        elif path.name.endswith(tuple(f".tsv{end}" for end in _BESIDE)):
            if not path.with_name(path.name.rsplit(".", 2)[0]).is_file():
                yield name, "is of no result file"
        elif path.suffix != ".json" or path.name.endswith(_BESIDE):
            yield name, "is no card and no result file"
    for name in published() if whole else ():
        if not (cards / name).is_file():
            yield name, f"is missing: {PUBLISHED.name} lists it"
