"""A decision list, and the result file ``out.tsv`` as a table that tests change."""

from __future__ import annotations

import json
from pathlib import Path

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


def table() -> list[dict[str, str]]:
    header, *lines = (line.split("\t") for line in Path("out.tsv").read_text().splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]


def save(rows: list[dict[str, str]]) -> None:
    lines = ["\t".join(rows[0]), *("\t".join(row.values()) for row in rows)]
    Path("out.tsv").write_text("".join(f"{line}\n" for line in lines))


def state(**changes: object) -> None:
    place = Path("out.tsv.manifest.json")
    place.write_text(json.dumps(json.loads(place.read_text()) | changes))
