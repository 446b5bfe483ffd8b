"""The five papers row by row: writes papers.md, and the counts of index.md, from
papers.csv.

``python docs/reproductions/papers.py``
"""

import csv
import os
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
PAPERS = {
    "B": "Lipschitz standard deviation networks",
    "S": "Intriguing properties of input-dependent smoothing",
    "L": "Lecture on certifiable robustness",
    "A": "Locally biased smoothing",
    "H": "Anisotropic smoothing",
}
STATES = {
    "yes": "is here, tested or shown",
    "part": "is here in part; the last column says what differs",
    "not yet": "can be done here and is not",
    "no": "is left out, for the reason in the last column",
}
Row = dict[str, str]


def rows() -> list[Row]:
    with (HERE / "papers.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def cells(row: Row) -> list[str]:
    functions = [f"`{name}`" for name in row["functions"].split()]
    where = " ".join([*functions, *filter(None, [row["test"] and f"`{row['test']}`"])])
    state = row["state"]
    if row["page"]:
        page, _, anchor = row["page"].partition("#")
        link = os.path.relpath(HERE.parent / page, HERE).replace(os.sep, "/")
        state = f"[{state}]({link}{anchor and '#'}{anchor})"
    texts = (row["item"], row["says"], state, where)
    return [*texts, row["printed"], row["here"]]


def table(head: list[str], body: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def counts() -> str:
    """A row for each paper: how many of its rows are in which state."""
    body = []
    for letter, name in PAPERS.items():
        found = Counter(row["state"] for row in rows() if row["paper"] == letter)
        numbers = [str(found[state]) for state in STATES]
        body.append([f"[{letter}] {name}", str(found.total()), *numbers])
    return table(["Paper", "Rows", *STATES], body)


def page() -> str:
    """The text of papers.md."""
    head = ["Item", "What it is", "State", "Function, test", "Printed", "Here"]
    text = [
        "# The five papers, row by row",
        "",
        "Each theorem, formula, algorithm, figure, table and advice of the five "
        "papers. Written by `docs/reproductions/papers.py` from "
        "[papers.csv](papers.csv); a test checks that every function, test and page "
        "exists. The state leads to the page that shows the row. Letters as on the "
        "[theory page](../theory/index.md#papers).",
        "",
        "\n".join(f"- **{state}**: {means}." for state, means in STATES.items()),
        "",
        counts(),
    ]
    for letter, name in PAPERS.items():
        own = [cells(row) for row in rows() if row["paper"] == letter]
        text += ["", f"## {letter}: {name}", "", table(head, own)]
    return "\n".join(text) + "\n"


def index(text: str) -> str:
    """The text of index.md with the counts of today between its two marks."""
    before, mark, rest = text.partition("<!-- counts -->\n")
    _, end, after = rest.partition("<!-- end of counts -->")
    return f"{before}{mark}\n{counts()}\n\n{end}{after}"


if __name__ == "__main__":
    (HERE / "papers.md").write_text(page())
    file = HERE / "index.md"
    file.write_text(index(file.read_text()))
