"""Write a run as a page."""

from pathlib import Path

from small_run import run

from rsbounds.results import html

html([run(out="out.tsv")], "out.html")
assert Path("out.html").stat().st_size > 10**6  # the plotting library is in it
