"""The proofs of radii, by the names of the schemes, one in each file.

What is proved under a scheme follows from its theory page alone: no code that made the
radii is used to prove them.
"""

from collections.abc import Mapping

from rsbounds.audit.schemes._proof import SchemeProof, by_method
from rsbounds.audit.schemes.anisotropic import AnisotropicProof
from rsbounds.audit.schemes.blocks import BlocksProof
from rsbounds.audit.schemes.brightness_contrast import BrightnessContrastProof
from rsbounds.audit.schemes.categorical import CategoricalProof
from rsbounds.audit.schemes.correlated import CorrelatedProof
from rsbounds.audit.schemes.deletion import DeletionProof
from rsbounds.audit.schemes.double_masking import DoubleMaskingProof
from rsbounds.audit.schemes.exponential import ExponentialProof
from rsbounds.audit.schemes.flips import FlipsProof
from rsbounds.audit.schemes.gaussian import GaussianProof
from rsbounds.audit.schemes.generator import GeneratorProof
from rsbounds.audit.schemes.laplace import LaplaceProof
from rsbounds.audit.schemes.lipschitz import LipschitzProof
from rsbounds.audit.schemes.mask import MaskProof
from rsbounds.audit.schemes.orbit import OrbitProof
from rsbounds.audit.schemes.range import RangeProof
from rsbounds.audit.schemes.semi_elastic import SemiElasticProof
from rsbounds.audit.schemes.splitting import SplittingProof
from rsbounds.audit.schemes.transformed import TransformedProof
from rsbounds.audit.schemes.two_queries import TwoQueriesProof
from rsbounds.audit.schemes.uniform import UniformProof

#: Of noise that is the same at every input, and may be a part of other noise.
_SIMPLE = by_method(
    GaussianProof(),
    AnisotropicProof(),
    CorrelatedProof(),
    TwoQueriesProof(),
    LaplaceProof(),
    UniformProof(),
    ExponentialProof(),
    SplittingProof(),
    CategoricalProof(),
    FlipsProof(),
    MaskProof(),
    DeletionProof(),
)
#: The list: a proof is a file and its line.
RADII: Mapping[str, SchemeProof] = _SIMPLE | by_method(
    BlocksProof(_SIMPLE),
    TransformedProof(_SIMPLE),
    BrightnessContrastProof(),
    OrbitProof(),
    DoubleMaskingProof(),
    SemiElasticProof(),
    LipschitzProof(),
    RangeProof(),
    GeneratorProof(),
)
#: The names of the schemes that bound any event, at all inputs alike.
TRANSPORTED = tuple(name for name, proof in RADII.items() if proof.transports)
#: And of those that bound it as far as it keeps at most a half.
UP_TO_HALF = tuple(name for name, proof in RADII.items() if proof.up_to_half)


__all__ = ["RADII", "TRANSPORTED", "UP_TO_HALF", "SchemeProof"]
