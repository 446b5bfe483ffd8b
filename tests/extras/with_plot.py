"""Draw a run as a picture, as a page and as a card."""

from pathlib import Path

from small_run import run

from rsbounds.reports import card, html, plot, write_card

results = run(out="out.tsv")
plot([results], "out.png")
html([results], "out.html")
assert "<svg" in Path("out.html").read_text()
assert write_card(card(results), "card.json").read_text().startswith("## Certified")
assert Path("out.png").read_bytes().startswith(b"\x89PNG")
