"""Draw a run as a picture."""

from pathlib import Path

from small_run import run

from rsbounds.results import plot

plot([run(out="out.tsv")], "out.png")
assert Path("out.png").read_bytes().startswith(b"\x89PNG")
