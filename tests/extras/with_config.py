"""Certify with the options of a YAML file."""

from pathlib import Path

import numpy as np
from small_run import INPUTS, LABELS

from rsbounds.cli import main
from rsbounds.results import read

np.savez("data.npz", x=INPUTS, y=LABELS)
Path("own.py").write_text("def model():\n    return lambda batch: batch[:, :3]\n")
Path("run.yaml").write_text(
    "model: own.py:model\ndata: data.npz\nsigma: 0.25\nn: 50\nout: out.tsv\n"
)
assert main(["certify", "--config", "run.yaml"]) == 0
assert len(read("out.tsv").rows) == len(INPUTS)
