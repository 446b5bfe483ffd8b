"""Models of any framework: what their function says, and their labels in files and
data.
"""

import numpy as np
import pytest

import rsbounds as rs
from rsbounds.certify import certify
from rsbounds.frameworks import FromLabels, as_function
from rsbounds.frameworks.internal import in_pieces, labels_of, one_shape
from rsbounds.loading import open_data
from rsbounds.sampling import as_sampler
from rsbounds.schemes import gaussian

X = np.array([[0.9, 0.0], [-0.9, 0.0]], np.float32)


class Estimator:
    """What scikit-learn calls a fitted classifier, with few of its methods."""

    def __init__(self, classes, **methods):
        if classes is not None:
            self.classes_ = np.asarray(classes)
        for name, method in methods.items():
            setattr(self, name, method)


def named(*classes):
    def predict(table):
        assert table.ndim == 2
        return np.asarray(classes)[(table[:, 0] > 0).astype(int)]

    return Estimator(classes, predict=predict)


def linear(batch):
    return np.stack([-batch[:, 0], batch[:, 0]], axis=1)


@pytest.mark.parametrize(
    "classes", [(0, 1), (3, 9), (-1, 1), ("down", "up"), (False, True)]
)
def test_an_estimator_votes_with_what_it_predicts(classes):
    draw = {"n": 2000, "index": 3}
    want = certify(
        lambda b: linear(b.reshape(len(b), -1)), X[:1], gaussian(0.5), **draw
    )
    found = certify(named(*classes), X[:1], gaussian(0.5), **draw)
    assert found.counts == want.counts
    assert found.radius == want.radius


@pytest.mark.parametrize(
    "methods",
    [
        {"predict_proba": lambda b: linear(b) + 1},
        {"decision_function": lambda b: b[:, 0]},
        {"decision_function": linear},
    ],
)
def test_an_estimator_without_predict_votes_with_its_largest_score(methods):
    want = certify(linear, X[0], gaussian(0.5), n=2000).counts
    assert (
        certify(Estimator(None, **methods), X[0], gaussian(0.5), n=2000).counts == want
    )


def test_a_regressor_gives_values_and_no_class():
    regressor = Estimator(None, predict=lambda table: table[:, 0])
    with pytest.raises(ValueError, match=r"Estimator.*FromLabels"):
        certify(regressor, X[0], gaussian(0.5))
    answer = rs.answers.Values(gaussian(0.25), radii=[0.1])
    run = rs.certify_dataset(regressor, X, answer, n=1000)
    low, high = rs.answers.Values.intervals(run.rows)
    assert low[0, 0, 0] < 0.9 < high[0, 0, 0]


def test_several_outputs_are_refused():
    several = Estimator([0, 1], predict=lambda table: table)
    several.classes_ = [np.array([0, 1]), np.array([0, 1])]
    with pytest.raises(ValueError, match=r"one output.*Estimator"):
        as_sampler(several)


def test_classes_without_their_estimator_are_refused():
    with pytest.raises(ValueError, match="class Estimator"):
        as_sampler(Estimator)


# --- functions of labels


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (np.zeros((4, 2)), "a label for each of 4 rows"),
        (np.array(["a", "b", "c", "a"]), "labels of 'a', 'b'; got 'c'"),
        (np.array([0.0, np.nan, 1.0, 1.0]), "labels of 'a', 'b'; got 0.0"),
        (np.ma.array(list("abab"), mask=[0, 0, 0, 1]), "must hold no masked"),
    ],
)
def test_labels_of_no_class_are_refused(returned, problem):
    model = FromLabels(lambda batch: returned, ["a", "b"])
    with pytest.raises(ValueError, match=problem):
        model(np.zeros((4, 1), np.float32))


@pytest.mark.parametrize(
    "classes",
    [
        1,
        [0],
        [1, 1],
        [[0, 1]],
    ],
)
def test_classes_are_at_least_two_labels_each_once(classes):
    with pytest.raises(ValueError, match="classes must be"):
        FromLabels(lambda batch: batch, classes)


def test_labels_in_a_column_and_of_another_type_are_the_same():
    batch = np.array([[1.0], [2.0], [1.0]], np.float32)
    assert FromLabels(lambda b: b, [1, 2])(batch).argmax(1).tolist() == [0, 1, 0]


# --- the data's labels are the model's


@pytest.mark.parametrize("classes", [(3, 9), ("down", "up")])
def test_the_labels_of_data_are_the_estimators_and_recorded(tmp_path, classes):
    labels = np.array(classes)[[1, 0]]
    run = rs.certify_dataset(
        named(*classes), (X, labels), gaussian(0.25), out=tmp_path / "out.tsv", n=1000
    )
    assert (
        [row.label for row in run.rows] == [row.predict for row in run.rows] == [1, 0]
    )
    assert run.manifest.model["labels"] == list(classes)
    assert not rs.audit.verify(tmp_path / "out.tsv", data=(X, labels)).findings
    np.savez(tmp_path / "data.npz", x=X, y=labels)
    with open_data(tmp_path / "data.npz", labels=list(classes)) as data:
        assert data.labels.tolist() == [1, 0]
    other = (
        np.array(["sideways", "up"])
        if isinstance(classes[0], str)
        else np.array([3, 1])
    )
    with pytest.raises(ValueError, match=r"label.*classes"):
        rs.certify_dataset(named(*classes), (X, other), gaussian(0.25), n=100)


def test_labels_that_count_from_zero_are_no_news(tmp_path):
    run = rs.certify_dataset(named(0, 1), (X, np.array([1, 0])), gaussian(0.25), n=1000)
    assert "labels" not in run.manifest.model
    assert labels_of(as_sampler(named(3, 9))) == [3, 9]
    assert labels_of(linear) is labels_of(Estimator) is None


def test_names_of_classes_leave_numbered_labels_alone(tmp_path):
    np.savez(tmp_path / "data.npz", x=X, y=[1, 0])
    with open_data(tmp_path / "data.npz", labels=["cat", "dog"]) as data:
        assert data.labels.tolist() == [1, 0]
    assert open_data((X, ["dog", "cat"]), labels=["cat", "dog"]).label(0) == 1


# --- one shape


def test_a_compiled_function_sees_one_shape_for_each_shape_of_input():
    shapes = set()

    def function(batch):
        shapes.add(batch.shape)
        return batch[:, :2]

    model = one_shape(function)
    for rows in (1, 100, 334, 512, 700):
        batch = np.random.default_rng(rows).random((rows, 784), dtype=np.float32)
        np.testing.assert_array_equal(model(batch), batch[:, :2])
    assert shapes == {(334, 784)}
    assert model(np.zeros((3, 3 * 224 * 224), np.float32)).shape == (3, 2)
    assert shapes == {(334, 784), (16, 3 * 224 * 224)}


def test_pieces_must_keep_their_rows():
    with pytest.raises(ValueError, match=r"4 rows.*\(1,\)"):
        in_pieces(lambda piece: piece[:1, 0], np.zeros((6, 1), np.float32), 4)


def test_a_torch_module_and_a_function_stay_as_they_are():
    assert as_function(linear) is linear
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(2, 2)
    assert as_function(module) is module


def test_frames_and_series_are_read_by_position():
    """``frame[0]`` is a column: those of a square frame were certified."""
    pd = pytest.importorskip("pandas")
    rows = np.array([[0.9, 0.1], [-0.9, 0.2]], np.float32)
    shuffled = [1, 0]
    frame = pd.DataFrame(rows, index=shuffled)
    labels = pd.Series([1, 0], index=shuffled)
    found = rs.certify_dataset(linear, (frame, labels), gaussian(0.25), n=1000)
    want = rs.certify_dataset(linear, (rows, [1, 0]), gaussian(0.25), n=1000)
    assert [row.count for row in found.rows] == [row.count for row in want.rows]
    assert found.clean_accuracy() == 1.0
    assert np.array_equal(open_data((frame, labels)).input(1), rows[1])
    with pytest.raises(ValueError, match="give one of labels"):
        rs.certify_dataset(linear, frame, gaussian(0.25), n=1000)


def test_an_estimator_fitted_on_a_frame_is_given_frames():
    """A ColumnTransformer finds its columns by name; others warn about arrays."""
    pd = pytest.importorskip("pandas")

    class Fitted:
        classes_ = np.array([0, 1])
        feature_names_in_ = np.array(["a", "b"], dtype=object)

        def predict(self, table):
            assert isinstance(table, pd.DataFrame)
            return (table["a"] > 0).astype(int)

    frame = pd.DataFrame(X, columns=["a", "b"])
    run = rs.certify_dataset(Fitted(), (frame, [1, 0]), gaussian(0.25), n=1000)
    assert run.clean_accuracy() == 1.0
    with pytest.raises(ValueError, match=r"\['a', 'b'\]; got \['b'"):
        rs.certify_dataset(Fitted(), (frame[["b", "a"]], [1, 0]), gaussian(0.25))
    model = as_function(Fitted())
    assert model(X).tolist() == linear(X).argsort().tolist()
    three = np.zeros((1, 3), np.float32)  # its own error, not one about names
    with pytest.raises(AssertionError):
        model(three)
