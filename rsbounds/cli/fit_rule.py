"""Fit a decision list to runs at several noise levels.

Choose a decision list over the noise levels of several runs of the same inputs, a
calibration split, and write it as JSON for certify --rule and recertify --rule. Prints
what the samples of these runs certify by the list and by the best single level. These
inputs chose the rule: certify others.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds import composite
from rsbounds._numerics.files import replace_file, require_folder
from rsbounds.cli import recertify
from rsbounds.cli._output import Told, add_json, show
from rsbounds.composite.internal import Fit
from rsbounds.results.internal import digests


def add_options(parser: Any) -> None:
    """Add the options of ``rsbounds fit-rule``."""
    add = parser.add_argument
    add(
        "files",
        metavar="RUN.tsv",
        type=Path,
        nargs="+",
        help="one run for each noise level",
    )
    add(
        "--out",
        required=True,
        metavar="RULE.json",
        type=Path,
        help="where the rule is written, a new file",
    )
    what = (
        "what to raise: mean radius, mean or worst ratio to the best level at each "
        "radius (acr)"
    )
    add("--objective", choices=("acr", "curve", "worst"), default="acr", help=what)
    add("--items", type=int, default=3, help="longest list tried (3)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the rule and print what it certifies."""
    if args.out.exists():
        raise ValueError(f"{args.out} exists: choose another output file")
    require_folder(args.out)
    runs = recertify.by_level(args.files)
    rows = recertify.common([*runs.values()])
    if not rows:
        raise ValueError("the files must share inputs; they have none in common")
    labels = np.array([row[0].label for row in rows])
    width = max(2, labels.max() + 1, *(recertify.dense(row).shape[-1] for row in rows))
    select, counts = np.stack([recertify.dense(row, width) for row in rows], axis=1)
    procedure = next(iter(runs.values())).manifest.procedure
    options = {"objective": args.objective, "items": args.items, "select": select}
    options |= {"n": procedure.n, "alpha": procedure.alpha}
    fit = composite.fit(counts, labels, list(runs), **options)
    fitted = [digest for run in zip(*rows, strict=True) for digest in digests(run)]
    entries = fit.rule.to_dict() | {"fitted": fitted}
    replace_file(args.out, json.dumps(entries, indent=2) + "\n")
    text = (
        f"{len(fit.rule.items)} items, chosen on these {len(rows)} inputs: certify "
        "others"
    )
    entries = {"out": str(args.out), "inputs": len(rows), "rule": fit.rule.to_dict()}
    told = [Told(line, {}) for line in str(fit).splitlines()]
    show(args, [*told, Told(f"{args.out}: {text}", entries | _figures(fit))])
    return 0


def _figures(fit: Fit) -> dict[str, Any]:
    """What the list and the best single level certify, as JSON can hold it."""
    return {
        "n": fit.n,
        "alpha": fit.alpha,
        "constant": fit.constant.to_dict(),
        "acr": fit.acr,
        "acr_constant": fit.acr_constant,
        "radii": fit.radii.tolist(),
        "accuracy": fit.accuracy.tolist(),
        "accuracy_constant": fit.accuracy_constant.tolist(),
    }
