"""What other rooms of the package take of this one besides its public names."""

from rsbounds.gaussian._transport import transport

__all__ = ["transport"]
