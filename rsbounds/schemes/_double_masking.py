"""Pictures under masks in pairs, all of which are gone through, against one patch.

References
----------
Xiang, Mahloujifar, Mittal, PatchCleanser: certifiably robust defense against
adversarial patches for any image classifier, 2022.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.answered import By
from rsbounds._numerics.checks import as_integers, count
from rsbounds._numerics.domains import Domain
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds._numerics.parameters import Parameter
from rsbounds._numerics.rationals import as_double
from rsbounds.certificate import DOUBLE_MASKING, Norm
from rsbounds.noises import Bits
from rsbounds.noises.internal import as_hideable, checked_scores, hidden_number
from rsbounds.schemes._drawn import DrawnScheme
from rsbounds.schemes._given import Given
from rsbounds.schemes._mask import HIDDEN
from rsbounds.schemes._scheme import Scheme, Voted
from rsbounds.votes.internal import windows_along

__all__ = ["MaskPairs", "double_masking"]

_MOST = 2**20  # pairs, all of which are evaluated for each input
_SIZE = Domain(1.0, 2**20)


class MaskPairs(DrawnScheme):
    """Masks in pairs, against one patch; see :func:`double_masking`."""

    name = "double-masking"
    bound = "exact"
    by_chance = False
    scope = DOUBLE_MASKING
    help = "all pairs of masks gone through: any patch of a picture up to a size"
    declared = (
        Parameter(
            "patch",
            "rows and columns of the largest patch",
            _SIZE,
            By.RERUN,
            option=Option("patch", "rows and columns of the largest patch", int),
        ),
        Parameter(
            "masks",
            "masks along each axis, at most",
            _SIZE,
            By.RERUN,
            option=Option("masks", "how many masks along each axis (6)", int, 6),
        ),
        Parameter("rows", "rows of a picture", _SIZE, By.RERUN),
        Parameter("columns", "columns of a picture", _SIZE, By.RERUN),
        HIDDEN,
    )
    level = 1.0
    choosing: int
    outcomes: int

    def read(self) -> None:
        parameters = self.parameters
        patch, masks, *sizes = (
            count(name, parameters[name], 1)
            for name in ("patch", "masks", "rows", "columns")
        )
        self.size = tuple(sizes)
        self.hidden = hidden_number(parameters.get("hidden", 0.0))
        along = [windows_along(size, patch, masks) for size in sizes]
        self.choosing = math.prod(map(len, along))
        self.outcomes = self.choosing * (self.choosing + 1) // 2
        if not self.outcomes <= _MOST:
            raise ArgumentError(
                "masks", f"must give at most {_MOST} pairs; got {self.outcomes}"
            )
        self._along = [
            _shown(size, windows) for size, windows in zip(sizes, along, strict=True)
        ]
        self.norm = Norm(moved=f"patch-{patch}x{patch}", whole_group=True).spelled
        self.law = (
            f"masks in pairs patch={patch} masks={masks} size={sizes[0]}x{sizes[1]} "
            f"hidden={self.hidden}"
        )

    def checked(self, x: Any) -> NDArray[Any]:
        picture = as_hideable(x, self.hidden)
        if picture.ndim not in (2, 3) or picture.shape[-2:] != self.size:
            rows, columns = self.size
            raise ArgumentError(
                "x",
                "must be a picture (rows, columns) or (channels, rows, columns) of "
                f"{rows} rows and {columns} columns; got shape {picture.shape}",
            )
        return picture

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        raise NotImplementedError("all pairs are gone through")

    def copies(self, x: Any, sigma: float, first: int, size: int, bits: Bits) -> Any:
        """The picture under pairs of masks: first each with itself, then all others."""
        numbers = np.arange(first, first + size) % self.outcomes
        left, right = (self._visible(pairs[numbers]) for pairs in self._pairs)
        shown = bits.array(
            (left & right).reshape(size, *(1,) * (x.ndim - 2), *self.size)
        )
        return bits.xp.where(shown, x, self.hidden)

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        alone = np.arange(self.choosing)
        left, right = np.triu_indices(self.choosing, 1)
        return np.append(alone, left), np.append(alone, right)

    def _visible(self, masks: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which pixels each of some masks leaves to be seen."""
        along_rows, along_columns = self._along
        row, column = np.divmod(masks, len(along_columns))
        seen: NDArray[np.bool_] = (
            along_rows[row][:, :, None] | along_columns[column][:, None, :]
        )
        return seen

    def radius_of_scores(self, z_a: float, z_b: float | None = None) -> float:
        """Infinite where all pairs are of the class: the norm names the patch."""
        first, second = checked_scores(z_a, z_b)
        if math.isnan(first) or (second is not None and math.isnan(second)):
            return math.nan
        return math.inf if first == math.inf else 0.0

    @classmethod
    def remark(cls, parameters: Mapping[str, Any], rows: Sequence[Voted]) -> str:
        scheme = cls(parameters)
        single, pairs = scheme.choosing, scheme.outcomes
        by_single = sum(max(row.select, default=0) == single for row in rows)
        by_pairs = sum(max(row.counts, default=0) == pairs for row in rows)
        return (
            f"{single} single masks agree at {by_single} of {len(rows)} inputs, "
            f"all {pairs} pairs at {by_pairs}: others are decided in a second round, "
            "which predict = -1 leaves open"
        )

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        return double_masking(
            options["patch"],
            options["masks"],
            given.shape,
            hidden=options["hidden"] or 0.0,
        )


def _shown(size: int, windows: Sequence[slice]) -> NDArray[np.bool_]:
    """Which places along an axis lie outside of each of some windows."""
    shown = np.ones((len(windows), size), dtype=np.bool_)
    for row, window in zip(shown, windows, strict=True):
        row[window] = False
    return shown


def double_masking(
    patch: int, masks: int, shape: tuple[int, ...], *, hidden: float = 0.0
) -> MaskPairs:
    """Certify against one patch of any content, by masks in pairs.

    Each patch lies inside one of the masks. Where the class is the same under all pairs
    of them, the prediction by one mask and then two stays as it is wherever the patch
    lies and whatever it shows: :class:`rsbounds.votes.DoubleMasking` makes this
    prediction. All pairs are gone through, each mask with itself too, so that nothing
    is left to chance and no alpha is spent; give the bound "exact" and n =
    ``scheme.outcomes``.

    In rows ``select`` counts the classes under single masks and ``counts`` those under
    pairs. ``predict`` is the class that all single masks agree on, -1 where they don't:
    a second round decides then, of which rows say nothing. The radius is ``inf`` where
    all pairs agree, of a norm that names the patch, such as ``"any patch-32x32"``.

    Parameters
    ----------
    patch : int
        Rows and columns of the largest patch, in pixels.
    masks : int
        How many masks lie along each axis, at most: fewer hide more at a time. They are
        clipped to the picture.
    shape : tuple of int
        Of one input: (rows, columns) or (channels, rows, columns).
    hidden : float
        What hidden pixels show: a whole number for inputs that are.

    Raises
    ------
    ValueError
        If an argument is out of its domain, or the patch is larger than the picture.

    References
    ----------
    Xiang, Mahloujifar, Mittal, PatchCleanser: certifiably robust defense against
    adversarial patches for any image classifier, 2022. The theory page on discrete
    noise.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import certify
    >>> from rsbounds.schemes import double_masking
    >>> scheme = double_masking(2, 3, (8, 8))
    >>> scheme.choosing, scheme.outcomes
    (9, 45)
    >>> def bright(batch):
    ...     light = batch.mean(axis=(1, 2)) - 0.3
    ...     return np.stack([-light, light], axis=1)
    >>> x = np.ones((8, 8), np.float32)
    >>> c = certify(bright, x, scheme, n=scheme.outcomes, bound="exact")
    >>> c.predict, c.radius, c.norm
    (1, inf, 'any patch-2x2')
    """
    sizes = as_integers("shape", shape, 1)
    if sizes.ndim != 1 or len(sizes) not in (2, 3):
        raise ArgumentError(
            "shape",
            f"must be (rows, columns) or (channels, rows, columns); got {shape!r:.60}",
        )
    rows, columns = sizes[-2:].tolist()
    parameters: dict[str, Any] = {
        "patch": count("patch", patch, 1),
        "masks": count("masks", masks, 1),
        "rows": rows,
        "columns": columns,
    }
    value = hidden_number(as_double("hidden", hidden))
    return MaskPairs(parameters | ({"hidden": value} if value else {}))
