"""What other rooms of the package take of this one besides its public names."""

from rsbounds.trust._kinds import Proves, enter, refuse

__all__ = ["Proves", "enter", "refuse"]
