"""What other rooms of the package take of this one besides its public names."""

from rsbounds.noises._drawn import AddedNoise
from rsbounds.noises._inputs import (
    as_array,
    as_hideable,
    as_real,
    as_whole,
    floating,
    hidden_number,
    noise_level,
)
from rsbounds.noises._normal import (
    FARTHEST_NORMAL,
    NormalNoise,
    fill_copies,
    is_single,
)
from rsbounds.noises._scores import (
    Moved,
    bounds,
    broadcast_bounds,
    checked_scores,
    lead,
    leads,
    log_share_above,
    moved_score,
    not_above,
    score_pair,
    scores_of,
    share_above,
    share_below,
    tails,
)

__all__ = [
    "FARTHEST_NORMAL",
    "AddedNoise",
    "Moved",
    "NormalNoise",
    "as_array",
    "as_hideable",
    "as_real",
    "as_whole",
    "bounds",
    "broadcast_bounds",
    "checked_scores",
    "fill_copies",
    "floating",
    "hidden_number",
    "is_single",
    "lead",
    "leads",
    "log_share_above",
    "moved_score",
    "noise_level",
    "not_above",
    "score_pair",
    "scores_of",
    "share_above",
    "share_below",
    "tails",
]
