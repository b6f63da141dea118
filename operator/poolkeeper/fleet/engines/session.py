"""A session of Spark: its settings, its start, its end, and what failed in it in one line."""

import errno
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from poolkeeper.errors import Unavailable
from poolkeeper.fleet.engines import releases
from poolkeeper.fleet.engines.deadlines import in_background
from poolkeeper.fleet.engines.results import MORE_MEMORY, NO_MEMORY

T = TypeVar("T")
APP = "poolkeeper-fleet"
LOCALE = "C.UTF-8"
"""Java takes the locale's encoding for names of files, and refuses those that it does not have.

Its errors are read here, so that they have to be English.
"""
ATTEMPTS = 4
CONF: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # It would join the partitions that tasks were given, and hold nothing against it: jobs have
    # one exchange, whose width is known.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 * 1024**2),
    # A query is a scan of Python's rows, and at most their writer: there are no stages to compile,
    # but the way of a row into Spark's own form, which takes a fifth of what writing it costs.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.python.worker.reuse": "true",
    # Columns of a cluster are some hundred KiB each: given back to the system and taken anew, they
    # cost a tenth of a plan, and a third of a report, in pages that the system has to clear.
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(32 * 1024**2),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(64 * 1024**2),
    "spark.executorEnv.LC_ALL": LOCALE,
    "spark.task.maxFailures": str(ATTEMPTS),
}
LOCAL_CONF: Mapping[str, str] = {
    "spark.driver.host": "127.0.0.1",
    # All processors have Python at work: a collector with threads of its own takes them away. The
    # second compiler halves what a row of a large table costs; methods have to be called ten times
    # as often as it would have it, since for small tables it costs more than it gains. Spark loads
    # classes of 100 MiB, and each time that the threshold rises everything is collected. To look up
    # their names in a table of the usual size takes a tenth of a small day.
    "spark.driver.extraJavaOptions": (
        "-XX:+UseSerialGC -XX:MetaspaceSize=256m"
        " -XX:+IgnoreUnrecognizedVMOptions"
        " -XX:+UnlockExperimentalVMOptions -XX:SymbolTableSize=262144"
        " -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000"
        " -XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
    ),
}
_CAUSE_MAX = 500
# The name of its class says all but the name of the host.
_CAUSED = "(?:Caused by: |Suppressed: )?"
_CLASS = re.compile(rf"^{_CAUSED}(?:(?:java|poolkeeper)\.(?!net\.UnknownHost)\S+: )?")
# What Java finds full is where Spark keeps rows between tasks, unless it was writing a table.
_LOCAL_DISK_FULL = re.compile(rf"{_CAUSED}java\.io\.IOException: No space left on device")
_WRITING_A_TABLE = re.compile(r"\[TASK_WRITE_FAILED\]")  # Spark's name of the error
# All that Java sees of a Python that was killed is the end of what it was to say.
_WORKER_GONE = "java.io.EOFException"
_WORKER_EXITED = re.compile(r"Python worker exited unexpectedly")  # Spark's words
# Arrow's, of a Python that was killed before it handed over the first of its rows.
_NOTHING_HANDED_OVER = re.compile(r"IOException: Unexpected end of input\. Missing schema")
WORKER_KILLED = (
    "Python processes of a task were killed again and again, as where memory is short:"
    f" {MORE_MEMORY}"
)
_MEMORY_SHORT = re.compile(r"(pyarrow\.lib\.Arrow)?MemoryError\b")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
LOCAL_DISK = ": make room in spark.local.dir of the executors, or name another (--conf)"
_NO_JAVA = "JAVA_GATEWAY_EXITED"  # Spark's name of the error
_ENDED = "(No active SparkContext.)"  # all that is said of a session that ended while it began
_LOGGING = Path(__file__).with_name("log4j2.properties")


class LazySession:
    """A session that starts when it is first needed: what is wrong before that is told at once."""

    def __init__(self, master: str | None, conf: Mapping[str, str] | None = None) -> None:
        self._master, self._conf = master, dict(conf or {})
        self._stack = ExitStack()
        self._session: SparkSession | None = None

    def get(self) -> SparkSession:
        """The session; raises `Unavailable` if it does not start.

        Raises `Refused` if an executor has another release of this package.
        """
        if self._session is None:
            begun = self._stack.enter_context(session(self._master, self._conf))
            run_action("executors", lambda: releases.check_executors(begun))
            self._session = begun
        return self._session

    @property
    def is_open(self) -> bool:
        """Whether it has started."""
        return self._session is not None

    def close(self) -> None:
        """End the session, if it was started."""
        self._stack.close()
        self._session = None


@contextmanager
def session(master: str | None, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session for the time of the block; `conf` overrides `CONF`.

    One that is there already is used, and stays: there is one in a process. What `spark-submit` was
    told counts before `CONF`; its master counts where there is no other.
    """
    there = SparkSession.getActiveSession()
    if there is not None and SparkContext._active_spark_context is not None:
        yield there
        return
    # Executors run the interpreter that the driver names, and find this package as it does.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYTHONHASHSEED", "0")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["LC_ALL"] = LOCALE  # of the JVM, unless `spark-submit` has started it already
    # Unless somebody has said otherwise: the JVM tells of its start, and a terminal is for results.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", f'"-Dlog4j2.configurationFile={_LOGGING}"')
    # On one machine Spark tries a task once, whatever is configured, unless the master says more.
    given = _submitted()
    asked = master or given.get("spark.master", "local[*]")
    master = re.sub(r"^local\[([^,\]]+)\]$", rf"local[\1,{ATTEMPTS}]", asked)
    local = LOCAL_CONF if master.startswith("local") else {}
    if local:
        # The JVM asks for the address of this machine's name before it reads settings, and there
        # may be none. Spark's page would be open to the network, too.
        os.environ.setdefault("SPARK_LOCAL_IP", LOCAL_CONF["spark.driver.host"])
    named = {"spark.master": master, "spark.app.name": APP}  # the application names itself
    settings = {**CONF, **local, **given, **(conf or {}), **named}
    try:
        _start_java(settings)
        found = SparkSession.builder.config(map=settings).getOrCreate()
    except (PySparkException, Py4JError, OSError) as failed:
        raise Unavailable(f"Spark does not start at {asked}: {start_cause(failed)}") from failed
    found.sparkContext.setLogLevel("ERROR")
    try:
        yield found
    finally:
        found.stop()


def _start_java(settings: Mapping[str, str]) -> None:
    """Start the JVM as PySpark would, unless there is one; an interrupt is raised when it is there.

    PySpark waits for it to write its port into a folder, which is deleted when an interrupt ends
    the waiting. The JVM cannot write then, and serves nobody for ever. One that has written ends
    with this process, however that ends. So the waiting is left to another thread.
    """
    if SparkContext._gateway is not None:
        return
    conf = SparkConf().setAll(list(settings.items()))
    started = in_background(lambda: SparkContext._ensure_initialized(conf=conf))
    try:
        started.result()
    except KeyboardInterrupt:
        with suppress(Exception):
            started.result()  # another interrupt does not wait for it: the process ends before it
        raise


def _submitted() -> dict[str, str]:
    """What `spark-submit` was told, if it started this process: its JVM is there already."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def run_action(what: str, action: Callable[[], T]) -> T:
    """What an action of Spark's returns; raises `Unavailable` with the cause if Spark gave up.

    Raises `Refused` if that was an executor with another release of this package. Ctrl-C cancels
    all jobs, and is `KeyboardInterrupt` as elsewhere.
    """
    try:
        return action()
    except (PySparkException, Py4JError) as failed:
        if _interrupted(failed):
            raise KeyboardInterrupt from failed
        if refused := releases.release_error(cause(failed)):
            raise refused from failed
        raise Unavailable(f"{what}: Spark gave up: {cause(failed)}") from failed
    except OSError as failed:  # what PySpark hands to Java is a file in spark.local.dir
        if failed.errno not in _NO_ROOM:
            raise
        said = f"{what}: Spark gave up: {failed.strerror}{LOCAL_DISK}"
        raise Unavailable(said) from failed


def _interrupted(failed: BaseException) -> bool:
    """Whether a job failed because it was cancelled while an interrupt was on its way."""
    at: BaseException | None = failed
    while at is not None:
        if isinstance(at, KeyboardInterrupt):
            return True
        at = at.__context__
    return False


def start_cause(failed: Exception) -> str:
    """Why Spark does not start; without Java it says no more than that a process has ended.

    What that process had to say is on standard error already.
    """
    if isinstance(failed, PySparkException) and failed.getCondition() == _NO_JAVA:
        return (
            "Java does not, or ends at once, and says why above: it needs Java 17 or later, by"
            f" JAVA_HOME or on the search path ({_NO_JAVA})"
        )
    found = cause(failed)
    if found == _ENDED:
        return "no master answers there, or it has refused the application, as Spark says above"
    return found


def cause(failed: Exception) -> str:
    """The last line that says something, which of Python's is the error itself."""
    lines = [line.strip() for line in str(failed).splitlines() if line.strip()]
    noise = ("at ", "SQLSTATE", "...", "Driver stacktrace:")
    causes = [
        line
        for line in lines
        if not line.startswith(noise)  # their words: the cause is among lines of the stack
    ]
    last = (causes or [type(failed).__name__])[-1]
    if last.endswith(_WORKER_GONE) and any(map(_WORKER_EXITED.search, lines)):
        return WORKER_KILLED
    if _NOTHING_HANDED_OVER.search(last):
        return WORKER_KILLED
    if _MEMORY_SHORT.match(last):
        return NO_MEMORY
    is_writing = any(map(_WRITING_A_TABLE.search, lines))
    is_local = _LOCAL_DISK_FULL.match(last) and not is_writing
    remedy = LOCAL_DISK if is_local else ""
    return _CLASS.sub("", last.removeprefix(": "))[:_CAUSE_MAX] + remedy
