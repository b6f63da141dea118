"""A Python worker of Spark's, and its garbage.

PySpark looks for garbage after every task of a worker that it keeps. It looks at all that lives:
the modules of the planner, Arrow and numpy, at 50 ms of processor time a task, as often as there
are tables times partitions. Modules are never garbage.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import pyarrow as pa


def do_task(
    batches: Iterable[pa.RecordBatch],
    work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    """Do a task in a worker; what was imported for it is not looked at again."""
    _freeze_modules()
    yield from work(batches)


@cache
def _freeze_modules() -> None:
    """Once in a process: everything that lives is taken out of what the collector looks at."""
    gc.collect()
    gc.freeze()
