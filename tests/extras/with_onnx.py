"""Certify a network in an ONNX file."""

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array
from small_run import INPUTS, LABELS, WEIGHTS

from rsbounds.cli import main

graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"])],
    "linear",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
    [from_array(WEIGHTS.astype(np.float32), "w")],
)
opset = [helper.make_opsetid("", 17)]
onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), "linear.onnx")
np.savez("data.npz", x=INPUTS, y=LABELS)
words = "certify --model onnx:linear.onnx --data data.npz --sigma 0.25 --n 50"
assert main([*words.split(), "--out", "out.tsv"]) == 0
