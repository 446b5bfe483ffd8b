"""Locally biased smoothing in closed form ([A]), together with its anchors.

A function g is biased towards the label of the nearest anchor, a labelled point held in
memory: f(x) = sign(g(x) + alpha y |grad g(x)|_*), y in {-1, 1} the label of the anchor
nearest to x in Euclidean distance, |.|_* the dual of the norm that measures
perturbations. The prediction cannot change while neither the bias (neighbour radius)
nor the sign of the biased function (boundary radius) can. No sampling is involved; both
radii are deterministic.

With rho_i = |x - x_i|_2, the anchor i stays nearer than j while the perturbation is
below r_ij = (rho_j^2 - rho_i^2)/(2 |x_i - x_j|_*). "paper" keeps i the nearest anchor:
min over j of another label of r_ij. "tight" asks only that each such j stays farther
than *some* anchor of the label: min_j max_i r_ij. "tight" also takes the boundary
radius with |g| - alpha |grad g|_* in place of the biased value where that is larger:
there no anchor can turn the sign of g. With k > 1 the majority of the k nearest anchors
gives the label, and any other oracle that states how far its label holds can take the
anchors' place. The theory page on locally biased smoothing has the proofs.

Everything here raises ValueError for an argument outside its domain and for shapes that
do not fit, those of values and gradients included.

References
----------
.. [A] Anderson, Sojoudi, Certified robustness via locally biased randomized smoothing,
   2022.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._neighbours.anchors import LabelledAnchors, Labels
from rsbounds._neighbours.norms import PowerOrDual
from rsbounds._neighbours.stated import Oracle, StatedOracle
from rsbounds._numerics.checks import (
    Array,
    Floats,
    as_floats,
    broadcast,
    choice,
    number,
    on_host,
)
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import EPS, SMALLEST, capped, round_down, round_up

__all__ = ["LocallyBiased", "boundary_radius", "neighbour_radius"]

_LOST = 8 * SMALLEST


def boundary_radius(
    value: ArrayLike,
    grad_norm: ArrayLike,
    alpha: ArrayLike,
    lip_grad: ArrayLike,
    *,
    method: str = "tight",
) -> Floats:
    """Distance within which the biased function keeps its sign while the bias is fixed.

    2 |v| / (b + sqrt(b^2 + 2 L |v|)), b = alpha L + |grad g|_*; "paper" has 4 L for 2
    L. Source: [A] Theorems 6 and 8; the descent lemma halves the quadratic term of the
    latter.

    Parameters
    ----------
    value : array_like
        The biased value v = g(x) + alpha y |grad g(x)|_* (only its size matters).
    grad_norm : array_like
        \\|grad g(x)\\|_* at the same point, the dual norm; at least 0.
    alpha : array_like
        Strength of the bias; at least 0. With 0 it is the radius of g itself.
    lip_grad : array_like
        A Lipschitz constant L of grad g, from the perturbation's norm to its dual; at
        least 0. 0 is the linear case, |v|/|grad g|_*.
    method : {"tight", "paper"}
        Which bound; "paper" is never larger.

    Returns
    -------
    Array
        The radius in the perturbation's norm: never above the true value of the formula
        at the given numbers and within 1e-14 of it (relative; where grad_norm and alpha
        lip_grad are below 1e-300, lower by more). 0 where v = 0; inf where v is not 0
        and b = L = 0. NaN in, NaN out with the invalid flag.

    Examples
    --------
    >>> from rsbounds import lbrs
    >>> round(float(lbrs.boundary_radius(1.5, 1.0, 0.0, 1.0)), 12)
    1.0
    >>> round(float(lbrs.boundary_radius(2.0, 1.0, 0.0, 1.0, method="paper")), 12)
    1.0
    """
    size = np.abs(as_floats("value", value, closed="neither", exact=True))
    grad_norm = as_floats("grad_norm", grad_norm, 0.0, closed="left", towards=np.inf)
    alpha = as_floats("alpha", alpha, 0.0, closed="left", towards=np.inf)
    lip_grad = as_floats("lip_grad", lip_grad, 0.0, closed="left", towards=np.inf)
    size, grad_norm, alpha, lip_grad = broadcast(
        value=size, grad_norm=grad_norm, alpha=alpha, lip_grad=lip_grad
    )
    choice("method", method, ("tight", "paper"))
    curvature = 2.0 if method == "tight" else 4.0
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        slope = alpha * lip_grad + grad_norm
        # the square root by parts: neither the square nor the product overflows
        root = np.hypot(slope, np.sqrt(curvature * lip_grad) * np.sqrt(size))
        bounded = (slope > 0) | (lip_grad > 0)
        # among subnormal numbers each operation may lose half of the smallest
        total = slope / 2 + root / 2 + np.where(bounded, _LOST, 0.0)
        radius = np.divide(size, total, where=~(size == 0), out=np.zeros(size.shape))
    radius = np.where(np.isnan(total), np.nan, capped(radius, bounded))
    return round_down(radius, 16 * EPS)


def neighbour_radius(
    x: ArrayLike,
    anchors: ArrayLike,
    labels: ArrayLike,
    *,
    norm: PowerOrDual = 2,
    method: str = "tight",
    k: int = 1,
) -> Floats:
    """Distance within which the nearest anchor keeps its label, or the k nearest.

    Source: [A], the neighbour term of its certificates, for "paper".

    Parameters
    ----------
    x : array_like or Tensor, shape (..., d)
        Points; |coordinate| <= 1e100.
    anchors : array_like or Tensor, shape (N, d)
        Labelled points in memory, in the same range; closer than 1e-140 they count as
        one.
    labels : array_like of int, shape (N,)
        Their labels, any whole numbers.
    norm : float in [1, inf] or callable
        p of the l_p norm that measures the perturbation; for another norm a function
        that returns its dual norm along the last axis of an array, not below the true
        one, which is what the certificate rests on. The nearest anchor is the Euclidean
        one in every case; see the module's derivation. 1, 2 and inf keep a byte more
        for each coordinate of the anchors, in rows of whole 32 bytes; others
        hold N^2 numbers and take as many steps for each x.
    method : {"tight", "paper"}
        min_j max_i r_ij or min_j r_ij with i the nearest; "paper" is never larger and
        costs one matrix product. "tight" costs that and, for the rivals that count,
        their distances to the anchors of the same label nearer to x.
    k : int
        How many of the nearest anchors vote; above 1 it is odd, at most N, and there
        are two labels at most. It costs what a norm other than 1, 2 and inf does.

    Returns
    -------
    Array
        Shape (...): never above the true value and within 1e-11 of it (relative; nearer
        to a tie than 1e-20 d of the distances it is 0); for k > 1 and other norms below
        it by at most 1e-14 (d + 100) of the squared distances over the dual one. 0 at a
        tie between labels and
        where anchors of two labels coincide nearest to x; inf where all anchors have
        one label. Which of several anchors of one label nearest to x "paper" takes is
        open. NaN in, NaN out with the invalid flag.

    Examples
    --------
    >>> from rsbounds import lbrs
    >>> anchors, labels = [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]], [1, 1, -1]
    >>> radii = lbrs.neighbour_radius([[0.0, 0.0], [1.5, 0.0]], anchors, labels)
    >>> radii.round(6).tolist()
    [2.0, 0.5]
    """
    memory = LabelledAnchors(anchors, labels, norm, k, copy=False)
    return memory.radius(x, method)[0]


class LocallyBiased:
    """The locally biased classifier of g, with its certificate.

    Binary: labels in {-1, 1}, f(x) = sign(g(x) + alpha y |grad g(x)|_*), y the label of
    the nearest anchor. Multiclass, with K functions and labels 0 ... K - 1: f(x) is the
    argmax of g_i(x) + alpha [i is the label of the nearest anchor]. Source: [A] for the
    binary case, its future work for the other: within the neighbour radius the additive
    bias is a constant, so each g_i - g_j has the boundary radius of alpha = 0.

    Parameters
    ----------
    value_and_grad : callable
        Takes x of shape (n, d). Binary: returns g, shape (n,), and its gradients, (n,
        d). Multiclass: returns the functions, shape (n, K), and their gradients, (n, K,
        d).
    anchors, labels, norm, k
        As in :func:`neighbour_radius`.
    alpha : float
        Strength of the bias; at least 0.
    lip_grad : float or array_like, shape (K, K)
        As in :func:`boundary_radius`; multiclass: of grad (g_i - g_j), one number for
        all pairs or one for each.
    method : {"tight", "paper"}
        Which neighbour and boundary radii :meth:`certify` uses; "tight" has the
        anchor-free radius too.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import lbrs
    >>> def linear(x):
    ...     return x[:, 0] - 1.0, np.tile([1.0, 0.0], (len(x), 1))
    >>> f = lbrs.LocallyBiased(linear, [[0.0, 0.0], [4.0, 0.0]], [-1, 1], 0.5, 0.0)
    >>> label, radius = f.certify([[3.0, 0.0]])
    >>> label.tolist(), radius.round(6).tolist()
    ([1], [1.5])
    """

    def __init__(
        self,
        value_and_grad: Callable[[Array], tuple[ArrayLike, ArrayLike]],
        anchors: ArrayLike,
        labels: ArrayLike,
        alpha: float,
        lip_grad: ArrayLike,
        *,
        norm: PowerOrDual = 2,
        method: str = "tight",
        k: int = 1,
    ) -> None:
        memory = LabelledAnchors(anchors, labels, norm, k)
        self._begin(value_and_grad, memory, alpha, lip_grad, method)

    @classmethod
    def of_oracle(
        cls,
        value_and_grad: Callable[[Array], tuple[ArrayLike, ArrayLike]],
        oracle: Oracle,
        alpha: float,
        lip_grad: ArrayLike,
        *,
        norm: PowerOrDual = 2,
        method: str = "tight",
    ) -> LocallyBiased:
        """The classifier whose bias has the label of any oracle, such as a network.

        Parameters
        ----------
        oracle : callable
            Takes x of shape (n, d); returns the labels there and the radii, in the
            norm, within which each is constant, both of shape (n,). They are taken at
            their word: for sign h with an L-Lipschitz h the radius is abs(h(x))/L.
        value_and_grad, alpha, lip_grad, norm, method
            As for the class itself.

        Examples
        --------
        >>> import numpy as np
        >>> from rsbounds import lbrs
        >>> def linear(x):
        ...     return x[:, 0] - 1.0, np.tile([1.0, 0.0], (len(x), 1))
        >>> def side(x):  # the sign of a 1-Lipschitz function
        ...     return np.where(x[:, 0] < 2.0, -1, 1), np.abs(x[:, 0] - 2.0)
        >>> f = lbrs.LocallyBiased.of_oracle(linear, side, 0.5, 0.0)
        >>> label, radius = f.certify([[3.0, 0.0]])
        >>> label.tolist(), radius.round(6).tolist()
        ([1], [1.5])
        """
        made = cls.__new__(cls)
        memory = StatedOracle(oracle, norm)
        made._begin(value_and_grad, memory, alpha, lip_grad, method)
        return made

    def _begin(
        self,
        value_and_grad: Callable[[Array], tuple[ArrayLike, ArrayLike]],
        memory: LabelledAnchors | StatedOracle,
        alpha: float,
        lip_grad: ArrayLike,
        method: str,
    ) -> None:
        self._value_and_grad = value_and_grad
        self._memory = memory
        self._alpha = number("alpha", alpha, 0.0)
        self._lip_grad = as_floats("lip_grad", lip_grad, 0.0, closed="left", nan=False)
        self._method = choice("method", method, ("tight", "paper"))

    def predict(self, x: ArrayLike) -> Labels:
        """The class of each x of shape (..., d), as int64 of shape (...)."""
        rows = self._rows(x)
        label = self._memory.radius(rows, "paper")[1]
        classes = self._classify(rows, label)[0]
        return classes.reshape(np.shape(x)[:-1])

    def certify(self, x: ArrayLike) -> tuple[Labels, Floats]:
        """Return the class of each x and the radius within which it is constant.

        x is of shape (..., d).

        Without NaN in x; both results are of shape (...). The radius is in the chosen
        norm, never above the true value for the values and gradients that
        `value_and_grad` returned.
        """
        rows = self._rows(x)
        neighbour, label = self._memory.radius(rows, self._method)
        classes, boundary, free = self._classify(rows, label)
        radius = np.maximum(np.minimum(neighbour, boundary), free)
        shape = np.shape(x)[:-1]
        return classes.reshape(shape), radius.reshape(shape)[()]

    def _rows(self, x: ArrayLike) -> Array:
        return self._memory.queries(as_floats("x", on_host("x", x), nan=False))

    def _classify(self, rows: Array, label: Labels) -> tuple[Labels, Array, Array]:
        """Classes, boundary radii and anchor-free radii."""
        given_value, given_grad = self._value_and_grad(rows)
        value = np.asarray(given_value, dtype=np.float64)
        grad = np.asarray(given_grad, dtype=np.float64)
        of_rows = value.ndim in (1, 2) and len(value) == len(rows)
        if not of_rows or 0 in value.shape[1:]:
            raise ArgumentError(
                "value_and_grad",
                f"must return values of shape ({len(rows)},) or ({len(rows)}, K); got "
                f"{value.shape}",
            )
        expected = (*value.shape, rows.shape[1])
        if grad.shape != expected:
            raise ArgumentError(
                "value_and_grad",
                f"must return gradients of shape {expected}; got {grad.shape}",
            )
        if value.ndim == 1:
            self._require_labels(label, [-1, 1], "-1 or 1")
            return self._binary(value, grad, label)
        classes = value.shape[1]
        self._require_labels(label, range(classes), f"in 0 ... {classes - 1}")
        return self._multiclass(value, grad, label)

    def _require_labels(
        self, found: Labels, allowed: Sequence[int], expected: str
    ) -> None:
        if not np.isin(self._memory.labels_of(found), np.array(allowed)).all():
            raise ArgumentError("labels", f"must be {expected} for these values")

    @np.errstate(under="ignore")  # values may be smaller than any normal double
    def _binary(
        self, value: Array, grad: Array, label: Labels
    ) -> tuple[Labels, Array, Array]:
        norm = self._memory.norm.dual(grad)
        bias = self._alpha * norm
        biased = value + label * bias
        classes = np.where(biased < 0, -1, 1)
        lost = self._memory.norm.error
        error = lost * (np.abs(value) + bias)
        norm = round_up(norm, lost)

        def radius(size: Array, alpha: float) -> Array:
            size = np.maximum(size, 0.0)
            return np.asarray(
                boundary_radius(size, norm, alpha, self._lip_grad, method=self._method)
            )

        boundary = radius(np.abs(biased) - error, self._alpha)
        if self._method == "paper":
            return classes, boundary, np.zeros_like(boundary)
        # the bias only helps where it agrees with g: there the radius of g itself holds
        unbiased = np.maximum(boundary, radius(np.abs(value), 0.0))
        boundary = np.where(value * label > 0, unbiased, boundary)
        free = radius(np.abs(value) - bias - error, self._alpha)
        return classes, boundary, free

    @np.errstate(under="ignore")  # as above
    def _multiclass(
        self, value: Array, grad: Array, label: Labels
    ) -> tuple[Labels, Array, Array]:
        rows = np.arange(len(value))
        biased = value.copy()
        biased[rows, label] += self._alpha
        classes = biased.argmax(axis=1)
        chosen = value[rows, classes][:, None]
        error = 2 * EPS * (np.abs(value) + np.abs(chosen) + self._alpha)
        differences = grad[rows, classes][:, None] - grad
        lengths = self._memory.norm.dual(differences)
        slope = round_up(lengths, self._memory.norm.error)
        lip_grad = self._lip_grad
        if lip_grad.ndim:
            lip_grad = np.broadcast_to(lip_grad, (value.shape[1],) * 2)[classes]

        def radius(gap: Array) -> Array:
            size = np.maximum(gap - error, 0.0)
            by_rival = np.asarray(
                boundary_radius(size, slope, 0.0, lip_grad, method=self._method)
            )
            by_rival[rows, classes] = np.inf  # a class is no rival of itself
            least: Array = by_rival.min(axis=1)
            return least

        boundary = radius(biased[rows, classes][:, None] - biased)
        if self._method == "paper":
            return classes, boundary, np.zeros_like(boundary)
        free = radius(chosen - value - self._alpha)  # the bias is a rival's
        return classes, boundary, free


def __dir__() -> list[str]:
    return sorted(__all__)
