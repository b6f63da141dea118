"""What counts of a day, and something of each of its clusters: by tasks of Spark, or by threads."""

import secrets
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from threading import Event
from typing import TypeVar

from poolkeeper.fleet.engines.engines import TaskEngine
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.filesystems import Storage
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.manifests import Manifest
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.lake.reading import Reader
from poolkeeper.fleet.stages.publishing import FEATURES, PLAN, SNAPSHOT
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.frozen import frozen

T = TypeVar("T")
READERS = 8
"""How many clusters are read at one time."""


@frozen
class Day:
    """What counts of a day, by step and cluster, and what is declared now."""

    lake: Lake
    storage: Storage
    day: str
    current: Mapping[str, Mapping[str, ClusterEntry]]
    declared: Mapping[str, Manifest]

    @property
    def there(self) -> Set[str]:
        """The clusters that were read or planned, or should have been."""
        return self.current[SNAPSHOT].keys() | self.current[PLAN].keys()

    def entry(self, step: str, name: str) -> ClusterEntry | None:
        """What counts of a cluster in a step."""
        return self.current[step].get(name)

    def files(self, name: str) -> tuple[object, ...]:
        """Where most of a cluster is read, which it may share with others."""
        entries = (self.entry(step, name) for step in (SNAPSHOT, PLAN))
        return tuple(entry.files if entry else () for entry in entries)


def day_of(lake: Lake, storage: Storage, day: str) -> Day:
    """The rows of a day that count, and what is declared now."""
    current = {step: lake.current(step, day) for step in (SNAPSHOT, FEATURES, PLAN)}
    return Day(lake, storage, day, current, manifests.read(lake))


@frozen
class FiguresTask:
    """A cluster of which figures are made."""

    cluster: str


@lru_cache(maxsize=2)
def _day_at(tables: Tables, day: str) -> Day:
    """The same in a task of Spark's."""
    return day_of(Lake(ArrowObjects(tables.root, tables.storage)), tables.storage, day)


def _in_task(
    task: FiguresTask, tables: Tables, day: str, figures: Callable[[Day, Reader, str], T]
) -> T:
    return figures(_day_at(tables, day), tables.reader(), task.cluster)


def each_cluster(
    engine: TaskEngine,
    known: Day,
    names: Sequence[str],
    figures: Callable[[Day, Reader, str], T],
    kind: type[T],
) -> list[T]:
    """The figures of every cluster, by tasks where there is an engine at work."""
    if not engine.is_running:
        return _each_here(known, names, partial(figures, known))
    tables = Tables(known.lake.root, known.storage, secrets.token_hex(4))
    work = partial(_in_task, tables=tables, day=known.day, figures=figures)
    read = known.current[SNAPSHOT]
    weights = [read[name].partitions if name in read else 0 for name in names]
    return engine.do([FiguresTask(name) for name in names], work, kind, weights)


def _each_here(known: Day, names: Sequence[str], figures: Callable[[Reader, str], T]) -> list[T]:
    """The same by threads: thousands of small tables, whose reading is mostly waiting.

    Clusters that share files are read one after the other, as a reader keeps what it has of them.
    """
    ordered = sorted(names, key=lambda name: (known.files(name), name))
    length = -(-len(ordered) // READERS) or 1
    shares = [ordered[at : at + length] for at in range(0, len(ordered), length)]

    over = Event()

    def some(share: Sequence[str]) -> list[tuple[str, T]]:
        reader = Reader(known.lake.root, known.storage)
        return [(name, figures(reader, name)) for name in share if not over.is_set()]

    with ThreadPoolExecutor(READERS) as readers:
        try:
            found = dict(pair for part in readers.map(some, shares) for pair in part)
        except BaseException:
            over.set()  # all threads are waited for, and have thousands of clusters left
            raise
    return [found[name] for name in names]
