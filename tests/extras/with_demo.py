"""Run the demo on a few digits."""

from rsbounds.cli import main

assert main(["demo", "--count", "3", "--n", "100"]) == 0
