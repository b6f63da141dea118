import errno

import pytest
from pyspark.errors import PySparkRuntimeError

from poolkeeper.errors import Unavailable
from poolkeeper.fleet.engines import results, session


def test_who_has_no_java_is_told_which_one_is_needed() -> None:
    failed = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    assert "needs Java 17" in session.start_cause(failed)


def test_who_has_a_java_that_ends_is_sent_to_what_it_said() -> None:
    failed = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    assert "says why above" in session.start_cause(failed)


def test_what_else_keeps_spark_from_starting_is_told_as_it_is() -> None:
    assert session.start_cause(OSError("no such host")) == "no such host"


def test_the_cause_of_a_failure_in_java_begins_with_its_words() -> None:
    said = "An error occurred while calling None.X.\n: java.lang.Exception: no\n\tat a.b(C:1)\n"
    assert session.cause(Exception(said)) == "no"


def test_who_asks_for_a_master_that_does_not_answer_is_told_that() -> None:
    """Spark ends the session, and the next call says that there is none."""
    said = (
        "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"
        ": java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.\n"
        "The currently active SparkContext was created at:\n\n(No active SparkContext.)\n"
        "         \n\tat org.apache.spark.SparkContext.assertNotStopped(SparkContext.scala:128)\n"
    )
    assert "no master answers there" in session.start_cause(Exception(said))


def test_a_host_without_an_address_is_told_as_that() -> None:
    said = "failed\n: a.B: failed\n\tat a.b(C:1)\nCaused by: java.net.UnknownHostException: k\n"
    assert session.start_cause(Exception(said)) == "java.net.UnknownHostException: k"


EXITED = (
    "An error occurred while calling o208.getResult.\n"
    ": org.apache.spark.SparkException: Exception thrown in awaitResult: \n"
    "\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:56)\n"
    "Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage"
    " 2.0 failed 4 times, most recent failure: Lost task 0.3 in stage 2.0 (TID 5) {lost}\n"
    "\nDriver stacktrace:\n\tat org.apache.spark.scheduler.DAGScheduler.x(DAGScheduler.scala:3)\n"
)


def test_python_that_is_killed_again_and_again_is_told_as_that() -> None:
    """The system kills it where memory is short, and Java sees the end of a stream."""
    lost = "(localhost executor driver): org.apache.spark.SparkException: Python worker exited"
    said = EXITED.format(lost=f"{lost} unexpectedly (crashed). Consider setting") + (
        "Caused by: java.io.EOFException\n\tat java.base/java.io.D.readInt(D.java:397)\n"
        "\t... 24 more\n"
    )
    assert session.cause(Exception(said)) == session.WORKER_KILLED


@pytest.mark.parametrize("caused", ["Caused by: ", ""])
def test_python_that_is_killed_before_its_first_rows_is_told_as_that(caused: str) -> None:
    said = f"{caused}java.io.IOException: Unexpected end of input. Missing schema.\n\tat a.b(C:1)\n"
    assert session.cause(Exception(f"failed\n{said}")) == session.WORKER_KILLED


@pytest.mark.parametrize("error", ["MemoryError", "pyarrow.lib.ArrowMemoryError: malloc of size 8"])
def test_python_without_enough_memory_is_told_with_what_helps(error: str) -> None:
    said = f'Traceback (most recent call last):\n  File "worker.py", line 2, in read\n{error}\n'
    assert session.cause(Exception(said)) == results.NO_MEMORY


def test_an_executor_that_is_lost_again_and_again_is_told_with_the_reason() -> None:
    lost = "(10.0.0.1 executor 3): ExecutorLostFailure (executor 3 exited caused by one of the"
    said = EXITED.format(lost=f"{lost} running tasks) Reason: Command exited with code 137")
    assert session.cause(Exception(said)).endswith("Reason: Command exited with code 137")


def test_a_full_local_disk_is_told_with_what_is_on_it_also_by_java_beside_another_error() -> None:
    said = (
        "failed\n: java.io.IOException: No space left on device\n\tat a.b(C:1)\n"
        "\tSuppressed: java.io.IOException: No space left on device\n\t\tat a.b(C:2)\n"
    )
    expected = f"No space left on device{session.LOCAL_DISK}"
    assert session.cause(Exception(said)) == expected


def test_a_full_local_disk_that_python_finds_is_not_that_of_standard_output() -> None:
    def action() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(Unavailable, match=r"^tasks: .*No space left on device: make room in"):
        session.run_action("tasks", action)


def test_another_error_of_the_system_stays_what_it_is() -> None:
    def action() -> None:
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        session.run_action("tasks", action)
