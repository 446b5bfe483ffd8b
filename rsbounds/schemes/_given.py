"""What a scheme is made of, on the command line, besides its options."""

from typing import Any, Protocol


class Given(Protocol):
    """What the command line knows of the inputs, and what it loads for a scheme.

    ``inputs`` is the array ``x`` of an npz file, flattened to (count, dim);
    ``function`` one of an input, for a ``SigmaNetwork`` an object with its ``scheme``
    method; ``noise`` noise of a shape, whose ``scheme(norm)`` rests on the proof of its
    kind. Each comes with its description for the manifest.
    """

    dim: int
    shape: tuple[int, ...]  # of an input

    def inputs(self, path: Any) -> tuple[Any, str]: ...
    def function(self, option: str, spec: str) -> tuple[Any, Any]: ...
    def noise(self, option: str, spec: str) -> tuple[Any, Any]: ...
