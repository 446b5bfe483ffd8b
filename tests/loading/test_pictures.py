"""Pictures for models that say nothing of them (--resize, --crop), and in parquet
files.
"""

import io
from pathlib import Path

import numpy as np
import pytest
from cli_models import arguments, package, prepare, refused
from result_table import manifest

from rsbounds.cli import main
from rsbounds.loading import Preprocess, load_model, open_data

image = pytest.importorskip("PIL.Image")


def picture(i):
    pixels = np.random.default_rng(i).integers(0, 256, (18 + i, 24, 3), dtype=np.uint8)
    return image.fromarray(pixels)


@pytest.fixture
def work(tmp_path, monkeypatch):
    prepare(tmp_path, monkeypatch)
    for i in range(4):
        (tmp_path / "d" / str(i % 2)).mkdir(parents=True, exist_ok=True)
        picture(i).save(tmp_path / "d" / str(i % 2) / f"{i}.png")
    return tmp_path


def line(**changes):
    return arguments(data="imagefolder:d", **{"n0": 8, "n": 32, **changes})


def test_a_model_of_ones_own_gets_the_pictures_asked_for(work):
    """6 x 6 grey pixels, as the linear model of 36 numbers takes them."""
    words = {"resize": 8, "crop": 6, "channels": 1}
    assert main(line(**words)) == 0
    want = Preprocess(8, (6, 6), channels=1)
    for said in (
        manifest()["data"]["preprocessing"],
        manifest()["model"]["preprocessing"],
    ):
        assert want.description.items() <= said.items()
    assert main(["verify", "out.tsv", "--data", "imagefolder:d"]) == 0
    loaded = load_model(
        "models:linear", preprocess={"resize": 8, "crop": (6, 6), "channels": 1}
    )
    assert loaded.preprocess == Preprocess(8, (6, 6), "bilinear", 1)
    with open_data("imagefolder:d", preprocess=want) as data:
        np.testing.assert_array_equal(data.input(0), want(picture(0)) / np.float32(255))
    again = ["verify", "out.tsv", "--data", "imagefolder:d", "--model", "models:linear"]
    again += [
        "--rerun",
        "2",
        *(w for k, v in words.items() for w in (f"--{k}", str(v))),
    ]
    assert main(again) == 0


def test_what_a_model_says_is_otherwise_only_where_asked(work):
    Path("own.py").write_text(
        "from models import linear\nfrom rsbounds.loading import Loaded, Preprocess\n"
        "def load():\n"
        "    steps = Preprocess(9, (6, 6), 'box', 1)\n"
        "    return Loaded(linear(), preprocess=steps)\n"
    )
    assert load_model("own.py:load").preprocess == Preprocess(9, (6, 6), "box", 1)
    assert main(line(model="own.py:load", resize="7,8")) == 0
    assert manifest()["data"]["preprocessing"]["resize"] == [7, 8]
    assert manifest()["data"]["preprocessing"]["interpolation"] == "box"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"resize": 0}, "at most 2 numbers >= 1"),
        ({"crop": "1,2,3"}, "at most 2 numbers >= 1"),
        (
            {"data": "data.npz", "crop": 6},
            "--crop is for pictures; --data data.npz holds arrays",
        ),
    ],
)
def test_bad_sizes_are_one_line(work, capsys, changes, said):
    refused(
        capsys, line(**changes) if "data" not in changes else arguments(**changes), said
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["features", "plain", "arrays"])
def test_parquet_files_in_a_directory(work, monkeypatch, kind):
    """As datasets writes them, with the features beside; without; and with rows of
    numbers.
    """
    datasets, arrow = package("datasets"), pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(work / "cache"))
    (work / "p" / "data").mkdir(parents=True)
    labels, images = [0, 1, 1], []
    for i in range(3):
        file = io.BytesIO()
        picture(i).save(file, "PNG")
        images.append({"bytes": file.getvalue(), "path": f"{i}.png"})
    numbers = [[0.1 * i] * 4 for i in range(3)]
    rows = (
        {"x": numbers, "y": labels}
        if kind == "arrays"
        else {"image": images, "label": labels}
    )
    place = work / "p" / "data" / "test-00000-of-00001.parquet"
    if kind == "features":
        names = datasets.ClassLabel(names=["a", "b"])
        features = datasets.Features({"image": datasets.Image(), "label": names})
        datasets.Dataset.from_dict(rows, features=features).to_parquet(place)
    else:
        parquet.write_table(arrow.table(rows), place)
    with open_data("hf:p") as data:
        assert len(data) == 3
        assert [data.label(i) for i in range(3)] == labels
        want = (
            np.array(numbers[1])
            if kind == "arrays"
            else np.asarray(picture(1)).transpose(2, 0, 1) / np.float32(255)
        )
        np.testing.assert_array_equal(data.input(1), want)
        assert data.identity["split"] == "test"
