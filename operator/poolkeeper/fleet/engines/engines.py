"""Who does the tasks: this machine's processes, or Spark. Both give the same, task by task.

Who has the choice takes this machine below `SPARK_FROM_PARTITIONS` (`preferred`): starting Spark
takes longer than planning that many here. `docs/scaling.md` says how that was measured.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from poolkeeper.errors import Refused, Unavailable
from poolkeeper.fleet.engines import task_groups

T = TypeVar("T")
D = TypeVar("D")

LOCAL, SPARK = "local", "spark"
SPARK_FROM_PARTITIONS = 2_000_000


class TaskEngine(Protocol):
    """Does tasks, the heaviest first, and returns what became of each in their order."""

    @property
    def slots(self) -> int:
        """How many tasks are done at a time."""

    def do(
        self,
        tasks: Sequence[T],
        perform: Callable[[T], D],
        done: type[D],
        weights: Sequence[int],
    ) -> list[D]:
        """Do all tasks; `perform` is a function of a module, tasks and answers dataclasses."""


class Local:
    """Processes of this machine; with one slot, this very process."""

    def __init__(self, slots: int | None = None) -> None:
        self._slots = slots or os.cpu_count() or 1

    @property
    def slots(self) -> int:
        """How many processes there are."""
        return self._slots

    def do(
        self,
        tasks: Sequence[T],
        perform: Callable[[T], D],
        done: type[D],
        weights: Sequence[int],
    ) -> list[D]:
        """Do all tasks; raises `Unavailable` if a process died (out of memory?)."""
        if self._slots == 1 or len(tasks) < 2:
            return [perform(task) for task in tasks]
        answers: dict[int, Any] = {}
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(self._slots, len(tasks)), context) as pool:
            asked = {n: pool.submit(perform, tasks[n]) for n in task_groups.order(weights)}
            try:
                answers = {n: future.result() for n, future in asked.items()}
            except BrokenProcessPool as broken:
                raise Unavailable("a worker process died: out of memory?") from broken
        return [answers[n] for n in range(len(tasks))]


class Spark:
    """Executors of a Spark session."""

    def __init__(self, session: Any) -> None:
        self._session = session

    @property
    def slots(self) -> int:
        """How many tasks executors do at a time."""
        from poolkeeper.fleet.engines import spark  # with the fleet extra alone

        return spark.slots(self._session)

    def do(
        self,
        tasks: Sequence[T],
        perform: Callable[[T], D],
        done: type[D],
        weights: Sequence[int],
    ) -> list[D]:
        """Do all tasks; raises `Unavailable` if Spark gave up on one."""
        from poolkeeper.fleet.engines import spark

        return spark.spread(self._session, tasks, perform, done, weights)


def preferred(partitions: int) -> str:
    """The engine that plans so many partitions sooner: `LOCAL` or `SPARK`."""
    return LOCAL if partitions < SPARK_FROM_PARTITIONS else SPARK


@contextmanager
def opened(
    master: str | None, processes: int | None = None, conf: Mapping[str, str] | None = None
) -> Iterator[TaskEngine]:
    """Spark at that master for the time of the block; without one, processes of this machine."""
    if master is None:
        yield Local(processes)
        return
    try:
        from poolkeeper.fleet.engines import spark
    except ImportError as missing:
        raise Refused(
            f"{missing.name} is not installed (expected pip install 'poolkeeper[fleet]')"
        ) from missing
    with spark.session(master, conf) as session:
        yield Spark(session)
