"""Run reproductions again: ``python docs/reproductions/run.py [--experiments] [--data
FOLDER] [NAME ...]``.
"""

import argparse
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent


def scripts() -> list[Path]:
    """The closed-form reproductions, one script each, of seconds."""
    return sorted(set(HERE.glob("*/*.py")) - set(experiments()))


def experiments() -> list[Path]:
    """The experiments, which train and sample for minutes."""
    return sorted(HERE.glob("*/experiment_*.py"))


def chosen(names: list[str], long: bool) -> list[Path]:
    """The scripts of these names; without names all, the experiments if ``long``."""
    if not names:
        return scripts() + (experiments() if long else [])
    every = {path.stem: path for path in scripts() + experiments()}
    unknown = [name for name in names if name not in every]
    if unknown:
        sys.exit(f"unknown: {' '.join(unknown)}; expected some of {' '.join(every)}")
    return [every[name] for name in names]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help="only these, without .py")
    parser.add_argument(
        "--experiments", action="store_true", help="the experiments too"
    )
    parser.add_argument(
        "--data", help="a folder for the named scripts, which read files of others"
    )
    options = parser.parse_args()
    if options.data and not options.name:
        parser.error("--data needs the names of the scripts that read its files")
    for script in chosen(options.name, options.experiments):
        sys.argv = [str(script), *filter(None, [options.data])]
        runpy.run_path(str(script), run_name="__main__")
        print(script.stem)
