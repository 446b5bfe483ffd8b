"""CIFAR-10 from the files of its two archives."""

import pickle
import pickletools
from pathlib import Path

import cifar
import numpy as np
import pytest
from scripts import module_at

ROOT = Path(__file__).parents[2]
READER = module_at(ROOT / "docs" / "reproductions" / "cifar10.py")


@pytest.mark.parametrize("below", ["", "archive"])
@pytest.mark.parametrize("binary", [False, True])
def test_both_forms_give_the_pictures_that_were_written(binary, below, tmp_path):
    own = "cifar-10-batches-bin" if binary else "cifar-10-batches-py"
    cifar.write(tmp_path / (own if below else ""), binary=binary, each=12)
    x, y = READER.pictures("train", tmp_path, 60)
    assert (x.shape, x.dtype, y.dtype) == ((60, 3, 32, 32), np.float32, np.int64)
    for seed in range(5):
        written, classes = cifar.pictures(12, seed)
        part = slice(12 * seed, 12 * seed + 12)
        np.testing.assert_array_equal(np.round(x[part] * 255).reshape(12, -1), written)
        np.testing.assert_array_equal(y[part], classes)
    held, truth = READER.pictures("test", tmp_path, 7)
    written, classes = cifar.pictures(12, 5)
    np.testing.assert_array_equal(np.round(held * 255).reshape(7, -1), written[:7])
    np.testing.assert_array_equal(truth, classes[:7])


def test_the_first_colour_is_red(tmp_path):
    x, y = cifar.pictures(1, 0)
    x[0, :1024] = 255
    x[0, 1024:] = 0
    cifar.write(tmp_path, binary=True, each=1)
    (tmp_path / "test_batch.bin").write_bytes(cifar.as_binary(x, y))
    picture = READER.pictures("test", tmp_path, 5)[0][0]
    assert picture[0].min() == 1
    assert picture[1:].max() == 0


def test_only_as_many_batches_are_read_as_are_wanted(tmp_path):
    cifar.write(tmp_path, each=4)
    for name in cifar.TRAIN[2:]:
        (tmp_path / name).unlink()
    assert len(READER.pictures("train", tmp_path, 8)[0]) == 8
    with pytest.raises(FileNotFoundError, match="data_batch_3"):
        READER.pictures("train", tmp_path, 9)


def test_the_stand_in_is_a_pickle_of_python_2():
    text = cifar.as_pickle(*cifar.pictures(2, 0))
    names = [code.name for code, _, _ in pickletools.genops(text)]
    assert names[0] == "PROTO"
    assert "SHORT_BINSTRING" in names
    loaded = pickle.loads(text, encoding="bytes")
    np.testing.assert_array_equal(loaded[b"data"], cifar.pictures(2, 0)[0])


def test_a_batch_that_names_other_code_is_not_run(tmp_path):
    target = tmp_path / "made"
    (tmp_path / "test_batch").write_bytes(
        b"cos\nsystem\n(S'touch " + str(target).encode() + b"'\ntR."
    )
    with pytest.raises(ValueError, match=r"os\.system is not part of a batch"):
        READER.pictures("test", tmp_path, 5)
    assert not target.exists()


BROKEN = {
    "nothing": (b"", "EOFError"),
    "a list": (pickle.dumps([1]), "no bytes of shape"),
    "no pictures": (pickle.dumps({b"data": np.zeros((0, 3072), "u1")}), "no bytes"),
    "floats": (pickle.dumps({b"data": np.zeros((2, 3072))}), "no bytes"),
    "no classes": (pickle.dumps({b"data": np.zeros((2, 3072), "u1")}), "classes other"),
    "too few classes": (
        pickle.dumps({b"data": np.zeros((2, 3072), "u1"), b"labels": [1]}),
        "1 classes of 2 pictures",
    ),
    "a class 10": (
        pickle.dumps({b"data": np.zeros((1, 3072), "u1"), b"labels": [10]}),
        "classes other than 0 to 9",
    ),
    "half a class": (
        pickle.dumps({b"data": np.zeros((1, 3072), "u1"), b"labels": [0.5]}),
        "classes other than 0 to 9",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_batch_is_refused_with_its_name(case, tmp_path):
    content, message = BROKEN[case]
    (tmp_path / "test_batch").write_bytes(content)
    with pytest.raises(ValueError, match=f"test_batch must be .*{message}"):
        READER.pictures("test", tmp_path, 5)


@pytest.mark.parametrize("content", [b"", b"1" * 3072, b"\x0a" + b"1" * 3072])
def test_a_broken_binary_batch_is_refused(content, tmp_path):
    (tmp_path / "test_batch.bin").write_bytes(content)
    with pytest.raises(ValueError, match=r"test_batch\.bin must be a batch"):
        READER.pictures("test", tmp_path, 5)
