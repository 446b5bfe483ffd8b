"""What other rooms of the package take of this one besides its public names."""

from rsbounds.anisotropic._ellipsoid import transport
from rsbounds.anisotropic._laplace import laplace_score_radius, laplace_transport

__all__ = ["laplace_score_radius", "laplace_transport", "transport"]
