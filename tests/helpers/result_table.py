"""A decision list, and result files as tables that tests read and change."""

import json
from pathlib import Path

from rsbounds.results.internal import read_rows
from rsbounds.schemes import METHODS

DATA = ("--data", "data.npz")
RULE = {
    "format": 1,
    "sigmas": [0.5, 0.25],
    "items": [
        [
            {"kind": "margin", "stage": 0, "threshold": 0.0},
            {"kind": "score", "stage": 0, "threshold": -0.1},
        ],
        [{"kind": "margin", "stage": 1, "threshold": 0.0}],
    ],
}


def table():
    header, *lines = (
        line.split("\t") for line in Path("out.tsv").read_text().splitlines()
    )
    return [dict(zip(header, line, strict=True)) for line in lines]


def save(rows):
    lines = ["\t".join(rows[0]), *("\t".join(row.values()) for row in rows)]
    Path("out.tsv").write_text("".join(f"{line}\n" for line in lines))


def best(rows):
    return max(rows, key=lambda row: float(row["radius"]))


def manifest(name="out.tsv"):
    return json.loads(Path(f"{name}.manifest.json").read_text())


def outcomes(name):
    """The rows but for their times."""
    return [
        (r.idx, r.predict, r.radius, r.sigma, r.counts) for r in read_rows(Path(name))
    ]


def state(name="out.tsv", /, **changes):
    Path(f"{name}.manifest.json").write_text(json.dumps(manifest(name) | changes))


def grown(**changes):
    """The manifest's bounds changed, and every radius grown to what they give."""
    known = manifest()
    parameters = known["parameters"] | changes
    state(parameters=parameters)
    radius = METHODS[known["method"]].from_parameters(parameters).radius
    rows = table()
    for row in rows:
        if row["predict"] != "-1":
            score, sigma, other = (float(row[name]) for name in ("z_a", "sigma", "z_b"))
            row["radius"] = repr(radius(score, sigma, other))
    save(rows)
