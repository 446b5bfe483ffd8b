"""From a model's name and a folder of pictures to a verified result file, in one line."""

import numpy as np
import pytest
from optional_packages import package

from rsbounds.cli import main

pytestmark = pytest.mark.slow  # needs the heavy packages


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    for i in range(3):
        pixels = np.random.default_rng(i).integers(0, 256, (180, 200, 3), dtype=np.uint8)
        (tmp_path / "d" / str(i)).mkdir(parents=True)
        image.fromarray(pixels).save(tmp_path / "d" / str(i) / "a.png")
    return tmp_path


@pytest.fixture
def weights(pictures):
    torch, timm = package("torch"), package("timm")
    save_file = package("safetensors.torch").save_file
    torch.manual_seed(0)
    save_file(timm.create_model("test_resnet", num_classes=3).state_dict(), "w.safetensors")


def line(**changes):
    options = {
        "model": "timm:test_resnet",
        "checkpoint": "w.safetensors",
        "model-args": "num_classes=3",
    }
    options |= {"data": "imagefolder:d", "sigma": 0.25, "n0": 8, "n": 32, "out": "out.tsv"}
    options |= changes
    return ["certify", *(word for k, v in options.items() for word in (f"--{k}", str(v)))]


def test_timm_on_a_folder(weights, capsys):
    assert main([*line(), "--sound-noise"]) == 0
    assert main(["verify", "out.tsv"]) == 0
    assert main([*line(), "--sound-noise"]) == 0  # goes on where it was: nothing to do
    assert "3 rows, 0 of them new" in capsys.readouterr().out


def test_a_corrupt_picture_is_one_line(weights, pictures, capsys):
    (pictures / "d" / "1" / "a.png").write_bytes(b"none")
    assert main(line()) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "d/1/a.png: the image can't be decoded" in said


def test_labels_outside_the_model(weights, pictures, capsys):
    (pictures / "d" / "2").rename(pictures / "d" / "7")
    assert main(line()) == 2
    assert "number of classes, 3; 1 of 3 are not, the first 7" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "timm:test_resnot"}, "did you mean test_resnet"),
        ({"data": "imagefolder:nothing"}, "nothing: No such file"),
        ({"checkpoint": "nothing.pt"}, "nothing.pt: No such file"),
        ({"model-args": "num_classes=4"}, "size mismatch for fc.weight"),
        ({"model-args": "colour"}, "key=value"),
    ],
)
def test_bad_input_is_one_line(weights, capsys, changes, said):
    assert main(line(**changes)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
