"""Spark: the session, and tasks spread over its executors. The only module that imports pyspark.

**A row is a task, not a partition.** A task names a cluster; the executor reads that cluster's
Parquet itself, with Arrow, and writes what it made. Ten million rows thus never go through the JVM,
which would turn each into its own row format, sort them by group, and back into Arrow
(`docs/scaling.md` has the figures). What comes back is a row per task.

**No straggler.** A hash of a task's name would not say when it starts. So `task_groups.runs`
numbers the tasks, the heaviest first. `repartitionById` gives every number (a heavy task, or
several light ones) a partition of its own, and Spark starts partitions in the order of their
numbers. That is longest-first scheduling: the largest task begins at once, and small ones fill the
rest. A single task that is longer than an even share is split (`plan.tasks_of`).

A task that is lost with its executor is done again on another one; tasks write whole files under
their final names, so that doing one twice is harmless.
"""

import dataclasses
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from poolkeeper.errors import Unavailable
from poolkeeper.fleet.engines.task_groups import runs

Task = TypeVar("Task")
Done = TypeVar("Done")

APP = "poolkeeper-fleet"
TASKS_PER_SLOT = 16
ATTEMPTS = 4
CONF: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",  # it would join the partitions that `spread` made
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.python.worker.reuse": "true",
    "spark.task.maxFailures": str(ATTEMPTS),
}
_CAUSE_MAX = 500
_DDL = {str: "string", int: "bigint", float: "double", bool: "boolean"}


@contextmanager
def session(master: str, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session for the time of the block; `conf` overrides `CONF`."""
    # Executors run the interpreter that the driver names, and find this package as it does.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYTHONHASHSEED", "0")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # On one machine Spark tries a task once, whatever is configured, unless the master says more.
    master = re.sub(r"^local\[([^,\]]+)\]$", rf"local[\1,{ATTEMPTS}]", master)
    builder = SparkSession.builder.master(master).appName(APP)
    local = {"spark.driver.host": "127.0.0.1"} if master.startswith("local") else {}
    for name, value in {**CONF, **local, **(conf or {})}.items():
        builder = builder.config(name, value)
    try:
        found = builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as failed:
        raise Unavailable(f"Spark does not start at {master}: {_cause(failed)}") from failed
    found.sparkContext.setLogLevel("ERROR")
    try:
        yield found
    finally:
        found.stop()


def slots(spark: SparkSession) -> int:
    """How many tasks run at a time."""
    return max(1, int(spark.sparkContext.defaultParallelism))


def spread(
    spark: SparkSession,
    tasks: Sequence[Task],
    perform: Callable[[Task], Done],
    done: type[Done],
    weights: Sequence[int],
) -> list[Done]:
    """Do all tasks, heaviest first; return what became of each, in the order of `tasks`.

    `Task` and `Done` are dataclasses of texts and numbers; `perform` is a function of a module.
    Raises `Unavailable` if a task failed as often as it may.
    """
    if not tasks:
        return []
    kind = type(tasks[0])
    columns = _columns(tasks, kind)
    places = runs(weights, TASKS_PER_SLOT * slots(spark))
    content = pa.table({"slot": places, "task": list(range(len(tasks))), **columns})
    rows = spark.createDataFrame(content.cast(_schema(kind, {"slot": int, "task": int})))
    placed = rows.repartitionById(max(places) + 1, rows["slot"].cast("int"))
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    answer_schema = _schema(done, {"task": int})

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in sorted(batch.to_pylist(), key=lambda row: row["task"]):
                answer = perform(kind(**{name: row[name] for name in names}))
                values = {"task": row["task"], **_values(answer)}
                yield pa.RecordBatch.from_pylist([values], schema=answer_schema)

    try:
        answers = placed.mapInArrow(work, _ddl(done, {"task": int})).toArrow()
    except (PySparkException, Py4JError) as failed:
        raise Unavailable(f"Spark gave up: {_cause(failed)}") from failed
    found = {row.pop("task"): row for row in answers.to_pylist()}
    return [done(**found[task]) for task in range(len(tasks))]


def _cause(failed: Exception) -> str:
    """The last line that says something, which of Python's is the error itself."""
    lines = [line.strip() for line in str(failed).splitlines() if line.strip()]
    noise = ("at ", "SQLSTATE", "...")
    causes = [
        line
        for line in lines
        if not line.startswith(noise)  # their words: the cause is among lines of the stack
    ]
    return (causes or [type(failed).__name__])[-1][:_CAUSE_MAX]


def _columns(tasks: Sequence[Any], kind: type[Any]) -> dict[str, list[Any]]:
    fields = dataclasses.fields(kind)
    return {field.name: [getattr(task, field.name) for task in tasks] for field in fields}


def _values(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _types(kind: type[Any], first: Mapping[str, type]) -> dict[str, Any]:
    return {**first, **{field.name: field.type for field in dataclasses.fields(kind)}}


def _ddl(kind: type[Any], first: Mapping[str, type]) -> str:
    return ", ".join(f"{name} {_DDL[of]}" for name, of in _types(kind, first).items())


def _schema(kind: type[Any], first: Mapping[str, type]) -> pa.Schema:
    arrow = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return pa.schema([(name, arrow[of]) for name, of in _types(kind, first).items()])
