"""How long big clusters of simulated brokers take to come up on a real ZooKeeper.

    python tests/bench/bench_simulated.py [--partitions 200000]

20 brokers, topics of 100 partitions, 3 replicas. `ready`: ZooKeeper serves, all brokers are
registered, one controls. `records`: from the first topic put there until each partition has its
state. `processor`: what the simulated brokers' process used of processors until then.

The last line is the same cluster found in ZooKeeper (a cached tree) by brokers that start: until
their controller has taken it in, and gives a new topic its state.

Growth is that of the processor seconds, which other work on the machine does not stretch: twice the
partitions may cost at most 2.2 times as much.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import trees
from rich.console import Console
from rich.table import Table

from poolkeeper.sandbox import Sandbox

GROWTH_MAX = 2.2
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Start:
    """Seconds of one start."""

    ready_s: float
    states_s: float
    processor_s: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Start clusters of a quarter, a half and all of the partitions, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--partitions", type=int, default=200_000)
    whole = trees.Size(parser.parse_args(arguments).partitions)
    table = Table(title=f"{whole.brokers} simulated brokers on a real ZooKeeper, seconds")
    for column in ("partitions", "ready", "states", "together", "processor", "growth"):
        table.add_column(column, justify="right")
    before, growth = 0.0, 0.0
    for partitions in (whole.partitions // 4, whole.partitions // 2, whole.partitions):
        start = measure(replace(whole, partitions=partitions))
        growth = start.processor_s / before if before else 0.0
        before = start.processor_s
        seconds = (start.ready_s, start.states_s, start.ready_s + start.states_s, before)
        columns = [f"{value:.1f}" for value in seconds]
        table.add_row(f"{partitions:,}", *columns, f"× {growth:.2f}" if growth else "")
    ready_s, answers_s = found_again(whole)
    row = (ready_s, answers_s, ready_s + answers_s)
    table.add_row("found again", *(f"{value:.1f}" for value in row), "", "")
    Console(width=100).print(table)
    if growth > GROWTH_MAX:
        sys.exit(f"twice the partitions cost {growth:.1f} times the time (at most {GROWTH_MAX})")


def measure(size: trees.Size) -> Start:
    """Start one cluster, and end it."""
    began = time.perf_counter()
    with Sandbox.start(trees.simulated(size), ready_s=trees.READY_S) as sandbox:
        ready = time.perf_counter()
        used_s = _processor_s(sandbox.simulated.pid)
        trees.grow(sandbox.connect, size)
        complete = time.perf_counter()
        used_s = _processor_s(sandbox.simulated.pid) - used_s
        trees.require_complete(sandbox.connect, size)
    return Start(ready - began, complete - ready, used_s)


def found_again(size: trees.Size) -> tuple[float, float]:
    """Start brokers over a cluster that is there; return seconds until ready, until it answers."""
    spec = replace(trees.simulated(size), tree=trees.cached(size))
    began = time.perf_counter()
    with Sandbox.start(spec, ready_s=trees.READY_S) as sandbox:
        ready = time.perf_counter()
        trees.grow(sandbox.connect, trees.Size(1, partitions_per_topic=1), "later")
        answered = time.perf_counter()
    return ready - began, answered - ready


def _processor_s(pid: int) -> float:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / TICKS_PER_S


if __name__ == "__main__":
    main()
