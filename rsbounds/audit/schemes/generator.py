"""Radii where the noise's mean, shape and level follow the input, proved in balls."""

from rsbounds.audit.schemes.lipschitz import LipschitzProof


class GeneratorProof(LipschitzProof):
    """The proof of levels with a Lipschitz constant, whose means have one too."""

    method = "generator"
