"""What no run can do, and what no reader is told wrongly."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from cli_models import MODELS, arguments, models, one_line, says
from result_table import manifest, state

from rsbounds import certify_dataset, schemes
from rsbounds.certify import _asserted
from rsbounds.cli import main
from rsbounds.results import Manifest, Row, read
from rsbounds.results.internal import Writer, write

X = np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]], np.float32)
Y = np.array([0, 0, 0])


def classifier(batch):
    return np.stack([batch[:, 0], -batch[:, 0]], axis=1)


def test_a_bound_that_two_inputs_refute_is_warned_of(tmp_path):
    slope = 0.2

    def sigma(x):
        return 0.5 + slope * float(np.ravel(x)[0])

    def run(bound):
        scheme = schemes.lipschitz(sigma, bound, 0.4, 2)
        out = tmp_path / f"{bound}.tsv"
        certify_dataset(classifier, (X, Y), scheme, out=out, n0=10, n=100)

    with pytest.warns(RuntimeWarning, match=r"lip = 0\.1.*0\.19"):
        run(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(slope)


class Steeper:
    """A level that grows four times as fast as its rate."""

    rate = 0.1

    def sigma(self, x):
        return float(0.5 * np.exp(4 * self.rate * np.ravel(x)[0]))


def test_a_rate_that_two_inputs_refute_is_warned_of():
    scheme = schemes.semielastic(Steeper(), 2)
    with pytest.warns(RuntimeWarning, match=r"rate = 0.1 is refuted: .* at least 0.39"):
        certify_dataset(classifier, (X, Y), scheme, n0=10, n=100)


@pytest.mark.parametrize(
    "scheme",
    [
        lambda sigma: schemes.sigma_range(sigma, 0.5, 0.6, 2),
        lambda sigma: schemes.lipschitz(sigma, 0.3, 0.55, 2),
    ],
)
def test_a_level_out_of_its_asserted_range_ends_the_run(scheme):
    def sigma(x):
        return 0.5 + 0.2 * float(np.ravel(x)[0])

    with pytest.raises(ValueError, match=r"sigma\(x\) must be in"):
        certify_dataset(classifier, (X, Y), scheme(sigma), n0=10, n=100)


def test_few_inputs_are_kept_to_compare_with(monkeypatch):
    monkeypatch.setattr(_asserted, "MOST_NUMBERS", 4)
    asserted = _asserted.Asserted(schemes.semielastic(Steeper(), 2))
    for index in range(3):  # the third is compared, and is not kept
        asserted.add(index, 0.5, X[0] + index)
    assert [index for index, _, _ in asserted._seen] == [0, 1]


@pytest.mark.filterwarnings("default")
def test_bounds_that_code_calls_proven_are_taken_as_asserted(work, capsys):
    models(
        MODELS
        + """
from rsbounds import schemes

def scheme(proven=False):
    return schemes.lipschitz(lambda x: 0.5, 0.01, 0.4, 36, proven=proven)
"""
    )
    words = arguments(method="models:scheme", sigma=None, max=2)
    text = says(capsys, [*words, "--method-args", "proven=True"])
    assert "it is taken as 'sigma(x) with an asserted envelope'" in text
    assert manifest()["scope"] == "sigma(x) with an asserted envelope"
    assert "is taken as" not in says(capsys, [*words[:-2], "--out", "b.tsv"])


@pytest.mark.parametrize("what", ["a link", "a stranger's"])
def test_a_manifest_of_others_is_not_overwritten(work, capsys, what):
    place, target = Path("out.tsv.manifest.json"), Path("precious.json")
    target.write_text('{"precious": 1}')
    if what == "a link":
        place.symlink_to(target)
    else:
        place.write_text(target.read_text())
    one_line(capsys, arguments(), "out.tsv.manifest.json")
    assert json.loads(target.read_text()) == {"precious": 1}
    assert json.loads(place.read_text()) == {"precious": 1}
    with pytest.raises(ValueError, match="manifest"):
        write(Path("out.tsv"), Manifest(data={"inputs": 1}), [Row(0, 7, 7, 0.5, True)])


def test_a_manifest_that_is_deleted_stops_a_run(tmp_path):
    path = tmp_path / "run.tsv"

    def write_two():
        with Writer(path, Manifest(data={"inputs": 2})) as writer:
            writer.append(Row(0, 7, 7, 0.5, True))
            Path(f"{path}.manifest.json").unlink()
            writer.append(Row(1, 7, 7, 0.5, True))

    with pytest.raises(OSError, match=r"run\.tsv\.manifest\.json.*deleted"):
        write_two()
    assert path.read_text().count("\n") == 2


MANIFESTS = {
    '{"a": 1, "a": 2}': "expected each entry once",
    "[" * 10**5 + "]" * 10**5: "nested at most 50 deep",
    '{"a": ' * 60 + "1" + "}" * 60: "nested at most 50 deep",
    "[1]": "expected a JSON object",
    "{": "expected JSON: ",
}


@pytest.mark.parametrize("text", MANIFESTS, ids=range(len(MANIFESTS)))
def test_a_manifest_that_is_none_says_what_is_wrong(finished, capsys, text):
    Path("out.tsv.manifest.json").write_text(text)
    one_line(capsys, ["verify", "out.tsv"], MANIFESTS[text])


def test_a_manifest_has_a_limit_of_entries(finished, capsys):
    small = ",".join(f'"{i}":0' for i in range(1001))
    objects = ",".join(f"{{{small}}}" for _ in range(1000))
    Path("out.tsv.manifest.json").write_text(f'{{"a": [{objects}]}}')
    one_line(capsys, ["verify", "out.tsv"], "at most 1000000 entries")


def test_all_inputs_are_not_called_a_selection(work):
    assert main(arguments(max=12)) == 0
    assert manifest()["data"]["max"] == 12
    assert not any("12 of 12 inputs" in note for note in read("out.tsv").notes())


def test_text_that_turns_others_around_is_escaped_in_pages(finished):
    turned = "\u202eTeNegamI"
    state(run=manifest()["run"] | {"data": turned}, shard="0/1")
    assert main(["report", "out.tsv", "--html", "page.html"]) == 0
    assert main(["report", "out.tsv", "--card", "card.json"]) == 0
    for name in ("page.html", "card.md"):
        text = Path(name).read_text(encoding="utf-8")
        assert "TeNegamI" in text
        assert not {"\u202e", "\u2066", "\u200f"} & {*text}
    html = read("out.tsv")._repr_html_()
    assert "\u202e" not in html


@pytest.mark.parametrize("name", ["deep.json", "deep.yaml"])
def test_options_and_rules_nested_too_deep_say_so(work, capsys, name):
    # so deep that json itself gives up, on any Python; to read it as YAML takes seconds
    depth = 10**5 if name == "deep.json" else 2000
    Path(name).write_text("[" * depth + "]" * depth)
    one_line(capsys, ["certify", "--config", name], "nested at most 50 deep")
    if name.endswith(".json"):
        words = arguments(sigma=None, rule=name)
        one_line(capsys, words, "deep.json is not a rule: expected entries nested")


def test_an_entry_of_a_rule_stands_once(work, capsys):
    Path("rule.json").write_text('{"format": 1, "format": 1}')
    one_line(capsys, arguments(sigma=None, rule="rule.json"), "got 'format' twice")
