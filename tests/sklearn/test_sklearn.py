"""Smoothed estimators: scikit-learn's own checks, and the certificates of certify."""

import doctest
import pickle
import warnings

import numpy as np
import pytest
from cli_models import package

from rsbounds.certify import certify
from rsbounds.schemes import gaussian

linear_model = pytest.importorskip("sklearn.linear_model")
checks = pytest.importorskip("sklearn.utils.estimator_checks")
selection = pytest.importorskip("sklearn.model_selection")

from rsbounds import sklearn as smoothed  # noqa: E402

pytestmark = pytest.mark.slow  # needs the packages of the extra slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 2))
SIDE = (X[:, 0] > 0).astype(int)
#: Checks that are not run, and why.
SKIPPED = {"check_array_api_input": "SCIPY_ARRAY_API is not set"}


def classifier(**options):
    options = {"sigma": 0.5, "n": 1000, **options}
    return smoothed.SmoothedClassifier(linear_model.LogisticRegression(), **options)


@pytest.mark.parametrize(
    "estimator",
    [
        smoothed.SmoothedClassifier(linear_model.LogisticRegression(), 0.1, n=100),
        smoothed.SmoothedRegressor(linear_model.Ridge(), 0.05, n=100),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_scikit_learns_own_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = checks.check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(found) > 40
    failed = [each["check_name"] for each in found if each["status"] == "failed"]
    skipped = {each["check_name"] for each in found if each["status"] == "skipped"}
    assert not failed
    assert skipped <= set(SKIPPED)


def test_examples():
    outcome = doctest.testmod(smoothed, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 10
    assert not outcome.failed


def test_certificates_are_those_of_certify():
    model = classifier(alpha=0.01, random_state=3).fit(X, SIDE)
    classes, radii = model.certify(X[:6])
    for x, label, radius in zip(X[:6], classes, radii, strict=True):
        one = np.asarray(x)
        wanted = certify(
            model.estimator_,
            one,
            gaussian(0.5),
            n=1000,
            alpha=0.01,
            seed=3,
            index=smoothed._name(one),
        )
        assert radius == wanted.radius
        assert label == (wanted.predict if wanted.predict >= 0 else model.abstain_)


def test_radii_are_below_the_distance_to_the_boundary():
    """A linear classifier's smoothed one is itself: its margin is the exact radius."""
    model = classifier(n=20_000).fit(X, SIDE)
    base = model.estimator_
    distance = np.abs(base.decision_function(X[:30])) / np.linalg.norm(base.coef_)
    classes, radii = model.certify(X[:30])
    answered = classes != model.abstain_
    assert answered.sum() > 20
    assert (radii <= distance).all()
    assert (radii[answered] > 0).all()
    assert (radii[~answered] == 0).all()
    assert (classes[answered] == base.predict(X[:30])[answered]).all()


def test_samples_follow_from_seed_and_input_alone():
    model = classifier(random_state=1).fit(X, SIDE)
    _, radii = model.certify(X[:8])
    _, backwards = model.certify(X[7::-1])
    assert backwards[::-1].tolist() == radii.tolist()
    again = pickle.loads(pickle.dumps(model))
    assert again.certify(X[:8])[1].tolist() == radii.tolist()
    other = classifier(random_state=2).fit(X, SIDE)
    assert other.certify(X[:8])[1].tolist() != radii.tolist()
    drawn = [classifier(random_state=None).fit(X, SIDE).seed_ for _ in range(2)]
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize(
    ("labels", "abstain", "expected"),
    [
        ([0, 1], None, -1),
        ([-1, 1], None, -2),
        ([False, True], None, -1),
        (["no", "yes"], None, "abstain"),
        ([0, 1], "unsure", "unsure"),
        (["no", "yes"], -1, -1),
    ],
)
def test_an_abstention_is_a_label_of_its_own(labels, abstain, expected):
    y = np.array(labels)[SIDE]
    model = classifier(abstain=abstain).fit(X, y)
    weights = model.estimator_.coef_[0]
    on_boundary = -model.estimator_.intercept_[0] * weights / (weights @ weights)
    inputs = np.stack([on_boundary, [2.0, 0.0]])
    predicted = model.predict(inputs)
    assert predicted.tolist() == [expected, labels[1]]
    classes, radii = model.certify(inputs)
    assert classes.tolist() == [expected, labels[1]]
    assert radii[0] == 0 < radii[1]
    # it is never right, also where somebody's labels hold it
    truth = np.array([expected, labels[1]], dtype=object)
    assert model.score_at(inputs, truth, 0) == 0.5


def test_a_class_can_not_stand_for_an_abstention():
    with pytest.raises(ValueError, match=r"abstain.*classes"):
        classifier(abstain=1).fit(X, SIDE)


@pytest.mark.parametrize(
    "wrong",
    [{"sigma": 0}, {"n": 0}, {"alpha": 2}, {"copies": -1}, {"random_state": -1}],
)
def test_numbers_out_of_their_domain_are_refused_by_fit(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        classifier(**wrong).fit(X, SIDE)


def test_a_pipeline_is_searched_by_certified_accuracy():
    pipeline = package("sklearn.pipeline")
    scaler = package("sklearn.preprocessing").StandardScaler()
    model = pipeline.make_pipeline(scaler, classifier(n=500))
    levels = {"smoothedclassifier__sigma": [0.01, 0.5]}
    scorer = smoothed.certified_score(0.3)
    search = selection.GridSearchCV(model, levels, scoring=scorer, cv=3, n_jobs=2)
    search.fit(X * 100, SIDE)
    assert search.best_params_ == {"smoothedclassifier__sigma": 0.5}
    best = search.best_estimator_
    behind = best[:-1].transform(X * 100)
    assert scorer(best, X * 100, SIDE) == best[-1].score_at(behind, SIDE, 0.3)
    for radius in (-1, np.nan):
        with pytest.raises(ValueError, match="radius must be"):
            smoothed.certified_score(radius)


def test_a_tree_is_fitted_to_noisy_copies():
    """Without them it has not seen the noise that it is asked under."""
    digits, labels = package("sklearn.datasets").load_digits(return_X_y=True)
    tree = package("sklearn.tree").DecisionTreeClassifier(random_state=0)
    scores = [
        smoothed.SmoothedClassifier(tree, 5.0, n=200, copies=copies)
        .fit(digits[:600], labels[:600])
        .score_at(digits[-40:], labels[-40:], 1.0)
        for copies in (0, 5)
    ]
    assert scores[0] + 0.3 < scores[1]


def test_intervals_hold_the_exact_median_and_score_the_worst_error():
    y = 3 * X[:, 0]
    base = linear_model.LinearRegression()
    model = smoothed.SmoothedRegressor(base, 0.5, n=4000).fit(X, y)
    low, high = model.certify(X[:20], 0.1)
    assert (low < y[:20] - 0.3).all()  # the smoothed median is 3 x, within .1 3 x +- .3
    assert (high > y[:20] + 0.3).all()
    worst = np.maximum(np.abs(low - y[:20]), np.abs(high - y[:20])).mean()
    assert model.score_at(X[:20], y[:20], 0.1) == -worst
    assert model.score(X, y) > 0.99
    with pytest.warns(RuntimeWarning):
        assert model.score_at(X[:2], y[:2], 3.0) == -np.inf


def test_columns_of_a_frame_keep_their_numbers():
    """Beside real numbers whole ones become float64, before anything can look."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0, 1, 2, 2**53 + 1], "b": [0.5, 0.5, 1.0, 2.0]})
    fitted = classifier(n=100).fit(frame, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"^X must be .*first 9007199254740993"):
        fitted.predict(frame)
    assert len(fitted.predict(frame[:3])) == 3


def test_masked_numbers_are_refused():
    masked, masked_side = np.ma.masked_greater(X, 1.0), np.ma.masked_equal(SIDE, 1)
    model = classifier(n0=20, n=50)
    with pytest.raises(ValueError, match="X must hold no masked"):
        model.fit(masked, SIDE)
    with pytest.raises(ValueError, match="y must hold no masked"):
        model.fit(X, masked_side)
    model.fit(X, SIDE)
    with pytest.raises(ValueError, match="X must hold no masked"):
        model.certify(masked)
    with pytest.raises(ValueError, match="y must hold no masked"):
        model.score_at(X, masked_side, 0.1)
