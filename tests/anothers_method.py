"""A tiny distribution with a method of its own, as another package would install it."""

from __future__ import annotations

from pathlib import Path

SOURCE = """
from functools import partial
from rsbounds.schemes import Domain, Method, Option, Scheme

def radius(score, sigma, score_b=None, *, share):
    return share * sigma * score if score > 0 else 0.0

def level(sigma, x):
    return sigma

def build(options, given):
    if options["share"] == 13:
        raise RuntimeError("no such share")
    if options["share"] == 14:
        return None
    share = "half" if options["share"] == 15 else options["share"]
    known = {"share": share, "level": options["sigma"], "dim": given.dim}
    own = {k: v for k, v in known.items() if options["share"] != 16 or k != "share"}
    norm = 1.0 if options["share"] == 0.125 else 2.0
    return Scheme("careful", "fixed noise", partial(level, options["sigma"]), None, own, norm)

METHOD = Method(
    name="careful", scope="fixed noise", radius=radius, parameters={"share": Domain(0, 1)},
    help="a part of the Gaussian radius", build=build,
    options=(Option("--sigma", "noise level"), Option("--share", "which part", default=0.5)),
)
CLASH = Method("clash", "fixed noise", radius, {}, build=build,
               options=(Option("--seed", "clashes"),))
NOTHING = 3
"""
POINTS = """[rsbounds.schemes]
careful = careful:METHOD
clash = careful:CLASH
nothing = careful:NOTHING
lost = no_such_module:METHOD
"""


def install(folder: Path) -> Path:
    """A directory that holds the distribution, to be put on ``sys.path``."""
    site = folder / "site"
    info = site / "careful_smoothing-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: careful-smoothing\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(POINTS)
    (site / "careful.py").write_text(SOURCE)
    return site
