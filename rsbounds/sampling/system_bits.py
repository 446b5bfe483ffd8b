"""Random bits of the operating system, for noise that nobody can predict or repeat.

A seed of 32 bits, or a generator made for simulations, may be guessed: whoever knows
the noise can choose a model or an input that looks certain under this noise alone. Here
a key of 256 bits comes from the operating system, and ChaCha20 makes a stream of bits
of it that cannot be told from random ones without the key. The key is never stored.

Noise that whole numbers decide takes all of its bits from there. Normal numbers in
floating point do not: their generators are NumPy's and torch's own.

References
----------
Y. Nir and A. Langley, ChaCha20 and Poly1305 for IETF Protocols, RFC 8439, 2018.
P. Dahiya, I. Shumailov, R. Anderson, Machine learning needs better randomness
standards: randomised smoothing and PRNG-based attacks, USENIX Security 2024.
"""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need

_CIPHERS = "cryptography.hazmat.primitives.ciphers"
_WHAT = "noise_source 'os'"
_PIECE = 2**20  # bytes that are made at once: they fit a processor's cache
_MOST = 2**32  # bytes under one key; its counter would allow 64 times as many


class SystemBits:
    """A stream of random whole numbers, of a key that the operating system gives.

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
    >>> from rsbounds.sampling import SystemBits
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
        numbers = np.empty(count, dtype=np.int64)
        as_bytes = numbers.view(np.uint8)
        for start in range(0, as_bytes.size, _PIECE):
            piece = as_bytes[start : start + _PIECE]
            if self._left < piece.size:
                self._new_key()
            # zeros, encrypted, are the stream itself
            self._stream.update_into(self._zeros[: piece.size], piece)
            self._left -= piece.size
        numbers &= 2**63 - 1
        return numbers


#: What samplers draw of: a generator with a seed, or the operating system.
Randomness: TypeAlias = np.random.Generator | SystemBits


def require_system_noise(sampler: Any) -> None:
    """ArgumentError unless a sampler's noise can come from the operating system.

    That is noise which whole numbers decide, and which a sampler of rsbounds draws:
    another one draws as it likes.
    """
    if not (
        getattr(sampler, "takes_system_bits", False)
        and getattr(sampler, "sound_noise", False)
    ):
        raise ArgumentError(
            "noise_source",
            "'os' needs sound_noise, which random bits decide alone; got the sampler "
            f"{type(sampler).__name__}, whose noise comes from a generator of its own",
        )
    need(_CIPHERS, _WHAT)
