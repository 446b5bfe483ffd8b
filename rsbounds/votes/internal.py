"""What other rooms of the package take of this one besides its public names."""

from rsbounds.votes._masks import windows_along

__all__ = ["windows_along"]
