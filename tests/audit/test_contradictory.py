"""Entries that no run states together, and cells that ask for any amount of work."""

import json

import pytest
from edited_runs import Files, audited, place_of
from edits import with_another

from rsbounds.audit import verify
from rsbounds.audit.schemes import RADII
from rsbounds.audit.schemes._discrete import DiscreteProof
from rsbounds.certify import Procedure
from rsbounds.reports import read_card
from rsbounds.results._facts import CARD
from rsbounds.results._schema import conform

pytest.importorskip("flint")

PAIRS = {
    "bits of normal noise": ("gaussian", ("seed",), "os"),
    "bits of all outcomes": ("splitting", ("seed",), "os"),
    "sound noise of another law": ("laplace", ("engine", "sound_noise"), True),
    "sound noise of whole numbers": ("flips", ("engine", "sound_noise"), True),
    "a grid without sound noise": ("gaussian", ("engine", "grid"), 1024),
    "a bound beside a tolerance": ("staged", ("bound",), "clopper-pearson"),
    "a bound beside a target": ("target", ("bound",), "clopper-pearson"),
    "a zero with a sign": ("flips", ("parameters", "add"), -0.0),
    "a nested one": ("list", ("parameters", "rule", "items", 0, 0, "threshold"), -0.0),
    "a margin with a sign": ("margin", ("margin",), -0.0),
    "no version": ("gaussian", ("versions", "numpy"), "2.reviewed by ImageNet"),
    "a law with more": ("transformed", ("parameters", "law", "reviewed"), 1.0),
}


@pytest.mark.parametrize("case", PAIRS)
def test_what_no_run_states_together_is_refused(tmp_path, case):
    name, place, value = PAIRS[case]
    files = Files.of(tmp_path, name)
    changed = with_another(files.manifest, place, value)
    place_of(files.path).write_text(json.dumps(changed))
    with pytest.raises(ValueError, match=r"the manifest of .* is damaged"):
        verify(files.path)


UNKNOWN = {
    "levels of a shape": ("anisotropic", ("parameters", "levels", "reviewed")),
    "a condition of a rule": (
        "list",
        ("parameters", "rule", "items", 0, 0, "reviewed"),
    ),
    "a block": ("blocks", ("parameters", "blocks", 1, "reviewed")),
    "a block's method": ("blocks", ("parameters", "blocks", 0, "delete")),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_entries_that_nobody_knows_are_found_at_any_depth(tmp_path, case):
    name, place = UNKNOWN[case]
    files = Files.of(tmp_path, name)
    changed = with_another(files.manifest, place, "ImageNet")
    place_of(files.path).write_text(json.dumps(changed))
    audit = audited(files)
    assert audit is None or audit.findings


def test_a_bound_that_another_number_replaces_is_refused():
    entries = Procedure(tolerance=0.1).to_dict()
    assert Procedure.from_dict(entries).bound == "staged"
    with pytest.raises(ValueError, match=r"bound must be 'staged' beside tolerance"):
        Procedure.from_dict(entries | {"bound": "clopper-pearson"})


def test_a_card_names_a_version(tmp_path):
    files = Files.of(tmp_path, "gaussian")
    place = files.path.with_suffix(".json")
    assert read_card(place)
    (fact,) = (fact for fact in CARD if fact.name == "rsbounds")
    for version in ("0.1.0", "0.1.0rc1", "1.0.dev3+g1234abc"):
        conform("rsbounds", version, fact.schema)
    for text in ("reviewed", "1.0 by ImageNet", "1.0reviewed", ""):
        place.write_text(json.dumps(files.card | {"rsbounds": text}))
        with pytest.raises(ValueError, match="rsbounds must be of the form"):
            read_card(place)


LARGE = ("100000", "131072", "1000000000", "1e308")


@pytest.mark.parametrize(
    "name", ["flips", "categorical", "blocks", "top-k of categorical", "gaussian"]
)
def test_no_radius_asks_for_more_work_than_its_counts_are_worth(
    tmp_path, monkeypatch, name
):
    """A row of flips with radius 1e5 was proved for minutes, deaf to signals."""
    files = Files.of(tmp_path, name)
    largest = max(float(row["radius"]) for row in files.rows)
    tried = []
    for proof in {type(proof) for proof in RADII.values()}:
        monkeypatch.setattr(
            proof,
            "proved",
            lambda _self, _parameters, _sigma, radius, *_: tried.append(radius),
        )
    for text in LARGE:
        files.save([row | {"radius": text} for row in files.rows])
        kinds = {finding.kind.value for finding in audited(files).findings}
        assert "radius" in kinds
    assert all(radius <= 2 * largest + 1 for radius in tried)


def test_no_frontier_asks_for_more_work_than_its_counts_are_worth(
    tmp_path, monkeypatch
):
    files = Files.of(tmp_path, "blocks")
    monkeypatch.setattr(DiscreteProof, "entry_proved", lambda *_: pytest.fail("proved"))
    for text in ("100000,100000", "0,131072;1,1"):
        files.save([row | {"frontier": text} for row in files.rows])
        texts = [finding.text for finding in audited(files).findings]
        assert any("frontier is" in each for each in texts)


@pytest.mark.parametrize("slack", [50.0, 1e9])
def test_no_extreme_of_a_level_asks_for_any_number_of_terms(slack):
    """The tail of a ball at e^50 levels was summed for ever, term by term."""
    parameters = {"rate": 0.01, "dim": 8, "slack": slack}
    scores = 0.060137577856247695, -0.49429185956962296
    assert not RADII["semi-elastic"].proved(parameters, 0.509, 0.14, *scores)
