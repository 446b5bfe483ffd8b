"""Transformations that a parameter moves: each in a file of its own.

Noise in the parameter of a group of transformations certifies against that group: see
:func:`rsbounds.schemes.transformed`. A finite group is gone through whole:
:func:`rsbounds.schemes.orbit`.

Examples
--------
>>> import numpy as np
>>> from rsbounds.transforms import TRANSFORMS
>>> TRANSFORMS["brightness"].apply(np.ones(2), np.array([[0.0], [2.0]]), np).tolist()
[[1.0, 1.0], [3.0, 3.0]]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.registry import Registry
from rsbounds.transforms._transform import FiniteGroup, Transform, column
from rsbounds.transforms.blur import Blur
from rsbounds.transforms.brightness import Brightness
from rsbounds.transforms.contrast import Contrast
from rsbounds.transforms.gain import Gain
from rsbounds.transforms.gamma import Gamma
from rsbounds.transforms.mirror import Mirror
from rsbounds.transforms.quarter_turns import QuarterTurns
from rsbounds.transforms.rotation_z import RotationZ
from rsbounds.transforms.shift import Shift

__all__ = ["TRANSFORMS", "FiniteGroup", "Transform", "column"]

_NAME = re.compile(r"[a-z][a-z0-9-]{1,30}")
_RESERVED = ("edit", "inf", "nan")  # what a norm may be besides


def require_transform(entry: Any) -> None:
    """ValueError for what is no transformation, or has no name of one."""
    if not isinstance(entry, Transform | FiniteGroup):
        raise ArgumentError(
            "transform",
            "must be a Transform or a FiniteGroup of rsbounds.transforms; got "
            f"{type(entry).__name__}",
        )
    name: Any = getattr(entry, "name", None)
    if not (isinstance(name, str) and _NAME.fullmatch(name)) or name in _RESERVED:
        raise ArgumentError(
            "transform",
            "must have a name in lower-case letters, digits and hyphens; got "
            f"{name!r:.60}",
        )
    dim: Any = getattr(entry, "dim", 1)
    if not isinstance(dim, int) or isinstance(dim, bool) or not dim >= 1:
        raise ArgumentError(
            "transform", f"must have a dim that is a whole number >= 1; got {dim!r:.60}"
        )


#: Every transformation by its name; installed packages add to them through the entry
#: points ``rsbounds.transforms``.
TRANSFORMS: Registry[Transform | FiniteGroup] = Registry(
    "rsbounds.transforms",
    [
        *(Brightness(), Contrast(), Gamma(), Gain(), Blur(), RotationZ()),
        *(Shift(), QuarterTurns(), Mirror()),
    ],
    require_transform,
)

_PIXELS = (
    "interpolates pixels, so that two steps are not one; use quarter-turns or shift "
    "with the method orbit, or rotation-z for point clouds"
)
#: Transformations that are asked for and are no group: the reason, and what is one.
REFUSED: Mapping[str, str] = {
    "gaussian-blur": (
        "is by sampled kernels, two of which one after the other are not the third; "
        "use blur, by the heat kernel"
    ),
    "rotation": _PIXELS,
    "scaling": _PIXELS,
    "translation": "cuts off what leaves the picture; use shift with the method orbit",
    "clip": (
        "clips, which no parameter takes back; let the model clip what it is given, "
        "and use brightness or contrast"
    ),
}


def named(name: str) -> Transform | FiniteGroup:
    """The transformation of a name.

    Parameters
    ----------
    name : str
        A key of ``TRANSFORMS``; ArgumentError("transform", ...) for another.
    """
    if not isinstance(name, str):
        raise _unknown(name)
    if name in REFUSED:
        raise ArgumentError("transform", f"can't be {name}: it {REFUSED[name]}")
    if name not in TRANSFORMS:
        raise _unknown(name)
    return TRANSFORMS[name]


def _unknown(name: object) -> ArgumentError:
    known = ", ".join(TRANSFORMS)
    return ArgumentError("transform", f"must be one of {known}; got {name!r:.60}")


def is_own(transform: Transform | FiniteGroup) -> bool:
    """Whether a transformation is this package's, whose composition is proved."""
    name = transform.name
    return TRANSFORMS.is_own(name) and type(TRANSFORMS[name]) is type(transform)


def __dir__() -> list[str]:
    return sorted(__all__)
