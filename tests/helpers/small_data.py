"""Seven inputs and their labels, in the forms that rsbounds.loading takes."""

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
