"""Write the tables of entries in docs/reference/result-files.md again.

    python docs/entries.py

They are those that files are checked by: ``rsbounds.results._facts``.
"""

from pathlib import Path

from rsbounds.results._entries import as_markdown
from rsbounds.results._facts import CARD, MANIFEST

PAGE = Path(__file__).parent / "reference" / "result-files.md"


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, facts in (("manifest", MANIFEST), ("card", CARD)):
        start, end = f"<!-- entries of a {name} -->", f"<!-- end of a {name} -->"
        before, _, rest = text.partition(start)
        _, _, behind = rest.partition(end)
        text = f"{before}{start}\n\n{as_markdown(facts)}\n\n{end}{behind}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
