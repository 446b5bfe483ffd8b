"""Each framework's own package: its certificates are those of NumPy on the same
weights.
"""

import importlib.util
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from cli_models import one_line, package

import rsbounds as rs
from rsbounds.certify import certify
from rsbounds.cli import main
from rsbounds.frameworks import FromLabels
from rsbounds.schemes import gaussian

pytestmark = pytest.mark.slow  # needs the packages of the extra frameworks

RNG = np.random.default_rng(0)
W = RNG.standard_normal((6, 3)).astype(np.float32)
X = RNG.standard_normal((4, 6)).astype(np.float32)
TABLE = RNG.standard_normal((300, 6))
Y = (TABLE @ W).argmax(1)
LABELS = np.array([3, 5, 9])
certified = partial(certify, scheme=gaussian(0.5), n=5000)


def same(one, other):
    for i, x in enumerate(X):
        a, b = certified(one, x, index=i), certified(other, x, index=i)
        assert (a.select, a.counts, a.radius) == (b.select, b.counts, b.radius)
        assert a.radius > 0 or a.predict == -1


# --- scikit-learn


def fitted(kind, labels=LABELS, **options):
    return kind(**options).fit(TABLE, labels[Y])


def test_logistic_regression_is_its_matrix():
    model = fitted(package("sklearn.linear_model").LogisticRegression)
    same(model, lambda batch: batch @ model.coef_.T + model.intercept_)
    same(model, model.predict_proba)


def test_an_estimators_certificate_is_of_what_it_predicts():
    """Of one against one, and of a threshold other than a half, scores say something
    else.
    """
    vectors = fitted(package("sklearn.svm").SVC, decision_function_shape="ovo", C=0.01)
    same(vectors, FromLabels(vectors.predict, LABELS))
    selection = package("sklearn.model_selection")
    linear = package("sklearn.linear_model").LogisticRegression()
    two = selection.FixedThresholdClassifier(linear, threshold=0.9).fit(TABLE, Y > 0)
    same(
        two,
        lambda batch: np.stack(
            [two.predict(batch) == v for v in (False, True)], axis=1
        ),
    )
    votes = [
        np.array(certified(model, X[0]).counts) for model in (two, two.predict_proba)
    ]
    assert (votes[0] != votes[1]).any()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", x=X, y=LABELS[(X @ W).argmax(1)])
    return tmp_path


def words(model, *more):
    known = [
        "certify",
        "--model",
        model,
        "--data",
        "data.npz",
        "--sigma",
        "0.5",
        "--n",
        "1000",
    ]
    return [*known, "--out", "out.tsv", *more]


def test_a_file_of_skops_on_the_command_line(folder, capsys):
    model = fitted(package("sklearn.linear_model").LogisticRegression)
    package("skops.io").dump(model, "model.skops")
    assert main(words("sklearn:model.skops")) == 0
    found = rs.results.read("out.tsv")
    true = (X @ W).argmax(1)
    want = rs.certify_dataset(model, (X, LABELS[true]), gaussian(0.5), n=1000)
    assert [r.counts for r in found.rows] == [r.counts for r in want.rows]
    assert (
        [r.label for r in found.rows] == [r.label for r in want.rows] == true.tolist()
    )
    assert found.manifest.model["labels"] == [3, 5, 9]
    again = ["--data", "data.npz", "--model", "sklearn:model.skops", "--rerun", "2"]
    assert main(["verify", "out.tsv", *again]) == 0
    assert main(["verify", "out.tsv", "--data", "data.npz"]) == 0
    np.savez("data.npz", x=X, y=[0, 1, 2, 3])
    said = "y must be of the model's classes 3, 5, 9; got 0"
    one_line(capsys, words("sklearn:model.skops", "--seed", "1"), said)


def test_files_that_could_run_code_are_refused(folder, capsys):
    import pickle

    model = fitted(package("sklearn.linear_model").LogisticRegression)
    with open("model.pkl", "wb") as file:
        pickle.dump(model, file)
    model.harmless = subprocess.Popen
    package("skops.io").dump(model, "model.skops")
    for name, said in (
        ("pkl", "pickle and joblib files are never"),
        ("skops", "Popen"),
    ):
        one_line(capsys, words(f"sklearn:model.{name}"), said)
    assert not list(folder.glob("out*"))


# --- tables


@pytest.mark.parametrize(("name", "kind"), [("lightgbm", "LGBM"), ("xgboost", "XGB")])
def test_boosted_trees_are_what_they_predict(name, kind):
    module, labels = package(name), LABELS if name == "lightgbm" else np.arange(3)
    options = {"verbose": -1} if name == "lightgbm" else {}
    model = getattr(module, f"{kind}Classifier")(n_estimators=5, n_jobs=1, **options)
    model.fit(TABLE, labels[Y])
    one_hot = np.eye(3)
    same(model, lambda b: one_hot[np.searchsorted(labels, model.predict(b))])


# --- JAX, Keras, ONNX


def test_a_jitted_function_sees_one_shape():
    jax = package("jax")
    shapes = []

    @jax.jit
    def function(batch):
        shapes.append(batch.shape)  # when it is traced
        return batch @ W

    same(function, lambda batch: batch @ W)
    assert shapes == [(512, 6)]
    on_device = certified(function, jax.numpy.asarray(X[0]))
    assert on_device.counts == certified(function, X[0]).counts
    rounded = certified(jax.jit(lambda b: (b @ W).astype(jax.numpy.bfloat16)), X[0])
    assert sum(rounded.counts) == 5000


KERAS = """
import numpy as np, keras
from rsbounds.certify import certify
from rsbounds.schemes import gaussian
rng = np.random.default_rng(0)
w, x = rng.standard_normal((6, 3), np.float32), rng.standard_normal(6, np.float32)
layers = keras.layers.Dropout(0.5), keras.layers.Dense(3, use_bias=False)
model = keras.Sequential([keras.layers.Input((6,)), *layers])
model.layers[-1].set_weights([w])
if keras.backend.backend() == "torch":
    import torch
    other = torch.nn.Linear(6, 3, bias=False)
    other.weight.data = torch.from_numpy(w.T.copy())
else:
    other = lambda batch: batch @ w
one, two = (certify(m, x, gaussian(0.5), n=5000) for m in (model, other))
assert (one.select, one.counts) == (two.select, two.counts), (one, two)
assert one.radius == two.radius, (one, two)
"""


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_keras_on_its_backends(backend):
    for name in ("keras", backend):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}")
    env = {**os.environ, "KERAS_BACKEND": backend}
    done = subprocess.run(
        [sys.executable, "-c", KERAS], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


# --- what code of one's own returns, on the command line

CODE = """
import numpy as np

RNG = np.random.default_rng(0)
W = RNG.standard_normal((6, 3)).astype(np.float32)
RNG.standard_normal((4, 6))
TABLE = RNG.standard_normal((300, 6))
Y = (TABLE @ W).argmax(1)
LABELS = np.array([3, 5, 9])

def fitted(kind, labels=LABELS, **options):
    return kind(**options).fit(TABLE, labels[Y])

def logistic():
    from sklearn.linear_model import LogisticRegression
    return fitted(LogisticRegression)

def pipeline():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    return make_pipeline(StandardScaler(), SVC()).fit(TABLE, LABELS[Y])

def lightgbm():
    from lightgbm import LGBMClassifier
    return fitted(LGBMClassifier, n_estimators=3, n_jobs=1, verbose=-1)

def xgboost():
    from xgboost import XGBClassifier
    return fitted(XGBClassifier, np.arange(3), n_estimators=3, n_jobs=1)

def jax():
    import jax
    return jax.jit(lambda batch: batch @ W)

def keras():
    import os
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras
    layers = [keras.layers.Input((6,)), keras.layers.Dense(3, use_bias=False)]
    model = keras.Sequential(layers)
    model.set_weights([W])
    return model

def art():
    from art.estimators.classification import SklearnClassifier
    return SklearnClassifier(logistic())

def loaded():
    from rsbounds.loading import Loaded
    return Loaded(logistic())

def ridge():
    from sklearn.linear_model import Ridge
    return Ridge().fit(TABLE, TABLE[:, 0])

def unfitted():
    from sklearn.linear_model import LogisticRegression
    return LogisticRegression()
"""
RETURNED = {
    "logistic": "sklearn",
    "pipeline": "sklearn",
    "loaded": "sklearn",
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
    "jax": "jax",
    "keras": "keras",
    "art": "art",
}


# Keras 3.12 with JAX sets the shape of a NumPy array, which NumPy 2.5 deprecates
@pytest.mark.filterwarnings("ignore::DeprecationWarning:keras")
@pytest.mark.parametrize("name", RETURNED)
def test_what_certify_dataset_takes_code_may_return(name, folder, monkeypatch):
    """Only torch modules and functions were taken."""
    if name == "keras":
        package("jax")
        monkeypatch.setenv("KERAS_BACKEND", "jax")
    pytest.importorskip(RETURNED[name])
    (folder / "my_model.py").write_text(CODE)
    named = {} if name in ("xgboost", "jax", "keras") else {"labels": [3, 5, 9]}
    true = (X @ W).argmax(1)
    np.savez("data.npz", x=X, y=LABELS[true] if named else true)
    assert main(words(f"my_model.py:{name}")) == 0
    found = rs.results.read("out.tsv")
    space: dict = {}
    exec(CODE, space)
    model = space[name]()
    model = getattr(model, "model", model) if name == "loaded" else model
    want = rs.certify_dataset(
        model, (X, LABELS[true] if named else true), gaussian(0.5), n=1000
    )
    assert [r.counts for r in found.rows] == [r.counts for r in want.rows]
    assert [r.label for r in found.rows] == true.tolist()
    assert found.manifest.model.get("labels") == named.get("labels")


def test_what_code_returns_and_no_certificate_can_be_of(folder, capsys):
    package("sklearn")
    (folder / "my_model.py").write_text(CODE)
    refused = "--model my_model.py:unfitted: the model must be a fitted classifier"
    one_line(capsys, words("my_model.py:unfitted"), refused)
    one_line(capsys, words("my_model.py:ridge"), "Ridge is a regressor")
    values = ["--answer", "values", "--radii", "0.1"]
    assert main(words("my_model.py:ridge", *values)) == 0


@pytest.mark.parametrize(
    "path",
    [
        "ensemble.RandomForestClassifier",
        "ensemble.GradientBoostingClassifier",
        "ensemble.HistGradientBoostingClassifier",
        "tree.DecisionTreeClassifier",
        "neural_network.MLPClassifier",
        "neighbors.KNeighborsClassifier",
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_trees_and_networks_of_skops_load(path, folder):
    """skops trusts scikit-learn's estimators, and not the trees inside of them."""
    module, name = path.split(".")
    kind = getattr(package(f"sklearn.{module}"), name)
    short = {"n_estimators": 3, "max_iter": 5}
    options = {k: v for k, v in short.items() if k in kind().get_params()}
    model = fitted(kind, **options)
    package("skops.io").dump(model, "model.skops")
    assert main(words("sklearn:model.skops")) == 0
    found = rs.results.read("out.tsv")
    labels = LABELS[(X @ W).argmax(1)]
    want = rs.certify_dataset(model, (X, labels), gaussian(0.5), n=1000)
    assert [r.counts for r in found.rows] == [r.counts for r in want.rows]


def test_types_that_are_trusted_by_name(folder, capsys):
    lightgbm = pytest.importorskip("lightgbm")
    package("skops")
    model = fitted(lightgbm.LGBMClassifier, n_estimators=3, n_jobs=1, verbose=-1)
    package("skops.io").dump(model, "model.skops")
    types = "lightgbm.basic.Booster", "lightgbm.sklearn.LGBMClassifier"
    trust = [word for name in types for word in ("--trust", name)]
    one_line(capsys, words("sklearn:model.skops"), f"name them as {' '.join(trust)}")
    assert main(words("sklearn:model.skops", *trust)) == 0
    wrong = "--trust is for a model sklearn:FILE"
    one_line(capsys, words("my_model.py:load", *trust), wrong)
