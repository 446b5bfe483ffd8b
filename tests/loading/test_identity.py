"""Another model and other inputs are another run, even if all samples fall in one
class.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
from cli_models import arguments, one_line, package, prepare
from result_table import manifest
from small_data import npy, npz

from rsbounds.cli import main
from rsbounds.loading import load_model, open_data
from rsbounds.loading.parameters import held_arrays, parameters_hash

CODE = """
import numpy as np
def load():
    def scores(batch):
        zeros = 0 * batch[:, 0, 0, 0]
        return np.stack([batch[:, 0].sum((1, 2)) + 1000, zeros], axis=1)
    return scores
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    prepare(tmp_path, monkeypatch)
    Path("own.py").write_text(CODE)
    return tmp_path


def run(**changes):
    for name in [name for name in sys.modules if name.startswith("_rsbounds_file_")]:
        del sys.modules[name]  # as in a new process
    return arguments(
        **{"model": "own.py:load", "max": 3, "n0": 20, "n": 100, **changes}
    )


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["m.onnx", "any name"])
def test_other_onnx_weights_are_refused_where_the_probes_are_the_same(
    work, capsys, changed
):
    """They may lie in a file of any name, which the model's own file doesn't tell."""
    onnx, numpy_helper = package("onnx"), package("onnx.numpy_helper")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT

    def save(weight, bias):
        nodes = [helper.make_node("Flatten", ["x"], ["f"])]
        nodes += [helper.make_node("Gemm", ["f", "w", "b"], ["y"])]
        w, b = np.full((36, 2), weight, np.float32), np.array([bias, 0], np.float32)
        tensors = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")]
        sides = [helper.make_tensor_value_info("x", kind, ["n", 1, 6, 6])]
        scores = [helper.make_tensor_value_info("y", kind, ["n", 2])]
        graph = helper.make_graph(nodes, "linear", sides, scores, tensors)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9
        )
        onnx.external_data_helper.set_external_data(tensors[0], "any name")
        model.graph.initializer[0].CopyFrom(tensors[0])
        onnx.save(model, "m.onnx")

    line = {"model": "onnx:m.onnx"}
    save(0.5, 1000)
    assert main(run(**line)) == 0
    assert list(manifest()["model"]["weights"]) == ["any name"]
    save(0.25, 1000) if changed == "any name" else save(0.5, 2000)
    one_line(capsys, run(**line), "model.parameters was")


def test_the_identity_of_data_is_about_their_contents_and_not_their_place(tmp_path):
    x, y = np.random.default_rng(0).random((50, 2, 2)), np.arange(50) % 3
    identities = []
    for folder, changed in (
        ("a", 0),
        ("b", 0),
        ("c", 1),
    ):  # the first number of the data
        x[0, 0, 0] = changed
        (tmp_path / folder).mkdir()
        identities.append([])
        for place in (
            npz(tmp_path / folder, x=x, y=y),
            npy(tmp_path / folder, x, y),
            (x, y),
        ):
            with open_data(place) as data:
                identities[-1].append(data.identity)
    for first, again, other in zip(*identities, strict=True):
        assert first == again
        assert {name for name in first if first[name] != other[name]} == {"x"}


def test_quantized_and_meta_models_are_refused_in_one_line(work, capsys):
    """Dynamic quantization scales a row by its whole batch; on meta there are no
    numbers.
    """
    torch = package("torch")
    Path("own.py").write_text(
        "import torch\n"
        "def net():\n"
        "    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 2))\n"
        "def meta():\n    return net().to('meta')\n"
        "def small():\n"
        "    import warnings\n"
        "    with warnings.catch_warnings(action='ignore'):  # deprecated\n"
        "        kinds, dtype = {torch.nn.Linear}, torch.qint8\n"
        "        quantize = torch.ao.quantization.quantize_dynamic\n"
        "        return quantize(net(), kinds, dtype=dtype)\n"
    )
    one_line(capsys, run(model="own.py:meta"), "must be a tensor", "meta")
    if torch.backends.quantized.supported_engines != ["none"]:
        one_line(capsys, run(model="own.py:small"), "quantized modules")
    with pytest.raises(ValueError, match="meta"):
        package("rsbounds.torch").TorchSampler(torch.nn.Linear(2, 2, device="meta"))


def test_a_loaded_model_may_be_built_on(work):
    Path("outer.py").write_text(
        "from rsbounds.loading import load_model\n"
        "def load():\n    return load_model('own.py:load', input_range=(0, 255))\n"
    )
    inner, outer = (
        load_model("own.py:load", input_range=(0, 255)),
        load_model("outer.py:load"),
    )
    x = np.random.default_rng(0).random((2, 1, 6, 6), dtype=np.float32)
    np.testing.assert_array_equal(inner.model(x), outer.model(x))
    assert outer.describe["spec"] == "outer.py:load"


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "{}:f"},
        {"model": "own.py:{}"},
        {"model": "onnx:{}"},
        {"data": "{}.npz"},
        {"data": "imagefolder:{}"},
        {"model_args": "{}=1"},
    ],
)
def test_control_characters_of_names_reach_no_terminal(work, capsys, changes):
    one_line(
        capsys, run(**{k: v.format("\x1b[2J") for k, v in changes.items()}), "\\x1b[2J"
    )


class Part:
    """An object whose state is made whenever it is asked for."""

    __slots__ = ("weights",)

    def __init__(self, weights):
        self.weights = weights


def test_every_array_of_a_model_counts_in_its_hash():
    """An array was left out where its object's state lay where another's had been."""
    parts = [Part(np.array([float(i)])) for i in range(50)]
    assert len(list(held_arrays(parts))) == 50
    first = parameters_hash(parts)
    parts[30].weights[0] += 1.0
    assert parameters_hash(parts) != first
