"""Different noises on disjoint groups of columns, in l_0; one may be Gaussian."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar

import numpy as np

from rsbounds._numerics.checks import as_integers, count, on_host
from rsbounds._numerics.domains import require
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds.certificate import beside
from rsbounds.noises import _edges
from rsbounds.noises._curve import Curve
from rsbounds.noises._discrete import DiscreteNoise, FrontierNoise
from rsbounds.noises._estimates import Part, product_bits
from rsbounds.noises._gaussian_block import GaussianBlock as GaussianBlock
from rsbounds.noises._mixed import MOST_REGIONS, MixedCurve
from rsbounds.noises._named import NamedNoise
from rsbounds.noises._noise import Bits
from rsbounds.noises._questions import Question
from rsbounds.noises._regions import Regions
from rsbounds.noises._ways import Counts, Ways

_EXPECTED = (
    "must be METHOD:NAME=NUMBER,... for each block, separated by semicolons (and "
    "symmetric=on for the edges of an undirected graph)"
)


def parts_by_name() -> dict[str, type[NamedNoise]]:
    """The noises of one group of columns, by their names, as far as they are loaded."""
    found = {}
    kinds: list[Any] = [DiscreteNoise, GaussianBlock]
    while kinds:
        kind = kinds.pop()
        kinds.extend(kind.__subclasses__())
        if kind.block_parameters:
            found[kind.name] = kind
    return dict(sorted(found.items()))


def as_blocks(text: str) -> tuple[dict[str, Any], ...]:
    """``flips:add=.01,delete=.6,symmetric=on;flips:add=.003,delete=.4``, read."""
    return tuple(_block(part) for part in text.split(";"))


def _block(text: str) -> dict[str, Any]:
    method, _, arguments = text.strip().partition(":")
    block: dict[str, Any] = {"method": method}
    kind = parts_by_name().get(method)
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


#: The largest number of changes that a search looks at, by the kinds it is split over.
_FAR = {1: 512, 2: 256, 3: 128, 4: 48}
#: The largest number of changes beside which an l_2 radius is stated.
_BESIDE = 400


class Blocks(FrontierNoise):
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
    >>> round(graph.curve.low(0.999, ((1, 0), (3, 4))), 5)
    0.05265
    >>> table = schemes.blocks(
    ...     schemes.gaussian(1.0), schemes.categorical(0.8, 3), splits=[4])
    >>> table.norm, round(float(table.curve.low(0.97, (0.7, 1))), 12)
    ('l2, changes <= 0', 0.544198240945)
    >>> [(round(radius, 3), changes) for radius, changes in table.curve.frontier(0.99)]
    [(2.326, 0), (1.576, 1)]
    """

    name = "blocks"
    help = "a noise for each group of columns: edges and features, numbers and values"
    options = (
        Option(
            "blocks",
            "flips, categorical or mask for each group, left to right; one of them "
            "may be gaussian; of a table also auto:sigma=S,keep=P",
            as_blocks,
            metavar="METHOD:NAME=NUMBER,...;...",
        ),
        Option(
            "splits",
            "the columns at which the second and further groups begin (a table's own)",
            as_splits,
            default=None,
            metavar="J,...",
        ),
        Option(
            "changes",
            "beside a gaussian block: how many changes the l2 radius stands besides",
            int,
            default=0,
        ),
    )
    inputs = (options[0], options[2])
    stated_as: ClassVar[dict[str, str]] = {"parts": "blocks"}

    def __init__(self, *parts: Any, splits: Sequence[int], changes: int = 0) -> None:
        for part in parts:
            discrete = isinstance(part, DiscreteNoise) and part.is_part
            if not (discrete or isinstance(part, GaussianBlock)):
                raise ArgumentError(
                    "parts",
                    f"must be of {', '.join(parts_by_name())} (in l2), for any number "
                    f"of columns; got {part!r:.60}",
                )
        if not len(parts) >= 2:
            raise ArgumentError("parts", f"must be at least two; got {len(parts)}")
        borders = as_integers("splits", splits, 1)
        if borders.ndim != 1 or len(borders) != len(parts) - 1:
            raise ArgumentError(
                "splits",
                f"must be one column between each two of {len(parts)} noises; got "
                f"{splits!r}",
            )
        if (np.diff(borders) <= 0).any():
            raise ArgumentError("splits", f"must ascend; got {splits!r}")
        self.parts: tuple[Any, ...] = parts
        self.splits: tuple[int, ...] = tuple(borders.tolist())
        self.level = max(part.level for part in parts)
        self.changes = count("changes", changes)
        if not self.changes <= _BESIDE:
            raise ArgumentError("changes", f"must be at most {_BESIDE}; got {changes}")
        self.gaussian: GaussianBlock | None = None
        self._measured_by(parts)
        if self.changes and not self.curve.takes(self.changes):
            raise ArgumentError(
                "changes",
                "must be fewer beside these parts: all ways to make them may have "
                f"{MOST_REGIONS} regions together; got {changes}",
            )
        laws = "; ".join(part.law for part in parts)
        self.law = f"blocks [{laws}] splits={','.join(map(str, self.splits))}"

    def _measured_by(self, parts: Sequence[Any]) -> None:
        """What radii of these parts measure, and the level that rows state."""
        numbers = [part for part in parts if isinstance(part, GaussianBlock)]
        if not numbers and self.changes:
            raise ArgumentError("changes", "are beside a gaussian block; got none")
        if len(numbers) > 1:
            raise ArgumentError(
                "parts",
                "must have one gaussian block at most: put its columns side by side, "
                f"each divided by its own unit; got {len(numbers)}",
            )
        if numbers:
            self.gaussian = numbers[0]
            self.level = self.gaussian.level
            self.norm = beside(self.changes)
            self.of_bits = False

    @property
    def parameters(self) -> dict[str, Any]:
        blocks = [{"method": part.name, **part.parameters} for part in self.parts]
        stated = {"blocks": blocks, "splits": list(self.splits)}
        return stated | ({"changes": self.changes} if self.changes else {})

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Blocks:
        for name in ("blocks", "splits"):
            value = parameters.get(name)
            if value is None:
                raise ArgumentError(name, "is missing")
            if not isinstance(value, Sequence) or isinstance(value, str):
                raise ArgumentError(name, f"must be a list; got {value!r:.60}")
        parts = [_part(block) for block in parameters["blocks"]]
        splits = [count("splits", column) for column in parameters["splits"]]
        changes = parameters.get("changes", 0)
        try:
            return cls(*parts, splits=splits, changes=changes)
        except ArgumentError as error:
            name = cls.stated_as.get(error.name, error.name)
            raise ArgumentError(name, error.problem) from None

    @classmethod
    def stated(cls, options: Options, dim: int | None) -> dict[str, Any]:
        # a radius depends on no column
        stated = list(options["blocks"])
        splits = options.get("splits", list(range(1, len(stated))))
        changes = options.get("changes", 0)
        more = {"changes": changes} if changes else {}
        return {"blocks": stated, "splits": splits, **more}

    def made_curve(self) -> Any:
        curves = [part.curve for part in self.parts if isinstance(part, DiscreteNoise)]
        if self.gaussian is None:
            return BlocksCurve(*curves)
        discrete = curves[0] if len(curves) == 1 else BlocksCurve(*curves)
        return MixedCurve(self.gaussian.level, discrete, self.changes)

    def transport(self, z: Any, radius: Any) -> tuple[Any, Any]:
        if self.gaussian is None:
            return super().transport(z, radius)
        try:
            low, high = self.curve.transport(z, radius)
        except ArgumentError as error:
            name = "radius" if error.name == "r" else error.name
            raise ArgumentError(name, error.problem) from None
        return low, high

    def checked(self, x: Any) -> Any:
        if _edges.is_sparse(x):
            x = _edges.of_scipy(x).tocsr()
        else:
            x = np.asarray(on_host("x", x))
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
        return sum(part.numbers(own) for part, own in zip(self.parts, x, strict=True))

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        both = list(zip(self.parts, x, strict=True))
        if isinstance(x[0], _edges.Edges):
            # sparse matrices are inputs of parts that draw keys alone
            keys = [part.flipped_keys(own, size, bits) for part, own in both]
            return bits.matrices(*_edges.side_by_side(x, keys), size)
        batches = [part.noisy(own, sigma, size, bits) for part, own in both]
        return bits.xp.concatenate(batches, axis=-1)


def _checked(part: NamedNoise, x: Any, low: int) -> Any:
    """The inputs of one block, as its noise takes them; an error says which block."""
    try:
        return part.checked(x)
    except ArgumentError as error:
        place = f"in the block {part.name} from column {low} on"
        raise ArgumentError(error.name, f"{error.problem}, {place}") from None


def _part(block: Any) -> NamedNoise:
    """The noise of one block's parameters; ArgumentError("blocks", ...)."""
    kinds = parts_by_name()
    method = str(block.get("method")) if isinstance(block, Mapping) else ""
    if method not in kinds:
        raise ArgumentError(
            "blocks", f"must be of the methods {', '.join(kinds)}; got {block!r:.60}"
        )
    kind = kinds[method]
    own = {key: value for key, value in block.items() if key != "method"}
    unknown = own.keys() - set(kind.block_parameters)
    if unknown:
        raise ArgumentError("blocks", f"must not have {min(unknown)} for {method!r}")
    try:
        require(kind.domains, own)
        return kind.of(own)
    except ArgumentError as error:
        raise ArgumentError(
            "blocks", f"of {method!r}: {error.name} {error.problem}"
        ) from None


class BlocksCurve(Curve):
    """Several noises on groups of coordinates of their own.

    r has one entry for each block, each as that block's curve takes it; a number is
    that many changes, in whichever blocks.
    """

    # a number of changes has many ways to be looked at, and values share each look
    asked_first = 1024

    def __init__(self, *curves: Curve) -> None:
        super().__init__()
        for curve in curves:
            if not isinstance(curve, Curve):
                raise ArgumentError("curves", f"must be curves; got {curve!r}")
        if not curves:
            raise ArgumentError("curves", "must be one curve at least; got none")
        self.curves = curves
        limits = [curve.limit for curve in curves]
        if None not in limits:
            self.limit = sum(limit or 0 for limit in limits)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"curves": self.curves}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.curves))})"

    @cached_property
    def _starts(self) -> list[int]:
        """Where the numbers of each block begin among those of all kinds, and end."""
        return list(accumulate((curve.kinds for curve in self.curves), initial=0))

    @property
    def kinds(self) -> int:  # type: ignore[override]
        return self._starts[-1]

    @property
    def alike(self) -> bool:  # type: ignore[override]
        return all(curve.alike for curve in self.curves)

    @property
    def far(self) -> int:  # type: ignore[override]
        return _FAR.get(len(self._worst), 24)

    @cached_property
    def _worst(self) -> Counts:
        kinds = [
            start + kind
            for start, curve in zip(self._starts[:-1], self.curves, strict=True)
            for kind in curve._worst
        ]
        return self._worst_of(kinds)

    def _ways_of_kinds(self, name: str, r: Any) -> Ways:
        if not isinstance(r, Sequence | np.ndarray) or len(r) != len(self.curves):
            raise ArgumentError(
                name,
                f"must have one entry for each of {len(self.curves)} blocks; got {r!r}",
            )
        given: Counts = ()
        groups: list[tuple[int, Counts]] = []
        for start, curve, own in zip(self._starts[:-1], self.curves, r, strict=True):
            # a number for a block stands for all ways to split it
            ways = curve._ways(name, own)
            given += ways.given
            groups += [
                (total, tuple(start + kind for kind in kinds))
                for total, kinds in ways.groups
            ]
        return Ways(given, tuple(groups))

    def _own(self, counts: Counts) -> Iterator[tuple[Curve, Counts]]:
        """Each block's curve, with its own numbers."""
        for curve, (start, end) in zip(
            self.curves, pairwise(self._starts), strict=True
        ):
            yield curve, counts[start:end]

    def _parts(self, counts: Counts) -> list[Part] | None:
        every: list[Part] = []
        for curve, own in self._own(counts):
            parts = curve._parts(own)
            if parts is None:
                return None
            every += parts
        return every

    def _bits_of(self, counts: Counts) -> int | None:
        changed = self._changed(counts)
        if len(changed) < 2:
            return super()._bits_of(counts)
        every = [curve._parts(own) for curve, own in changed]
        if None in every:
            return None
        return product_bits([parts or () for parts in every])

    @cached_property
    def _first_alike(self) -> list[int]:
        """For each block the first of the same noise."""
        curves = self.curves
        return [
            curves.index(curve) if curve.alike else place
            for place, curve in enumerate(curves)
        ]

    def _changed(self, counts: Counts) -> list[tuple[Curve, Counts]]:
        """Each different noise with changes, with those of all its blocks together.

        Coordinates of one noise may be in one group as well as in two.
        """
        changed: dict[int, Counts] = {}
        for first, (_, own) in zip(self._first_alike, self._own(counts), strict=True):
            if any(own):
                before = changed.get(first, (0,) * len(own))
                changed[first] = tuple(a + b for a, b in zip(before, own, strict=True))
        return [(self.curves[place], own) for place, own in changed.items()]

    def _regions_of(self, counts: Counts) -> Regions:
        changed = self._changed(counts)
        if len(changed) == 1:
            ((curve, own),) = changed
            return curve._region(own)
        mass, shifted_mass, scale = [1], [1], 1
        for curve, own in changed:
            regions = curve._region(own)
            mass = [a * b for a in mass for b in regions.mass]
            shifted_mass = [a * b for a in shifted_mass for b in regions.shifted_mass]
            scale *= regions.scale
        return Regions.unsorted(mass, shifted_mass, scale)

    def _frontier(self, question: Question) -> list[tuple[Any, ...]]:
        if len(self.curves) == 2:
            return self._pairs(question)
        return super()._frontier(question)
