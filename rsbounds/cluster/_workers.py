"""What stands in the place of a model, and what a worker is."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from rsbounds.certify import Build, Here, Work
from rsbounds.cluster._deal import Dealt, Executor
from rsbounds.procedure import Procedure


class Member:
    """A worker's side: the model is made at the first call, so that its errors are answers."""

    def __init__(self, *recipe: Any) -> None:
        self._directory, self._recipe = os.getcwd(), recipe
        self._here: Here | None = None

    def do(self, name: str, *args: Any) -> Any:
        """Call a method of the worker's :class:`rsbounds.certify.Here`."""
        if self._here is None:
            os.chdir(self._directory)
            self._here = Here.built(*self._recipe)
        return getattr(self._here, name)(*args)


class Workers(ABC):
    """Workers in place of a model, for :func:`rsbounds.certify_dataset`; a context manager.

    Parameters
    ----------
    build : callable
        ``build()`` returns (model, data, scheme) as :func:`rsbounds.certify_dataset` takes them.
        It is pickled, and called once in each worker: a function of a module that workers can
        import, or a ``functools.partial`` of one.
    """

    def __init__(self, build: Build) -> None:
        if not callable(build):
            raise ValueError(f"build must be a function without arguments; got {build!r}")
        self._build = build
        self._executor: Executor | None = None

    @abstractmethod
    def _begun(self, member: Member) -> Executor:
        """The workers, each with a copy of the member."""

    def begin(self, procedure: Procedure, expected: Mapping[str, Any], skip_corrupt: bool) -> Work:
        """Start them anew, for one call's procedure."""
        self.close()
        self._executor = self._begun(Member(self._build, procedure, expected, skip_corrupt))
        return Dealt(self._executor)

    def close(self) -> None:
        """End them."""
        if self._executor is not None:
            executor, self._executor = self._executor, None
            executor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
