"""Whole numbers as they are, sequences of different lengths, sparse matrices: what is
read of them, their identity, and what is refused.
"""

import re
import zipfile

import numpy as np
import pytest
from scipy import sparse
from small_data import array_bytes, header, npy, npz, raw_npz

from rsbounds.loading import CorruptInput, open_data

TOKENS = np.arange(12).reshape(4, 3) % 5
LABELS = np.array([0, 1, 1, 0])
VALUES = np.array([3, 1, 4, 1, 5, 9, 2, 6])
OFFSETS = np.array([0, 3, 4, 8])
GRAPH = sparse.csr_array(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]))


def ragged(folder, **arrays):
    values = {"values": VALUES, "offsets": OFFSETS, "y": np.array([0, 1, 0])}
    np.savez(folder / "d.npz", **values | arrays)
    return folder / "d.npz"


def matrix(folder, x=GRAPH, labels=None):
    sparse.save_npz(folder / "d.npz", x)
    if labels is not None:
        np.save(folder / "d.labels.npy", labels)
    return folder / "d.npz"


def pairs(folder, x, y):
    return list(zip(x, y.tolist(), strict=True))


@pytest.mark.parametrize("place", [npz, npy, pairs])
@pytest.mark.parametrize("dtype", ["u1", ">i4", "i8", "?"])
def test_whole_numbers_stay_what_they_are(tmp_path, place, dtype):
    x = TOKENS.astype(dtype)
    with open_data(place(tmp_path, x=x, y=LABELS), whole=True) as data:
        item = data.item(2)
        assert item.x.dtype == np.int64
        assert item.x.tolist() == x[2].astype(int).tolist()
        assert data.identity["whole"] is True


def test_whole_numbers_that_nobody_asked_for_need_a_scale(tmp_path):
    path = npz(tmp_path, x=TOKENS, y=LABELS)
    with pytest.raises(ValueError, match=r"scale must be given"):
        open_data(path)
    with open_data(path, scale=1, whole=True) as data:
        assert data.input(0).dtype == np.float64
        assert "whole" not in data.identity
    with open_data(npz(tmp_path, x=TOKENS / 8, y=LABELS), whole=True) as data:
        assert data.input(0).dtype == np.float64
    with pytest.raises(CorruptInput, match=r"input 0.*below"):
        open_data((np.array([[2**63]], np.uint64), [0]), whole=True).item(0)


def test_sequences_of_different_lengths(tmp_path):
    with open_data(ragged(tmp_path), whole=True) as data:
        assert [data.input(i).tolist() for i in range(3)] == [
            [3, 1, 4],
            [1],
            [5, 9, 2, 6],
        ]
        assert data.labels.tolist() == [0, 1, 0]
        stored = dict(data.identity)
        digests = [data.item(i).digest for i in range(3)]
    lists = open_data(([VALUES[:3], VALUES[3:4], VALUES[4:]], [0, 1, 0]), whole=True)
    assert [lists.item(i).digest for i in range(3)] == digests
    moved = np.array([0, 2, 4, 8])
    with open_data(ragged(tmp_path, offsets=moved), whole=True) as data:
        assert data.identity["x"] != stored["x"]
    with open_data(ragged(tmp_path, values=VALUES + 1), whole=True) as data:
        assert data.identity["x"] != stored["x"]
    with pytest.raises(ValueError, match="scale"):
        open_data(ragged(tmp_path))


def test_a_graph_is_one_input(tmp_path):
    with open_data(matrix(tmp_path)) as data:
        assert len(data) == 1
        assert data.label(0) == 0
        assert (data.input(0) != GRAPH).nnz == 0
        identity, digest = dict(data.identity), data.item(0).digest
    assert open_data(([GRAPH], [0])).item(0).digest == digest
    other = GRAPH.copy()
    other.data[0] = 2
    with open_data(matrix(tmp_path, other)) as data:
        assert data.identity["x"] != identity["x"]
        assert data.item(0).digest != digest
    with open_data(matrix(tmp_path, labels=np.array([2]))) as data:
        assert [data.label(i) for i in range(len(data))] == [2]


def test_rows_of_a_matrix_with_labels_are_inputs(tmp_path):
    with open_data(matrix(tmp_path, labels=np.array([0, 1, 2]))) as data:
        assert len(data) == 3
        assert data.input(1).toarray().tolist() == [[1, 0, 0]]
        assert data.label(2) == 2
        assert len({data.item(i).digest for i in range(3)}) == 3


RAGGED = {
    "overlap": ({"offsets": [0, 4, 3, 8]}, "offsets must ascend"),
    "empty input": ({"offsets": [0, 3, 3, 8]}, "at least one value for each input"),
    "short": ({"offsets": [0, 3, 4, 7]}, "to the number of values, 8"),
    "late": ({"offsets": [1, 3, 4, 8]}, "got 1 to 8"),
    "negative": ({"offsets": [0, -3, 4, 8]}, "offsets must be >= 0"),
    "real": ({"offsets": [0, 3.5, 4, 8]}, "offsets must be whole"),
    "labels": ({"y": [0, 1]}, "one label for each of the 3 inputs"),
    "text": ({"values": ["a"] * 8}, "values must be numbers"),
    "plane": ({"values": VALUES.reshape(2, 4)}, "got int64 of shape (2, 4)"),
    "no axis": ({"offsets": 3}, "offsets must be the begin"),
    "pickle": ({"values": np.array([{}], object)}, "pickled objects, which are never"),
}


@pytest.mark.parametrize("name", RAGGED)
def test_bad_sequences_are_refused_in_a_line(tmp_path, name):
    arrays, message = RAGGED[name]
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        open_data(ragged(tmp_path, **arrays), whole=True)
    assert "\n" not in str(caught.value)
    assert "d.npz" in str(caught.value)


def csr_members(**members):
    arrays = {
        "format": array_bytes(np.array(b"csr")),
        "shape": array_bytes([3, 3]),
        "indptr": array_bytes(GRAPH.indptr),
        "indices": array_bytes(GRAPH.indices),
        "data": array_bytes(GRAPH.data),
    }
    return {f"{name}.npy": value for name, value in (arrays | members).items()}


MATRICES = {
    "column form": ({"format": array_bytes(np.array(b"csc"))}, "in CSR form"),
    "nameless": ({"format": array_bytes(np.array([1]))}, "format must be a name"),
    "solid": ({"shape": array_bytes([3, 3, 3])}, "shape must be two numbers"),
    "empty": ({"shape": array_bytes([0, 3])}, "shape must be >= 1"),
    "many rows": ({"shape": array_bytes([10**12, 3])}, "indptr must be the begin of"),
    "claims more": (
        {"shape": array_bytes([10**7, 3]), "indptr": header((10**7 + 1,), "<i4")},
        "where its header says",
    ),
    "back": ({"indptr": array_bytes([0, 3, 2, 4])}, "indptr must ascend"),
    "beyond": ({"indptr": array_bytes([0, 2, 3, 9])}, "got 0 to 9"),
    "column": ({"indices": array_bytes([1, 2, 0, 3])}, "indices must be below"),
    "negative": ({"indices": array_bytes([1, -2, 0, 0])}, "indices must be >= 0"),
    "lengths": (
        {"data": array_bytes([1, 1])},
        "indices and data must be of one length",
    ),
    "infinite": ({"data": array_bytes([1, np.inf, 1, 1])}, "data must be finite"),
    "text": ({"data": array_bytes(["a"] * 4)}, "data must be at most"),
}


@pytest.mark.parametrize("name", MATRICES)
def test_bad_matrices_are_refused_in_a_line(tmp_path, name):
    members, message = MATRICES[name]
    raw_npz(tmp_path / "d.npz", csr_members(**members))
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        open_data(tmp_path / "d.npz")
    assert "\n" not in str(caught.value)
    assert "d.npz" in str(caught.value)


def test_a_good_matrix_of_members_is_read(tmp_path):
    raw_npz(tmp_path / "d.npz", csr_members(), zipfile.ZIP_DEFLATED)
    with open_data(tmp_path / "d.npz") as data:
        assert (data.input(0) != GRAPH).nnz == 0
    with pytest.raises(ValueError, match=r"scale.*arrays"):
        open_data(tmp_path / "d.npz", scale=2)
    np.save(tmp_path / "d.labels.npy", [0, 1])
    with pytest.raises(ValueError, match=r"label.*rows"):
        open_data(tmp_path / "d.npz")


@pytest.mark.slow
@pytest.mark.parametrize("make", [ragged, matrix])
def test_any_changed_byte_is_an_error_of_one_line_or_none(tmp_path, make):
    path = make(tmp_path)
    content = path.read_bytes()
    rng, messages = np.random.default_rng(0), []
    for position in range(len(content)):
        raw = bytearray(content)
        raw[position] ^= int(rng.integers(1, 256))
        path.write_bytes(raw)
        try:
            with open_data(path, whole=True) as data:
                for i in range(len(data)):
                    data.item(i)
        except (ValueError, OSError) as error:
            messages.append(str(error))
    assert len(messages) > len(content) // 8
    assert not any("\n" in message for message in messages)
