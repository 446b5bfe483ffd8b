"""Smoothed classifiers and regressors in scikit-learn's form."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import check, count, on_host
from rsbounds._numerics.domains import NOT_NEGATIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds._numerics.frames import category_columns, require_numbers_kept
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds.answers.internal import quantile_ends
from rsbounds.certificate import ABSTAIN
from rsbounds.certify import predict
from rsbounds.certify.internal import certified
from rsbounds.procedure import Procedure
from rsbounds.sampling import Phase, as_sampler
from rsbounds.sampling.adapters import output_sampler
from rsbounds.sampling.internal import stream
from rsbounds.schemes import Scheme, gaussian

__all__ = ["SmoothedClassifier", "SmoothedRegressor", "certified_score"]

_base: Any = need("sklearn.base", "rsbounds.sklearn")
_multiclass: Any = need("sklearn.utils.multiclass", "rsbounds.sklearn")
_utils: Any = need("sklearn.utils", "rsbounds.sklearn")
_validation: Any = need("sklearn.utils.validation", "rsbounds.sklearn")

Rows = NDArray[Any]


class _Smoothed(_base.MetaEstimatorMixin, _base.BaseEstimator):  # type: ignore[misc]
    """What both have in common: fitting under noise, and the noise of an input."""

    estimator: Any
    sigma: float
    copies: int
    random_state: Any

    def _fit(self, X: Rows, y: Rows) -> Self:
        """Fit a clone of the estimator; the seed of all later samples is settled."""
        self._scheme()
        copies = count("copies", self.copies, 0)
        self.seed_ = self._seed()
        if copies:
            noise = np.random.default_rng(self.seed_).normal(
                scale=self.sigma, size=(copies, *X.shape)
            )
            X = (X + noise).reshape(-1, X.shape[1])
            y = np.tile(y, copies)
        self.estimator_ = _base.clone(self.estimator).fit(X, y)
        return self

    def _taken(self, X: Any, y: Any, **options: Any) -> tuple[Rows, Rows]:
        """Inputs and targets as scikit-learn checks them; its errors name which."""
        validate = _validation.validate_data
        X, y = on_host("X", X), on_host("y", y)
        _named("X", X, validate, self, X)
        pair: tuple[Rows, Rows] = _named("y", y, validate, self, X, y, **options)
        return pair

    def _seed(self) -> int:
        state = self.random_state
        if isinstance(state, int | np.integer) and not isinstance(state, bool):
            return count("random_state", state, 0)
        return int(_utils.check_random_state(state).randint(2**31 - 1))

    def _scheme(self) -> Scheme:
        return gaussian(self.sigma)

    def _rows(self, X: Any) -> list[tuple[Rows, int]]:
        """Each row, and the number that names its samples.

        It follows from the row alone, so that a prediction depends neither on the other
        rows nor on their order.
        """
        _validation.check_is_fitted(self)
        X = on_host("X", X)
        _require_numbers(X)
        validate = _validation.validate_data
        table = _named("X", X, validate, self, X, reset=False, dtype=_TYPES)
        _require_held(X, table)
        return [(row, _name(row)) for row in table]


#: What rows are taken in; anything else becomes the first of them.
_TYPES = [np.float64, np.float32]


def _require_held(X: Any, table: Rows) -> None:
    """ArgumentError for numbers of more digits than float64 has."""
    array = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    require_numbers_kept("X", X, array)
    if array.dtype in (*_TYPES, np.float16) or array.shape != table.shape:
        return
    if array.dtype.kind in "fiu":
        is_exact: Any = array.astype(np.longdouble) == table
    else:
        pairs = zip(array.flat, table.flat, strict=True)
        is_exact = [
            not isinstance(number, numbers.Number) or number == two
            for number, two in pairs
        ]
        is_exact = np.reshape(is_exact, array.shape)
    check("X", array, is_exact, "numbers that float64 holds")


def _require_numbers(X: Any) -> None:
    """ArgumentError for a frame with categories, whose codes noise would move."""
    names = category_columns(X).values()
    if names:
        raise ArgumentError(
            "X",
            f"must not have categories, as {', '.join(names):.200} are: certify with "
            "rsbounds.certify_dataset, rsbounds.loading.read_table and schemes.blocks",
        )


def _named(name: str, value: Any, check: Any, *args: Any, **options: Any) -> Any:
    """What a check of scikit-learn's returns; what it refuses names the argument.

    Elements that are no numbers stay its own TypeError, which its conventions ask for.
    """
    try:
        return check(*args, **options)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, TypeError) and getattr(value, "ndim", 0) == 2:
            raise
        raise ArgumentError(name, f"must be as scikit-learn asks: {error}") from error


def _targets(labels: Rows, y: Any) -> Rows:
    """The column of targets, one for each result."""
    y = on_host("y", y)
    truth: Rows = _named("y", y, _validation.column_or_1d, y)
    _named("y", y, _validation.check_consistent_length, labels, truth)
    return truth


def _name(row: Rows) -> int:
    """A number below 2^64 for the numbers of an input."""
    digest = hashlib.sha256(row.tobytes()).digest()
    return int.from_bytes(digest[:8], "little")


class SmoothedClassifier(_base.ClassifierMixin, _Smoothed):  # type: ignore[misc]
    """A classifier that votes over noisy copies of its input, with certified radii.

    Parameters
    ----------
    estimator : scikit-learn classifier
        What is smoothed; a clone of it is fitted.
    sigma : float
        Standard deviation of the Gaussian noise, > 0, in the units of `X`. In a
        pipeline these are the units behind the steps before.
    n0, n, alpha : int, int, float
        As in :class:`rsbounds.certify.Procedure`: `n` samples for each input, and the
        probability that its certificate, or its prediction, is wrong.
    copies : int
        The clone is fitted to so many noisy copies of each training input; with 0 to
        the inputs as they are. Models that haven't seen the noise have smaller radii.
    abstain : label, optional
        What is predicted where the vote is too close. By default -1, or the number
        below the smallest class where that is lower; "abstain" where classes are text.
    random_state : int, RandomState or None
        An integer gives the same samples in every run; otherwise `fit` draws the seed.
        An input's samples follow from the seed and its own numbers, so predictions
        don't depend on the other inputs.

    Attributes
    ----------
    estimator_ : classifier
        The fitted clone, which is smoothed.
    classes_ : ndarray
        Its classes; ``abstain_`` is none of them.
    abstain_ : label
        What stands for an abstention.
    seed_ : int
        Names the samples.

    Notes
    -----
    ``score`` counts an abstention as an error. Noise is added
    to inputs in their own type, float32 or float64.

    References
    ----------
    Cohen, Rosenfeld, Kolter, Certified adversarial robustness via randomized smoothing,
    2019.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from rsbounds.sklearn import SmoothedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> model = SmoothedClassifier(LogisticRegression(), sigma=0.5, n=2000).fit(X, y)
    >>> classes, radii = model.certify([[1.0, 0.0], [0.0, 0.0]])
    >>> classes.tolist(), bool(0.8 < radii[0] < 1.1), float(radii[1])
    (['right', 'abstain'], True, 0.0)
    >>> 0.5 < model.score_at(X, y, 0.25) < model.score_at(X, y, 0) <= 1
    True
    """

    def __init__(
        self,
        estimator: Any,
        sigma: float = 0.25,
        *,
        n0: int = 100,
        n: int = 10_000,
        alpha: float = 0.001,
        copies: int = 0,
        abstain: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.sigma = sigma
        self.n0 = n0
        self.n = n
        self.alpha = alpha
        self.copies = copies
        self.abstain = abstain
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a clone of the estimator to inputs (count, features) and their labels."""
        _require_numbers(X)
        X, y = self._taken(X, y)
        _named("y", y, _multiclass.check_classification_targets, y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ArgumentError("y", "must have at least two classes; got one class")
        self.abstain_ = self._abstention()
        self._procedure(seed=0)  # raises for numbers out of their domain
        return self._fit(X, y)

    def predict(self, X: Any) -> Rows:
        """The smoothed classifier's labels, ``abstain_`` where the vote is too close.

        Each is wrong with probability at most `alpha` (Cohen's Predict).
        """
        rows = self._rows(X)
        scheme = self._scheme()
        sampler = as_sampler(self.estimator_, scheme)
        procedure = self._procedure(self.seed_)
        predicted = [
            predict(sampler, row, scheme, procedure, index=name) for row, name in rows
        ]
        return self._labels(predicted)

    def certify(self, X: Any) -> tuple[Rows, NDArray[np.float64]]:
        """Labels and certified radii of inputs (count, features).

        With probability at least 1 - `alpha` for each input, the smoothed classifier
        answers the label at every input nearer than the radius, in l2 and in the units
        of `X`. Where it abstains the label is ``abstain_`` and the radius 0.
        """
        rows = self._rows(X)
        scheme = self._scheme()
        sampler = as_sampler(self.estimator_, scheme)
        procedure = self._procedure(self.seed_)
        certificates = [
            certified(sampler, row, scheme, procedure, name) for row, name in rows
        ]
        radii = np.array(
            [certificate.radius for certificate in certificates], np.float64
        )
        return self._labels(
            [certificate.predict for certificate in certificates]
        ), radii

    def score_at(self, X: Any, y: Any, radius: float) -> float:
        """Certified accuracy at a radius, >= 0.

        It is the share of inputs that are certified, for their label in `y`, with at
        least this radius.
        """
        least = NOT_NEGATIVE.one("radius", radius)
        labels, radii = self.certify(X)
        truth = _targets(labels, y)
        is_certified = (labels == truth) & (labels != self.abstain_) & (radii >= least)
        return float(np.mean(is_certified))

    def _procedure(self, seed: int) -> Procedure:
        return Procedure(n0=self.n0, n=self.n, alpha=self.alpha, seed=seed)

    def _abstention(self) -> Any:
        """The label of abstentions, which must be none of the classes."""
        kind = self.classes_.dtype.kind
        label = self.abstain
        if label is None:
            label = -1 if kind in "biuf" else "abstain"
            if kind in "if":
                label = min(label, int(np.floor(self.classes_[0])) - 1)
        if label in self.classes_.tolist():
            raise ArgumentError("abstain", f"must be none of the classes; got {label}")
        return label

    def _labels(self, predicted: list[int]) -> Rows:
        """Labels by their place among the classes; ``ABSTAIN`` is none."""
        classes = self.estimator_.classes_
        abstains = np.array(predicted) == ABSTAIN
        labels = classes[np.where(abstains, 0, predicted)]
        if not abstains.any():
            return np.asarray(labels)
        abstention = np.asarray(self.abstain_)
        # NumPy would write numbers beside text as text
        is_mixed = (abstention.dtype.kind == "U") != (classes.dtype.kind == "U")
        labels = labels.astype(
            object if is_mixed else np.result_type(labels, abstention)
        )
        labels[abstains] = self.abstain_
        return np.asarray(labels)


class SmoothedRegressor(_base.RegressorMixin, _Smoothed):  # type: ignore[misc]
    """A regressor whose answer is the median over noisy copies of its input.

    Parameters
    ----------
    estimator : scikit-learn regressor
        What is smoothed; a clone of it is fitted. It has one output.
    sigma, copies, random_state
        As in :class:`SmoothedClassifier`.
    n : int
        Samples for each input.
    alpha : float
        Probability that the interval of an input is wrong.

    Attributes
    ----------
    estimator_ : regressor
        The fitted clone, which is smoothed.
    seed_ : int
        Names the samples.

    Notes
    -----
    The intervals hold the *smoothed median* of whatever input is near. They say nothing
    of how near `y` is: for intervals that hold `y`, use conformal sets
    (:func:`rsbounds.answers.conformalize`).

    References
    ----------
    Chiang et al., Detection as regression: certified object detection with median
    smoothing, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from rsbounds.sklearn import SmoothedRegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = SmoothedRegressor(LinearRegression(), sigma=0.5).fit(X, 2 * X[:, 0])
    >>> low, high = model.certify([[0.5]], radius=0.1)
    >>> bool(0.7 < low[0] < 0.8 < 1.2 < high[0] < 1.3)  # the truth: 0.8 and 1.2
    True
    """

    def __init__(
        self,
        estimator: Any,
        sigma: float = 0.25,
        *,
        n: int = 10_000,
        alpha: float = 0.001,
        copies: int = 0,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.sigma = sigma
        self.n = n
        self.alpha = alpha
        self.copies = copies
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a clone of the estimator to inputs (count, features) and their values."""
        _require_numbers(X)
        X, y = self._taken(X, y, y_numeric=True)
        Procedure(n=self.n, alpha=self.alpha)  # raises likewise
        return self._fit(X, y)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The median of n outputs for each input: it estimates the smoothed median."""
        return np.array([np.median(drawn) for drawn in self._drawn(X)])

    def certify(
        self, X: Any, radius: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends of the smoothed median within a radius of each input.

        With probability at least 1 - `alpha` for each input, the smoothed median of
        every input within `radius` of it (l2, in the units of `X`) lies between. An end
        is infinite where n samples can't show it; a RuntimeWarning tells.
        """
        ends = [
            quantile_ends(
                drawn, radius, 0.5, self.alpha, self._scheme(), None, stacklevel=3
            )
            for drawn in self._drawn(X)
        ]
        warn_of_confidence(self.alpha, stacklevel=2)
        low, high = np.array(ends, np.float64).T
        return low, high

    def score_at(self, X: Any, y: Any, radius: float) -> float:
        """Minus the mean of the largest error that any input within the radius has.

        The error is that of the smoothed median against `y`; the closer to 0 the
        better, -inf where an interval has no end.
        """
        low, high = self.certify(X, radius)
        truth = _targets(low, y)
        worst = np.maximum(np.abs(low - truth), np.abs(high - truth))
        return -float(np.mean(worst))

    def _drawn(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The outputs on n noisy copies of each input."""
        rows = self._rows(X)
        sampler = output_sampler(self.estimator_, "values", self._scheme())
        for row, name in rows:
            generator = stream(self.seed_, name, Phase.ESTIMATE)
            outputs = np.asarray(sampler(row, self.sigma, self.n, generator))
            if outputs.shape != (self.n, 1):
                raise ValueError(
                    "the estimator must have one output; got shape "
                    f"{outputs.shape} of {self.n} copies"
                )
            yield outputs[:, 0].astype(np.float64)


def certified_score(radius: float) -> Any:
    """A scorer for ``GridSearchCV`` and ``cross_val_score``: ``score_at`` a radius.

    Parameters
    ----------
    radius : float
        >= 0, in the units that the smoothed estimator sees: behind the other steps of a
        pipeline whose last step it is.

    Returns
    -------
    callable
        Takes estimator, X and y; it can be pickled.

    Raises
    ------
    ValueError
        If ``radius`` isn't a number >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from rsbounds.sklearn import SmoothedClassifier, certified_score
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = SmoothedClassifier(LogisticRegression(), n=500)
    >>> levels = {"sigma": [0.01, 0.5]}
    >>> search = GridSearchCV(model, levels, scoring=certified_score(0.25), cv=3)
    >>> search.fit(X, X[:, 0] > 0).best_params_
    {'sigma': 0.5}
    """
    least = NOT_NEGATIVE.one("radius", radius)
    return partial(_score_at, radius=least)


def _score_at(estimator: Any, X: Any, y: Any, *, radius: float) -> float:
    if hasattr(estimator, "steps"):  # a pipeline
        X = estimator[:-1].transform(X)
        estimator = estimator[-1]
    return float(estimator.score_at(X, y, radius))


def __dir__() -> list[str]:
    return sorted(__all__)
