"""Workers that are actors of a Ray cluster."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import socket
import warnings
from collections.abc import Iterable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from rsbounds._numerics.checks import count as whole_count
from rsbounds._numerics.domains import NOT_NEGATIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds.certify.internal import Build
from rsbounds.cluster._deal import LostWorker, Member, Workers, those_in

# bytes of object store of a cluster of our own: only rows pass through it
STORE = 100 * 2**20
ANSWER = 10.0  # seconds in which a cluster's address must answer
RETRIES = 3  # times that Ray itself begins a lost call again


class Ray(Workers):
    """Actors of a Ray cluster (the extra ``ray``).

    Workers that come later take part from then on: ask for as many as there may be.

    Parameters
    ----------
    build : callable
        As in :class:`Workers`.
    address : str, optional
        Of the cluster, ``HOST:PORT``, ``ray://HOST:PORT`` or ``auto``; by default that
        in ``RAY_ADDRESS``, else a cluster of this machine alone is started, and ended
        with the run.
    count : int, optional
        How many actors, >= 1; by default as many as the cluster has room for when it is
        asked.
    gpus : float
        GPUs of each, >= 0; below 1 they share.
    threads : int
        CPUs of each, and threads of its forward passes, >= 1.

    Examples
    --------
    >>> from rsbounds.cluster import Ray
    >>> workers = Ray(print, "head:6379", gpus=1)  # not connected yet
    >>> workers.close()
    """

    def __init__(
        self,
        build: Build,
        address: str | None = None,
        *,
        count: int | None = None,
        gpus: float = 0,
        threads: int = 1,
    ) -> None:
        super().__init__(build)
        if not isinstance(address, str | None):
            raise ArgumentError(
                "address",
                f"must be HOST:PORT, ray://HOST:PORT or auto; got {address!r}",
            )
        self._address = address or os.environ.get("RAY_ADDRESS") or "local"
        self._count = None if count is None else whole_count("count", count, 1)
        self._gpus = NOT_NEGATIVE.one("gpus", gpus)
        self._threads = whole_count("threads", threads, 1)

    def _begun(self, member: Member) -> Actors:
        ray = _connected(self._address, (self._count or 1) * self._threads)
        try:
            room, lacking = _room(ray, self._gpus, self._threads)
            if room < 1:
                if self._count is None or self._address == "local":
                    raise ValueError(
                        f"{lacking}; on a cluster, workers whose number is given wait "
                        "until there is"
                    )
                warnings.warn(f"{lacking}: the run waits until there is", stacklevel=2)
            options = {"num_cpus": self._threads, "num_gpus": self._gpus}
            return Actors(ray, self._count or room, options, member)
        except BaseException:
            ray.shutdown()
            raise


class Actors:
    """The :class:`Executor` of actors."""

    def __init__(
        self, ray: Any, count: int, options: dict[str, Any], member: Member
    ) -> None:
        self.count = count
        self._ray = ray
        self._done: SimpleQueue[Any] = SimpleQueue()
        made = ray.remote(Actor).options(
            max_restarts=-1, max_task_retries=RETRIES, **options
        )
        self._actors = [made.remote(member) for _ in range(count)]

    def call(self, worker: int, name: str, *args: Any) -> Any:
        ticket = self._actors[worker].do.remote(name, *args)
        ticket.future().add_done_callback(lambda _: self._done.put(ticket))
        return ticket

    def finished(self) -> Iterable[Any]:
        return those_in(self._done)

    def result(self, ticket: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(ticket)
        except errors.RayTaskError as error:
            raise ValueError(str(error.cause or error)) from None
        except errors.ActorDiedError as error:
            # for good: Ray restarts those that it can
            last = str(error).strip().splitlines()[-1]
            _, _, cause = last.rpartition("detail: ")
            raise ValueError(
                "the Ray cluster has lost this run's workers for good: "
                f"{cause.rstrip('.')}; what is written is kept, and the same command "
                "goes on"
            ) from None
        except errors.RayError as error:
            raise LostWorker(type(error).__name__) from error

    def close(self) -> None:
        self._ray.shutdown()  # which ends this run's actors


class Actor:
    """A worker with the GPUs that Ray gives it."""

    def __init__(self, member: Member) -> None:
        # Ray's own handler raises SystemExit, which reads as a failure of the model:
        # end at once, as by SIGKILL, and Ray begins anew.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        ray: Any = importlib.import_module("ray")
        gpus = ray.get_gpu_ids()
        if gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, gpus))
        self._member = member

    def do(self, name: str, *args: Any) -> Any:
        return self._member.do(name, *args)


def _connected(address: str, cpus: int) -> Any:
    """Ray, connected to that cluster or to one of its own."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray: Any = need("ray", "a Ray cluster")
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        cpus = max(cpus, os.cpu_count() or 1)
        quiet |= {
            "num_cpus": cpus,
            "object_store_memory": STORE,
            "include_dashboard": False,
        }
    elif address != "auto":
        _answers(address)
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, **quiet)
    except Exception as error:
        ray.shutdown()
        first, _, _ = str(error).strip().partition("\n")
        raise ValueError(
            f"the Ray cluster at {address} can't be used: {first}; if it asks for a "
            "token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
        ) from None
    # Ray's own handler aborts the process. ValueError: not in the main thread;
    # TypeError: the handler before was none of Python's.
    with suppress(ValueError, TypeError):
        signal.signal(signal.SIGTERM, on_sigterm)
    return ray


def _answers(address: str) -> None:
    """ValueError unless something listens there."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ValueError(
            f"the address of a Ray cluster must be HOST:PORT, ray://HOST:PORT or auto; "
            f"got {address!r}"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER).close()
    except OSError as error:
        raise ValueError(
            f"the Ray cluster at {address} doesn't answer: {error}"
        ) from None


def _room(ray: Any, gpus: float, cpus: int) -> tuple[int, str]:
    """How many actors the cluster has room for, and the words where that is none."""
    resources = ray.cluster_resources()
    all_cpus = resources.get("CPU", 0)
    all_gpus = resources.get("GPU", 0)
    room = all_cpus // cpus
    if gpus:
        room = min(room, all_gpus // gpus)
    lacking = (
        f"the Ray cluster has no room for a worker of {cpus} CPUs and {gpus:g} GPUs; "
        f"got {all_cpus:g} and {all_gpus:g}"
    )
    return int(room), lacking
