"""Certified radii of tensors, with gradients.

Values are those of the library's functions of the same names, which have the papers,
rounded down to the type of the arguments. An argument is a tensor or a number, and a
gradient reaches every tensor, but for ``dim``. The result is where the tensors are.
torch computes :func:`gaussian`, :func:`anisotropic` and :func:`cascade`, on the device
of their arguments (for Apple's GPUs, which lack float64, on the CPU), and can
differentiate them any number of times. :func:`semielastic` and :func:`lipschitz` take
their values from the compiled kernels and their gradients, once, from the equation that
the radius solves; where the radius is 0 or infinite these gradients are 0. All raise
ValueError for arguments out of their domain and for shapes that don't broadcast.
"""

from rsbounds.torch.radius._cascade import cascade
from rsbounds.torch.radius._radii import anisotropic, gaussian, lipschitz, semielastic

__all__ = ["anisotropic", "cascade", "gaussian", "lipschitz", "semielastic"]
