"""Files that papers published: read as they lie, and checked without their counts."""

import json
from pathlib import Path

import pytest
from cli_models import one_line
from scipy.stats import beta, norm

from rsbounds.audit import _bounds
from rsbounds.audit.internal import verify_printed
from rsbounds.cli import main
from rsbounds.confidence import lower_bound
from rsbounds.reports import table
from rsbounds.results import read

N, ALPHA, SIGMA = 1000, 0.001, 0.5
STATED = ["--sigma", "0.5", "--n", "1000", "--alpha", "0.001"]


def radius(count: int) -> float:
    return SIGMA * norm.ppf(beta.ppf(ALPHA, count, N - count + 1))


def published(radii: list[str], name: str = "sigma_0.50") -> str:
    lines = (f"{i}\t3\t3\t{r}\t1\t0:00:01" for i, r in enumerate(radii))
    Path(name).write_text(
        "\n".join(["idx\tlabel\tpredict\tradius\tcorrect\ttime", *lines]) + "\n"
    )
    return name


def test_a_radius_printed_upwards_is_found_and_one_downwards_is_not(
    tmp_path, monkeypatch
):
    pytest.importorskip("flint")
    monkeypatch.chdir(tmp_path)
    counts = range(930, N + 1)
    texts = [f"{radius(count):.3}" for count in counts]
    # a row is surely wrong where no count that prints as it earns it
    best = dict.fromkeys(texts, 0.0)
    for count, text in zip(counts, texts, strict=True):
        best[text] = max(best[text], radius(count))
    expected = [i for i, text in enumerate(texts) if float(text) > best[text]]
    assert 0 < len(expected) < len(texts)
    name = published(texts)
    found = verify_printed(name, sigma=SIGMA, n=N, alpha=ALPHA)
    assert [finding.index for finding in found.findings] == expected
    assert found.of_kind() == {"rounded up": len(expected)}
    assert not found.fails
    assert main(["verify", name, *STATED]) == 0
    assert main(["verify", name, *STATED, "--strict"]) == 1


def above(share: float) -> str:
    """A radius in full, so much above the one that a count is proved to earn."""
    radius_shown = SIGMA * lower_bound(980, N, ALPHA, scores=True)
    return repr(float(radius_shown * (1 + share)))


@pytest.mark.parametrize(
    ("share", "kind"),
    [(1e-13, "arithmetic"), (0.9e-10, "arithmetic"), (1.1e-10, "no count earns it")],
)
def test_radii_in_full_are_above_by_arithmetic_within_1e_10(
    tmp_path, monkeypatch, capsys, share, kind
):
    """The field's formula in doubles ends above the exact bound half of the time."""
    pytest.importorskip("flint")
    monkeypatch.chdir(tmp_path)
    name = published([above(share), *(repr(float(radius(k))) for k in (930, 960))])
    found = verify_printed(name, sigma=SIGMA, n=N, alpha=ALPHA)
    kinds = {finding.index: finding.kind.value for finding in found.findings}
    assert kinds.pop(0) == kind
    assert {*kinds.values()} <= {"arithmetic"}
    assert not found.fails
    assert found.fails_strictly == (kind != "arithmetic")
    assert main(["verify", name, *STATED]) == 0
    assert main(["verify", name, *STATED, "--strict"]) == (kind != "arithmetic")
    capsys.readouterr()


def test_a_bound_in_full_is_above_by_arithmetic_too(tmp_path, monkeypatch):
    pytest.importorskip("flint")
    monkeypatch.chdir(tmp_path)
    shown = float(lower_bound(980, N, ALPHA))
    head = "idx\tlabel\tpredict\tradius\tcorrect\tcount\tpA"
    for share, kinds in ((1e-15, {"arithmetic": 1}), (1e-9, {"too large": 1})):
        p_a = shown * (1 + share)
        row = f"0\t3\t3\t0.5\t1\t980\t{p_a!r}"
        Path("paper.tsv").write_text(f"{head}\n{row}\n")
        found = verify_printed("paper.tsv", sigma=SIGMA, n=N, alpha=ALPHA)
        assert found.of_kind() == kinds


def test_findings_of_a_kind_end_after_some_lines_and_json_has_all(
    tmp_path, monkeypatch, capsys
):
    """A file checked at another n than its own filled the screen."""
    pytest.importorskip("flint")
    monkeypatch.chdir(tmp_path)
    published(["9.0"] * 60)
    assert main(["verify", "sigma_0.50", *STATED]) == 1
    text = capsys.readouterr().out
    assert text.count("radius is 9.0") == 50
    assert "10 more findings: too large" in text
    assert main(["verify", "sigma_0.50", *STATED, "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["findings"]) == 60


def test_a_file_named_by_its_level_keeps_its_name(tmp_path, monkeypatch):
    """It was called sigma_0, whichever level it was of."""
    monkeypatch.chdir(tmp_path)
    assert table([read(published(["0.5"]))]).splitlines()[1].startswith("sigma_0.50 ")


def test_verify_needs_the_stated_numbers(finished, capsys):
    one_line(capsys, ["verify", "out.tsv", *STATED], "for a file without a manifest")
    published(["0.5"])
    one_line(
        capsys,
        ["verify", "sigma_0.50", *STATED[:4]],
        "no manifest: give --sigma, --n and",
    )
    one_line(capsys, ["verify", "sigma_0.50", *STATED[2:], "--sigma", "0"], "sigma")


def test_lines_of_index_and_radius_are_read(tmp_path, capsys):
    path = tmp_path / "rad.txt"
    path.write_text("idx\tradius\n0 0.0\n50 0.25\n100 1.5\n")
    file = read(path)
    shown = [(r.idx, r.label, r.predict, r.radius, r.correct) for r in file.rows]
    assert shown == [
        (0, 0, -1, 0.0, False), (50, 0, 0, 0.25, True), (100, 0, 0, 1.5, True)
    ]  # fmt: skip
    assert main(["report", str(path)]) == 0
    assert "an input with a radius counts as right" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "0.0 0.9\n0.1 0.8\n",
        "o 0 0.1 0.2\n",
        "idx label predict correct\n",
        "0 -1\n",
        "0 nan\n",
        "0 1\n0 2\n",
        "idx\tradius\n1\n",
    ],
)
def test_other_columns_are_refused_in_one_line(tmp_path, monkeypatch, capsys, text):
    monkeypatch.chdir(tmp_path)
    Path("file.txt").write_text(text)
    one_line(capsys, ["report", "file.txt"], "file.txt")


def test_a_radius_is_proved_once_for_each_count_that_prints_so(tmp_path, monkeypatch):
    """Each of a hundred thousand rows was proved on its own: 70 seconds."""
    pytest.importorskip("flint")
    monkeypatch.chdir(tmp_path)
    asked = []
    tail = _bounds.tail
    monkeypatch.setattr(_bounds, "tail", lambda *a: (asked.append(a[:2]), tail(*a))[1])
    counts = [960, 970, 980, 990] * 50
    # each below its count's radius by less than the last digit, in a text of its own
    texts = [
        f"{radius(count) * (1 - 1e-7 * (i + 1)):.9f}" for i, count in enumerate(counts)
    ]
    found = verify_printed(published(texts), sigma=SIGMA, n=N, alpha=ALPHA)
    assert len(asked) <= 2 * len(set(counts))
    # what no proof of a count covers is still found
    texts[3] = f"{radius(990) * (1 + 1e-7):.9f}"
    found = verify_printed(published(texts), sigma=SIGMA, n=N, alpha=ALPHA)
    assert [finding.index for finding in found.findings if finding.index == 3] == [3]
