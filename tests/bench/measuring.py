"""Seconds, processor seconds and memory of this process and of all that it started."""

import ctypes
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import SIGCHLD
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

ROW = "{:<40}{:>9}{:>9}{:>15}{:>8}"
LOOK_EVERY_S = 0.2

PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>

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
    with _watched() as watch:
        begin = time.perf_counter()
        done = action()
        wall_s = time.perf_counter() - begin
        watch.look()
    found = Measured(done, wall_s, watch.cpu_s, watch.most_kib // 1024)
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
def _watched() -> Iterator["_Watch"]:
    """Look at all processes below this one, this one included, for the time of the block."""
    ended, watch = Event(), _Watch()

    def look() -> None:
        while not ended.wait(LOOK_EVERY_S):
            watch.look()

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()


class _Process(NamedTuple):
    """`lost`: nobody will be told of its processor seconds, since its parent ignores its end."""

    cpu_s: float
    kib: float
    lost: bool


class _Watch:
    """The largest sum of resident sets, and the processor seconds since it was made."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._before = self._now = _family()
        self._ended: dict[int, _Process] = {}
        self.most_kib = int(sum(each.kib for each in self._now.values()))

    def look(self) -> None:
        """Look once."""
        with self._lock:
            before, self._now = self._now, _family()
            gone = {pid: each for pid, each in before.items() if pid not in self._now}
            self._ended.update({pid: each for pid, each in gone.items() if each.lost})
            self.most_kib = max(self.most_kib, int(sum(p.kib for p in self._now.values())))

    @property
    def cpu_s(self) -> float:
        """Of all processes, those included that have ended and that nobody has waited for."""
        with self._lock:
            now = sum(each.cpu_s for each in (*self._now.values(), *self._ended.values()))
            return now - sum(each.cpu_s for each in self._before.values())


def _family() -> dict[int, _Process]:
    """This process and all below it."""
    stats = {int(each.name): each for each in Path("/proc").iterdir() if each.name.isdecimal()}
    told = {
        process: _read(folder / "stat").rpartition(")")[2].split()
        for process, folder in stats.items()
    }
    parents = {process: int(stat[1]) for process, stat in told.items() if stat}
    ours = [process for process in parents if _is_below(process, parents)]
    ignoring = {process for process in ours if _ignores_ends(process)}
    return {
        process: _Process(
            # With those of its children that have ended, if it has waited for them.
            sum(map(int, told[process][11:15])) / os.sysconf("SC_CLK_TCK"),
            int(told[process][21]) * os.sysconf("SC_PAGESIZE") / 1024,
            parents[process] in ignoring,
        )
        for process in ours
    }


def _ignores_ends(process: int) -> bool:
    found = re.search(r"SigIgn:\s*(\w+)", _read(Path(f"/proc/{process}/status")))
    return bool(found and int(found[1], 16) >> (SIGCHLD - 1) & 1)


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # it has ended meanwhile
        return ""


def _is_below(process: int, parents: Mapping[int, int]) -> bool:
    while process in parents and process != os.getpid():
        process = parents[process]
    return process == os.getpid()


def adopt_orphans() -> None:
    """Count processes to this one that outlive the one that started them, as a JVM its parent."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def spent(words: list[str]) -> tuple[int, float, int]:
    """Run a command; return its exit code, its CPU seconds, and the most MiB that it had."""
    told = subprocess.check_output([sys.executable, "-c", LAUNCHER, *words], text=True)
    code, cpu_s, peak_kib = told.split()
    return int(code), float(cpu_s), int(peak_kib) // 1024
