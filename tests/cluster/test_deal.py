"""Inputs dealt out to workers of a clock: quick, slow, late, lost."""

import random

import pytest

from rsbounds.certify import Outcome
from rsbounds.cluster import LostWorker
from rsbounds.cluster._deal import AHEAD, HANDFUL, SECONDS, TRIES, Dealt
from rsbounds.results import Row


class Clock:
    """Workers that do one call after the other, each in its own time; some are lost."""

    def __init__(
        self,
        paces,
        *,
        late=(),
        lost=lambda worker, name, index: False,
        row=lambda index: None,
        kept=lambda inputs: inputs,
    ):
        self._row, self._kept = row, kept
        self.count, self._paces, self._lost = len(paces), paces, lost
        self.now, self.free = (
            0.0,
            [float("inf") if w in late else 0.0 for w in range(self.count)],
        )
        self.calls, self.most = [], 0

    def call(self, worker, name, *args):
        begin = max(self.now, self.free[worker])
        self.free[worker] = begin + self._paces[worker]
        self.calls.append((self.free[worker], worker, name, args))
        return len(self.calls) - 1

    def finished(self, tickets):
        ends = {t: self.calls[t][0] for t in tickets}
        self.most = max(self.most, len(ends))
        self.now = min(ends.values())
        assert self.now < float("inf"), "waits for a worker that never comes"
        return [t for t in tickets if ends[t] == self.now]

    def result(self, ticket):
        _, worker, name, args = self.calls[ticket]
        inputs = args[0] if name == "several" else args[:1]
        if any(self._lost(worker, name, index) for index in inputs or [None]):
            raise LostWorker("gone")
        if name == "machines":
            return [{"host": f"host{worker % 2}"}]
        if name == "fingerprint":
            return [7, worker]
        return [Outcome(i, self._row(i)) for i in self._kept(inputs)]


def indices(clock, count):
    found = [o.index for o in Dealt(clock).outcomes(range(count), lambda: False)]
    assert len(found) == count
    assert sorted(found) == list(range(count))
    return found


def lasting(seconds):
    return lambda index: Row(index, 0, 0, 0.0, True, time=f"0:00:{seconds:09.6f}")


def handed(clock):
    return [len(args[0]) for _, _, name, args in clock.calls if name == "several"]


def test_inputs_that_are_quick_come_in_handfuls():
    clock = Clock([1.0, 1.0], row=lasting(0.001))
    indices(clock, 1000)
    assert handed(clock)[0] == 1  # nothing is known yet
    assert max(handed(clock)) == HANDFUL
    assert handed(clock)[-1] == 1  # at the end nobody waits for a handful
    assert clock.most <= AHEAD * 2
    clock = Clock([1.0, 1.0], row=lasting(SECONDS / 10))
    indices(clock, 1000)
    assert max(handed(clock)) == 10
    clock = Clock([1.0, 1.0], row=lasting(3 * SECONDS))
    indices(clock, 30)
    assert set(handed(clock)) == {1}


def test_those_whose_counts_are_told_come_one_by_one():
    clock = Clock([1.0], row=lasting(0.001))
    assert len(list(Dealt(clock).outcomes(range(300), lambda: True))) == 300
    assert set(handed(clock)) == {1}


def test_what_follows_an_input_that_fails_comes_again():
    """A worker answers with the inputs before it; next it comes first, and its error is
    said.
    """

    def kept(inputs):
        if inputs[0] == 200:
            raise ValueError("input 200 failed")
        return inputs[: inputs.index(200)] if 200 in inputs else inputs

    clock = Clock([1.0], row=lasting(0.001), kept=kept)
    found = []
    outcomes = (o.index for o in Dealt(clock).outcomes(range(1000), lambda: False))
    with pytest.raises(ValueError, match="input 200 failed"):
        found.extend(outcomes)
    assert found[:200] == list(range(200))


@pytest.mark.parametrize("row", [lasting(0.001), lasting(0.1)])
def test_handfuls_of_lost_workers_are_done_one_by_one(row):
    rng = random.Random(0)
    clock = Clock([1.0, 2.0, 1.5], lost=lambda *_: rng.random() < 0.02, row=row)
    indices(clock, 500)
    clock = Clock([1.0, 1.0], lost=lambda worker, name, index: index == 300, row=row)
    with pytest.raises(ValueError, match=rf"input 300.*{TRIES}"):
        indices(clock, 500)


@pytest.mark.parametrize("workers", [1, 2, 7, 40])
def test_each_input_comes_once(workers):
    clock = Clock([1.0] * workers)
    indices(clock, 30)
    assert clock.most <= AHEAD * workers


def test_a_straggler_is_not_waited_for():
    clock = Clock([1.0, 1.0, 1000.0])
    indices(clock, 30)
    assert (
        clock.now < 1000 + 30
    )  # its first answer joins it; nothing waits for its second


def test_a_worker_that_never_comes_is_not_waited_for():
    indices(Clock([1.0, 1.0, 1.0], late=(1,)), 30)


def test_a_worker_that_stops_answering_is_not_waited_for():
    clock = Clock([1.0, 1.0])
    work = Dealt(clock)
    found = []
    for outcome in work.outcomes(range(30), lambda: False):
        found.append(outcome.index)
        if len(found) == 5:
            clock._paces[0] = clock.free[0] = float("inf")
            clock.calls = [
                (float("inf"), *c[1:]) if c[1] == 0 and c[0] > clock.now else c
                for c in clock.calls
            ]
    assert sorted(found) == list(range(30))


def test_a_model_that_ends_every_worker_ends_the_run():
    clock = Clock([1.0, 1.0], lost=lambda worker, name, index: name == "machines")
    with pytest.raises(ValueError, match="model ended"):
        Dealt(clock)


def test_machines_are_told_once_each():
    work = Dealt(Clock([1.0] * 5))
    assert work.fingerprint(3) == [7, 0]
    assert {m["host"] for m in work.machines()} <= {"host0", "host1"}
    assert len(work.machines()) <= 2
