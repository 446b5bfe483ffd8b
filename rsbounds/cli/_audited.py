"""An audit in words: each statement with its line of text and its entries of JSON."""

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rsbounds import audit
from rsbounds._numerics.text import abridged
from rsbounds.certificate import ASSERTED_ENVELOPE, without_asserted_noise
from rsbounds.cli import _flags
from rsbounds.cli._output import Told
from rsbounds.results import Manifest
from rsbounds.schemes import METHODS

#: What levels depend on, as options of methods.
NOISE = ("anchors", "sigma_function", "noise", "levels_of")

#: Lines of text for findings of one kind: a file of another n than was given has one
#: a row.
MOST_SHOWN = 50
_REDRAWS = "(--rerun K checks some)"
#: What no radius needs, and what compares it.
_BESIDES = {
    "counts": f"counts {_REDRAWS}",
    "outputs": f"outputs {_REDRAWS}",
    "data": "labels and inputs (--data)",
    "truth": "agreement with true maps (--truth)",
    "classes": "number of classes of the maps (--rerun)",
    "times": "times",
    "answer.fitted": "how the rule was chosen (answer.fitted)",
}
#: Sections of a manifest: an entry of one is no number that radii rest on.
_SECTIONS = (
    "model",
    "data",
    "answer",
    "parameters",
    "engine",
    "versions",
    "run",
    "history",
    "probe",
)


def told(
    args: argparse.Namespace, result: audit.Audit, manifest: Manifest
) -> Iterator[Told]:
    """All that an audit says: findings first, the summary last."""
    entries = {"file": str(args.file), "findings": []}
    yield Told("", entries)
    yield from _findings(args, result)
    for note in result.notes:
        yield Told(f"{args.file}: {note}", {"notes": [note]})
    for text, entries in _notes(args, result, manifest):
        yield Told(f"{args.file}: {text}", entries)
    yield Told(
        f"{args.file}: {_summary(result, manifest)}",
        {
            "rows": result.rows,
            "kinds": result.of_kind(),
            "proved": result.proved,
            "drawn": result.drawn,
            "seed": result.seed,
            "stated": list(result.stated),
            "facts": dict(result.facts),
        },
    )


def _notes(
    args: argparse.Namespace, result: audit.Audit, manifest: Manifest
) -> Iterator[tuple[str, dict[str, Any]]]:
    for step in manifest.history:
        if changes := step.get("changes"):
            rows = step.get("rows")
            text = f"{rows} rows are from before a change: {'; '.join(changes)}"
            yield abridged(text), {"changes": [{"rows": rows, "changes": changes}]}
    for text in manifest.after_looking():
        yield text, {"after_looking": [text]}
    if commitment := manifest.run.get("commitment"):
        unfixed = manifest.unfixed()
        text = f"committed as sha256 {commitment}: when that was published shows when"
        text += "".join(f"; it does not fix {reason}" for reason in unfixed)
        yield text, {"commitment": commitment, "not_fixed": unfixed}
    if selection := manifest.selection():
        yield selection, {"selection": selection}
    if manifest.shard != "0/1":
        text = f"shard {manifest.shard} alone: a part of its run"
        yield text, {"shard": manifest.shard}
    if result.corrupt:
        many = len(result.corrupt)
        note = f"{many} inputs are said to be corrupt: --data checks whether they are"
        note = note if args.data is None else f"{many} inputs are left out as corrupt"
        yield note, {"corrupt": list(result.corrupt)}
    yield from _notes_of_evidence(args, result, manifest)


def _notes_of_evidence(
    args: argparse.Namespace, result: audit.Audit, manifest: Manifest
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What was taken as stated, drawn again, and counted again."""
    needed = [name for name in result.stated if not _is_beside(name)]
    if needed:
        yield _taken(needed, args, manifest), {"rests_on": needed}
    if result.drawn:
        few, many_forged = result.missed(0.01), result.missed(0.1)
        text = f"{result.drawn} of {result.rows} rows drawn again (--draw-seed "
        text += f"{result.seed}): a file with 1 % forged rows passes with probability "
        text += f"{few:.2g}, with 10 % {many_forged:.2g}"
        yield text, {"missed": {"0.01": few, "0.1": many_forged}}
    if result.votes is not None:
        votes = result.votes
        settings = list(votes.settings)
        text = f"{votes.changed} of {votes.counted} votes that count changed under "
        text += f"other settings ({', '.join(settings)}), largest difference of scores "
        text += f"{votes.largest:.3g}"
        figures = {
            "changed": votes.changed,
            "counted": votes.counted,
            "settings": settings,
            "largest": votes.largest,
        }
        yield text, {"votes": figures}


def _findings(args: argparse.Namespace, result: audit.Audit) -> Iterator[Told]:
    """Each finding, as text so many of a kind; entries have all."""
    names = {"line": "line", "input": "index", "kind": "kind", "finding": "text"}
    of_kind = Counter[str]()
    for finding in result.findings:
        of_kind[finding.kind] += 1
        is_shown = of_kind[finding.kind] <= MOST_SHOWN
        text = abridged(finding.at(args.file)) if is_shown else ""
        entries = {
            name: getattr(finding, attribute) for name, attribute in names.items()
        }
        yield Told(text, {"findings": [entries]})
    for kind, count in of_kind.items():
        if count > MOST_SHOWN:
            text = f"{count - MOST_SHOWN} more findings: {kind} (--json has all)"
            yield Told(f"{args.file}: {text}", {})


def _summary(result: audit.Audit, manifest: Manifest) -> str:
    proved = f" ({result.proved} of them proved)" if result.proved < result.rows else ""
    many = len(result.findings)
    by_kind = ", ".join(f"{k} {kind}" for kind, k in result.of_kind().items())
    return (
        f"{result.rows} rows{proved}, {many or 'no'} finding{'s' * (many != 1)}"
        f"{f' ({by_kind})' if by_kind else ''}"
        f"{_besides(result.stated, manifest)}"
    )


def _is_beside(name: str) -> bool:
    """Whether no radius needs what this name stands for."""
    return name in _BESIDES or name.partition(".")[0] in _SECTIONS


def _besides(names: tuple[str, ...], manifest: Manifest) -> str:
    """What is taken from the file and no radius needs, after the number of findings."""
    words = [_BESIDES.get(name, _section(name)) for name in names if _is_beside(name)]
    if not manifest.procedure.repeats:
        words = [word.replace(_REDRAWS, "(no seed draws them again)") for word in words]
    return f". Not checked, taken from the file: {', '.join(words)}" if words else ""


def _section(name: str) -> str:
    return f"{name} (--model)" if name == "model" else name


def _taken(names: list[str], args: argparse.Namespace, manifest: Manifest) -> str:
    """What radii rest on and is taken as stated, and which options would compare it."""
    if not manifest.method:
        return f"taken as stated, not verified: {', '.join(names)}"
    words = {name: "each row's sigma" if name == "sigma" else name for name in names}
    text = f"taken as stated, not verified: {', '.join(words.values())}"
    method = METHODS[manifest.method]
    absent = "noise" if is_shaped(manifest) else "levels_of"
    noise = [
        option.name
        for option in method.options
        if option.name in NOISE and option.name != absent
    ]
    options = [name for name in ("data", *noise) if getattr(args, name) is None]
    could = {"dim", "sigma"}
    if without_asserted_noise(manifest.scope) != ASSERTED_ENVELOPE:
        could |= {"scope", *method.domains.keys()}
    compared = [word for name, word in words.items() if name in could]
    if not (compared and options):
        return text
    all_of_them = "them" if len(names) > 1 else "it"
    what = all_of_them if len(compared) == len(names) else ", ".join(compared)
    return f"{text} ({' with '.join(map(_flags.flag, options))} compares {what})"


def is_shaped(manifest: Manifest) -> bool:
    """Whether the noise of a run has a level for each axis, from a file."""
    return isinstance(manifest.parameters.get("levels"), dict)
