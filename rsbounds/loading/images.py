"""Images in folders, and the way from an encoded image to the pixels under noise."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import choice, count
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import opened
from rsbounds._numerics.text import shown
from rsbounds.loading.callables import reason
from rsbounds.loading.packages import need
from rsbounds.loading.rows import CorruptInput, Data, unmatched

INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "lanczos", "box", "hamming")
ENDINGS = (
    ".jpg",
    ".jpeg",
    ".png",
    ".bmp",
    ".webp",
    ".tif",
    ".tiff",
    ".ppm",
    ".pgm",
    ".gif",
)
LARGEST_FILE = 2**28  # bytes of one encoded image
#: Folders that are parts of a data set where they hold folders themselves.
_PARTS = ("train", "training", "val", "valid", "validation", "test", "testing")
_DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")


@dataclass(frozen=True)
class Preprocess:
    """What happens to an image before noise: resize, centre crop, 8 bits a channel.

    Parameters
    ----------
    resize : int or (int, int), optional
        A number: the shorter side gets this length, the ratio of the sides stays. A
        pair: height and width.
    crop : (int, int), optional
        Height and width of what is kept, from the middle; what lies outside the image
        is black.
    interpolation : {"bilinear", "nearest", "bicubic", "lanczos", "box", "hamming"}
        Pillow's filter of that name.
    channels : {3, 1}
        Colour or grey.
    rounding : {"even", "down"}
        Of half a pixel, where what the crop leaves out is odd.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    Examples
    --------
    >>> from PIL import Image
    >>> from rsbounds.loading import Preprocess
    >>> Preprocess(resize=8, crop=(6, 6))(Image.new("RGB", (20, 10))).shape
    (3, 6, 6)
    """

    resize: int | tuple[int, int] | None = None
    crop: tuple[int, int] | None = None
    interpolation: str = "bilinear"
    channels: int = 3
    rounding: str = "even"

    def __post_init__(self) -> None:
        resize = _sides("resize", self.resize, or_number=True)
        crop = _sides("crop", self.crop, or_number=False)
        object.__setattr__(self, "resize", resize)
        object.__setattr__(self, "crop", crop)
        choice("interpolation", self.interpolation, INTERPOLATIONS)
        choice("rounding", self.rounding, ("even", "down"))
        if count("channels", self.channels) not in (1, 3):
            raise ArgumentError("channels", f"must be 1 or 3; got {self.channels}")

    def __call__(self, image: Any) -> NDArray[np.uint8]:
        """The pixels (channels, height, width) of a Pillow image."""
        if image.mode in _DEEP:
            raise ValueError(
                f"images must have 8 bits a channel; got mode {image.mode}"
            )
        image = image.convert("RGB" if self.channels == 3 else "L")
        if self.resize is not None:
            size = _resized(image.size, self.resize)
            if size != image.size:
                filters = need("PIL.Image", "an image").Resampling
                image = image.resize(size, filters[self.interpolation.upper()])
        if self.crop is not None:
            image = image.crop(self._middle(image.size, self.crop))
        pixels = np.asarray(image, dtype=np.uint8)
        pixels = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
        return np.ascontiguousarray(pixels)

    def _middle(
        self, size: tuple[int, int], crop: tuple[int, int]
    ) -> tuple[int, int, int, int]:
        """The crop's box (left, top, right, bottom)."""
        width, height = size
        crop_height, crop_width = crop
        left = self._half(width - crop_width)
        top = self._half(height - crop_height)
        return left, top, left + crop_width, top + crop_height

    def _half(self, rest: int) -> int:
        return rest // 2 if self.rounding == "down" else round(rest / 2)

    @classmethod
    def of(cls, description: Mapping[str, Any] | None) -> Self | None:
        """The steps that a manifest describes; None for none.

        ValueError for what describes none.
        """
        if description is None:
            return None
        names = {field.name for field in fields(cls)}
        if unknown := description.keys() - names:
            raise ArgumentError(
                "preprocessing",
                f"must be of {', '.join(sorted(names))}; got {min(unknown)!r:.60}",
            )
        steps: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in description.items()
        }
        return cls(**steps)

    @property
    def description(self) -> dict[str, Any]:
        """The steps by name, as a manifest holds them."""
        return {
            k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()
        }


def _sides(name: str, value: Any, *, or_number: bool) -> Any:
    """Return (height, width), None, or one number if ``or_number`` allows it.

    ValueError for anything else.
    """
    if value is None:
        return None
    if isinstance(value, tuple) and len(value) == 2:
        height, width = value
        return count(name, height, 1), count(name, width, 1)
    if or_number and not isinstance(value, tuple):
        return count(name, value, 1)
    kinds = "a number or (height, width)" if or_number else "(height, width)"
    raise ArgumentError(name, f"must be {kinds}; got {value}")


def read_image(path: str | os.PathLike[str]) -> bytes:
    """Read an encoded image; ValueError if it is too large or may have no end."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST_FILE:
            raise ValueError(f"a file of {size} bytes; at most {LARGEST_FILE} are read")
        return file.read()


def decode(raw: bytes, preprocess: Preprocess | None) -> NDArray[np.uint8]:
    """The pixels (channels, height, width) of an encoded image, or ValueError.

    Without ``preprocess``: colour, at the image's own size. An image of more pixels
    than Pillow thinks safe (179 million) is refused before it is decoded.
    """
    image_module = need("PIL.Image", "an image")
    try:
        with image_module.open(io.BytesIO(raw)) as image:
            return (preprocess or Preprocess())(image)
    except image_module.UnidentifiedImageError as error:
        # whose own text names an object in memory
        raise ValueError(
            "the image can't be decoded: it has no format of Pillow's"
        ) from error
    except (Exception, image_module.DecompressionBombWarning) as error:
        # each format's decoder raises kinds of its own
        raise ValueError(f"the image can't be decoded: {reason(error)}") from error


def _resized(size: tuple[int, int], resize: int | tuple[int, int]) -> tuple[int, int]:
    """(width, height) of the resized image; the longer side is rounded down."""
    if isinstance(resize, tuple):
        return resize[1], resize[0]
    width, height = size
    if width <= height:
        return resize, resize * height // width
    return resize * width // height, resize


#: What to do where folders don't say which of the model's classes they are.
BY_FOLDER = (
    "name each folder by its class's number (0, 1, ...) or by the model's name for it"
)


class FolderData(Data):
    """Images below DIR/CLASS/, in the order of their paths."""

    step = BY_FOLDER

    def __init__(
        self,
        root: Path,
        preprocess: Preprocess | None,
        labels: Sequence[str] | None,
        scale: float | None,
    ) -> None:
        name = f"imagefolder:{shown(root)}"
        classes = sorted(
            e.name for e in os.scandir(root) if e.is_dir() and e.name[0] != "."
        )
        _require_classes(name, root, classes)
        numbers, rule = number_classes(name, classes, labels)
        images = {folder: _images(root / folder) for folder in classes}
        self._files = [file for folder in classes for file in images[folder]]
        if not self._files:
            raise ValueError(
                f"{name} must hold a folder of images for each class, DIR/CLASS/*.jpg; "
                f"got {len(classes)} folders and no image in them"
            )
        self._preprocess = preprocess
        places = "\n".join(f.relative_to(root).as_posix() for f in self._files)
        counts = [len(images[folder]) for folder in classes]
        super().__init__(
            name,
            255.0 if scale is None else scale,
            np.repeat([numbers[folder] for folder in classes], counts),
            kind="imagefolder",
            names=hashlib.sha256(os.fsencode(places)).hexdigest(),
            numbered_by=rule,
            pillow=need("PIL", "an image").__version__,
            preprocessing=preprocess and preprocess.description,
        )
        self.ordered_classes = len(classes) if rule == "order" else 0

    def __len__(self) -> int:
        return len(self._files)

    def _read(self, i: int) -> tuple[NDArray[Any], int]:
        path = self._files[i]
        try:
            return decode(read_image(path), self._preprocess), self.label(i)
        except (ValueError, OSError) as error:
            raise CorruptInput(f"{shown(path)}: {error}") from error


def _require_classes(name: str, root: Path, classes: Sequence[str]) -> None:
    """ValueError where the folders are parts of a data set, not its classes."""
    parts = [folder for folder in classes if folder.lower() in _PARTS]
    if not parts or not all(_has_folders(root / part) for part in parts):
        return
    place = shown(root / parts[-1])
    raise ValueError(
        f"{name} must hold a folder for each class; {' and '.join(parts)} hold folders "
        f"of their own, as parts of a data set do: say which, imagefolder:{place}"
    )


def _has_folders(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return any(entry.is_dir() for entry in entries)


def number_classes(
    name: str, classes: Sequence[str], labels: Sequence[str] | None
) -> tuple[dict[str, int], str]:
    """Class name -> number, and by which rule: "number", "name" or "order".

    The number is the class's name, where all names are whole numbers; else its place in
    ``labels``, where all names are there; else its place in the order of the names.
    """
    if classes and all(c.isascii() and c.isdecimal() and len(c) < 10 for c in classes):
        numbers = {c: int(c) for c in classes}
        folders: dict[int, str] = {}
        for folder, number in numbers.items():
            first = folders.setdefault(number, folder)
            if first != folder:
                raise ValueError(f"{name}: {first} and {folder} are one class number")
        return numbers, "number"
    if labels is not None and set(classes) <= set(labels):
        return {c: list(labels).index(c) for c in classes}, "name"
    if labels is not None and len(labels) != len(classes):
        raise ValueError(unmatched(name, len(classes), len(labels), BY_FOLDER))
    return {c: i for i, c in enumerate(sorted(classes))}, "order"


def _images(folder: Path) -> list[Path]:
    """The images in a folder and below, in the order of their paths."""
    images = []
    for directory, _, names in os.walk(folder):
        for name in names:
            path = Path(directory, name)
            if path.suffix.lower() in ENDINGS and not name.startswith("."):
                images.append(path)
    return sorted(images)
