"""A list of named entries that other packages add to, through entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name, read once a process.

    Reading the metadata of all installed packages takes tens of milliseconds, and one
    command asks for the lists a dozen times. A package that is installed meanwhile is
    seen by the next process.
    """
    return {point.name: point for point in entry_points(group=group)}


class Registry(Mapping[str, T], Generic[T]):
    """The entries of this package and, behind them, those of installed packages.

    Parameters
    ----------
    group : str
        The group of entry points, such as ``rsbounds.schemes``.
    built_in : sequence
        The entries of this package, each with a ``name``.
    admit : callable
        Called with an entry of another package; raises ValueError for what is none.
    """

    def __init__(
        self, group: str, built_in: Sequence[T], admit: Callable[[Any], object]
    ) -> None:
        self.group = group
        self._built_in: dict[str, T] = {_name(entry): entry for entry in built_in}
        self._admit = admit
        self._loaded: dict[str, T] = {}

    @property
    def own(self) -> Sequence[T]:
        """The entries of this package."""
        return [*self._built_in.values()]

    def is_own(self, name: str) -> bool:
        """Whether the entry of that name is this package's."""
        return name in self._built_in

    def __getitem__(self, name: str) -> T:
        if name in self._built_in:
            return self._built_in[name]
        if name not in self._loaded:
            # looked up only for a name that is not ours: a process that has no other
            # reads no metadata of installed packages
            self._loaded[name] = self._load(self._others()[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from (name for name in self._others() if name not in self._built_in)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in self._loaded or name in self._others()

    def _others(self) -> dict[str, EntryPoint]:
        return installed(self.group)

    def _load(self, point: EntryPoint) -> T:
        what = f"the entry point {point.name!r} of {self.group} ({point.value})"
        try:
            entry: T = point.load()
        except Exception as error:  # code of strangers may raise anything
            raise ValueError(f"{what} can't be loaded: {error}") from error
        try:
            self._admit(entry)
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from None
        if _name(entry) != point.name:
            raise ValueError(f"{what} must be of the entry's name, {_name(entry)!r}")
        return entry


def _name(entry: Any) -> str:
    name: str = entry.name
    return name
