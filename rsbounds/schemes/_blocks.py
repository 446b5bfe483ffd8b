"""Different noises on disjoint groups of columns, in l_0; one may be Gaussian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rsbounds._numerics.answered import By
from rsbounds._numerics.checks import as_integers, count, on_host
from rsbounds._numerics.domains import require
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds._numerics.parameters import Parameter, Type
from rsbounds._numerics.rationals import as_double
from rsbounds.certificate import Norm
from rsbounds.discrete.internal import (
    MOST_REGIONS,
    BlocksCurve,
    Edges,
    MixedCurve,
    is_sparse,
    of_scipy,
    side_by_side,
)
from rsbounds.noises import Bits
from rsbounds.schemes._categorical import Categorical
from rsbounds.schemes._discrete import DiscreteScheme, FrontierScheme
from rsbounds.schemes._flips import Flips
from rsbounds.schemes._gaussian import Gaussian
from rsbounds.schemes._mask import Mask
from rsbounds.schemes._scheme import Scheme

__all__ = ["Blocks", "blocks"]

_EXPECTED = (
    "must be METHOD:NAME=NUMBER,... for each block, separated by semicolons (and "
    "symmetric=on for the edges of an undirected graph)"
)


#: A scheme that may be the noise of one group of columns.
Part = Categorical | Flips | Gaussian | Mask
#: Their classes by name: those with block parameters.
PARTS: Mapping[str, type[Part]] = {
    kind.name: kind for kind in (Categorical, Flips, Gaussian, Mask)
}


def as_blocks(text: str) -> tuple[dict[str, Any], ...]:
    """``flips:add=.01,delete=.6,symmetric=on;flips:add=.003,delete=.4``, read."""
    return tuple(_block(part) for part in text.split(";"))


def _block(text: str) -> dict[str, Any]:
    method, _, arguments = text.strip().partition(":")
    block: dict[str, Any] = {"method": method}
    kind = PARTS.get(method)
    types = {option.name: option.type for option in kind.options} if kind else {}
    for argument in arguments.split(","):
        name, _, value = argument.strip().partition("=")
        if name in block:
            raise ValueError(f"blocks must have {name} once for each; got {text!r}")
        try:
            block[name] = types.get(name, float)(value)
        except (ValueError, OverflowError):
            raise ValueError(f"blocks {_EXPECTED}; got {text!r}") from None
    return block


def as_splits(text: str) -> list[int]:
    """Columns separated by commas."""
    return [int(part) for part in text.split(",")]


#: The largest number of changes beside which an l_2 radius is stated.
_BESIDE = 400

_BLOCKS = Option(
    "blocks",
    "flips, categorical or mask for each group, left to right; one of them may be "
    "gaussian; of a table also auto:sigma=S,keep=P",
    as_blocks,
    metavar="METHOD:NAME=NUMBER,...;...",
)
_CHANGES = Option(
    "changes",
    "beside a gaussian block: how many changes the l2 radius stands besides",
    int,
    default=0,
)


class Blocks(FrontierScheme):
    """A noise for each group of columns; see :func:`blocks`."""

    name = "blocks"
    help = "a noise for each group of columns: edges and features, numbers and values"
    self_inverse = True
    frontier_kinds = ("changes in the first group", "in the second")
    declared = (
        Parameter(
            "blocks",
            "the noise of each block",
            answered_by=By.RERUN,
            option=_BLOCKS,
            input=_BLOCKS,
            parts=("method",),
            type=Type.ANY,
        ),
        Parameter(
            "splits",
            "where blocks end",
            answered_by=By.RERUN,
            option=Option(
                "splits",
                "the columns at which the second and further groups begin (a table's "
                "own)",
                as_splits,
                default=None,
                metavar="J,...",
            ),
            type=Type.ANY,
        ),
        Parameter(
            "changes",
            "changes beside which an l2 radius stands",
            answered_by=By.COUNTS,
            option=_CHANGES,
            input=_CHANGES,
        ),
    )

    def read(self) -> None:
        parameters = self.parameters
        for name in ("blocks", "splits"):
            value = parameters.get(name)
            if value is None:
                raise ArgumentError(name, "is missing")
            if not isinstance(value, Sequence) or isinstance(value, str):
                raise ArgumentError(name, f"must be a list; got {value!r:.60}")
        self.parts: tuple[Part, ...] = tuple(map(_part, parameters["blocks"]))
        _require_two("blocks", self.parts)
        self.splits = _splits(parameters["splits"], len(self.parts))
        self.changes = count("changes", parameters.get("changes", 0))
        if not self.changes <= _BESIDE:
            raise ArgumentError(
                "changes", f"must be at most {_BESIDE}; got {self.changes}"
            )
        self.level = max(part.fixed_level() for part in self.parts)
        self.alphabet = max(part.alphabet for part in self.parts)
        self.gaussian: Gaussian | None = None
        self._read_gaussian()
        if self.changes and not self.curve.takes(self.changes):
            raise ArgumentError(
                "changes",
                "must be fewer beside these parts: all ways to make them may have "
                f"{MOST_REGIONS} regions together; got {self.changes}",
            )
        laws = "; ".join(part.full_law for part in self.parts)
        self.law = f"blocks [{laws}] splits={','.join(map(str, self.splits))}"

    def _read_gaussian(self) -> None:
        """What radii measure beside a Gaussian part, and the level that rows state."""
        parts = [part for part in self.parts if isinstance(part, Gaussian)]
        if not parts and self.changes:
            raise ArgumentError("changes", "are beside a gaussian block; got none")
        if len(parts) > 1:
            raise ArgumentError(
                "blocks",
                "must have one gaussian block at most: put its columns side by side, "
                f"each divided by its own unit; got {len(parts)}",
            )
        if parts:
            self.gaussian = parts[0]
            self.level = self.gaussian.fixed_level()
            self.norm = Norm(2.0, changes=self.changes).spelled
            self.of_bits = False

    @classmethod
    def who_answers(cls, parameters: Mapping[str, Any]) -> dict[str, By]:
        answers = super().who_answers(parameters)
        for block in parameters["blocks"]:
            kind = PARTS[block["method"]]
            of_part = kind.who_answers(block)
            for name in kind.block_parameters:
                answers[f"blocks.{name}"] = of_part[name]
        return answers

    @classmethod
    def parameters_of(cls, options: Options, dim: int | None) -> dict[str, Any]:
        # a radius depends on no column
        columns = list(options["blocks"])
        splits = options.get("splits", list(range(1, len(columns))))
        changes = options.get("changes", 0)
        more = {"changes": changes} if changes else {}
        return {"blocks": columns, "splits": splits, **more}

    def made_curve(self) -> Any:
        curves = [part.curve for part in self.parts if isinstance(part, DiscreteScheme)]
        if self.gaussian is None:
            return BlocksCurve(*curves)
        discrete = curves[0] if len(curves) == 1 else BlocksCurve(*curves)
        return MixedCurve(self.level, discrete, self.changes)

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        if self.gaussian is None:
            return super().transport(z, radius, sigma)
        self.fixed_level(sigma)
        try:
            low, high = self.curve.transport(z, radius)
        except ArgumentError as error:
            name = "radius" if error.name == "r" else error.name
            raise ArgumentError(name, error.problem) from None
        return low, high

    def checked(self, x: Any) -> Any:
        x = of_scipy(x).tocsr() if is_sparse(x) else np.asarray(on_host("x", x))
        width = x.shape[-1] if x.ndim else 0
        if not self.splits[-1] < width:
            raise ArgumentError(
                "x",
                f"must have more than {self.splits[-1]} columns, where the last group "
                f"begins; got {width}",
            )
        ends = pairwise((0, *self.splits, width))
        return [
            _checked(part, x[..., low:high] if x.ndim != 2 else x[:, low:high], low)
            for part, (low, high) in zip(self.parts, ends, strict=True)
        ]

    def added_to(self, columns: int) -> Sequence[int]:
        ends = pairwise((0, *self.splits, columns))
        return [
            low + place
            for part, (low, high) in zip(self.parts, ends, strict=True)
            for place in part.added_to(high - low)
        ]

    def numbers(self, x: Any) -> int:
        return sum(
            part.numbers(piece) for part, piece in zip(self.parts, x, strict=True)
        )

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        both = list(zip(self.parts, x, strict=True))
        if isinstance(x[0], Edges):
            # sparse matrices are inputs of parts that draw keys alone
            keys = [
                part.flipped_keys(piece, size, bits)
                for part, piece in both
                if isinstance(part, DiscreteScheme)
            ]
            return bits.matrices(*side_by_side(x, keys), size)
        batches = [part.noisy(piece, sigma, size, bits) for part, piece in both]
        return bits.xp.concatenate(batches, axis=-1)


def blocks(*parts: Scheme, splits: Sequence[int], changes: int = 0) -> Blocks:
    """A noise of its own for each group of columns, all independent; in l_0.

    The radius counts changed coordinates in whichever groups; with two groups the
    column ``frontier`` has the pairs of numbers that are certified. A graph whose nodes
    have binary features is one matrix, adjacency on the left and features on the right;
    the noise of each side is drawn with its own chances.

    One of the groups may have Gaussian noise: numbers beside categories. The radius is
    then in l_2 on that group's columns, together with any ``changes`` changes on the
    others, as the norm ``"l2, changes <= 0"`` says; the column ``frontier`` has for
    each number of changes the l_2 radius that is left.

    Parameters
    ----------
    *parts : Scheme
        Of :func:`flips`, :func:`categorical` or :func:`mask` with a probability, two or
        more, of which one may be :func:`gaussian` in l_2. Symmetric flips are those of
        an undirected graph's adjacency matrix.
    splits : sequence of int
        The columns (along the last axis) at which the second and further groups begin,
        ascending, one less than there are parts.
    changes : int
        Beside how many changes the l_2 radius is stated, where a group is Gaussian. At
        most 400, and so few that all ways to make them have no more than 4,096 regions
        together: 63 of flips of both kinds.

    Raises
    ------
    ValueError
        If the parts are others, or the splits don't go with them.

    References
    ----------
    The theory page on discrete noise.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> edges, features = schemes.flips(0.001, 0.8), schemes.flips(0.003, 0.4)
    >>> graph = schemes.blocks(edges, features, splits=[34])
    >>> graph.further(2.0, -2.0)["frontier"]
    '3,0'
    >>> round(float(graph.curve.low(0.999, ((1, 0), (3, 4)))), 5)
    0.05265
    >>> table = schemes.blocks(
    ...     schemes.gaussian(1.0), schemes.categorical(0.8, 3), splits=[4])
    >>> table.norm, round(float(table.curve.low(0.97, (0.7, 1))), 12)
    ('l2, changes <= 0', 0.544198240945)
    >>> [(round(radius, 3), changes) for radius, changes in table.curve.frontier(0.99)]
    [(2.326, 0), (1.576, 1)]
    """
    for part in parts:
        # a subclass may draw what its parameters don't say
        is_known = type(part) in PARTS.values()
        if not (isinstance(part, Part) and is_known and part.is_part):
            raise ArgumentError(
                "parts",
                f"must be of {', '.join(PARTS)} (in l2), for any number of columns; "
                f"got {part!r:.60}",
            )
    _require_two("parts", parts)
    parameters: dict[str, Any] = {
        "blocks": [{"method": part.name, **part.parameters} for part in parts],
        "splits": list(_splits(splits, len(parts))),
    }
    beside = count("changes", as_double("changes", changes))
    if beside:
        parameters["changes"] = beside
    try:
        return Blocks(parameters)
    except ArgumentError as error:
        name = "parts" if error.name == "blocks" else error.name
        raise ArgumentError(name, error.problem) from None


def _require_two(name: str, parts: Sequence[Any]) -> None:
    if not len(parts) >= 2:
        raise ArgumentError(name, f"must be at least two; got {len(parts)}")


def _splits(splits: Any, parts: int) -> tuple[int, ...]:
    """The columns at which further parts begin, checked."""
    borders = as_integers("splits", splits, 1)
    if borders.ndim != 1 or len(borders) != parts - 1:
        raise ArgumentError(
            "splits",
            f"must be one column between each two of {parts} noises; got {splits!r}",
        )
    if (np.diff(borders) <= 0).any():
        raise ArgumentError("splits", f"must ascend; got {splits!r}")
    columns: tuple[int, ...] = tuple(borders.tolist())
    return columns


def _checked(part: Part, x: Any, low: int) -> Any:
    """The inputs of one block, as its noise takes them; an error says which block."""
    try:
        return part.checked(x)
    except ArgumentError as error:
        place = f"in the block {part.name} from column {low} on"
        raise ArgumentError(error.name, f"{error.problem}, {place}") from None


def _part(block: Any) -> Part:
    """The noise of one block's parameters; ArgumentError("blocks", ...)."""
    kinds = PARTS
    method = str(block.get("method")) if isinstance(block, Mapping) else ""
    if method not in kinds:
        raise ArgumentError(
            "blocks", f"must be of the methods {', '.join(kinds)}; got {block!r:.60}"
        )
    kind = kinds[method]
    parameters = {key: value for key, value in block.items() if key != "method"}
    unknown = parameters.keys() - set(kind.block_parameters)
    if unknown:
        raise ArgumentError("blocks", f"must not have {min(unknown)} for {method!r}")
    try:
        require(kind.domains, parameters)
        return kind(parameters)
    except ArgumentError as error:
        raise ArgumentError(
            "blocks", f"of {method!r}: {error.name} {error.problem}"
        ) from None
