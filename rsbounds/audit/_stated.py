"""What a file rests on, or says, and nothing that was given shows."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rsbounds.audit._affine import METHOD as AFFINE
from rsbounds.audit._proof import own_level
from rsbounds.audit._proofs import PROOFS
from rsbounds.audit._radii import ABSOLUTE, DISCRETE
from rsbounds.certificate import ASSERTED_ENVELOPE, PROVEN
from rsbounds.results import By, Manifest, Status, entries_of, name_of
from rsbounds.results import stated as stated_entries
from rsbounds.schemes import METHODS, Scheme

#: What is certified, where other parameters bound what it rests on.
_CERTIFIED = ("sigma", "norm")
#: Entries that a name of :func:`rests_on` stands for.
_WORDS = {
    "counts": ("seed", "n0", "probe", "tolerance", "noise_source"),
    "outputs": ("seed", "n0", "probe", "tolerance", "noise_source"),
    "sound_noise": ("engine.sound_noise", "engine.grid"),
    "noise_source": ("noise_source",),
    "margin": ("margin", "engine.margin"),
    "truth": ("answer.truth",),
    "data": ("data",),
}


def shown_by(
    *, data: bool, as_seen: bool, model: bool, truth: bool, redrawn: bool, noise: bool
) -> frozenset[By]:
    """Who could answer, by what was given.

    ``as_seen``: inputs are as the model sees them; ``noise``: it proves its bounds.
    """
    pairs = (
        (By.DATA, data),
        (By.MODEL, model and as_seen),
        (By.TRUTH, truth),
        (By.RERUN, redrawn),
        (By.NOISE, noise),
    )
    return frozenset(by for by, is_given in pairs if is_given)


def stated(
    manifest: Manifest, scheme: Scheme | None, given: Collection[By], *, as_seen: bool
) -> tuple[str, ...]:
    """The names of ``Audit.stated``: what radii rest on first, then further entries."""
    words = rests_on(manifest, scheme, given, as_seen=as_seen)
    # radii follow from the parameters of the domains, which are among the words
    domains = {f"parameters.{name}" for name in METHODS[manifest.method].domains}
    said = {*domains, "parameters.sigma", *_entries_of(words)}
    entries = [
        name
        for name in stated_entries(manifest.entries(), given)
        if not any(name == one or name.startswith(f"{one}.") for one in said)
        and name not in words
    ]
    if manifest.answer["name"] == "list" and "answer.fitted" not in entries:
        entries.append("answer.fitted")  # that it was fitted to other rows
    return (*words, *entries)


def rests_on(
    manifest: Manifest, scheme: Scheme | None, given: Collection[By], *, as_seen: bool
) -> list[str]:
    """What rows rest on that nothing given shows."""
    proof = PROOFS[manifest.answer["name"]]
    method = METHODS[manifest.method]
    names = [
        name
        for name in method.domains
        if name in manifest.parameters and not _is_certified(manifest.method, name)
    ]
    if manifest.scope in PROVEN:
        names.append("scope")  # that the bounds of sigma(x) are proven
    # rows are compared with a level that the manifest states
    if own_level(manifest) is None and not proof.states_levels:
        names.append("sigma")
    if By.RERUN not in given:
        names += ["sound_noise"] if manifest.engine.get("sound_noise") else []
        if not manifest.procedure.repeats:
            names.append("noise_source")
        names += proof.stated
    names += _beside_the_noise(manifest, given)
    compared = {"dim"} if as_seen else set()
    if scheme is not None:
        compared.add("sigma")
        if scheme.scope != ASSERTED_ENVELOPE:  # its bounds are proven
            compared |= {"scope", *method.domains.keys()} - {"dim"}
    return [name for name in names if name not in compared]


def _beside_the_noise(manifest: Manifest, given: Collection[By]) -> Iterator[str]:
    """What rows rest on besides law and parameters, where it isn't given."""
    # that scores are as near to those of exact arithmetic as that
    if manifest.procedure.void_against:
        yield "margin"
    if By.DATA not in given:
        yield "data"
    if "truth" in manifest.answer and By.TRUTH not in given:
        yield "truth"
    elif "truth" in manifest.answer and By.RERUN not in given:
        yield "classes"
    yield "times"


def _is_certified(method: str, name: str) -> bool:
    """Whether a parameter says what is certified, and is nothing that it rests on."""
    of_a_law = method in (*ABSOLUTE, *DISCRETE, AFFINE) and name != "dim"
    return name in _CERTIFIED or of_a_law


def facts(
    manifest: Manifest, names: Collection[str], given: Collection[By]
) -> dict[str, Status]:
    """Each entry of a manifest with its status."""
    known = {}
    domains = METHODS[manifest.method].domains
    said = {*names, *(f"parameters.{name}" for name in names), *_entries_of(names)}
    for place, _, fact in entries_of(manifest.entries()):
        name = name_of(place)
        above, _, last = name.rpartition(".")
        if fact is None or {name, above, name.partition(".")[0]} & said:
            known[name] = Status.STATED
        elif above == "parameters" and last in domains:
            known[name] = fact.status(frozenset(By))  # not among the names: it is shown
        else:
            known[name] = fact.status(given)
    return known


def _entries_of(words: Collection[str]) -> list[str]:
    return [entry for word in words for entry in _WORDS.get(word, ())]
