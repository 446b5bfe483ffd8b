"""Prove a run again, and a radius by the oracle."""

from small_run import run

from rsbounds.audit import verify

run(out="out.tsv")
assert not verify("out.tsv").findings
