"""Image folders and Hugging Face data: pixels, class numbers, images that are none."""

import os
import re
import struct
import zlib

import numpy as np
import pytest
from cli_models import package

from rsbounds.loading import CorruptInput, Preprocess, open_data
from rsbounds.loading.images import number_classes
from rsbounds.loading.internal import prefetched

Image = pytest.importorskip("PIL.Image")


def picture(seed=0, size=(30, 20)):
    pixels = np.random.default_rng(seed).integers(
        0, 256, (size[1], size[0], 3), dtype=np.uint8
    )
    return Image.fromarray(pixels)


@pytest.fixture
def folder(tmp_path):
    for i, name in enumerate(["cat/1.png", "cat/a/0.png", "dog/2.PNG", "fox/3.png"]):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        picture(i).save(path, format="png")
    (tmp_path / "cat" / "notes.txt").write_text("no image")
    (tmp_path / ".hidden").mkdir()
    return tmp_path


def test_a_folder_of_images(folder):
    data = open_data(f"imagefolder:{folder}")
    assert len(data) == 4
    assert [data.label(i) for i in range(4)] == [0, 0, 1, 2]
    want = np.asarray(picture(0)).transpose(2, 0, 1).astype(np.float32) / np.float32(
        255
    )
    np.testing.assert_array_equal(data.input(0), want)
    assert len({item.digest for item in prefetched(data, range(4))}) == 4
    assert data.identity["numbered_by"] == "order"


def test_preprocessing_comes_first_and_is_recorded(folder):
    prep = Preprocess(resize=16, crop=(8, 12), interpolation="bicubic", channels=1)
    data = open_data(f"imagefolder:{folder}", preprocess=prep)
    x = data.input(0)
    assert x.shape == (1, 8, 12)
    assert np.array_equal(
        np.rint(255 * x), np.round(255.0 * x, 3)
    )  # on the grid of 1/255
    assert data.identity["preprocessing"] == prep.description
    assert data.identity != open_data(f"imagefolder:{folder}").identity


def test_scale_of_pixels(folder):
    data = open_data(f"imagefolder:{folder}", scale=1)
    assert data.input(0).max() > 200


def test_classes_are_numbered_by_number_name_or_order(folder):
    assert number_classes("d", ["10", "9"], None) == ({"10": 10, "9": 9}, "number")
    with pytest.raises(ValueError, match="1 and 01 are one class number"):
        number_classes("d", ["0", "1", "01"], None)
    names = ("fox", "bird", "dog", "cat")
    data = open_data(f"imagefolder:{folder}", labels=names)
    assert [data.label(i) for i in range(4)] == [3, 3, 2, 0]
    with pytest.raises(ValueError, match=r"classes.*folder"):
        open_data(f"imagefolder:{folder}", labels=("a", "b"))
    data = open_data(f"imagefolder:{folder}", labels=("a", "b", "c"))
    assert data.identity["numbered_by"] == "order"


def test_folders_without_images(tmp_path):
    with pytest.raises(ValueError, match="0 folders"):
        open_data(f"imagefolder:{tmp_path}")
    (tmp_path / "cat").mkdir()
    with pytest.raises(ValueError, match="1 folders"):
        open_data(f"imagefolder:{tmp_path}")
    with pytest.raises(FileNotFoundError):
        open_data(f"imagefolder:{tmp_path / 'nope'}")
    picture().save(tmp_path / "flat.png")
    with pytest.raises(ValueError, match=r"DIR/CLASS/\*\.jpg"):
        open_data(f"imagefolder:{tmp_path}")


def bomb():
    def chunk(kind, body):
        return (
            struct.pack(">I", len(body))
            + kind
            + body
            + struct.pack(">I", zlib.crc32(kind + body))
        )

    head = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    data = chunk(b"IDAT", zlib.compress(b""))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + data + chunk(b"IEND", b"")


def whole(mode):
    import io

    file = io.BytesIO()
    Image.new(mode, (5, 4)).save(file, format="png" if mode != "F" else "tiff")
    return file.getvalue()


CORRUPT = {
    "empty": lambda raw: b"",
    "text": lambda raw: b"not an image",
    "cut": lambda raw: raw[: len(raw) // 2],
    "damaged": lambda raw: raw[:100] + b"\0" * 50 + raw[150:],
    "bomb": lambda raw: bomb(),
    "16 bits": lambda raw: whole("I;16"),
    "floats": lambda raw: whole("F"),
}


@pytest.mark.parametrize("name", CORRUPT)
def test_corrupt_images(folder, name):
    path = folder / "dog" / "2.PNG"
    path.write_bytes(CORRUPT[name](path.read_bytes()))
    data = open_data(f"imagefolder:{folder}")
    with pytest.raises(CorruptInput, match=r"dog/2\.PNG.*decoded") as caught:
        data.item(2)
    assert "\n" not in str(caught.value)
    with pytest.raises(CorruptInput):
        list(prefetched(data, range(4)))
    items = list(prefetched(data, range(4), skip_corrupt=True))
    assert [item.x is None for item in items] == [False, False, True, False]
    assert items[2].label == 1
    assert "2.PNG" in items[2].problem


def test_a_file_name_with_control_characters(folder):
    (folder / "dog" / "\x1b[31m\n.png").write_bytes(b"x")
    data = open_data(f"imagefolder:{folder}")
    with pytest.raises(CorruptInput) as caught:
        [data.item(i) for i in range(len(data))]
    assert "\\x1b[31m\\n.png" in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK"])
def test_images_of_every_mode_become_colours(mode):
    assert Preprocess()(picture().convert(mode)).shape == (3, 20, 30)


@pytest.mark.parametrize("size", [(31, 20), (20, 31), (333, 77)])
@pytest.mark.parametrize("resize", [16, (13, 17)])
def test_resizing_is_torchvisions(size, resize):
    transforms = package("torchvision.transforms")
    mode = transforms.InterpolationMode.BILINEAR
    theirs = transforms.Compose(
        [transforms.Resize(resize, mode), transforms.CenterCrop((11, 13)), np.asarray]
    )
    ours = Preprocess(resize, (11, 13))(picture(size=size))
    np.testing.assert_array_equal(ours, theirs(picture(size=size)).transpose(2, 0, 1))


BAD = [{"resize": 0}, {"crop": (0, 3)}, {"interpolation": "cubic"}, {"channels": 4}]


@pytest.mark.parametrize("settings", [*BAD, {"rounding": "up"}])
def test_preprocessing_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Preprocess(**settings)


def test_a_sequence_of_pillow_images():
    data = open_data([(picture(3), 1)], preprocess=Preprocess(8, (8, 8)))
    item = data.item(0)
    assert item.x.shape == (3, 8, 8)
    assert 0.5 < item.x.max() <= 1
    with pytest.raises(CorruptInput, match="8 bits a channel"):
        open_data([(Image.new("I;16", (5, 4)), 1)]).item(0)


@pytest.fixture
def datasets(monkeypatch, tmp_path):
    module = package("datasets")
    module.disable_progress_bars()
    return module


@pytest.fixture
def stored(datasets, tmp_path):
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])}
    )
    rows = {"image": [picture(i) for i in range(3)], "label": [1, 0, 1]}
    data = datasets.Dataset.from_dict(rows, features=features)
    datasets.DatasetDict({"train": data, "test": data.select([2, 1])}).save_to_disk(
        tmp_path / "d"
    )
    return tmp_path / "d"


@pytest.mark.slow
def test_hf_splits(stored):
    data = open_data(f"hf:{stored}:test")
    assert (len(data), data.label(0), data.label(1)) == (2, 1, 0)
    want = np.asarray(picture(2)).transpose(2, 0, 1).astype(np.float32) / np.float32(
        255
    )
    np.testing.assert_array_equal(data.input(0), want)
    assert len(open_data(f"hf:{stored}:train")) == 3
    with pytest.raises(ValueError, match="splits train"):
        open_data(f"hf:{stored}")
    with pytest.raises(ValueError, match=r"'val'.*train"):
        open_data(f"hf:{stored}:val")


@pytest.mark.slow
def test_hf_names_are_the_models(stored):
    data = open_data(f"hf:{stored}:train", labels=("dog", "fox", "cat"))
    assert [data.label(i) for i in range(3)] == [0, 2, 0]
    assert data.identity["numbered_by"] == "name"


@pytest.mark.slow
def test_hf_arrays_and_corrupt_images(datasets, tmp_path):
    datasets.Dataset.from_dict(
        {"x": [[0.5, 1.0], [2.0, 3.0]], "y": [0, 1]}
    ).save_to_disk(tmp_path / "a")
    assert open_data(f"hf:{tmp_path / 'a'}").input(1).tolist() == [2, 3]
    features = datasets.Features(
        {"img": datasets.Image(), "label": datasets.Value("int64")}
    )
    rows = {"img": [{"bytes": b"none", "path": None}], "label": [0]}
    datasets.Dataset.from_dict(rows, features=features).save_to_disk(tmp_path / "b")
    with pytest.raises(CorruptInput, match=r"input 0.*decoded"):
        open_data(f"hf:{tmp_path / 'b'}").item(0)
    datasets.Dataset.from_dict({"x": [[1.0]], "z": [0]}).save_to_disk(tmp_path / "c")
    message = re.escape("must have a column label, labels, fine_label or y; got x, z")
    with pytest.raises(ValueError, match=message):
        open_data(f"hf:{tmp_path / 'c'}")


@pytest.mark.slow
def test_rows_that_name_files_elsewhere_are_corrupt(datasets, tmp_path, monkeypatch):
    """A file of strangers could name a device without an end, or any file of this
    machine.
    """
    parquet, arrow = package("pyarrow.parquet"), package("pyarrow")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "p"
    folder.mkdir()
    picture().save(folder / "in.png")
    picture().save(tmp_path / "out.png")
    os.mkfifo(folder / "pipe.png")
    (folder / "link.png").symlink_to(tmp_path / "out.png")
    names = ["in.png", "pipe.png", "link.png", "../out.png", "/dev/zero"]
    images = [{"bytes": None, "path": str(folder / name)} for name in names]
    rows = arrow.table({"image": images, "label": [0] * len(names)})
    parquet.write_table(rows, folder / "test.parquet")
    data = open_data(f"hf:{folder}")
    assert data.input(0).shape == (3, 20, 30)
    with pytest.raises(CorruptInput, match="regular file"):
        data.item(1)
    for i in (2, 3, 4):
        with pytest.raises(CorruptInput, match="outside"):
            data.item(i)


@pytest.mark.slow
def test_names_of_columns_reach_no_terminal_raw(datasets, tmp_path):
    datasets.Dataset.from_dict({"x": [[1.0]], "\x1b[2J": [0]}).save_to_disk(
        tmp_path / "d"
    )
    with pytest.raises(ValueError, match="got x") as caught:
        open_data(f"hf:{tmp_path / 'd'}")
    assert "\\x1b[2J" in str(caught.value)


@pytest.mark.slow
def test_hf_does_not_use_the_network_unasked(datasets, no_network):
    with pytest.raises(ValueError, match=r"not on disk .*download=True"):
        open_data("hf:no/such-data")
