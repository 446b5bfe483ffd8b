"""npz and npy files that are damaged, false or hostile: one line each, and nothing is
run.
"""

import os
import re
import shutil
import zipfile

import numpy as np
import pytest
from cases import slow_among
from cli_models import arguments, one_line
from small_data import X, Y, array_bytes, compressed, header, npy, raw_npz

from rsbounds.loading import CorruptInput, open_data
from rsbounds.loading.checkpoints import load_weights
from rsbounds.loading.internal import inputs


def flipped(folder):
    path = compressed(
        folder, x=np.random.default_rng(0).random((50, 100)), y=np.zeros(50, int)
    )
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    path.write_bytes(raw)


BAD = {
    "empty": (lambda p: p.write_bytes(b""), "must be an npz"),
    "array": (lambda p: p.write_bytes(array_bytes(X)), "got a single array"),
    "no y": (lambda p: np.savez(p, x=X), "got only the arrays x"),
    "pickle": (
        lambda p: np.savez(p, x=np.array([{}, 1], dtype=object), y=[0, 1]),
        "pickled objects, which are never read",
    ),
    "real labels": (
        lambda p: np.savez(p, x=X, y=Y + 0.5),
        "y must be a whole number",
    ),
    "negative labels": (
        lambda p: np.savez(p, x=X, y=Y - 1),
        "y must be >= 0",
    ),
    "few labels": (
        lambda p: np.savez(p, x=X, y=Y[:3]),
        "one label for each of the 7",
    ),
    "no axis": (
        lambda p: np.savez(p, x=Y * 1.0, y=Y),
        "of shape (count, ...)",
    ),
    "strings": (lambda p: np.savez(p, x=[["a"]], y=[0]), "real numbers"),
    "fortran": (
        lambda p: np.savez(p, x=np.asfortranarray(X), y=Y),
        "Fortran order; save it as np.ascontiguousarray",
    ),
    "claims more than it holds": (
        lambda p: raw_npz(
            p, {"x.npy": header((10**12, 10)) + b"1234", "y.npy": array_bytes(Y)}
        ),
        "where its header says",
    ),
    "huge compressed labels": (
        lambda p: raw_npz(
            p,
            {
                "x.npy": array_bytes(X),
                "y.npy": header((10**7,), "<i8") + bytes(8 * 10**7),
            },
            zipfile.ZIP_DEFLATED,
        ),
        "one label for each of the 7 inputs",
    ),
    "negative shape": (
        lambda p: raw_npz(p, {"x.npy": header((-1, 2)), "y.npy": array_bytes(Y)}),
        "must be an npz file",
    ),
    "header is code": (
        lambda p: raw_npz(
            p, {"x.npy": header("__import__('os')"), "y.npy": array_bytes(Y)}
        ),
        "must be an npz file",
    ),
    "nested header": (
        lambda p: raw_npz(p, {"x.npy": header("(" * 5000), "y.npy": array_bytes(Y)}),
        "must be an npz file",
    ),
    "unknown version": (
        lambda p: raw_npz(p, {"x.npy": b"\x93NUMPY\7\0....", "y.npy": array_bytes(Y)}),
        "must be an npz file",
    ),
}


@pytest.mark.parametrize("name", slow_among(["huge compressed labels"], BAD))
def test_bad_archives(tmp_path, name):
    make, message = BAD[name]
    make(tmp_path / "d.npz")
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        open_data(tmp_path / "d.npz")
    assert "\n" not in str(caught.value)
    assert "d.npz" in str(caught.value)


def test_a_damaged_compressed_file_is_refused_when_it_is_opened(tmp_path):
    flipped(tmp_path)
    with pytest.raises(ValueError, match=r"d\.npz.* y"):
        open_data(tmp_path / "d.npz")


@pytest.mark.slow
def test_any_changed_byte_is_an_error_of_one_line_or_none(tmp_path):
    """zlib.error, NotImplementedError, OverflowError, TokenError and AttributeError
    came out.
    """
    path = compressed(tmp_path)
    whole = path.read_bytes()
    rng, messages = np.random.default_rng(0), []
    for position in range(len(whole)):
        raw = bytearray(whole)
        raw[position] ^= int(rng.integers(1, 256))
        path.write_bytes(raw)
        try:
            with open_data(path) as data:
                for i in range(len(data)):
                    data.item(i)
        except (ValueError, OSError) as error:
            messages.append(str(error))
    assert len(messages) > len(whole) // 4
    assert not any("\n" in message for message in messages)


def test_a_file_that_shrinks_is_a_corrupt_row(tmp_path):
    path = npy(tmp_path, x=np.zeros((7, 10_000), np.float32))
    with open_data(path) as data:
        data.item(0)
        path.write_bytes(path.read_bytes()[:200_000])
        with pytest.raises(CorruptInput, match=r"input 6.*ends"):
            data.item(6)


def test_labels_beside_an_npy_file_are_missed_by_name(tmp_path):
    np.save(tmp_path / "d.npy", X)
    with pytest.raises(FileNotFoundError, match=r"d\.labels\.npy"):
        open_data(tmp_path / "d.npy")


def test_an_input_of_two_gibibytes_is_refused_before_it_is_read(tmp_path):
    path = npy(tmp_path, y=np.zeros(1, int))
    path.write_bytes(header((1, 2**29)))
    os.truncate(
        path, path.stat().st_size + 2**31
    )  # a hole: it takes no room on the disk
    with pytest.raises(ValueError, match=r"536870912.*most"):
        open_data(path)
    with pytest.raises(CorruptInput, match=r"input 0.*most"):
        open_data([(np.broadcast_to(np.float32(0), 2**28 + 1), 0)]).item(0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a file system without pipes")
def test_pipes_and_devices_are_refused_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "d.npz")
    (tmp_path / "zero.npy").symlink_to("/dev/zero")
    for name in ("d.npz", "zero.npy"):
        with pytest.raises(ValueError, match="regular file"):
            open_data(tmp_path / name)
    os.mkfifo(tmp_path / "w.pt")
    with pytest.raises(ValueError, match="regular file"):
        load_weights("a model", None, tmp_path / "w.pt")
    pytest.importorskip("PIL.Image")
    (tmp_path / "d" / "0").mkdir(parents=True)
    os.mkfifo(tmp_path / "d" / "0" / "a.png")
    with pytest.raises(CorruptInput, match=r"a\.png.*regular"):
        open_data(f"imagefolder:{tmp_path / 'd'}").item(0)


def test_control_characters_in_a_name_do_not_reach_the_terminal(tmp_path):
    path = tmp_path / "a\x1b[2J\n.npz"
    path.write_text("x")
    with pytest.raises(ValueError, match="npz") as caught:
        open_data(path)
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_anchors_that_are_damaged_are_one_line(tmp_path):
    path, rng, messages = tmp_path / "anchors.npz", np.random.default_rng(1), []
    np.savez_compressed(path, x=rng.standard_normal((300, 36)))
    raw = path.read_bytes()
    for _ in range(40):
        bad = bytearray(raw)
        bad[rng.integers(len(bad))] ^= int(rng.integers(1, 256))
        path.write_bytes(bad)
        try:
            inputs(path)
        except (ValueError, OSError) as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert all("anchors.npz" in text and "\n" not in text for text in messages)


def test_what_is_refused_is_not_unpacked(work, capsys, monkeypatch):
    """A small file of zeros was unpacked for half a minute, and then refused."""
    array = np.zeros((4, 4), dtype=object)
    np.savez_compressed("data.npz", x=np.zeros((9, 9)), y=array, allow_pickle=True)

    def unpacked(*_):
        raise AssertionError("it was unpacked")

    monkeypatch.setattr(shutil, "copyfileobj", unpacked)
    one_line(capsys, arguments(), "pickled objects, which are never read")
