"""The topic config keys: names by version, values by key, keys together, destructive changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.model.configkeys import (
    check,
    check_all,
    default_of,
    is_destructive,
    is_owned_by_executor,
    known_keys,
)
from poolkeeper.model.configtable import KEYS
from poolkeeper.model.versions import RELEASES, SUPPORTED, KafkaVersion, VersionRange

V = KafkaVersion.parse
INT_MAX, LONG_MAX = 2147483647, 9223372036854775807


def between(low, high):
    return VersionRange(V(low), V(high))


@pytest.mark.parametrize(
    ("count", "versions"),
    [
        (13, "0.8.1"),
        (16, "0.8.2"),
        (18, "0.9"),
        (21, "0.10.0"),
        (24, "0.10.1 0.10.2 0.11 1.0 1.1"),
        (25, "2.0 2.1 2.2"),
        (26, "2.3 2.4 2.5 2.6 2.7 2.8"),
        (29, "3.0 3.1 3.2 3.3 3.4 3.5"),
        (31, "3.6 3.7"),
        (34, "3.8"),
        (36, "3.9"),
    ],
)
def test_how_many_keys_each_version_knows(count, versions):
    assert {len(known_keys(V(version))) for version in versions.split()} == {count}


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
    assert check("segment.bytes", value, V("2.8")) == (
        f"{value!r} is not a whole number (expected a whole number from 14 to 2147483647)"
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


@pytest.mark.parametrize(
    ("key", "version", "problem"),
    [
        pytest.param(
            "retension.ms",
            V("2.8"),
            "unknown key 'retension.ms' (did you mean 'retention.ms'?)",
            id="a-slip",
        ),
        pytest.param(
            "min.insync.replica",
            V("2.8"),
            "unknown key 'min.insync.replica' (did you mean 'min.insync.replicas'?)",
            id="a-letter-short",
        ),
        pytest.param(
            "log.retention.ms",
            V("2.8"),
            "unknown key 'log.retention.ms' (did you mean 'retention.ms'?)",
            id="the-broker's-name-for-it",
        ),
        pytest.param(
            "zzz",
            V("2.8"),
            "unknown key 'zzz' (expected a topic config key of Kafka 2.8)",
            id="nothing-like-it",
        ),
        pytest.param(
            "local.retention.ms",
            V("2.8.2"),
            "'local.retention.ms' exists since Kafka 3.0 (this cluster runs 2.8.2)",
            id="too-new-for-the-version",
        ),
        pytest.param(
            "max.compaction.lag.ms",
            between("2.0", "2.8"),
            "'max.compaction.lag.ms' exists since Kafka 2.3 (this cluster may run 2.0)",
            id="too-new-for-a-part-of-the-range",
        ),
        pytest.param(
            "leader.replication.throttled.replicas",
            V("2.8"),
            "'leader.replication.throttled.replicas' is set by Poolkeeper while replicas move "
            "(expected: not declared)",
            id="the-executor's-own",
        ),
    ],
)
def test_keys_that_are_refused(key, version, problem):
    assert check(key, "1", version) == problem


def test_only_the_throttle_lists_belong_to_the_executor():
    assert [key for key in KEYS if is_owned_by_executor(key)] == [
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
    ]
    assert not is_owned_by_executor("no.such.key")


@pytest.mark.parametrize(
    ("key", "value", "version", "problem"),
    [
        pytest.param(
            "flush.messages",
            "0",
            between("3.0", "3.4"),
            "for Kafka 3.3: '0' is out of range "
            "(expected a whole number from 1 to 9223372036854775807)",
            id="tighter-at-the-upper-end",
        ),
        pytest.param(
            "compression.type",
            "zstd",
            between("2.0", "2.8"),
            f"for Kafka 2.0: 'zstd' is unknown (expected one of {CODECS})",
            id="unknown-at-the-lower-end",
        ),
        pytest.param(
            "message.format.version",
            "2.6",
            between("2.4", "2.8"),
            "for Kafka 2.4: '2.6' is newer than the broker (expected a Kafka version up to 2.4)",
            id="newer-than-the-lower-end",
        ),
        pytest.param("compression.type", "lz4", SUPPORTED, None, id="safe-everywhere"),
    ],
)
def test_a_range_takes_what_all_its_releases_take(key, value, version, problem):
    assert check(key, value, version) == problem


REMOTE = {"remote.storage.enable": "true"}


@pytest.mark.parametrize(
    ("config", "version", "problems"),
    [
        pytest.param({}, V("2.8"), {}, id="nothing-declared"),
        pytest.param(
            {"retention.ms": "x", "no.such.thing.at.all": "1", "flush.ms": "1"},
            V("2.8"),
            {
                "no.such.thing.at.all": "unknown key 'no.such.thing.at.all' "
                "(expected a topic config key of Kafka 2.8)",
                "retention.ms": "'x' is not a whole number "
                "(expected a whole number from -1 to 9223372036854775807)",
            },
            id="all-problems-at-once",
        ),
        pytest.param(
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"},
            V("2.3"),
            {
                "min.compaction.lag.ms": "'10' is above max.compaction.lag.ms (expected at most 9)",
            },
            id="compaction-lags-crossed",
        ),
        pytest.param(
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "10"},
            V("2.3"),
            {},
            id="lags-equal",
        ),
        pytest.param(
            {"max.compaction.lag.ms": "1"}, V("2.3"), {}, id="the-least-lag-is-0-unless-set"
        ),
        pytest.param(
            {**REMOTE, "retention.ms": "1000", "local.retention.ms": "1001"},
            V("3.9"),
            {
                "local.retention.ms": "'1001' keeps more than retention.ms "
                "(expected -2, or from 0 to 1000)"
            },
            id="local-above-total",
        ),
        pytest.param(
            {**REMOTE, "retention.bytes": "1000", "local.retention.bytes": "-1"},
            V("3.6"),
            {
                "local.retention.bytes": "'-1' keeps more than retention.bytes "
                "(expected -2, or from 0 to 1000)"
            },
            id="local-unlimited-total-not",
        ),
        pytest.param(
            {**REMOTE, "local.retention.ms": "604800001"},
            V("3.9"),
            {
                "local.retention.ms": "'604800001' keeps more than retention.ms "
                "(expected -2, or from 0 to 604800000)"
            },
            id="local-above-the-default-total",
        ),
        pytest.param(
            {**REMOTE, "local.retention.bytes": "5", "local.retention.ms": "-2"},
            V("3.9"),
            {},
            id="local-bounded-total-unlimited",
        ),
        pytest.param(
            {"retention.ms": "1000", "local.retention.ms": "1001"},
            V("3.6"),
            {},
            id="without-remote-storage-it-does-not-matter-from-3.6",
        ),
        pytest.param(
            {"retention.ms": "1000", "local.retention.ms": "1001"},
            V("3.5"),
            {
                "local.retention.ms": "'1001' keeps more than retention.ms "
                "(expected -2, or from 0 to 1000)"
            },
            id="without-remote-storage-it-matters-before-3.6",
        ),
        pytest.param(
            {"local.retention.bytes": "5"},
            V("3.0"),
            {"local.retention.bytes": "'5' keeps more than retention.bytes (expected -2 or -1)"},
            id="unlimited-counts-as-minus-one-before-3.6",
        ),
        pytest.param({"local.retention.bytes": "-1"}, V("3.0"), {}, id="both-unlimited-before-3.6"),
        pytest.param(
            {"local.retention.bytes": "5"},
            between("3.4", "3.7"),
            {"local.retention.bytes": "'5' keeps more than retention.bytes (expected -2 or -1)"},
            id="a-range-takes-the-stricter-rule",
        ),
        pytest.param(
            {**REMOTE, "cleanup.policy": "delete,compact"},
            V("3.9"),
            {
                "remote.storage.enable": "'true' is not possible for a compacted topic "
                "(expected cleanup.policy delete)"
            },
            id="remote-and-compacted",
        ),
        pytest.param(
            {"remote.storage.enable": "false", "cleanup.policy": "compact"},
            V("3.9"),
            {},
            id="not-remote",
        ),
        pytest.param(
            {**REMOTE, "retention.ms": "soon", "local.retention.ms": "604800001"},
            V("3.9"),
            {
                "retention.ms": "'soon' is not a whole number "
                "(expected a whole number from -1 to 9223372036854775807)"
            },
            id="no-second-verdict-on-top-of-a-broken-value",
        ),
    ],
)
def test_whole_configs(config, version, problems):
    assert check_all(config, version) == problems


@pytest.mark.parametrize(
    ("key", "version", "default"),
    [
        ("cleanup.policy", V("2.8"), "delete"),
        ("retention.ms", V("2.8"), "604800000"),
        ("retention.bytes", V("2.8"), "-1"),
        ("min.insync.replicas", V("2.8"), "1"),
        ("unclean.leader.election.enable", V("0.10.2"), "true"),
        ("unclean.leader.election.enable", V("0.11"), "false"),
        ("unclean.leader.election.enable", SUPPORTED, None),
        ("max.message.bytes", V("2.4"), "1000012"),
        ("max.message.bytes", V("2.5"), "1048588"),
        ("message.format.version", V("2.8"), None),
        ("no.such.key", V("2.8"), None),
    ],
)
def test_defaults(key, version, default):
    assert default_of(key, version) == default


@pytest.mark.parametrize("release", RELEASES[1:], ids=str)
def test_every_default_passes_its_own_check(release):
    """Whatever a release puts in for an absent key, it accepts when declared."""
    problems = {
        key: KEYS[key].kinds.at(release).problem(default, release)
        for key in known_keys(release)
        if (default := default_of(key, release)) is not None
    }
    assert problems == dict.fromkeys(problems)


WEEK = "604800000 (the default)"


@pytest.mark.parametrize(
    ("old", "new", "reasons"),
    [
        pytest.param({}, {}, [], id="nothing"),
        pytest.param({"retention.ms": "1000"}, {"retention.ms": "2000"}, [], id="longer"),
        pytest.param(
            {"retention.ms": "2000"},
            {"retention.ms": "1000"},
            ["retention.ms from 2000 to 1000: older records are deleted"],
            id="shorter",
        ),
        pytest.param(
            {"retention.ms": "-1"},
            {"retention.ms": "9999999999999"},
            ["retention.ms from -1 to 9999999999999: older records are deleted"],
            id="no-longer-unlimited",
        ),
        pytest.param({"retention.ms": "1"}, {"retention.ms": "-1"}, [], id="becomes-unlimited"),
        pytest.param({"retention.ms": "-5"}, {"retention.ms": "-1"}, [], id="both-unlimited"),
        pytest.param(
            {},
            {"retention.ms": "1000"},
            [f"retention.ms from {WEEK} to 1000: older records are deleted"],
            id="declared-for-the-first-time-below-the-default",
        ),
        pytest.param({}, {"retention.ms": "604800001"}, [], id="declared-above-the-default"),
        pytest.param(
            {"retention.ms": "604800001"},
            {},
            [f"retention.ms from 604800001 to {WEEK}: older records are deleted"],
            id="removed-and-the-default-is-shorter",
        ),
        pytest.param({"retention.ms": "1000"}, {}, [], id="removed-and-the-default-is-longer"),
        pytest.param(
            {},
            {"retention.bytes": "1073741824"},
            [
                "retention.bytes from -1 (the default) to 1073741824: older records are deleted",
            ],
            id="a-size-limit-where-there-was-none",
        ),
        pytest.param({"retention.bytes": "5"}, {}, [], id="a-size-limit-removed"),
        pytest.param(
            {"cleanup.policy": "compact"},
            {},
            [
                "cleanup.policy from compact to delete (the default): "
                "records are cleaned up by another rule"
            ],
            id="compaction-removed",
        ),
        pytest.param(
            {"cleanup.policy": "delete"},
            {"cleanup.policy": "compact"},
            ["cleanup.policy from delete to compact: records are cleaned up by another rule"],
            id="compaction-declared",
        ),
        pytest.param(
            {"cleanup.policy": "compact,delete"},
            {"cleanup.policy": "delete, compact"},
            [],
            id="the-same-policies-in-another-order",
        ),
        pytest.param({}, {"cleanup.policy": "delete"}, [], id="the-default-policy-declared"),
        pytest.param(
            {"min.insync.replicas": "2"},
            {"min.insync.replicas": "1"},
            ["min.insync.replicas from 2 to 1: records are acknowledged by fewer replicas"],
            id="fewer-in-sync",
        ),
        pytest.param(
            {"min.insync.replicas": "2"},
            {},
            [
                "min.insync.replicas from 2 to 1 (the default): "
                "records are acknowledged by fewer replicas"
            ],
            id="fewer-in-sync-by-removal",
        ),
        pytest.param({}, {"min.insync.replicas": "2"}, [], id="more-in-sync"),
        pytest.param(
            {},
            {"unclean.leader.election.enable": "true"},
            [
                "unclean.leader.election.enable from false (the default) to true: "
                "a replica out of sync may become leader and drop records"
            ],
            id="unclean-elections-on",
        ),
        pytest.param(
            {"unclean.leader.election.enable": "true"}, {}, [], id="unclean-elections-off"
        ),
        pytest.param(
            {"local.retention.ms": "-2"},
            {"local.retention.ms": "1000"},
            ["local.retention.ms from -2 to 1000: older records are deleted"],
            id="local-retention-was-the-whole",
        ),
        pytest.param(
            {"local.retention.bytes": "10", "retention.bytes": "20"},
            {"local.retention.bytes": "-2", "retention.bytes": "20"},
            [],
            id="local-retention-becomes-the-whole",
        ),
        pytest.param(
            {"retention.ms": "2000"},
            {"retention.ms": "1000", "local.retention.ms": "-2"},
            ["retention.ms from 2000 to 1000: older records are deleted"],
            id="local-retention-that-follows-is-no-reason-of-its-own",
        ),
        pytest.param(
            {"retention.ms": "garbage"},
            {"retention.ms": "1000"},
            ["retention.ms from garbage to 1000: the two cannot be compared"],
            id="a-value-that-nobody-can-read",
        ),
        pytest.param(
            {"segment.bytes": "1", "max.message.bytes": "9"},
            {"compression.type": "zstd", "preallocate": "true"},
            [],
            id="keys-that-destroy-nothing",
        ),
    ],
)
def test_destructive_changes(old, new, reasons):
    assert is_destructive(old, new, V("3.9")) == reasons


def test_unclean_elections_are_the_default_before_0_11():
    safe = {"unclean.leader.election.enable": "false"}
    reason = (
        "unclean.leader.election.enable from false to true (the default): "
        "a replica out of sync may become leader and drop records"
    )
    assert is_destructive(safe, {}, V("0.10.2")) == [reason]
    assert is_destructive(safe, {}, V("0.11")) == []
    assert is_destructive(safe, {}, between("0.10.2", "1.0")) == [reason]
    assert is_destructive(safe, {}) == [reason]


def test_brokers_defaults_come_before_the_documented_ones():
    hour = {"retention.ms": "3600000"}
    assert is_destructive({"retention.ms": "7200000"}, {}, V("2.8")) == []
    assert is_destructive({"retention.ms": "7200000"}, {}, V("2.8"), hour) == [
        "retention.ms from 7200000 to 3600000 (the default): older records are deleted"
    ]


texts = st.one_of(
    st.sampled_from(["true", "false", "delete", "compact", "-1", "-2", ""]),
    st.integers(-3, 10**19).map(str),
    st.text(max_size=5),
)
configs = st.dictionaries(st.sampled_from(sorted(KEYS)), texts, max_size=6)


@given(configs, st.sampled_from(RELEASES[5:]), st.sampled_from(RELEASES[5:]))
def test_a_range_is_never_laxer_than_its_ends(config, one, other):
    """Whatever an end refuses, the range refuses too."""
    low, high = sorted((one, other))
    refused = set(check_all(config, VersionRange(low, high)))
    assert {key for end in (low, high) for key in config if check(key, config[key], end)} <= refused


@given(configs, configs)
def test_going_nowhere_destroys_nothing(old, new):
    """No change, no reason; and a key that does not change is never a reason."""
    assert is_destructive(old, old) == []
    changed = {key for key in {**old, **new} if old.get(key) != new.get(key)}
    assert {reason.split(" ")[0] for reason in is_destructive(old, new)} <= changed
