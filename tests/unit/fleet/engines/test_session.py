from pyspark.errors import PySparkRuntimeError

from poolkeeper.fleet.engines import session


def test_who_has_no_java_is_told_which_one_is_needed() -> None:
    failed = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    assert "needs Java 17" in session.start_cause(failed)


def test_who_has_a_java_that_ends_is_sent_to_what_it_said() -> None:
    failed = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    assert "says why above" in session.start_cause(failed)


def test_what_else_keeps_spark_from_starting_is_told_as_it_is() -> None:
    assert session.start_cause(OSError("no such host")) == "no such host"
