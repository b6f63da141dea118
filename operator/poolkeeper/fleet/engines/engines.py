"""Who does the tasks of a fleet: Spark, on this machine unless another master is given.

Below `SPARK_FROM_PARTITIONS` the operator plans a Rebalance itself: starting Spark takes longer
than planning that many there. `docs/scaling.md` says how that was measured.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from poolkeeper.errors import Refused

if TYPE_CHECKING:
    from poolkeeper.fleet.engines.histories import HistoryJob
    from poolkeeper.fleet.engines.results import ClusterOutcome, Job
    from poolkeeper.fleet.lake.filesystems import Storage
    from poolkeeper.fleet.lake.objects import Objects

T = TypeVar("T")
D = TypeVar("D")

SPARK_FROM_PARTITIONS = 2_000_000


class TaskEngine(Protocol):
    """Does tasks, the heaviest first, and returns what became of each in their order."""

    @property
    def slots(self) -> int:
        """How many tasks will be done at a time."""

    @property
    def is_running(self) -> bool:
        """Whether it has done something already; else the first job waits for its start."""

    def do(
        self,
        tasks: Sequence[T],
        perform: Callable[[T], D],
        done: type[D],
        weights: Sequence[int],
    ) -> list[D]:
        """Do all tasks; `perform` is a function of a module, tasks and answers dataclasses."""


class Engine(TaskEngine, Protocol):
    """Does what the steps of a fleet need."""

    @property
    def storage(self) -> "Storage":
        """The settings with which tasks open URIs."""

    def objects(self, root: str) -> "Objects":
        """Small objects below a URI."""

    def make(self, job: "Job") -> "Sequence[ClusterOutcome]":
        """Do a job and write its rows; what became of every cluster, by name.

        Raises `Unavailable` where rows cannot be written or a task is lost too often.
        """

    def make_features(self, job: "HistoryJob") -> "Sequence[ClusterOutcome]":
        """Make features from samples and write them; see `make`."""


@contextmanager
def open_engine(
    master: str | None = None, processes: int | None = None, conf: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """Spark for the time of the block: at that master, else on this machine; started when needed.

    `processes`: how many tasks it does at a time there; else as many as there are processors.
    """
    try:
        from poolkeeper.fleet.engines import session, spark
    except ImportError as missing:
        raise Refused(
            f"{missing.name} is not installed (expected pip install 'poolkeeper[fleet]')"
        ) from missing
    lazy = session.LazySession(master or (f"local[{processes}]" if processes else None), conf)
    try:
        yield spark.Spark(lazy)
    finally:
        lazy.close()
