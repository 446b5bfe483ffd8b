"""Workers that are called in this process: rows of one run, whatever fails."""

from collections import deque
from itertools import count

import pytest
from small_run import COUNT, INPUTS, LABELS, WEIGHTS

from rsbounds import certify_dataset, schemes
from rsbounds.cluster import Workers
from rsbounds.results import read
from rsbounds.sampling import ArraySampler

FAILS = "fails from here on"


class InOneProcess(Workers):
    """Workers that are called in this process, one call after the other."""

    def _begun(self, member):
        return OneAfterAnother(member)


class OneAfterAnother:
    """An :class:`rsbounds.cluster.Executor` of one worker, in this process."""

    count = 1

    def __init__(self, member):
        self._member, self._tickets = member, count()
        self._waiting, self.handed = deque(), []

    def call(self, worker, name, *args):
        ticket = next(self._tickets)
        assert ticket < 1000, "the same calls again and again"
        self._waiting.append((ticket, name, args))
        return ticket

    def finished(self):
        return [self._waiting[0][0]]

    def result(self, ticket):
        _, name, args = self._waiting.popleft()
        return self._member.do(name, *args)

    def close(self):
        self._waiting.clear()


def dealt(out, broken=None):
    """The run of workers in this process, whose model fails at one input."""
    inputs = INPUTS.copy()
    if broken is not None:
        inputs[broken] = 1e6

    def model(batch):
        if abs(batch).max() > 1e5 and len(batch) > 1:
            raise RuntimeError(FAILS)
        return batch @ WEIGHTS

    scheme = schemes.gaussian(0.25)
    data = (inputs, LABELS)
    workers = InOneProcess(lambda: (ArraySampler(model), data, scheme))
    # one selection sample, which the model answers
    return certify_dataset(workers, data, scheme, out=out, n0=1, n=50)


# 1 is handed out alone, 2 is the first of a handful, the others are within handfuls
@pytest.mark.filterwarnings("ignore:the first input reaches")
@pytest.mark.parametrize("broken", [0, 1, 2, 5, 9, 13, COUNT - 1])
def test_an_input_that_fails_among_others_costs_no_other_row(tmp_path, broken):
    out = tmp_path / "out.tsv"
    with pytest.raises(ValueError, match=rf"input {broken}.*{FAILS}"):
        dealt(out, broken)
    if broken == 0:
        return
    written = [row.idx for row in read(out).rows]
    assert set(range(broken)) <= set(written)
    assert broken not in written


@pytest.mark.parametrize("sigma", [0.1, 0.3])
@pytest.mark.parametrize("kept", [COUNT - 1, COUNT])
def test_workers_must_have_the_scheme_and_the_data_of_the_writer(sigma, kept):
    """Their description is compared, not ordered."""
    model = ArraySampler(lambda batch: batch @ WEIGHTS)
    data = (INPUTS, LABELS)
    build = (model, (INPUTS[:kept], LABELS[:kept]), schemes.gaussian(sigma))
    name = "method" if kept == COUNT else "(method|data)"
    with pytest.raises(ValueError, match=f"same {name}"):
        certify_dataset(InOneProcess(lambda: build), data, schemes.gaussian(0.25), n=9)


def test_work_that_is_dealt_out_in_one_process_gives_the_rows_of_none(tmp_path):
    alone = certify_dataset(
        ArraySampler(lambda batch: batch @ WEIGHTS),
        (INPUTS, LABELS),
        schemes.gaussian(0.25),
        n0=1,
        n=50,
    )
    rows = dealt(tmp_path / "out.tsv").rows
    without_time = [(row.idx, row.counts, row.radius) for row in rows]
    assert without_time == [(row.idx, row.counts, row.radius) for row in alone.rows]
