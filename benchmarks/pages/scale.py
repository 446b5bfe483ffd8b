"""How far certification scales: a cost model, a simulated cluster, the driver measured.

    python benchmarks/pages/scale.py

writes docs/howto/how-far-does-it-scale.md. The driver's part is a run of 10,000 rows;
``--driver 0`` leaves that part of the page, and that of many workers, as they stand.
"""

import argparse
import heapq
import re
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from crowd import run as crowded
from machine import machine
from scipy.special import ndtri

from rsbounds import certify_dataset, gaussian
from rsbounds.certify import Procedure, certify_radius
from rsbounds.results.internal import read_rows
from rsbounds.sampling import ArraySampler
from rsbounds.schemes import gaussian as fixed

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "howto" / "how-far-does-it-scale.md"
INPUTS, N0, N, ALPHA = 50_000, 100, 100_000, 0.001
RATE = 3000.0  # forward passes a second and GPU: an assumption, put in your own
GPUS = (1, 8, 64, 256, 1000)
WORKERS = (2, 100, 1000, 4000)
SLOW, SHARE = 1 / 3, 0.05  # stragglers: their speed, and how many of the workers
LIFE, REPAIR = (
    24 * 3600.0,
    600.0,
)  # seconds between a worker's failures, and until it is back


# --- the cost of a run


def seconds_a_row(n: int = N) -> float:
    return (N0 + n) / RATE


def predicted(speeds: Any, rows: int, each: float) -> float:
    """Seconds until all rows are done: the work over the speed there is, and the last
    row.

    A failure costs half a row and the repair; it happens every LIFE seconds to each
    worker.
    """
    up = 1 - (REPAIR + each / np.mean(speeds) / 2) / LIFE
    return rows * each / (np.sum(speeds) * up) + each / np.min(speeds) / 2


class Cluster(NamedTuple):
    speeds: Any
    failures: bool = True


def cluster(gpus: int, *, failures: bool = True) -> Cluster:
    """Workers of speed 1, some of them stragglers."""
    speeds = np.ones(gpus)
    speeds[: round(SHARE * gpus)] = SLOW
    return Cluster(speeds, failures)


def dealt(
    machines: Cluster, rows: int, each: float, seed: int = 0
) -> tuple[float, int]:
    """Seconds, and rows that were begun again, when each free worker is handed the next
    row.
    """
    rng = np.random.default_rng(seed)

    def life() -> float:
        return float(rng.exponential(LIFE)) if machines.failures else np.inf

    # (time, order, worker, a row is done); else the worker is there, or -1: a row waits
    # again
    events: list[tuple[float, int, int, bool]] = []
    ends = [life() for _ in machines.speeds]
    for worker in range(len(ends)):
        heapq.heappush(events, (0.0, worker, worker, False))
    waiting, done, again, order, now = rows, 0, 0, len(ends), 0.0
    idle: list[int] = []

    def begin(worker: int) -> None:
        nonlocal waiting, again, order
        waiting -= 1
        order += 1
        ready = now + each / machines.speeds[worker]
        if ready <= ends[worker]:
            heapq.heappush(events, (ready, order, worker, True))
        else:  # it fails first: the row waits again, the worker is back later
            again += 1
            heapq.heappush(events, (ends[worker], order, -1, False))
            back = ends[worker] + REPAIR
            ends[worker] = back + life()
            heapq.heappush(events, (back, order, worker, False))

    while done < rows:
        now, _, worker, finished = heapq.heappop(events)
        done += finished
        if worker < 0:
            waiting += 1
        else:
            idle.append(worker)
        while waiting and idle:
            begin(idle.pop())
    return now, again


def sharded(machines: Cluster, rows: int, each: float) -> float:
    """Seconds when every worker has its share from the beginning, without a failure."""
    shares = [
        len(range(rank, rows, len(machines.speeds)))
        for rank in range(len(machines.speeds))
    ]
    return float(np.max(np.array(shares) * each / machines.speeds))


# --- what stopping early saves


def stopping(target: float, sigma: float, shares: Any) -> tuple[float, float]:
    """Mean number of samples, and share of inputs certified, where the class has these
    shares.
    """
    scheme = fixed(sigma)
    sampler = ArraySampler(lambda batch: np.hstack([batch, -batch]))
    found = [
        certify_radius(
            sampler,
            [x],
            scheme,
            Procedure(target_radius=target, n0=N0, n=N, alpha=ALPHA),
            index=i,
        )
        for i, x in enumerate(sigma * ndtri(shares))
    ]
    return float(np.mean([c.n for c in found])), float(
        np.mean([c.radius > 0 for c in found])
    )


def photographs() -> tuple[float, Any]:
    """Noise level, and the share of each photograph's samples of its own class."""
    rows = read_rows(DOCS / "benchmarks" / "imagenet" / "gaussian.tsv")
    # all of 1000 is taken for 999.5: no class has every sample
    return rows[0].sigma, np.array(
        [min(row.count, row.n - 0.5) / row.n for row in rows]
    )


# --- the driver


def resident() -> float:
    """Resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def driver(rows: int) -> tuple[float, float, float, float]:
    """A run of inputs with two numbers and hardly any samples, into a file.

    Returns rows a second of processor time, memory after a tenth of the rows and after
    all, bytes a row.
    """
    memory: list[float] = []

    def model(batch: Any) -> Any:
        memory.append(resident())
        return batch

    x = np.random.default_rng(0).normal(size=(rows, 2)).astype(np.float32)
    labels = x.argmax(axis=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.tsv")
        start = time.process_time()
        certify_dataset(model, (x, labels), fixed(0.25), out=path, n0=10, n=100)
        seconds = time.process_time() - start
        early = memory[len(memory) // 10]
        return rows / seconds, early, resident(), path.stat().st_size / rows


# --- many workers


def crowd(rows: int, workers: int, together: int) -> tuple[float, float]:
    """Rows a second and microseconds of processor time a row, of simulated workers."""
    # beside the page, as a folder for what is temporary may not be on a disk
    with tempfile.TemporaryDirectory(dir=DOCS) as folder:
        wall, start = time.perf_counter(), time.process_time()
        crowded(Path(folder, "run.tsv"), rows, workers, together)
        seconds = time.perf_counter() - wall
        return rows / seconds, (time.process_time() - start) / rows * 1e6


def crowds() -> str:
    """The table of the dealer and the writer by the number of workers."""
    lines = []
    for workers in WORKERS:
        apart = crowd(2_000, workers, 1)
        together = crowd(20_000, workers, workers)
        times = [f"{apart[0]:,.0f}", f"{together[0]:,.0f}"]
        times += [f"{apart[1]:,.0f} µs", f"{together[1]:,.0f} µs"]
        lines.append([f"{workers:,}", *times])
    head = "workers | rows/s, one by one | rows/s, together | a row's processor time"
    return table(f"{head}, one by one | together", lines)


# --- the page


def table(head: str, rows: list[list[str]]) -> str:
    cells = [head.split(" | "), ["---:"] * (head.count(" | ") + 1), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def clusters() -> str:
    """The table of whole runs by the number of GPUs."""
    lines = []
    each = seconds_a_row()
    for gpus in GPUS:
        plain, full = cluster(gpus, failures=False), cluster(gpus)
        model = predicted(full.speeds, INPUTS, each)
        found, again = dealt(full, INPUTS, each)
        line = [
            f"{gpus:,}",
            f"{sharded(plain, INPUTS, each) / 3600:.2f}",
            f"{model / 3600:.2f}",
        ]
        line += [f"{found / 3600:.2f}", f"{found / model - 1:+.1%}", f"{again}"]
        lines.append([*line, f"{INPUTS / found:.1f}"])
    head = "GPUs | fixed shards, h | model, h | dealt, h | off by | rows again | rows/s"
    return table(head, lines)


def samples() -> str:
    lines = []
    for n in (1000, 10_000, N):
        passes = INPUTS * (N0 + n)
        radius = float(
            gaussian.max_radius(n, ALPHA / 2, 1.0)
        )  # the other half: the runner-up's
        line = [f"{n:,}", f"{passes:.3g}", f"{passes / RATE / 3600:,.1f}"]
        lines.append([*line, f"{np.floor(radius * 100) / 100:.2f} σ"])
    return table("n | forward passes | GPU hours | largest radius", lines)


def stops() -> str:
    sigma, shares = photographs()
    lines = []
    for target in (0.05, 0.1, 0.2, 0.3):
        mean, certified = stopping(target, sigma, shares)
        cost = (mean + N0) / (N + N0)
        lines.append([f"{target:g}", f"{certified:.0%}", f"{mean:,.0f}", f"{cost:.1%}"])
    return table("radius | certified | samples, mean | cost beside n = 100,000", lines)


def measured(rows: int) -> str:
    rate, early, late, size = driver(rows)
    return (
        f"{rows:,} rows: {rate:.0f} rows a second of processor time, {early:.1f} MB "
        f"resident after a tenth of them and {late:.1f} MB after all, {size:.0f} bytes "
        f"a row; {machine()}, each row synced to a disk."
    )


def fill(text: str, name: str, content: str) -> str:
    """The page with another content between the marks of this name."""
    marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
    pattern = f"{marks[0]}.*?{marks[1]}"
    assert re.search(pattern, text, re.S), f"{PAGE.name} has no {marks[0]}"
    return re.sub(
        pattern, lambda _: f"{marks[0]}\n\n{content}\n\n{marks[1]}", text, flags=re.S
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", type=int, default=10_000, help="rows of its run")
    options = parser.parse_args()
    rows = options.driver
    text = PAGE.read_text()
    parts = {"clusters": clusters(), "samples": samples(), "stops": stops()}
    if rows:
        parts["driver"] = measured(rows)
        parts["crowds"] = crowds()
    for name, content in parts.items():
        text = fill(text, name, content)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
