"""What other rooms of the package take of this one besides its public names."""

from rsbounds.envelope._event import event_radius

__all__ = ["event_radius"]
