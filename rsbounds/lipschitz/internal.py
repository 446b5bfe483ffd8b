"""What is taken of this room besides its public names."""

from rsbounds.lipschitz._ratio import ratio_derivative

__all__ = ["ratio_derivative"]
