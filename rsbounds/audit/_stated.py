"""What a file rests on, or says, and nothing that was given shows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from rsbounds._numerics.answered import By
from rsbounds.audit._declared import answer_for, places_of
from rsbounds.audit._proof import own_level
from rsbounds.audit._proofs import PROOFS
from rsbounds.certificate import (
    ASSERTED_ENVELOPE,
    PROVEN,
    WATCHED,
    asserts_noise,
    without_asserted_noise,
)
from rsbounds.confidence import BOUNDS
from rsbounds.results import Manifest
from rsbounds.results.internal import (
    Status,
    drawn_on,
    entries_of,
    levels_of,
    name_of,
    stated_entries,
)
from rsbounds.schemes import METHODS, Scheme

#: Entries that a name of :func:`rests_on` stands for.
_WORDS = {
    "counts": ("seed", "n0", "probe", "tolerance"),
    "outputs": ("seed", "n0", "probe", "tolerance"),
    "exact_noise": tuple(f"engine.{name}" for name in drawn_on(1)),
    "system_bits": ("seed",),
    "margin": ("margin", "engine.margin"),
    "truth": ("answer.truth",),
    "data": ("data",),
}


def shown_by(
    *, data: bool, model: bool, truth: bool, redrawn: bool, noise: bool
) -> frozenset[By]:
    """Who could answer, by what was given; ``noise``: it proves its bounds."""
    pairs = (
        (By.DATA, data),
        (By.MODEL, model),
        (By.TRUTH, truth),
        (By.RERUN, redrawn),
        (By.NOISE, noise),
    )
    return frozenset(by for by, is_given in pairs if is_given)


def stated_names(
    manifest: Manifest,
    scheme: Scheme | None,
    available: Collection[By],
    absent: Collection[str] = (),
) -> tuple[str, ...]:
    """The names of ``Audit.stated``: what radii rest on first, then further entries.

    ``absent`` are entries that what is available can't show.
    """
    words = rests_on(manifest, scheme, available)
    # radii follow from the parameters of the domains, which are among the words
    covered = {*_entries_of(words), *(f"parameters.{name}" for name in words)}
    status = facts(manifest, scheme, words, available)
    entries = [
        *_parameters(status),
        *(
            name
            for name in stated_entries(manifest.entries(), available)
            if not name.startswith("parameters.")
        ),
        *_without_effect(manifest),
    ]
    entries = [
        name
        for name in entries
        if not any(name == place or name.startswith(f"{place}.") for place in covered)
        and name not in words
    ]
    entries += [name for name in absent if name not in entries]
    if manifest.answer["name"] == "list" and "answer.fitted" not in entries:
        entries.append("answer.fitted")  # that it was fitted to other rows
    return (*words, *entries)


def rests_on(
    manifest: Manifest, scheme: Scheme | None, available: Collection[By]
) -> list[str]:
    """What rows rest on that nothing given shows."""
    proof = PROOFS[manifest.answer["name"]]
    method = METHODS[manifest.method]
    answers = method.who_answers(manifest.parameters)
    # those of whole radii are what copies are drawn by: a part of the counts
    names = [
        name
        for name in method.domains
        if name in manifest.parameters
        and answers[name] not in (By.COUNTS, By.RERUN, By.WRITER)
    ]
    if without_asserted_noise(manifest.scope) in (*PROVEN, WATCHED):
        # that the bounds of sigma(x) are proven, or that samples were episodes
        names.append("scope")
    if asserts_noise(manifest.scope):
        names.append("sampler")  # that it draws the noise that radii are for
    # rows are compared with a level that the manifest states
    if own_level(manifest) is None and not proof.states_levels:
        names.append("sigma")
    if By.RERUN not in available:
        if levels_of(manifest.engine) is not None:
            names.append("exact_noise")
        if not manifest.procedure.repeats:
            names.append("system_bits")
        names += proof.shown_by_rerun
    names += _beside_the_noise(manifest, available)
    compared = {"dim"} if By.DATA in available else set()
    if scheme is not None:
        compared.add("sigma")
        if scheme.scope != ASSERTED_ENVELOPE:  # its bounds are proven
            compared |= {"scope", *method.domains.keys()} - {"dim"}
    return [name for name in names if name not in compared]


def _beside_the_noise(manifest: Manifest, available: Collection[By]) -> Iterator[str]:
    """What rows rest on besides law and parameters, where it isn't given."""
    # that scores are as near to those of exact arithmetic as that
    if manifest.procedure.void_against:
        yield "margin"
    if By.DATA not in available:
        yield "data"
    if "truth" in manifest.answer and By.TRUTH not in available:
        yield "truth"
    elif "truth" in manifest.answer and By.RERUN not in available:
        yield "classes"
    yield "times"


def facts(
    manifest: Manifest,
    scheme: Scheme | None,
    names: Collection[str],
    available: Collection[By],
) -> dict[str, Status]:
    """Each entry of a manifest with its status.

    ``names`` are those of what is stated; parameters stand at all their places.
    """
    known: dict[str, Status] = {}
    unproved = {*names, *(f"parameters.{name}" for name in names), *_entries_of(names)}
    unproved |= {*_without_effect(manifest)}
    for place, value, fact in entries_of(manifest.entries()):
        name = name_of(place)
        above, _, last = name.rpartition(".")
        if above == "parameters":
            known |= _of_parameter(manifest, scheme, last, value, available)
        elif fact is None or {name, above, name.partition(".")[0]} & unproved:
            known[name] = Status.STATED
        else:
            known[name] = fact.status(available)
    return known | dict.fromkeys(known.keys() & unproved, Status.STATED)


def _of_parameter(
    manifest: Manifest,
    scheme: Scheme | None,
    name: str,
    value: Any,
    available: Collection[By],
) -> dict[str, Status]:
    """The status of a parameter at each of its places."""
    answers = METHODS[manifest.method].who_answers(manifest.parameters)
    known: dict[str, Status] = {}
    for place in places_of(value, name):
        by = answer_for(place, answers)
        is_compared = by in available
        if by is By.NOISE:  # which may say less of itself than the file
            is_compared &= scheme is not None and name in scheme.parameters
        status = Status.COMPARED if is_compared else Status.STATED
        known[f"parameters.{place}"] = Status.PROVED if by is By.COUNTS else status
    return known


def _parameters(status: Mapping[str, Status]) -> list[str]:
    """The parameters that are stated, those of an object by its name."""
    names = [
        ".".join(name.split(".")[:2])
        for name, known in status.items()
        if name.startswith("parameters.") and known is Status.STATED
    ]
    return [*dict.fromkeys(names)]


def _without_effect(manifest: Manifest) -> list[str]:
    """Numbers of the procedure that no row of the file follows from."""
    procedure = manifest.procedure
    names = []
    # nothing is left to chance, and all outcomes choose the class too
    if BOUNDS[procedure.bound].evidence == "outcomes":
        names += ["alpha", "runner_up", "n0"]
    if procedure.ends_at_target:  # rows have as many samples as it took
        names.append("n")
    return names


def _entries_of(words: Collection[str]) -> list[str]:
    return [entry for word in words for entry in _WORDS.get(word, ())]
