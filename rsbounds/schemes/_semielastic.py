"""Noise levels whose logarithm is Lipschitz: the distance to the nearest anchors."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rsbounds._numerics.checks import as_floats, on_host
from rsbounds.schemes._scheme import (
    DIM_OPTION,
    DIMENSION,
    LEVEL_OPTION,
    NOT_NEGATIVE,
    SLACK,
    Domains,
    EnvelopeScheme,
    Given,
    Option,
    Options,
    Scheme,
)

if TYPE_CHECKING:
    from rsbounds.envelope import Envelope
    from rsbounds.semielastic import KNNSigma


def _shift(text: str) -> str | float:
    try:
        return text if text in ("mean", "min") else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, mean or min; got {text!r}") from None


_RATE = Option("--rate", "rate of log sigma(x)")


class SemiElastic(EnvelopeScheme):
    """A noise level whose logarithm has a bounded rate; see :func:`semielastic`."""

    name = "semi-elastic"
    domains: ClassVar[Domains] = {"rate": NOT_NEGATIVE, "dim": DIMENSION, "slack": SLACK}
    help = "log sigma(x) with a bounded rate"
    options = (
        Option("--sigma", "base level"),
        Option(
            "--anchors", "x: inputs whose distance sets sigma(x)", type=Path, metavar="FILE.npz"
        ),
        _RATE,
        Option("--k", "number of nearest anchors (20)", type=int, default=20),
        Option(
            "--shift",
            "mean distance at which sigma(x) is --sigma: a number, or mean (the default) or min "
            "for that of the anchors themselves",
            type=_shift,
            default="mean",
        ),
    )
    inputs = (LEVEL_OPTION, _RATE, DIM_OPTION)

    knn: KNNSigma | None = None  # the level, where it is that of nearest anchors

    def _level_at(self, x: Any) -> Any:
        if self.knn is None:
            return super()._level_at(x)
        return self.knn.sigma(np.asarray(on_host("x", x)).reshape(1, -1))

    @classmethod
    def envelope(cls, parameters: Mapping[str, Any]) -> Envelope:
        from rsbounds import envelope

        return envelope.SemiElastic(parameters["rate"])

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        from rsbounds.semielastic import KNNSigma

        anchors, digest = given.inputs(options["anchors"])
        sigma, rate, k = (options[name] for name in ("sigma", "rate", "k"))
        knn = KNNSigma(anchors, sigma, rate, k, options["shift"])
        scheme = semielastic(knn, given.dim, sound=given.sound)
        scheme.parameters |= {"sigma": sigma, "k": k, "shift": knn.shift, "anchors": digest}
        return scheme


def semielastic(knn: KNNSigma, dim: float, *, sound: bool = False) -> Scheme:
    """Noise level from the distance to the nearest anchors, certified by its rate.

    Parameters
    ----------
    knn : KNNSigma
        The noise level as a function of the input (:class:`rsbounds.semielastic.KNNSigma`), as it
        is now. Its rate is proven; that of a subclass, or of anything else with ``rate`` and
        ``sigma``, the scope says to be asserted.
    dim : float
        Dimension of the input, >= 1.
    sound : bool
        For sound noise: the level is that at the input's point of the grid of 1/255, in [0, 1],
        and the radius is smaller by what the rounding of the level may do
        (:meth:`KNNSigma.slack`, the parameter ``slack``).

    Raises
    ------
    ValueError
        When ``x`` has more than ``dim`` coordinates; for sound noise, when it is off the grid.

    References
    ----------
    Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent randomized
    smoothing, eq. (1) and Theorem 7; the theory page on sound noise.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import schemes, semielastic
    >>> knn = semielastic.KNNSigma(np.zeros((3, 4)), 0.5, 0.01, 1, 0.0)
    >>> schemes.semielastic(knn, 4).scope
    'sigma(x) with a proven envelope'
    """
    from rsbounds.semielastic import KNNSigma

    if not (hasattr(knn, "rate") and callable(getattr(knn, "sigma", None))):
        raise ValueError(
            "knn must be a rsbounds.semielastic.KNNSigma, or have a rate and a method sigma; "
            f"got {type(knn).__name__}"
        )
    knn = copy.copy(knn)  # a rate that is set later is not the one certified
    proven = type(knn) is KNNSigma and not any(map(callable, vars(knn).values()))
    parameters = {
        "rate": float(as_floats("rate", knn.rate, 0, closed="left", nan=False)),
        "dim": dim,
    }
    if sound:
        parameters["slack"] = knn.slack()
    scheme = SemiElastic(parameters, proven=proven)
    scheme.knn = knn
    return scheme
