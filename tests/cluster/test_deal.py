"""Inputs dealt out to workers of a clock: quick, slow, late, lost."""

import random
import sys
from itertools import chain

import pytest

from rsbounds.certify.internal import Outcome
from rsbounds.cluster._deal import AHEAD, HANDFUL, SECONDS, TRIES, Dealt, LostWorker
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
        self.calls, self.running, self.most = [], {}, 0

    def call(self, worker, name, *args):
        begin = max(self.now, self.free[worker])
        self.free[worker] = begin + self._paces[worker]
        self.calls.append((self.free[worker], worker, name, args))
        ticket = len(self.calls) - 1
        self.running[ticket] = None
        return ticket

    def finished(self):
        ends = {t: self.calls[t][0] for t in self.running}
        self.most = max(self.most, len(ends))
        self.now = min(ends.values())
        assert self.now < float("inf"), "waits for a worker that never comes"
        done = [t for t in ends if ends[t] == self.now]
        for ticket in done:
            del self.running[ticket]
        return done

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


def carried_out(clock, count, alone=False):
    return chain.from_iterable(Dealt(clock).carried_out(range(count), lambda: alone))


def indices(clock, count):
    found = [o.index for o in carried_out(clock, count)]
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
    assert len(list(carried_out(clock, 300, alone=True))) == 300
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
    outcomes = (o.index for o in carried_out(clock, 1000))
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
    found = []
    for outcome in carried_out(clock, 30):
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


class Turns:
    """Workers that end their calls one by one, in the order in which they began."""

    def __init__(self, count):
        self.count, self._calls = count, {}

    def call(self, worker, name, *args):
        self._calls[ticket := object()] = name, args
        return ticket

    def finished(self):
        return [next(iter(self._calls))]

    def result(self, ticket):
        name, args = self._calls.pop(ticket)
        return [] if name == "machines" else [Outcome(i, None) for i in args[0]]


def steps_a_row(workers, rows):
    """Lines that the dealer runs for a row, those of its workers left out."""
    steps = 0

    def trace(frame, event, _):
        nonlocal steps
        if not frame.f_code.co_filename.endswith("_deal.py"):
            return None
        steps += event == "line"
        return trace

    outcomes = carried_out(Turns(workers), rows)
    next(outcomes)  # once all workers have begun
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert len(list(outcomes)) == rows - 1
    finally:
        sys.settrace(before)
    return steps / rows


def test_what_an_input_costs_the_dealer_does_not_grow_with_the_workers():
    few, many = steps_a_row(2, 2000), steps_a_row(400, 2000)
    assert many <= 1.5 * few


def test_outcomes_that_are_there_together_come_together():
    dealt = Dealt(Clock([1.0] * 20))
    together = [len(some) for some in dealt.carried_out(range(200), lambda: False)]
    assert sum(together) == 200
    assert max(together) == 20
