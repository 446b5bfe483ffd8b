"""Run every reproduction again: ``python docs/reproductions/run.py [--experiments]``."""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path

HERE = Path(__file__).parent


def scripts() -> list[Path]:
    """The closed-form reproductions, one script each, of seconds."""
    rest = ("run", "shared", "images", *(path.stem for path in experiments()))
    return sorted(path for path in HERE.glob("*.py") if path.stem not in rest)


def experiments() -> list[Path]:
    """The experiments, which train and sample for minutes."""
    return sorted(HERE.glob("experiment_*.py"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", action="store_true", help="the experiments too")
    chosen = scripts() + (experiments() if parser.parse_args().experiments else [])
    for script in chosen:
        runpy.run_path(str(script), run_name="__main__")
        print(script.stem)
