"""Seven inputs and their labels, in the forms that rsbounds.loading takes."""

import io
import struct
import zipfile

import numpy as np

X = np.random.default_rng(0).random((7, 2, 3), dtype=np.float32)
Y = np.array([0, 1, 2, 0, 1, 2, 2])


def npz(folder, **arrays):
    np.savez(folder / "d.npz", **{"x": X, "y": Y, **arrays})
    return folder / "d.npz"


def compressed(folder, **arrays):
    np.savez_compressed(folder / "d.npz", **{"x": X, "y": Y, **arrays})
    return folder / "d.npz"


def npy(folder, x=X, y=Y):
    np.save(folder / "d.npy", x)
    np.save(folder / "d.labels.npy", y)
    return folder / "d.npy"


def raw_npz(path, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def array_bytes(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), **options)
    return file.getvalue()


def header(shape, descr="<f4"):
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}}}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text
