"""A look at whether a module is one function of each row of its batch."""

import copy
from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from rsbounds._numerics.rounding import EPS, apart
from rsbounds.torch.networks._surroundings import apart_from_all
from rsbounds.torch.networks.graph import DOUBLE

__all__ = ["require_rows"]

_Function = Callable[[torch.Tensor], torch.Tensor]
_ROWS = 3
_ORDER = [2, 0, 1]  # in which none of the rows is at its place


def require_rows(
    name: str,
    module: nn.Module,
    shape: tuple[int, ...],
    exported: _Function | None = None,
) -> None:
    """ValueError if a module is seen not to be one function of a row, the exported one.

    A copy of it runs on three rows twice, on each alone, in another order, and with one
    of them not a number, which arithmetic carries on into every result that depends on
    it, however little.
    """
    generator = torch.Generator("cpu").manual_seed(0)
    # a compiled module runs as it is written
    with apart_from_all(), torch.compiler.set_stance("force_eager"):
        rows = torch.randn((_ROWS, *shape), generator=generator, **DOUBLE)
        called = _called(name, copy.deepcopy(module).cpu().double().eval())
        together = called(rows)
        if not torch.equal(together.nan_to_num(), called(rows).nan_to_num()):
            raise ValueError(
                f"{name} must be one function of its input; called twice it returns "
                "two results (chance, or a state that calls change?)"
            )
        alone = torch.cat([called(row) for row in torch.split(rows, 1)])
        require = partial(_require_alike, name)
        require(together, alone, "three together give other results than each alone")
        moved = called(rows[_ORDER])
        require(together[_ORDER], moved, "three give other results in another order")
        for place in range(_ROWS):
            spoilt = rows.clone()
            spoilt[place] = torch.nan
            others = [other for other in range(_ROWS) if other != place]
            found = called(spoilt)[others]
            require(together[others], found, "a row of NaN changes what others give")
        if exported is None:
            return
        listed = torch.cat([exported(row) for row in torch.split(rows, 1)])
        if apart(alone.numpy(), listed.numpy(), EPS):
            raise ValueError(
                f"{name} must compute when it is called what torch.export finds in it; "
                "the results of three rows differ (a branch on whether it is exported, "
                "or a state that calls change?)"
            )


def _called(name: str, network: nn.Module) -> _Function:
    """The module; ValueError for what it doesn't take, or doesn't return by rows."""

    def call(rows: torch.Tensor) -> torch.Tensor:
        try:
            # a copy: the module may write over it
            returned = network(rows.clone())
        except Exception as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            reason = lines[0] if lines else type(error).__name__
            raise ValueError(
                f"{name} must take batches of any number of rows; with {len(rows)} it "
                f"fails: {reason}"
            ) from error
        if returned.shape[:1] != (len(rows),):
            raise ValueError(
                f"{name} must return one row for each input; got the shape "
                f"{tuple(returned.shape)} for {len(rows)}"
            )
        found: torch.Tensor = returned.double()
        return found

    return call


def _require_alike(
    name: str, first: torch.Tensor, other: torch.Tensor, seen: str
) -> None:
    if apart(first.numpy(), other.numpy(), EPS):
        raise ValueError(
            f"{name} must compute each row of a batch from that row alone; {seen} "
            "(batch statistics, attention over the batch, or a branch on its length?)"
        )
