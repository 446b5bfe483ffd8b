"""Texts as the numbers of their tokens, by a tokenizer of transformers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown
from rsbounds.loading._sheet import sheet_of
from rsbounds.loading.callables import guarded
from rsbounds.loading.packages import need
from rsbounds.loading.rows import Data, class_numbers


class Tokenizer:
    """From a text to the numbers of its tokens and back.

    Attributes
    ----------
    mask, unknown : int or None
        The numbers of [MASK] and of what stands for unknown words, whatever a tokenizer
        calls them.
    reserved : mapping
        Number and name of the tokens that no text has: [CLS], [SEP], [PAD], [MASK].
    prefix, suffix : tuple of int
        What the model's inputs have before and behind the tokens of a text.
    """

    def __init__(self, tokens: Any, name: str) -> None:
        self._tokens = tokens
        self.name = name
        self.mask: int | None = tokens.mask_token_id
        self.unknown: int | None = tokens.unk_token_id
        self.reserved: Mapping[int, str] = {
            number: token
            for number, token in zip(
                tokens.all_special_ids, tokens.all_special_tokens, strict=True
            )
            if number != self.unknown
        }
        self.prefix, self.suffix = self._around("a")
        self._longest = tokens.model_max_length - len(self.prefix) - len(self.suffix)

    @classmethod
    def load(cls, place: str, **settings: Any) -> Tokenizer:
        """The tokenizer of a directory, or of a name in the cache; it runs no code."""
        where = f"hf:{shown(place)}"
        settings.setdefault("local_files_only", True)
        auto = need("transformers", where).AutoTokenizer
        return guarded(
            where, lambda: cls(auto.from_pretrained(place, **settings), place)
        )

    def describe(self) -> dict[str, Any]:
        """What a manifest has of it."""
        return {
            "kind": type(self._tokens).__name__,
            "size": len(self._tokens),
            "prefix": list(self.prefix),
            "suffix": list(self.suffix),
        }

    def decode(self, numbers: Sequence[int]) -> str:
        """The text of some tokens, which may be [MASK]."""
        return str(self._tokens.decode(numbers, skip_special_tokens=False))

    def encode(self, text: str, name: str) -> NDArray[np.int64]:
        """The numbers of a text's tokens, without those that a model puts around them.

        ArgumentError for a text that has none, too many, or a reserved one; ``name`` is
        the text's for messages.
        """
        numbers = self._numbers(text)
        for number in numbers:
            if number in self.reserved:
                raise ArgumentError(
                    "data",
                    f"must be texts without the tokens of the model itself; {name} has "
                    f"{self.reserved[number]!r:.40}: take it out",
                )
        if not 0 < len(numbers) <= self._longest:
            raise ArgumentError(
                "data",
                f"must be texts of 1 to {self._longest} tokens; {name} has "
                f"{len(numbers)}: cut it, or leave it out",
            )
        return np.array(numbers, dtype=np.int64)

    def unknown_word(self, text: str) -> str:
        """The first word of a text that has an unknown token, or the text itself."""
        words = text.split()
        return next((w for w in words if self.unknown in self._numbers(w)), text)

    def _numbers(self, text: str) -> list[int]:
        found = self._tokens(text, add_special_tokens=False, verbose=False)
        return list(found["input_ids"])

    def _around(self, text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What stands before and behind the tokens of a text."""
        bare = self._numbers(text)
        full = list(self._tokens(text, verbose=False)["input_ids"])
        for start in range(len(full) - len(bare) + 1):
            end = start + len(bare)
            if full[start:end] == bare:
                return tuple(full[:start]), tuple(full[end:])
        raise ArgumentError(
            "tokenizer",
            f"must keep a text's tokens as they are between its own; {self.name} makes "
            f"{full} of {bare}",
        )


class TextData(Data):
    """Texts as the numbers of their tokens, for certification."""

    def __init__(
        self,
        texts: Sequence[str],
        labels: Any,
        tokenizer: Tokenizer,
        classes: Sequence[Any] | None,
        name: str,
    ) -> None:
        self.tokenizer = tokenizer
        self._tokens = [
            tokenizer.encode(_text(text, i), f"text {i}")
            for i, text in enumerate(texts)
        ]
        super().__init__(
            name,
            None,
            class_numbers("data", labels, classes),
            whole=True,
            kind="text",
            tokenizer=tokenizer.describe(),
        )
        self.reserved = tokenizer.reserved
        self._warn_of_unknown(texts)

    def __len__(self) -> int:
        return len(self._tokens)

    def _read(self, i: int) -> tuple[NDArray[Any], int]:
        return self._tokens[i], self.label(i)

    def _warn_of_unknown(self, texts: Sequence[str]) -> None:
        unknown = self.tokenizer.unknown
        counts = [int((numbers == unknown).sum()) for numbers in self._tokens]
        if not any(counts):
            return
        first = next(i for i, count in enumerate(counts) if count)
        word = self.tokenizer.unknown_word(texts[first])
        warnings.warn(
            f"{sum(counts)} tokens in {np.count_nonzero(counts)} of {len(counts)} "
            f"texts are unknown to the tokenizer, such as {word!r:.40} in text "
            f"{first}: they are all the same token to the model",
            RuntimeWarning,
            stacklevel=4,
        )


def read_texts(
    source: Any,
    tokenizer: Any,
    target: str | None = None,
    *,
    classes: Sequence[Any] | None = None,
    separator: str | None = None,
) -> TextData:
    """Read texts as the numbers of their tokens; see :func:`open_data`.

    ArgumentError for a text without tokens, with more than the model takes, or with one
    of the model's own; for columns other than the two.
    """
    chosen = _tokenizer(tokenizer)
    if isinstance(source, tuple) and len(source) == 2:
        texts, labels = list(source[0]), np.asarray(source[1])
        if len(texts) != len(labels):
            raise ArgumentError(
                "data",
                f"must have a class for each text; got {len(texts)} texts and "
                f"{len(labels)} classes",
            )
        return TextData(texts, labels, chosen, classes, "texts")
    name = shown(os.fspath(source)) if isinstance(source, str | os.PathLike) else "data"
    sheet = sheet_of(source, separator, ".")
    others = [column for column in sheet.columns if column != target]
    if target not in sheet.columns or len(others) != 1:
        raise ArgumentError(
            "data",
            f"must have a column of texts beside the target {target!r:.60}, and no "
            f"other; got {', '.join(sheet.columns):.200}",
        )
    sheet.require_classes(target)
    labels = sheet.known(target, (), others)[target]
    named = labels if labels.dtype.kind in "iuf" else labels.astype(str)
    return TextData(list(sheet.columns[others[0]]), named, chosen, classes, name)


def _tokenizer(spec: Any) -> Tokenizer:
    if isinstance(spec, Tokenizer):
        return spec
    if isinstance(spec, str | os.PathLike):
        return Tokenizer.load(os.fspath(spec).removeprefix("hf:"))
    if not hasattr(spec, "all_special_ids"):
        raise ArgumentError(
            "tokenizer",
            "must be a tokenizer of transformers, or the directory of one; got "
            f"{type(spec).__name__}",
        )
    return Tokenizer(spec, spec.name_or_path or type(spec).__name__)


def _text(text: Any, place: int) -> str:
    if not isinstance(text, str):
        raise ArgumentError(
            "data", f"must be texts; text {place} is {type(text).__name__}"
        )
    return text
