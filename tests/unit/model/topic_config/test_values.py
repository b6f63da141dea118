"""Config values: what each key takes and refuses, through the check of its key."""

import pytest

from poolkeeper.model.topic_config.validation import check
from poolkeeper.model.versions import KafkaVersion

V = KafkaVersion.parse
INT_MAX, LONG_MAX = 2147483647, 9223372036854775807


def whole(key, low, high, version="3.9"):
    """A row for one key with a range: both ends pass, the numbers beside them do not."""
    return pytest.param(key, low, high, version, id=f"{key}-on-{version}")


@pytest.mark.parametrize(
    ("key", "low", "high", "version"),
    [
        whole("delete.retention.ms", 0, LONG_MAX),
        whole("file.delete.delay.ms", 0, LONG_MAX),
        whole("flush.messages", 0, LONG_MAX, "3.2"),
        whole("flush.messages", 1, LONG_MAX, "3.3"),
        whole("flush.ms", 0, LONG_MAX),
        whole("index.interval.bytes", 0, INT_MAX),
        whole("max.message.bytes", 0, INT_MAX),
        whole("retention.bytes", -(2**63), LONG_MAX),
        whole("retention.ms", -(2**63), LONG_MAX, "2.1"),
        whole("retention.ms", -1, LONG_MAX, "2.2"),
        whole("segment.bytes", 14, INT_MAX),
        whole("segment.index.bytes", 0, INT_MAX, "3.2"),
        whole("segment.index.bytes", 4, INT_MAX, "3.3"),
        whole("segment.ms", 0, LONG_MAX, "1.1"),
        whole("segment.ms", 1, LONG_MAX, "2.0"),
        whole("segment.jitter.ms", 0, LONG_MAX),
        whole("min.insync.replicas", 1, INT_MAX),
        whole("message.timestamp.difference.max.ms", 0, LONG_MAX),
        whole("min.compaction.lag.ms", 0, LONG_MAX),
        whole("max.compaction.lag.ms", 1, LONG_MAX),
        whole("local.retention.ms", -2, LONG_MAX),
        whole("local.retention.bytes", -2, LONG_MAX),
        whole("message.timestamp.before.max.ms", 0, LONG_MAX),
        whole("message.timestamp.after.max.ms", 0, LONG_MAX),
        whole("compression.lz4.level", 1, 17),
        whole("compression.zstd.level", -131072, 22),
    ],
)
def test_whole_numbers(key, low, high, version):
    expected = f"(expected a whole number from {low} to {high})"
    answers = {
        value: check(key, str(value), V(version)) for value in (low - 1, low, high, high + 1)
    }
    assert answers == {
        low - 1: f"'{low - 1}' is out of range {expected}",
        low: None,
        high: None,
        high + 1: f"'{high + 1}' is out of range {expected}",
    }


@pytest.mark.parametrize("value", ["1000", " 1000 ", "+1000", "\t1000\n", "0001000"])
def test_numbers_that_kafka_reads(value):
    assert check("flush.ms", value, V("2.8")) is None


@pytest.mark.parametrize(
    "value",
    [
        "",
        "abc",
        "1_000",
        "1.0",
        "1e3",
        "0x10",
        "1000 ms",
        "--1",
        "\u0661",
        "\u00a01000",
        "9" * 5000,
    ],
)
def test_numbers_that_kafka_does_not_read(value):
    shown = repr(value) if len(value) < 60 else f"{value[:60]!r}…"
    assert check("segment.bytes", value, V("2.8")) == (
        f"{shown} is not a whole number (expected a whole number from 14 to 2147483647)"
    )


@pytest.mark.parametrize(
    ("key", "values", "version"),
    [
        pytest.param(
            "min.cleanable.dirty.ratio", ["0", "1", "0.5", ".5", "1.", "5e-1", "0.5f"], "2.8"
        ),
        pytest.param("preallocate", ["true", "FALSE", " True "], "2.8"),
        pytest.param("unclean.leader.election.enable", ["true", "false"], "0.10.1"),
        pytest.param("cleanup.policy", ["delete", "compact"], "0.8.2"),
        pytest.param("cleanup.policy", ["compact,delete", "compact , delete", "delete", ""], "2.8"),
        pytest.param("compression.type", ["producer", "uncompressed", "gzip", "lz4"], "2.0"),
        pytest.param("compression.type", ["zstd", " snappy "], "2.1"),
        pytest.param("compression.gzip.level", ["-1", "1", "9"], "3.8"),
        pytest.param("message.timestamp.type", ["CreateTime", "LogAppendTime"], "2.8"),
        pytest.param("message.format.version", ["0.10.1", "0.9.0.1", "1.1-IV0", "2.0-IV1"], "2.0"),
        pytest.param("message.format.version", ["0.8.0", "3.0", "3.0.1", "3.9-IV0"], "3.9"),
        pytest.param("remote.log.copy.disable", ["false", "False"], "3.9"),
        pytest.param("remote.storage.enable", ["true"], "3.9"),
    ],
)
def test_values_that_pass(key, values, version):
    assert {value: check(key, value, V(version)) for value in values} == dict.fromkeys(values)


RATIO, FLAG = "(expected a number from 0 to 1)", "(expected true or false)"
CODECS = "uncompressed, snappy, lz4, gzip, producer"
ZOOKEEPER = "(expected false: a cluster on ZooKeeper refuses anything else)"


@pytest.mark.parametrize(
    ("key", "value", "version", "problem"),
    [
        ("min.cleanable.dirty.ratio", "1.1", "2.8", f"'1.1' is out of range {RATIO}"),
        ("min.cleanable.dirty.ratio", "-0.1", "2.8", f"'-0.1' is out of range {RATIO}"),
        ("min.cleanable.dirty.ratio", "1e999", "2.8", f"'1e999' is out of range {RATIO}"),
        ("min.cleanable.dirty.ratio", "half", "2.8", f"'half' is not a number {RATIO}"),
        ("min.cleanable.dirty.ratio", "NaN", "2.8", f"'NaN' is not a number {RATIO}"),
        ("preallocate", "yes", "2.8", f"'yes' is no truth value {FLAG}"),
        ("preallocate", "1", "2.8", f"'1' is no truth value {FLAG}"),
        (
            "cleanup.policy",
            "Delete",
            "2.8",
            "'Delete' is unknown (expected a list of compact, delete)",
        ),
        (
            "cleanup.policy",
            "compact,",
            "2.8",
            "'compact,' is unknown (expected a list of compact, delete)",
        ),
        (
            "cleanup.policy",
            "compact,delete",
            "0.10.0",
            "'compact,delete' is unknown (expected one of compact, delete)",
        ),
        ("compression.type", "zstd", "2.0", f"'zstd' is unknown (expected one of {CODECS})"),
        ("compression.type", "GZIP", "2.8", f"'GZIP' is unknown (expected one of {CODECS}, zstd)"),
        (
            "compression.gzip.level",
            "0",
            "3.8",
            "'0' is out of range (expected -1, or a whole number from 1 to 9)",
        ),
        (
            "message.timestamp.type",
            "createtime",
            "2.8",
            "'createtime' is unknown (expected one of CreateTime, LogAppendTime)",
        ),
        (
            "message.format.version",
            "2.9",
            "2.8",
            "'2.9' is no message format (expected a Kafka version up to 2.8)",
        ),
        (
            "message.format.version",
            "2.1-IV3",
            "2.8",
            "'2.1-IV3' is no message format (expected a Kafka version up to 2.8)",
        ),
        (
            "message.format.version",
            "3.0",
            "2.8",
            "'3.0' is newer than the broker (expected a Kafka version up to 2.8)",
        ),
        ("remote.log.copy.disable", "true", "3.9", f"'true' is not possible {ZOOKEEPER}"),
        ("remote.log.delete.on.disable", "true", "3.9", f"'true' is not possible {ZOOKEEPER}"),
    ],
)
def test_values_that_are_refused(key, value, version, problem):
    assert check(key, value, V(version)) == problem
