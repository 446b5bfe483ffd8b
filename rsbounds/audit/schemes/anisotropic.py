"""Radii under Gaussian noise of a shape, proved in ball arithmetic."""

from rsbounds.audit.schemes.gaussian import GaussianProof


class AnisotropicProof(GaussianProof):
    """The proof of noise whose least axis, in levels, is the parameter ``inner``."""

    method = "anisotropic"
