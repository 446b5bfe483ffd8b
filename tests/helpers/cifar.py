"""A small stand-in for CIFAR-10, in the forms of its two archives."""

import struct
from pathlib import Path

import numpy as np

PIXELS = 3 * 32 * 32
TRAIN = tuple(f"data_batch_{i}" for i in range(1, 6))


def pictures(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Bytes (count, 3072) and classes in turn; each class has a brightness."""
    y = np.arange(count) % 10
    noise = np.random.default_rng(seed).integers(0, 30, (count, PIXELS))
    return (20 * y[:, None] + noise).astype(np.uint8), y


def as_binary(x: np.ndarray, y: np.ndarray) -> bytes:
    return np.concatenate([y[:, None].astype(np.uint8), x], axis=1).tobytes()


def as_pickle(x: np.ndarray, y: np.ndarray) -> bytes:
    """What Python 2 wrote, opcode by opcode: words are strings of bytes."""

    def word(text: bytes) -> bytes:
        return b"U" + bytes([len(text)]) + text

    def whole(number: int) -> bytes:
        return b"J" + struct.pack("<i", number)

    empty = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"
    empty += whole(0) + b"\x85" + word(b"b") + b"\x87R"
    kind = b"cnumpy\ndtype\n" + word(b"u1") + whole(0) + whole(1) + b"\x87R"
    kind += b"(" + whole(3) + word(b"|") + b"NNN" + whole(-1) * 2 + whole(0) + b"tb"
    raw = x.tobytes()
    shape = b"".join(map(whole, x.shape)) + b"\x86"
    state = b"(" + whole(1) + shape + kind + b"\x89"
    state += b"T" + struct.pack("<i", len(raw)) + raw + b"tb"
    classes = b"](" + b"".join(whole(int(label)) for label in y) + b"e"
    items = word(b"data") + empty + state + word(b"labels") + classes
    return b"\x80\x02}(" + items + b"u."


def write(folder: Path, *, binary: bool = False, each: int = 120) -> None:
    """Write five batches to train with and one to test, of ``each`` pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    form, ending = (as_binary, ".bin") if binary else (as_pickle, "")
    for seed, name in enumerate((*TRAIN, "test_batch")):
        (folder / f"{name}{ending}").write_bytes(form(*pictures(each, seed)))
