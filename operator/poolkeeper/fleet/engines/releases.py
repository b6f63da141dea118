"""One release of this package in the driver and in all of its executors.

Tasks and what they yield are classes of this package: an executor with another release would mix
their fields. So executors are asked for theirs before anything is done, and a worker compares
before it unpacks a task: executors come and go. What asks and compares travels by its own code and
needs nothing of the package: `cloudpickle` sends nested functions so.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from poolkeeper import __version__
from poolkeeper.errors import Refused

Batches = Iterable[pa.RecordBatch]
Found = Callable[[], tuple[str, str]]

EXPECTED = "expected one release in the driver and in all executors"
_TAG = "[OtherRelease] "
_TOLD = StructType([StructField(name, StringType()) for name in ("release", "host")])


def check_executors(session: SparkSession, release: str = __version__) -> None:
    """Raise `Refused` where an executor has another release; those that are there are asked."""
    everywhere = session.sparkContext.defaultParallelism
    rows = session.range(0, everywhere, 1, everywhere)
    told = rows.mapInArrow(_telling(_finding()), _TOLD).toArrow().to_pylist()
    for found, host in sorted({(each["release"], each["host"]) for each in told}):
        if found != release:
            raise Refused(_mixed(found, host, release))


def guard_release(
    work: Callable[[Batches], Iterator[pa.RecordBatch]], release: str = __version__
) -> Callable[[Any], Any]:
    """Wrap the work so that a worker of another release fails before it unpacks the task."""
    task, told, find = cloudpickle.dumps(work), _TAG + _mixed("{}", "{}", release), _finding()

    def begin(batches):  # type: ignore[no-untyped-def]
        import pickle

        found, host = find()
        if found != release:
            raise RuntimeError(told.format(found, host))
        yield from pickle.loads(task)(batches)

    return begin


def release_error(line: str) -> Refused | None:
    """The error where a failed task's last line is of `guard_release`; None for all others."""
    _, tag, text = line.partition(_TAG)
    return Refused(text) if tag else None


def _mixed(found: str, host: str, release: str) -> str:
    return f"Poolkeeper is {found} on {host}, and {release} here ({EXPECTED})"


def _telling(find: Found) -> Callable[[Any], Any]:
    def tell(batches):  # type: ignore[no-untyped-def]
        import pyarrow

        for _ in batches:
            found, host = find()
            yield pyarrow.RecordBatch.from_pydict({"release": [found], "host": [host]})

    return tell


def _finding() -> Found:
    def find():  # type: ignore[no-untyped-def]
        """The release of this process, and its host."""
        import socket

        try:
            import poolkeeper
        except ImportError:
            return "not installed", socket.gethostname()
        return poolkeeper.__version__, socket.gethostname()

    return find
