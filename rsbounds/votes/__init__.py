"""Votes of parts, and masks in pairs, of which an attack reaches a few: no chance."""

from rsbounds.votes._masks import DoubleMasking, double_masking
from rsbounds.votes._votes import certify_votes

__all__ = ["DoubleMasking", "certify_votes", "double_masking"]


def __dir__() -> list[str]:
    return sorted(__all__)
