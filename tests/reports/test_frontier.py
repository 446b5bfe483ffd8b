"""The table of a frontier: shares of rows that are right, by both of its numbers."""

import numpy as np
import pytest

from rsbounds import certify_dataset, schemes
from rsbounds.reports import html, table
from rsbounds.reports._frontier import frontier_table, frontier_title
from rsbounds.results import Results, Row

FRONTIERS = ["1.5,0.0;0.75,0.5", "0.5,0.5", "-", "inf,0.0", "2.0,0.0;1.0,0.5"]


def rows(frontiers, wrong=()):
    return Results(
        "run",
        tuple(
            Row(i, 0, int(i in wrong), 0.5, i not in wrong, "", extra={"frontier": own})
            for i, own in enumerate(frontiers)
        ),
    )


def test_shares_are_of_the_rows_that_an_entry_covers():
    lines = frontier_table(rows(FRONTIERS, wrong=[4]), [0.0, 0.5, 1.0, 2.0])
    assert lines == [
        ["beside", "r=0", "r=0.5", "r=1", "r=2"],
        ["0", "0.600", "0.600", "0.400", "0.200"],  # 0, 1 and 3 of 5; 0 and 3; 3
        ["0.5", "0.400", "0.400", "0.000", "0.000"],  # 0 and 1
    ]


def test_shares_are_those_of_a_count_by_hand():
    rng = np.random.default_rng(0)
    pairs = [rng.integers(0, 30, (rng.integers(1, 6), 2)) for _ in range(40)]
    texts = [";".join(f"{a},{b}" for a, b in own) for own in pairs]
    lines = frontier_table(rows(texts), [0, 5, 20])
    assert len(lines) > 5  # more numbers than lines: they are rounded
    for second, *shares in lines[1:]:
        for r, share in zip((0, 5, 20), shares, strict=True):
            held = [
                any((own[:, 0] >= r) & (own[:, 1] >= float(second))) for own in pairs
            ]
            assert share == f"{np.mean(held):.3f}"


@pytest.mark.parametrize(
    "text", ["-", "1,2,3", "1", "a,b", "nan,0", "-1,0", "inf,inf", ";", "=1+1,2"]
)
def test_what_is_no_frontier_of_two_numbers_has_no_table(text):
    assert frontier_table(rows([text])) is None


def test_numbers_that_count_are_looked_at_as_whole_ones():
    lines = frontier_table(rows(["3,0;1,1", "2,1"]))
    assert lines[0] == ["beside", "r=0", "r=1", "r=2", "r=3"]
    assert frontier_title(rows(["3,0"])) == (
        "certified accuracy against the first number up to r and the second up to k; "
        "one line for each k"
    )


def test_additions_and_deletions_are_told_apart():
    def any_edge(batch):
        return np.stack([np.full(len(batch), 0.5), batch.any((1, 2))], axis=1)

    graphs = np.ones((2, 4, 4), dtype=np.uint8)
    scheme = schemes.flips(0.01, 0.6)
    run = certify_dataset(any_edge, (graphs, [1, 1]), scheme, n=500, n0=50)
    assert "against additions up to r and deletions up to k" in frontier_title(run)


def test_reports_have_the_table_but_for_csv(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.random((3, 1, 4, 4)).astype(np.float32)

    def brighter_above(batch):
        difference = batch[:, 0, :2].mean((1, 2)) - batch[:, 0, 2:].mean((1, 2))
        return np.stack([-difference, difference], axis=1)

    labels = brighter_above(x).argmax(axis=1)
    scheme = schemes.brightness_contrast(0.25, 0.25)
    run = certify_dataset(brighter_above, (x, labels), scheme, n=500, n0=50)
    lines = frontier_table(run)
    assert lines[0][:2] == ["beside", "r=0"]
    assert [line[0] for line in lines[1:]] == ["0", "0.25", "0.5"]
    for style in ("text", "markdown", "latex"):
        assert frontier_title(run) in table([run], style=style)
    assert "against brightness up to r and contrast up to k" in frontier_title(run)
    assert frontier_title(run) not in table([run], style="csv")
    html([run], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    cells = "</td><td>".join(lines[-1])
    assert frontier_title(run) in page
    assert f"<tr><td>{cells}</td></tr>" in page
