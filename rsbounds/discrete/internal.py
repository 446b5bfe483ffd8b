"""What other rooms of the package take of this one besides its public names."""

from rsbounds.discrete._blocks import BlocksCurve
from rsbounds.discrete._cells import Cells, log_of_rest
from rsbounds.discrete._curve import NO_NOISE
from rsbounds.discrete._edges import (
    Edges,
    Places,
    edges,
    flipped_keys,
    is_sparse,
    of_scipy,
    require_square,
    require_symmetric,
    side_by_side,
)
from rsbounds.discrete._laws import PairedLaw, kept_law, law_of
from rsbounds.discrete._mixed import MOST_REGIONS, MixedCurve
from rsbounds.discrete._questions import Questions
from rsbounds.discrete._search import misses, powers
from rsbounds.discrete._ways import Counts

__all__ = [
    "MOST_REGIONS",
    "NO_NOISE",
    "BlocksCurve",
    "Cells",
    "Counts",
    "Edges",
    "MixedCurve",
    "PairedLaw",
    "Places",
    "Questions",
    "edges",
    "flipped_keys",
    "is_sparse",
    "kept_law",
    "law_of",
    "log_of_rest",
    "misses",
    "of_scipy",
    "powers",
    "require_square",
    "require_symmetric",
    "side_by_side",
]
