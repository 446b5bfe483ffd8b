"""Random bits of the operating system, for noise that nobody can predict or repeat.

A seed, or a generator made for simulations, may be guessed: whoever knows
the noise can choose a model or an input that looks certain under this noise alone. Here
a key of 256 bits comes from the operating system, and ChaCha20 makes a stream of bits
of it that cannot be told from random ones without the key. The key is never stored.

Noise that whole numbers and uniform ones decide takes all of its bits from there.
Normal numbers in floating point do not: their generators are NumPy's and torch's own.

References
----------
Y. Nir and A. Langley, ChaCha20 and Poly1305 for IETF Protocols, RFC 8439, 2018.
P. Dahiya, I. Shumailov, R. Anderson, Machine learning needs better randomness
standards: randomised smoothing and PRNG-based attacks, USENIX Security 2024.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds.noises import Noise

_CIPHERS = "cryptography.hazmat.primitives.ciphers"
_WHAT = "the seed 'os'"
_PIECE = 2**20  # bytes that are made at once: they fit a processor's cache
_MOST = 2**32  # bytes under one key; its counter would allow 64 times as many
_NORMAL = (
    "normal numbers in floating point come from a generator of NumPy's or torch's own "
    "(Gaussian noise by bits alone: that of scheme.on_grid())"
)


class SystemBits:
    """A stream of random numbers, of a key that the operating system gives.

    Its methods are those of ``numpy.random.Generator`` that need whole bits alone, so
    that what draws from one draws from the other.

    Parameters
    ----------
    index : int
        Of the input, for messages: no bit depends on it.

    Raises
    ------
    ImportError
        Without the package ``cryptography``.

    Examples
    --------
    >>> from rsbounds.sampling.internal import SystemBits
    >>> numbers = SystemBits().whole(1000)
    >>> len(set(numbers.tolist())), int(numbers.min()) >= 0
    (1000, True)
    """

    def __init__(self, index: int = 0) -> None:
        self._ciphers = need(_CIPHERS, _WHAT)
        self.index = index
        self._zeros = bytes(_PIECE)
        self._new_key()

    def _new_key(self) -> None:
        # no two streams have a key in common, so that the nonce may be the same
        chacha = self._ciphers.algorithms.ChaCha20(os.urandom(32), nonce=bytes(16))
        self._stream = self._ciphers.Cipher(chacha, mode=None).encryptor()
        self._left = _MOST

    def whole(self, count: int) -> NDArray[np.int64]:
        """So many whole numbers, uniform in [0, 2^63)."""
        return self._words(count, np.int64)

    def integers(
        self, low: int, high: int, size: Any, dtype: Any = np.int64
    ) -> NDArray[Any]:
        """Independent whole numbers in [low, high), all exactly alike.

        A word of the type that stands for no number, as the type's range is no multiple
        of theirs, is drawn again.
        """
        numbers = self._words(size, dtype)
        words = int(np.iinfo(dtype).max) + 1
        ways = high - low
        end = words // ways * ways
        if end < words:
            flat = numbers.reshape(-1)
            again = np.flatnonzero(flat >= end)
            while len(again):
                flat[again] = self._words(len(again), dtype)
                again = again[flat[again] >= end]
        if ways < words:
            numbers %= numbers.dtype.type(ways)
        numbers += numbers.dtype.type(low)
        return numbers

    def random(self, size: Any) -> NDArray[np.float64]:
        """Multiples of 2^-53 in [0, 1), all alike."""
        first = (self._words(size, np.int64) >> 10).astype(np.float64)
        first *= 2.0**-53
        return first

    def standard_normal(self, size: Any, dtype: Any = np.float64) -> NoReturn:
        """Refuse: an ArgumentError says why."""
        raise ArgumentError("seed", f"'os' draws none: {_NORMAL}")

    def _words(self, size: Any, dtype: Any) -> NDArray[Any]:
        """Whole numbers of a type, all those >= 0 alike."""
        numbers = np.empty(size, dtype)
        as_bytes = numbers.reshape(-1).view(np.uint8)
        for start in range(0, as_bytes.size, _PIECE):
            piece = as_bytes[start : start + _PIECE]
            if self._left < piece.size:
                self._new_key()
            # zeros, encrypted, are the stream itself
            self._stream.update_into(self._zeros[: piece.size], piece)
            self._left -= piece.size
        numbers &= np.iinfo(dtype).max
        return numbers


#: What samplers draw of: a generator with a seed, or the operating system.
Randomness: TypeAlias = np.random.Generator | SystemBits


def require_system_noise(sampler: Any) -> None:
    """ArgumentError unless a sampler's noise can come from the operating system.

    That is noise which whole bits decide, and which a sampler of rsbounds draws:
    another one draws as it likes.
    """
    noise = getattr(sampler, "noise", None)
    if getattr(sampler, "takes_system_bits", False):
        need(_CIPHERS, _WHAT)
        return
    if not isinstance(noise, Noise):
        problem = "whose noise comes from a generator of its own"
    elif not noise.by_chance:
        problem = f"under {noise!r}, which goes through all outcomes and draws none"
    else:
        problem = f"under {noise!r}: {_NORMAL}"
    raise ArgumentError(
        "seed",
        "'os' needs noise that random bits decide alone; got the sampler "
        f"{type(sampler).__name__}, {problem}",
    )
