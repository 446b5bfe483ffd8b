"""Smoothing as an epsilon value estimator of VERONA's experiments."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Sequence
from typing import Any

import torch

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds.certificate import Certificate
from rsbounds.certify import Procedure, certify, certify_radius
from rsbounds.sampling import as_sampler
from rsbounds.schemes import gaussian

__all__ = ["SmoothedEpsilon"]


def _of_verona(path: str, name: str) -> Any:
    return getattr(need(f"ada_verona.{path}", "rsbounds.verona"), name)


_EpsilonStatus = _of_verona("database.epsilon_status", "EpsilonStatus")
_EpsilonValueResult = _of_verona("database.epsilon_value_result", "EpsilonValueResult")
_Result = _of_verona("database.verification_result", "VerificationResult")
_Estimator: Any = _of_verona(
    "epsilon_value_estimator.epsilon_value_estimator", "EpsilonValueEstimator"
)


def __dir__() -> list[str]:
    return sorted(__all__)


class Batches(torch.nn.Module):
    """A network for batches of noisy copies; VERONA's own wrapper takes one input."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.model = network.load_pytorch_model().torch_model
        self.shape = tuple(network.get_input_shape())[1:]

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Scores of a batch."""
        scores: torch.Tensor = self.model(batch.reshape(len(batch), *self.shape))
        return scores


class SmoothedEpsilon(_Estimator):  # type: ignore[misc]
    """The largest epsilon of a list within a certified radius of the smoothed network.

    Each result is wrong with probability at most `alpha`; all epsilons of a list hold
    together, because one certificate decides them.

    Parameters
    ----------
    epsilon_value_list : sequence of float
        In the units of the data points.
    sigma : float
        Noise level, in the same units; positive.
    n : int
        Samples of a data point at most.
    alpha : float
        The probability that a result is wrong.
    norm : {inf, 2}
        Of the perturbations; VERONA's properties are boxes, inf.

    Raises
    ------
    ValueError
        For another norm.
    """

    def __init__(
        self,
        epsilon_value_list: Sequence[float],
        sigma: float,
        *,
        n: int = 100_000,
        alpha: float = 0.001,
        norm: float = math.inf,
    ) -> None:
        super().__init__(sorted(epsilon_value_list), verifier=None)
        if norm not in (2, math.inf):
            raise ArgumentError("norm", f"must be 2 or inf; got {norm}")
        self.sigma = sigma
        self.n = n
        self.alpha = alpha
        self.norm = norm
        self.name = f"rsbounds [sigma {sigma}, n {n}, alpha {alpha}, l_{norm}]"

    def compute_epsilon_value(self, verification_context: Any) -> Any:
        """The largest epsilon shown at a data point, as VERONA's estimators return it.

        The statuses that it saves are UNSAT where an epsilon is shown, SAT where
        another class than the label is certified at the point itself, TIMEOUT else.
        """
        started = time.time()
        point = verification_context.data_point
        certificate, unit = self._certificate(verification_context.network, point)
        right = certificate.predict == int(point.label)
        wrong = certificate.predict >= 0 and not right
        # within the radius, not at it: a box is closed, and the ball is open
        reach = certificate.radius / unit * (1 - 1e-15) if right else 0.0
        duration = time.time() - started
        for epsilon in self.epsilon_value_list:
            if epsilon < reach:
                result = _Result.UNSAT
            else:  # an epsilon that is not shown is no counterexample
                result = _Result.SAT if wrong else _Result.TIMEOUT
            status = _EpsilonStatus(epsilon, result, duration, self.name)
            verification_context.save_result(status)
        return _EpsilonValueResult(
            verification_context=verification_context,
            epsilon=max((e for e in self.epsilon_value_list if e < reach), default=0.0),
            smallest_sat_value=0.0 if wrong else max(self.epsilon_value_list),
            time=duration,
            verifier=self.name,
        )

    def _certificate(self, network: Any, point: Any) -> tuple[Certificate, float]:
        """The certificate of a point, and the length of a box's corner per epsilon."""
        x = point.data.detach().cpu().numpy()
        unit = math.sqrt(x.size) if self.norm == math.inf else 1.0
        sampler = as_sampler(Batches(network))
        index = zlib.crc32(f"{network.name} {point.id}".encode())
        scheme = gaussian(self.sigma)
        if len(self.epsilon_value_list) == 1:  # one question: a sequential test
            target = self.epsilon_value_list[0] * unit * (1 + 1e-9)
            procedure = Procedure(target_radius=target, n=self.n, alpha=self.alpha)
            return certify_radius(sampler, x, scheme, procedure, index=index), unit
        certificate = certify(
            sampler,
            x,
            scheme,
            bound="staged",
            n=self.n,
            alpha=self.alpha,
            index=index,
        )
        return certificate, unit
