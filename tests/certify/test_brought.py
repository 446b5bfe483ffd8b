"""Models and data as people bring them: certified, or one sentence says how."""

import warnings

import numpy as np
import pytest

from rsbounds import certify_dataset, schemes
from rsbounds.audit.internal import verify_printed
from rsbounds.frameworks import FromLabels
from rsbounds.loading import load_model
from rsbounds.procedure import Procedure

X = np.array([[0.5, 0.0], [-0.5, 0.0]], np.float32)
Y = [1, 0]


def predictions(model, data=(X, Y), **numbers):
    numbers = {"n0": 20, "n": 200} | numbers
    return [
        row.predict
        for row in certify_dataset(model, data, schemes.gaussian(0.1), **numbers).rows
    ]


def two(batch):
    return np.stack([-batch[:, 0], batch[:, 0]], 1)


# --- what is certified as it is


@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_modules_without_a_mode_are_certified():
    """Traced, frozen and exported modules are functions of their own."""
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(2, 2).eval()
    net.weight.data = torch.tensor([[-1.0, 0.0], [1.0, 0.0]])
    net.bias.data.zero_()
    x = torch.rand(3, 2)
    traced = torch.jit.trace(net, x)
    rows = ({0: torch.export.Dim("rows")},)
    exported = torch.export.export(net, (x,), dynamic_shapes=rows).module()
    inside = torch.nn.Sequential(torch.nn.Identity(), exported)
    for model in (traced, torch.jit.freeze(traced), exported, inside):
        assert predictions(model) == [1, 0]
    assert inside.training


def test_an_exported_dropout_is_still_seen():
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(2, 50), torch.nn.Dropout()).train()
    rows = ({0: torch.export.Dim("rows")},)
    x = torch.rand(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(net, (x,), dynamic_shapes=rows).module()
    with pytest.raises(ValueError, match=r"chance|depend"):
        predictions(exported)


def test_labels_false_and_true_are_those_of_a_classifier():
    linear = pytest.importorskip("sklearn.linear_model")
    y = X[:, 0] > 0
    many = np.random.default_rng(0).standard_normal((50, 2)).astype(np.float32)
    model = linear.LogisticRegression().fit(many, many[:, 0] > 0)
    assert predictions(model, (X, y)) == [1, 0]
    assert predictions(model, list(zip(X, y, strict=True))) == [1, 0]
    assert predictions(model) == [1, 0]  # 0 and 1 are the same labels


def test_a_score_of_two_classes_is_two_scores():
    class Scores:
        def decision_function(self, batch):
            return batch[:, :1]

    assert predictions(Scores()) == [1, 0]


def test_items_with_names_are_read_as_columns_are():
    items = [{"image": x, "label": y} for x, y in zip(X, Y, strict=True)]
    assert predictions(two, items) == [1, 0]
    with pytest.raises(ValueError, match=r"must have a column image.*got picture, y"):
        predictions(two, [{"picture": X[0], "y": 0}])


# --- what is refused, with the step that works


def label(batch):
    return (batch[:, 0] > 0).astype(int)


REFUSED = {
    "labels": (label, "FromLabels", FromLabels(label, 2)),
    "labels in words": (
        lambda b: np.where(b[:, 0] > 0, "up", "down"),
        "FromLabels",
        FromLabels(lambda b: np.where(b[:, 0] > 0, "up", "down"), ["down", "up"]),
    ),
    "a logit": (
        lambda b: 9 * b[:, 0],
        "return the columns 0 and z",
        lambda b: np.stack([0 * b[:, 0], 9 * b[:, 0]], 1),
    ),
    "a probability": (
        lambda b: 1 / (1 + np.exp(-9 * b[:, :1])),
        "return the columns 1 - p and p",
        lambda b: np.concatenate(
            [1 - 1 / (1 + np.exp(-9 * b[:, :1])), 1 / (1 + np.exp(-9 * b[:, :1]))], 1
        ),
    ),
    "a dictionary": (
        lambda b: {"features": b[:, 0], "scores": two(b)},
        r"\['scores'\]",
        lambda b: {"features": b[:, 0], "scores": two(b)}["scores"],
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_outputs_that_are_no_scores_say_what_to_return(case):
    model, said, mended = case
    with pytest.raises(ValueError, match=said) as no:
        predictions(model)
    assert "\n" not in str(no.value)
    assert predictions(mended) == [1, 0]


def module(torch, forward):
    class Own(torch.nn.Module):
        def forward(self, x):
            return forward(x)

    return Own()


def test_modules_that_return_something_else_say_which_entry_or_type():
    torch = pytest.importorskip("torch")

    def scores(x):
        return torch.stack([-x[:, 0], x[:, 0]], 1)

    for forward, said, mended in (
        (lambda x: (x[:, 0], scores(x)), r"of the right shape is \[1\]", scores),
        (
            lambda x: {"scores": scores(x), "hidden": x[:, 0]},
            r"right shape is \['scores'\]",
            scores,
        ),
        (
            lambda x: scores(x).numpy(),
            r"ndarray: return a tensor, torch\.from_numpy",
            lambda x: torch.from_numpy(scores(x).numpy()),
        ),
    ):
        with pytest.raises(ValueError, match=said):
            predictions(module(torch, forward))
        assert predictions(module(torch, mended)) == [1, 0]


def test_an_exported_batch_of_one_length_says_how_to_export():
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(2, 2).eval()
    fixed = torch.export.export(net, (torch.rand(3, 2),)).module()
    with pytest.raises(ValueError, match="dynamic_shapes"):
        predictions(fixed)


def test_data_without_a_length_say_list():
    data = pytest.importorskip("torch.utils.data")

    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(zip(X, Y, strict=True))

    with pytest.raises(ValueError, match=r"no length: give list\(data\)"):
        predictions(two, Stream())
    assert predictions(two, list(Stream())) == [1, 0]


def test_the_shapes_stand_beside_a_function_s_own_error():
    with pytest.raises(ValueError, match=r"for a batch of shape \(\d+, 2\)"):
        predictions(lambda b: b @ np.ones((3, 2), np.float32))


def test_both_shapes_are_said_before_an_estimator_or_a_network_runs(tmp_path):
    wide = (np.zeros((2, 3), np.float32), Y)
    linear = pytest.importorskip("sklearn.linear_model")
    many = np.random.default_rng(0).standard_normal((50, 2)).astype(np.float32)
    model = linear.LogisticRegression().fit(many, (many[:, 0] > 0).astype(int))
    with pytest.raises(ValueError, match=r"has 3 numbers, and the .* on 2 columns"):
        predictions(model, wide)
    onnx_file(tmp_path / "net.onnx", "scores")
    loaded = load_model(f"onnx:{tmp_path / 'net.onnx'}")
    with pytest.raises(ValueError, match=r"has shape \(3,\), .* input x takes \(2\)"):
        predictions(loaded.model, wide)
    assert predictions(loaded.model) == [1, 0]


# --- warnings


def test_pixels_up_to_255_under_weak_noise_are_warned_of():
    pixels = np.full((1, 4), 200, np.float32)
    with pytest.warns(RuntimeWarning, match=r"reaches 200.*give scale=255"):
        predictions(lambda b: b[:, :2], (pixels, [0]))
    from rsbounds.loading import open_data

    for table in (-pixels, 40 * pixels):
        with pytest.warns(RuntimeWarning, match="columns of a table are standardised"):
            predictions(lambda b: b[:, :2], (table, [0]))
    scaled = open_data((pixels, [0]), scale=255)
    assert predictions(lambda b: b[:, :2] * [2, 1], scaled) == [0]


def test_a_confidence_given_as_alpha_is_warned_of(tmp_path):
    with pytest.warns(RuntimeWarning, match=r"confidence of 0.95 give alpha=0.05"):
        predictions(two, alpha=0.95)
    assert predictions(two, alpha=0.05) == [1, 0]
    assert Procedure(alpha=0.95).alpha == 0.95  # numbers alone warn of nothing
    pytest.importorskip("flint")
    file = tmp_path / "log.txt"
    file.write_text("idx\tlabel\tpredict\tradius\tcorrect\n0\t1\t1\t0.1\t1\n")
    with pytest.warns(RuntimeWarning, match="alpha=0.05"):
        verify_printed(file, sigma=0.5, n=100, alpha=0.95)


# --- files of models


def onnx_file(path, *names):
    """A network of two outputs: its labels, and its scores."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    kinds = onnx.TensorProto
    weights = np.array([[-1, 1], [0, 0]], np.float32)
    made = onnx.helper.make_graph(
        [
            onnx.helper.make_node("MatMul", ["x", "W"], ["scores"]),
            onnx.helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0),
            onnx.helper.make_node("Neg", ["scores"], ["other"]),
        ],
        "graph",
        [onnx.helper.make_tensor_value_info("x", kinds.FLOAT, ["N", 2])],
        [
            onnx.helper.make_tensor_value_info(
                name, *((kinds.INT64, ["N"]) if name == "label" else (1, ["N", 2]))
            )
            for name in names
        ],
        [onnx.numpy_helper.from_array(weights, "W")],
    )
    model = onnx.helper.make_model(
        made, opset_imports=[onnx.helper.make_opsetid("", 17)]
    )
    model.ir_version = 8
    onnx.save(model, path)


def test_an_onnx_file_says_which_output_holds_scores(tmp_path):
    path = tmp_path / "net.onnx"
    onnx_file(path, "label", "scores")
    for args in ({}, {"output": "scores"}):
        assert predictions(load_model(f"onnx:{path}", args=args).model) == [1, 0]
    onnx_file(path, "label", "scores", "other")
    with pytest.raises(ValueError, match="name that of the scores, output=NAME"):
        load_model(f"onnx:{path}")
    other = load_model(f"onnx:{path}", args={"output": "other"})
    assert predictions(other.model) == [0, 1]
    assert other.describe["output"] == "other"
    with pytest.raises(ValueError, match="output must be of label, scores, other"):
        load_model(f"onnx:{path}", args={"output": "logits"})
