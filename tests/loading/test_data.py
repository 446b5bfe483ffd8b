"""Data sets by place: what is read, how much of it, in which order, and what is
refused.
"""

import json
import re
import sys
import threading
import warnings

import numpy as np
import pytest
from refusals import refusals
from scipy import sparse
from small_data import X, Y, compressed, npy, npz

from rsbounds.loading import CorruptInput, Data, open_data
from rsbounds.loading.internal import check_labels, prefetched


def pairs(folder, x=X, y=Y):
    return list(zip(x, y.tolist(), strict=True))


PLACES = [npz, compressed, npy, pairs]


@pytest.mark.parametrize("place", PLACES)
def test_rows_in_any_order(tmp_path, place):
    with open_data(place(tmp_path)) as data:
        assert isinstance(data, Data)
        assert len(data) == 7
        for i in (3, 0, 6, 6, 2):
            item = data.item(i)
            assert item.x.dtype == np.float32
            np.testing.assert_array_equal(item.x, X[i])
            assert (item.index, item.label, data.label(i)) == (i, Y[i], Y[i])
        json.dumps(data.identity)
        with pytest.raises(IndexError, match=r"index.*7\)"):
            data.item(7)
        with pytest.raises(IndexError, match="got -1"):
            data.item(-1)


def test_one_row_has_one_hash_wherever_it_lies(tmp_path):
    digests = []
    for place in PLACES:
        with open_data(place(tmp_path)) as data:
            digests.append([data.item(i).digest for i in range(7)])
    assert digests[0] == digests[1] == digests[2] == digests[3]
    assert len(set(digests[0])) == 7


def test_hash_sees_number_label_and_shape_and_no_type(tmp_path):
    def digest(**arrays):
        with open_data(npz(tmp_path, **arrays)) as data:
            return data.item(0).digest

    changed = X.copy()
    changed[0, 0, 0] = np.nextafter(changed[0, 0, 0], 2)
    other = [
        digest(x=changed),
        digest(y=Y + 1),
        digest(x=X[:, None]),
    ]
    assert len({digest(), *other}) == 4
    assert digest(x=X.astype(float)) == digest() == digest(x=X.astype(">f4"))
    assert digest() == digest(y=np.array([0, 1, 1, 1, 1, 1, 1]))  # the other rows


@pytest.mark.parametrize("dtype", [">f4", "f2", "f8", "f4"])
@pytest.mark.parametrize("place", [npz, compressed, npy])
def test_floating_point_of_any_kind(tmp_path, place, dtype):
    with open_data(place(tmp_path, x=X.astype(dtype))) as data:
        np.testing.assert_array_equal(
            data.input(4), X[4].astype(dtype).astype(np.float32)
        )


def test_whole_numbers_are_scaled_where_that_is_said(tmp_path):
    pixels = np.arange(7 * 4, dtype=np.uint8).reshape(7, 4)
    path = npz(tmp_path, x=pixels)
    with pytest.raises(ValueError, match=r"scale must be given"):
        open_data(path)
    with open_data(path, scale=255) as data:
        want = pixels[6].astype(np.float32) / np.float32(255)
        np.testing.assert_array_equal(data.input(6), want)
    with open_data(path, scale=1) as data:
        np.testing.assert_array_equal(data.input(6), pixels[6])
    for bad in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"scale.*\(0, inf\)"):
            open_data(path, scale=bad)


def test_a_torch_dataset_by_name(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    (tmp_path / "sets.py").write_text(
        "import torch\n"
        "def make():\n"
        "    x, y = torch.ones(3, 2), torch.tensor([0, 1, 1])\n"
        "    return torch.utils.data.TensorDataset(x, y)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with open_data("sets.py:make") as data:
        assert (len(data), data.label(2), data.input(0).tolist()) == (3, 1, [1, 1])


def test_prefetched_keeps_the_order_and_the_bound():
    read, most = [], 0

    class Slow(list):
        def __getitem__(self, i):
            read.append(i)
            return super().__getitem__(i)

    data = open_data(Slow(pairs(None)))
    for taken, item in enumerate(prefetched(data, [5, 1, 3, 0, 2], ahead=1), 1):
        assert item.index == [5, 1, 3, 0, 2][taken - 1]
        most = max(most, len(read) - taken)
    assert read == [5, 1, 3, 0, 2]
    assert most <= 2  # one waits, one is being read


def test_prefetched_ends_its_thread_when_it_is_left():
    before = threading.active_count()
    items = prefetched(open_data((X, Y)), list(range(7)) * 100)
    next(items)
    assert threading.active_count() == before + 1
    items.close()
    assert threading.active_count() == before


def test_prefetched_raises_where_the_row_would_have_come():
    def fails(i):
        if i == 3:
            raise OSError("disk gone")
        return X[i], Y[i]

    data = open_data(
        type(
            "Set", (), {"__len__": lambda s: 7, "__getitem__": lambda s, i: fails(i)}
        )()
    )
    got = []
    with pytest.raises(ValueError, match=r"input 3.*disk gone"):
        got.extend(item.index for item in prefetched(data, range(7)))
    assert got == [0, 1, 2]


def test_rows_that_are_not_finite(tmp_path):
    x = X.copy()
    x[2, 0, 0] = np.nan
    with open_data(npz(tmp_path, x=x)) as data:
        data.item(1)
        message = "d.npz: input 2 must be finite; 1 of 6 numbers are not"
        with pytest.raises(CorruptInput, match=re.escape(message)):
            data.item(2)
        items = list(prefetched(data, range(4), skip_corrupt=True))
        with pytest.raises(CorruptInput):
            list(prefetched(data, range(4)))
    assert [item.x is None for item in items] == [False, False, True, False]
    assert message in items[2].problem
    assert items[2].label == 2


def test_labels_outside_the_classes(tmp_path):
    with open_data(npz(tmp_path)) as data:
        check_labels(data, 3)
        check_labels(data, 2, [0, 1, 3])
        with pytest.raises(ValueError, match=r"3 of 7.*first 2"):
            check_labels(data, 2)


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        (".", {}, "say imagefolder:"),
        ("nothing", {}, "data must be FILE"),
        ("d.npz", {"scale": "x"}, "scale must be real numbers"),
        ("d.npz", {"preprocess": 8}, "preprocess must be a Preprocess"),
    ],
)
def test_places_that_are_none(spec, options, message):
    with pytest.raises(ValueError, match=message):
        open_data(spec, **options)


test_sequences_that_are_none = refusals(
    {
        r"input 0.*pair": lambda: open_data([X[0][0]]).item(0),
        r"classes.*'cat'": lambda: open_data([(X[0], "cat")]).item(0),
        r"input 0.*numbers": lambda: open_data([("cat", 0)]).item(0),
    }
)


def test_real_outputs_are_no_labels():
    data = open_data((np.zeros((2, 3), np.float32), np.array([1.5, 2.0])))
    with pytest.raises(ValueError, match="inputs alone"):
        data.item(0)


@pytest.mark.parametrize(
    ("store", "hint"),
    [
        (lambda p: np.savez(p, x=np.zeros((2, 3))), "zeros will do for values"),
        (
            lambda p: np.savez(p, x=np.array([[1], [2, 3]], dtype=object), y=[0, 1]),
            "stored as values, one after the other, with offsets",
        ),
        (lambda p: np.savez(p, x=np.ones((2, 3)), y=np.eye(2)), r"y\.argmax\(axis=1\)"),
        (lambda p: np.savez(p, x=np.ones((2, 3)), y=["a", "b"]), "model names none"),
        (
            lambda p: np.savez(p, x=np.array(["a good film"]), y=[0]),
            "give the numbers of its tokens",
        ),
        (
            lambda p: sparse.save_npz(p, sparse.coo_array(np.eye(3))),
            r"COO form: save matrix\.tocsr\(\)",
        ),
    ],
)
def test_a_file_that_is_refused_says_how_to_store_it(tmp_path, store, hint):
    store(tmp_path / "d.npz")
    with pytest.raises(ValueError, match=hint):
        open_data(tmp_path / "d.npz")


def test_inputs_without_labels_beside_them_are_told_where(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    with pytest.raises(FileNotFoundError, match=r"x\.labels\.npy"):
        open_data(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        ((np.zeros((2, 3)), np.zeros((2, 3), int)), r"Maps\(scheme, truth"),
        ((sparse.csr_array(np.eye(3)), [0]), "is one input, a graph"),
        ([("a good film", 0)], "give the numbers of its tokens"),
        ({"x": np.zeros((2, 3)), "y": [0, 1]}, r"two arrays \(x, y\).*got dict"),
        ((np.zeros((0, 3)), np.zeros(0)), "got arrays without any"),
        ((np.zeros((2, 3)), np.zeros((2, 1))), r"the 2 inputs.*\(2, 1\).*ravel"),
    ],
)
def test_data_that_are_refused_say_how_to_give_them(data, hint):
    with pytest.raises(ValueError, match=hint):
        open_data(data).item(0)


def test_a_sequence_says_the_shape_of_its_inputs():
    x = np.zeros((3, 2, 4), np.float32)
    assert open_data((x, [0, 1, 1])).identity["shape"] == [2, 4]
    assert open_data([(row, 0) for row in x]).identity["shape"] == [2, 4]
    ragged = [(x[0], 0), (x[0, 0], 1)]
    assert "shape" not in open_data(ragged).identity


def test_data_of_code_are_whatever_open_data_takes(tmp_path):
    """Two arrays, as from Python, and pairs of them."""
    code = tmp_path / "code.py"
    code.write_text(
        "import numpy as np\n"
        "x, y = np.eye(3, dtype=np.float32), np.array([2, 0, 1])\n"
        "arrays = lambda: (x, y)\n"
        "pairs = lambda: list(zip(x, y.tolist()))\n"
    )
    digests = []
    for name in ("arrays", "pairs"):
        with open_data(f"{code}:{name}") as data:
            assert [data.label(i) for i in range(len(data))] == [2, 0, 1]
            digests.append([data.item(i).digest for i in range(3)])
    assert digests[0] == digests[1]


def test_classes_that_data_name_are_the_model_s_of_these_names():
    """torchvision's data sets name their classes: their order was taken for its."""

    class Named(list):
        classes = ("cat", "dog")

    data = Named([(np.zeros(2), 0), (np.ones(2), 1)])
    swapped = open_data(data, labels=["dog", "cat"])
    assert [swapped.label(i) for i in range(2)] == [1, 0]
    among_others = open_data(data, labels=["bird", "cat", "dog"])
    assert [among_others.label(i) for i in range(2)] == [1, 2]
    for labels in (None, [0, 1], ["katze", "hund"]):
        unnamed = open_data(data, labels=labels)
        assert [unnamed.label(i) for i in range(2)] == [0, 1]
    with pytest.raises(ValueError, match="input 0"):
        open_data(Named([(np.zeros(2), 2)]), labels=["dog", "cat"]).label(0)


def test_a_scale_that_makes_numbers_infinite_is_told_without_a_warning():
    data = open_data((np.ones((1, 2)), [0]), scale=1e-320)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="must be finite"):
            data.item(0)


def test_numbers_under_a_mask_are_refused():
    x = np.ma.array([[0.5, 1.0], [2.0, 3.0]], mask=[[False, True], [False, False]])
    data = open_data((x, [0, 0]))
    with pytest.raises(ValueError, match=r"^data: input 0 must hold no masked"):
        data.item(0)
    np.testing.assert_array_equal(data.item(1).x, [2.0, 3.0])
    labels = open_data((x.data, np.ma.array([0, 1], mask=[False, True])))
    assert labels.label(0) == 0
    with pytest.raises(ValueError, match=r"label must hold no masked"):
        labels.item(1)
    with pytest.raises(ValueError, match=r"label must hold no masked"):
        open_data([(x.data[0], np.ma.masked)]).item(0)


def test_columns_of_a_frame_keep_their_numbers():
    pandas = pytest.importorskip("pandas")
    wide = pandas.DataFrame({"a": [1, 2**53 + 1], "b": [0.5, 0.5]})
    with pytest.raises(ValueError, match=r"^data must be .*first 9007199254740993"):
        open_data((wide, [0, 0]))
    exact = pandas.DataFrame({"a": [1, 2**53], "b": [0.5, 0.5]})
    assert open_data((exact, [0, 0])).item(1).x[0] == 2**53


def test_frames_of_types_that_numpy_lacks_are_refused_with_a_step():
    pandas = pytest.importorskip("pandas")
    column = pandas.array([1.5, 2.0], dtype="Float64")
    whole = pandas.array([1, 2], dtype="Int64")
    frame = pandas.DataFrame({"a": column, "b": whole})
    with pytest.raises(ValueError, match=r"got Float64, Int64: data.astype\('float64'"):
        open_data((frame, [0, 0]))
    step = frame.astype("float64")
    np.testing.assert_array_equal(open_data((step, [0, 0])).item(1).x, [2.0, 2.0])
