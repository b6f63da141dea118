"""Seconds, processor seconds and memory of this process and of all that it started."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

ROW = "{:<40}{:>9}{:>9}{:>15}{:>8}"
LOOK_EVERY_S = 0.2

LAUNCHER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
"""A small process runs the command: Linux counts the memory of whoever starts a process as its."""


class Measured(NamedTuple):
    """What an action returned; the processor seconds include those of Spark and its workers."""

    done: Any
    wall_s: float
    cpu_s: float
    mib: int


def heads(unit: str) -> None:
    """Print the heads of the columns."""
    print(ROW.format("", "seconds", "cpu s", unit, "MiB"))


def measured(label: str, total: int, action: Callable[[], Any]) -> Measured:
    """Do and print it; `total`: of what the rate is."""
    with _memory() as peak_mib:
        begin, before = time.perf_counter(), _of_family(_cpu_s)
        done = action()
        wall_s, cpu_s = time.perf_counter() - begin, _of_family(_cpu_s) - before
    found = Measured(done, wall_s, cpu_s, peak_mib())
    _print(label, total, found)
    return found


def together(label: str, total: int, steps: Sequence[Measured]) -> None:
    """Print the sum of what was measured one after the other."""
    wall_s, cpu_s = sum(each.wall_s for each in steps), sum(each.cpu_s for each in steps)
    _print(label, total, Measured(None, wall_s, cpu_s, max(each.mib for each in steps)))


def _print(label: str, total: int, found: Measured) -> None:
    rate = f"{total / found.wall_s:,.0f}"
    print(ROW.format(label, f"{found.wall_s:.1f}", f"{found.cpu_s:.1f}", rate, found.mib))
    sys.stdout.flush()


@contextmanager
def _memory() -> Iterator[Callable[[], int]]:
    """The largest sum of resident sets of all processes below this one, this one included."""
    ended, most = Event(), [int(_of_family(_resident_kib))]

    def look() -> None:
        while not ended.wait(LOOK_EVERY_S):
            most[0] = max(most[0], int(_of_family(_resident_kib)))

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield lambda: most[0] // 1024
    finally:
        ended.set()
        thread.join()


def _of_family(figure: Callable[[list[str]], float]) -> float:
    """The sum of a figure of this process and of all below it; `figure` takes /proc's `stat`."""
    parents, figures = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            figures[int(folder.name)] = figure(stat)
            parents[int(folder.name)] = int(stat[1])
        except (OSError, IndexError, ValueError):  # it has ended meanwhile
            continue
    ours, total = os.getpid(), 0.0
    for process, found in figures.items():
        at = process
        while at in parents and at != ours:
            at = parents[at]
        total += found if at == ours else 0
    return total


def _resident_kib(stat: list[str]) -> float:
    return int(stat[21]) * os.sysconf("SC_PAGESIZE") / 1024


def _cpu_s(stat: list[str]) -> float:
    """Of the process, and of its children that have ended."""
    return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")


def spent(words: list[str]) -> tuple[int, float, int]:
    """Run a command; return its exit code, its CPU seconds, and the most MiB that it had."""
    told = subprocess.check_output([sys.executable, "-c", LAUNCHER, *words], text=True)
    code, cpu_s, peak_kib = told.split()
    return int(code), float(cpu_s), int(peak_kib) // 1024
