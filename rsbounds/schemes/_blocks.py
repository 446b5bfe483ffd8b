"""Several noises, each on coordinates of its own: edges and features, in l_0."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from rsbounds import discrete
from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds.discrete import Curve
from rsbounds.sampling import noises
from rsbounds.sampling.noises import Noise
from rsbounds.schemes._categorical import Categorical
from rsbounds.schemes._curves import CurveScheme, FrontierScheme
from rsbounds.schemes._flips import Flips, as_switch
from rsbounds.schemes._mask import Mask
from rsbounds.schemes._options import Option
from rsbounds.schemes._scheme import Scheme

__all__ = ["Blocks", "blocks"]

#: Methods of one block, by their names.
PARTS: Mapping[str, type[CurveScheme]] = {
    method.name: method for method in (Flips, Categorical, Mask)
}
_EXPECTED = (
    "must be METHOD:NAME=NUMBER,... for each block, separated by semicolons (and "
    "symmetric=on for the edges of an undirected graph)"
)


def as_blocks(text: str) -> tuple[dict[str, Any], ...]:
    """``flips:add=.01,delete=.6,symmetric=on;flips:add=.003,delete=.4``, read."""
    return tuple(_block(part) for part in text.split(";"))


def _block(text: str) -> dict[str, Any]:
    method, _, arguments = text.strip().partition(":")
    block: dict[str, Any] = {"method": method}
    for argument in arguments.split(","):
        name, _, value = argument.strip().partition("=")
        if name in block:
            raise ValueError(f"blocks must have {name} once for each; got {text!r}")
        try:
            block[name] = _parameter(name, value)
        except (ValueError, OverflowError):
            raise ValueError(f"blocks {_EXPECTED}; got {text!r}") from None
    return block


def _parameter(name: str, value: str) -> float | bool:
    if name == "symmetric":
        return as_switch(value)
    return int(value) if name == "values" else float(value)


def as_splits(text: str) -> list[int]:
    """Columns separated by commas."""
    return [int(part) for part in text.split(",")]


class Blocks(FrontierScheme):
    """Noises of disjoint groups of columns; see :func:`blocks`."""

    name = "blocks"
    help = "a noise for each group of columns: edges and features, certified in l0"
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "blocks",
            "flips, categorical or mask for each group, left to right",
            as_blocks,
            metavar="METHOD:NAME=NUMBER,...;...",
        ),
        Option(
            "splits",
            "the columns at which the second and further groups begin",
            as_splits,
            metavar="J,...",
        ),
    )
    inputs = options[:1]

    @classmethod
    def stated(cls, options: Mapping[str, Any], dim: int | None) -> dict[str, Any]:
        # a radius depends on no column
        stated = list(options["blocks"])
        splits = options.get("splits", list(range(1, len(stated))))
        return {"blocks": stated, "splits": splits}

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        for name in ("blocks", "splits"):
            value = parameters.get(name)
            if value is None:
                raise ArgumentError(f"parameters.{name}", "is missing")
            if not isinstance(value, Sequence) or isinstance(value, str):
                raise ArgumentError(
                    f"parameters.{name}", f"must be a list; got {value!r:.60}"
                )
        if not len(parameters["blocks"]) >= 2:
            raise ArgumentError(
                "parameters.blocks",
                f"must be at least two; got {len(parameters['blocks'])}",
            )
        for block in parameters["blocks"]:
            _check_block(block)
        super().check(parameters)

    @classmethod
    def curve_of(cls, parameters: Mapping[str, Any]) -> Curve:
        parts = _parts(parameters)
        return discrete.blocks(*(method.curve_of(own) for method, own in parts))

    @classmethod
    def noise_of(cls, parameters: Mapping[str, Any]) -> Noise:
        parts = _parts(parameters)
        return noises.blocks(
            *(method.noise_of(own) for method, own in parts),
            splits=parameters["splits"],
        )

    @classmethod
    def level_of(cls, parameters: Mapping[str, Any]) -> float:
        return max(method.level_of(own) for method, own in _parts(parameters))


def _parts(
    parameters: Mapping[str, Any],
) -> Iterator[tuple[type[CurveScheme], dict[str, Any]]]:
    for block in parameters["blocks"]:
        own = {name: value for name, value in block.items() if name != "method"}
        yield PARTS[block["method"]], own


def _check_block(block: Any) -> None:
    """ArgumentError unless these are the parameters of one of ``PARTS``."""
    name = "parameters.blocks"
    method = str(block.get("method")) if isinstance(block, Mapping) else ""
    if method not in PARTS:
        raise ArgumentError(
            name, f"must be of the methods {', '.join(PARTS)}; got {block!r:.60}"
        )
    own = {key: value for key, value in block.items() if key != "method"}
    unknown = own.keys() - PARTS[method].domains.keys()
    if method == Flips.name:
        unknown.discard("symmetric")  # of the noise: the curve does not depend on it
    if "keep_count" in own or "dim" in own:
        unknown |= {"keep_count"}  # whose number of coordinates the splits don't say
    if unknown:
        raise ArgumentError(name, f"must not have {min(unknown)} for {method!r}")
    try:
        PARTS[method].check(own)
    except ArgumentError as error:
        own_name = error.name.removeprefix("parameters.")
        raise ArgumentError(
            name, f"of {method!r}: {own_name} {error.problem}"
        ) from None


def blocks(*parts: Scheme, splits: Sequence[int]) -> Scheme:
    """A noise of its own for each group of columns, all independent; in l_0.

    The radius counts changed coordinates in whichever groups; with two groups the
    column ``frontier`` has the pairs of numbers that are certified.

    Parameters
    ----------
    *parts : Scheme
        Of :func:`flips`, :func:`categorical` or :func:`mask` with a probability, two or
        more. Symmetric flips are those of an undirected graph's adjacency matrix.
    splits : sequence of int
        The columns (along the last axis) at which the second and further groups begin.

    Raises
    ------
    ValueError
        If the parts are others, or the splits don't go with them.

    References
    ----------
    :func:`rsbounds.discrete.blocks`.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> edges, features = schemes.flips(0.001, 0.8), schemes.flips(0.003, 0.4)
    >>> graph = schemes.blocks(edges, features, splits=[34])
    >>> graph.further(2.0, -2.0)["frontier"]
    '3,0'
    """
    for part in parts:
        if not isinstance(part, CurveScheme):
            raise ArgumentError("parts", f"must be schemes of blocks; got {part!r:.60}")
    stated = [{"method": part.name, **part.parameters} for part in parts]
    columns = [count("splits", column) for column in splits]
    return Blocks.made_of(blocks=stated, splits=columns)
