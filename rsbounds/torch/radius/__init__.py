"""Certified radii of tensors, with gradients.

Values are those of the library, rounded down to the type of the arguments; an argument is a
tensor or a number, and a gradient reaches every one that is a tensor, but for ``dim``.
:func:`gaussian`, :func:`anisotropic` and :func:`cascade` are computed by torch, on the device of
their arguments, and can be differentiated as often as wanted. :func:`semielastic` and
:func:`lipschitz` take their values from the compiled kernels and their gradients, once, from the
equation that the radius solves; where the radius is 0 or infinite these gradients are 0.
"""

from rsbounds.torch.radius._cascade import cascade
from rsbounds.torch.radius._closed import anisotropic, gaussian
from rsbounds.torch.radius._two_point import lipschitz, semielastic

__all__ = ["anisotropic", "cascade", "gaussian", "lipschitz", "semielastic"]
