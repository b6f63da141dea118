"""A line about the job under way, with the time that is left, on a terminal alone."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Event, Thread
from typing import Any

from poolkeeper.text import duration

EVERY_S = 1.0
_GROUPS = count(1)


@contextmanager
def describe_jobs(context: Any, what: str) -> Iterator[str]:
    """Name all jobs of the block, and tell of them; yields the group that threads must name."""
    group = f"poolkeeper-{next(_GROUPS)}"
    context.setJobGroup(group, what)
    if not sys.stderr.isatty():
        yield group
        return
    ended = Event()
    teller = Thread(target=_tell, args=(context.statusTracker(), group, what, ended), daemon=True)
    teller.start()
    try:
        yield group
    finally:
        ended.set()
        teller.join(5 * EVERY_S)
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


def _tell(tracker: Any, group: str, what: str, ended: Event) -> None:
    begin = time.monotonic()
    while not ended.wait(EVERY_S):
        try:
            done, tasks = _counts(tracker, group)
        except Exception:  # noqa: BLE001 - the session may have ended: there is nothing to tell of
            return
        sys.stderr.write(f"\r\033[K{line(what, done, tasks, time.monotonic() - begin)}")
        sys.stderr.flush()


def line(what: str, done: int, tasks: int, spent_s: float) -> str:
    """What is told: how far it is, and how long it will take if it goes on like this."""
    if not tasks:
        return f"{what}: {duration(spent_s)}"
    left = f", about {duration(spent_s * (tasks - done) / done)} left" if 0 < done < tasks else ""
    return f"{what}: {done} of {tasks} tasks, {duration(spent_s)}{left}"


def _counts(tracker: Any, group: str) -> tuple[int, int]:
    """Tasks that are done, and all tasks, of the group's jobs that run."""
    done = tasks = 0
    running = set(tracker.getActiveJobsIds())
    for job in tracker.getJobIdsForGroup(group):
        found = tracker.getJobInfo(job) if job in running else None
        for stage in found.stageIds if found else ():
            told = tracker.getStageInfo(stage)
            if told:
                done, tasks = done + told.numCompletedTasks, tasks + told.numTasks
    return done, tasks
