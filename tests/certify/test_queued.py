"""A device has the next input before it is asked for the last one's counts."""

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from rsbounds import certify_dataset, schemes
from rsbounds._numerics.threads import one_behind
from rsbounds.answers import Flag, TopK
from rsbounds.certify import Procedure
from rsbounds.results import read
from rsbounds.sampling import ArraySampler, Draws, Phase
from rsbounds.sampling.internal import EarlyDraws

X = np.linspace(-2, 2, 6)[:, None] * np.ones(4)
LABELS = np.arange(6) % 2


def scores(batch: Any) -> Any:
    return np.stack([-batch[:, 0], batch[:, 0]], 1)


class Pending:
    """Counts on a device: reading them waits for it."""

    def __init__(self, device: "Device", name: float, counts: Any) -> None:
        self.device, self.name, self.counts = device, name, counts

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self.device.log.append(("read", self.name))
        return np.asarray(self.counts, dtype)


class Device:
    """A sampler that answers at once, with counts that are read later."""

    law = ""
    kind = "votes"

    def __init__(
        self,
        *,
        queues: bool,
        fails_at: float | None = None,
        error: BaseException | None = None,
    ) -> None:
        self.queues = queues
        self.error = error or ValueError("the device is gone")
        self.log: list[tuple[str, float]] = []
        self.fails_at = fails_at
        self.sampler = ArraySampler(scores)

    def __call__(self, x: Any, sigma: float, n: int, generator: Any) -> Any:
        name = round(float(x[0]), 3)
        if name == self.fails_at:
            raise self.error
        if sigma > 0.1:  # not the look without noise at the first inputs
            self.log.append(("queued", name))
        counts = self.sampler(x, sigma, n, generator)
        return Pending(self, name, counts) if sigma > 0.1 else counts


def certified(device: Any, out: Any = None, **options: Any) -> Any:
    settings = {"n0": 20, "n": 200, "progress": False} | options
    question = settings.pop("question", schemes.gaussian(0.5))
    return certify_dataset(device, (X, LABELS), question, out=out, **settings)


def plain(results: Any) -> list[tuple[Any, ...]]:
    return [
        (row.idx, row.predict, row.radius, tuple(row.select), tuple(row.counts))
        for row in results.rows
    ]


def unread_when_queued(log: list[tuple[str, float]]) -> list[bool]:
    """Of each input but the first whether the one before was unread as it came."""
    names = list(dict.fromkeys(name for _, name in log))
    return [
        log.index(("queued", after)) < log.index(("read", before))
        for before, after in pairwise(names)
    ]


def test_the_next_input_is_queued_before_counts_are_read() -> None:
    device, host = Device(queues=True), Device(queues=False)
    assert plain(certified(device)) == plain(certified(host))
    # what tells the model is drawn of the first input before the run: from the rows on
    assert all(unread_when_queued(device.log[device.log.index(("queued", -1.2)) - 2 :]))
    assert not any(unread_when_queued(host.log))
    # nothing is drawn twice
    assert sorted(device.log) == sorted(host.log)


@pytest.mark.parametrize(
    "question",
    [TopK(schemes.gaussian(0.5), 1), Flag(schemes.gaussian(0.5), 0.2, flagged=1)],
)
def test_other_questions_are_queued_too(question: Any) -> None:
    device, host = Device(queues=True), Device(queues=False)
    rows = plain(certified(device, question=question))
    assert rows == plain(certified(host, question=question))
    assert all(unread_when_queued(device.log[device.log.index(("queued", -1.2)) - 2 :]))
    assert sorted(device.log) == sorted(host.log)


@pytest.mark.parametrize(
    "options",
    [
        {"only_correct": True},
        {"target_radius": 0.1, "bound": "anytime"},
        {"bound": "staged"},
    ],
)
def test_what_depends_on_counts_is_not_queued(options: dict[str, Any]) -> None:
    device, host = Device(queues=True), Device(queues=False)
    assert plain(certified(device, **options)) == plain(certified(host, **options))
    assert device.log == host.log


@pytest.mark.parametrize("queues", [True, False])
def test_an_error_leaves_the_rows_before_it(tmp_path: Any, queues: bool) -> None:
    out = tmp_path / "run.tsv"
    with pytest.raises(ValueError, match=r"input 3 .*gone"):
        certified(Device(queues=queues, fails_at=0.4), out)
    assert [row.idx for row in read(out).rows] == [0, 1, 2]
    whole = certified(Device(queues=True), out)
    assert plain(whole) == plain(certified(Device(queues=False)))


@pytest.mark.parametrize("place", ["asked", "read"])
def test_an_interrupted_queue_is_gone_on_with(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Whether it stops where the next input is asked for or where counts are read."""
    out = tmp_path / "run.tsv"
    reads = iter(range(7))
    waited = Pending.__array__

    def interrupted(self: Pending, *args: Any, **options: Any) -> Any:
        if place == "read" and next(reads) == 6:
            raise KeyboardInterrupt
        return waited(self, *args, **options)

    fails_at = 0.4 if place == "asked" else None
    device = Device(queues=True, fails_at=fails_at, error=KeyboardInterrupt())
    monkeypatch.setattr(Pending, "__array__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        certified(device, out)
    monkeypatch.setattr(Pending, "__array__", waited)
    written = read(out).rows
    assert 1 <= len(written) <= 3
    assert [row.idx for row in written] == list(range(len(written)))
    whole = certified(Device(queues=True), out)
    assert plain(whole) == plain(certified(Device(queues=False)))


def test_times_of_rows_do_not_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = Pending.__array__

    def slowly(self: Pending, *args: Any, **options: Any) -> Any:
        time.sleep(0.02)
        return waited(self, *args, **options)

    monkeypatch.setattr(Pending, "__array__", slowly)
    begun = time.perf_counter()
    results = certified(Device(queues=True))
    whole = time.perf_counter() - begun
    # an input waits twice for its own counts; of two under way the second waits for
    # the first one's too, which are not its time
    assert 6 * 0.04 <= sum(row.seconds for row in results.rows) <= whole


def test_samples_asked_for_early_are_those_asked_for_later() -> None:
    sampler = ArraySampler(scores)
    draws = Draws([sampler], X[0], [1.0], Procedure(), 3)
    early = EarlyDraws(draws, [(Phase.SELECT, 10), (Phase.ESTIMATE, 50)])
    for phase, n in ((Phase.ESTIMATE, 50), (Phase.SELECT, 10), (Phase.SELECT, 20)):
        for _ in range(2):
            assert early(phase, n).tolist() == draws(phase, n).tolist()


def test_one_behind_keeps_order_and_errors() -> None:
    events: list[str] = []

    def started(last: int) -> Any:
        for i in range(last):
            events.append(f"start {i}")
            yield lambda i=i: events.append(f"read {i}") or i
        raise OSError("gone")

    results = one_behind(started(3))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="gone"):
        next(results)
    assert events == ["start 0", "start 1", "read 0", "start 2", "read 1", "read 2"]
    assert list(one_behind([])) == []


def test_modules_on_a_processor_queue_nothing() -> None:
    torch = pytest.importorskip("torch")
    from rsbounds.sampling.torch_sampler import TorchSampler

    sampler: Any = TorchSampler(torch.nn.Linear(4, 2))
    assert not sampler.queues
    host = plain(certified(sampler))
    sampler.backend.queues = True  # as on a device
    assert plain(certified(sampler)) == host
    assert not ArraySampler(scores).queues
