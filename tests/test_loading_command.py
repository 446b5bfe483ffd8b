"""From a model's name and a folder of pictures to a verified result file, in one line."""

import numpy as np
import pytest
from cli_models import arguments
from optional_packages import package

from rsbounds.cli import main


@pytest.mark.slow  # needs the heavy packages
def test_timm_on_a_folder(tmp_path, monkeypatch, capsys):
    image, torch, timm = package("PIL.Image"), package("torch"), package("timm")
    save_file = package("safetensors.torch").save_file
    monkeypatch.chdir(tmp_path)
    for i in range(3):
        pixels = np.random.default_rng(i).integers(0, 256, (180, 200, 3), dtype=np.uint8)
        (tmp_path / "d" / str(i)).mkdir(parents=True)
        image.fromarray(pixels).save(tmp_path / "d" / str(i) / "a.png")
    torch.manual_seed(0)
    save_file(timm.create_model("test_resnet", num_classes=3).state_dict(), "w.safetensors")
    known = {"model": "timm:test_resnet", "checkpoint": "w.safetensors", "sound_noise": ""}
    known |= {"model_args": "num_classes=3", "data": "imagefolder:d", "n0": 8, "n": 32}
    assert main(arguments(**known)) == 0
    assert main(["verify", "out.tsv"]) == 0
    assert main(arguments(**known)) == 0  # goes on where it was: nothing to do
    assert "3 rows, 0 of them new" in capsys.readouterr().out
