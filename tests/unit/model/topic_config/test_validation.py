"""The topic config keys: names by version, ranges of versions, keys together, defaults."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.model.topic_config.table import KEYS
from poolkeeper.model.topic_config.validation import (
    check,
    check_all,
    default_of,
    doubtful_keys,
    is_owned_by_executor,
    known_keys,
)
from poolkeeper.model.versions import RELEASES, SUPPORTED, KafkaVersion, VersionRange

V = KafkaVersion.parse

CODECS = "uncompressed, snappy, lz4, gzip, producer"


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
            "local.retention.ms",
            between("2.0", "2.8"),
            "'local.retention.ms' exists since Kafka 3.0 (this cluster may run up to 2.8)",
            id="too-new-for-the-whole-range",
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


def test_a_key_that_only_some_releases_of_a_range_know_is_accepted_and_named():
    config = {"max.compaction.lag.ms": "1", "retention.ms": "1", "no.such.key": "1"}
    assert check("max.compaction.lag.ms", "1", between("2.0", "2.8")) is None
    assert doubtful_keys(config, between("2.0", "2.8")) == {"max.compaction.lag.ms": V("2.3")}
    assert doubtful_keys(config, between("2.3", "2.8")) == {}
    assert doubtful_keys(config, V("2.0")) == {}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("1", None),
        (
            "0",
            "for Kafka 2.3: '0' is out of range "
            "(expected a whole number from 1 to 9223372036854775807)",
        ),
    ],
)
def test_its_value_is_judged_by_the_releases_that_know_it(value, problem):
    assert check("max.compaction.lag.ms", value, between("2.0", "2.8")) == problem


def test_a_value_that_stops_some_release_is_refused_where_no_version_is_known():
    assert check_all({"retention.ms": "-5"}, SUPPORTED) == {
        "retention.ms": "for Kafka 2.2: '-5' is out of range "
        "(expected a whole number from -1 to 9223372036854775807)"
    }


def test_only_the_throttle_lists_belong_to_the_executor():
    assert {key for key in KEYS if is_owned_by_executor(key)} == {
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
    }
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
            {
                "local.retention.bytes": "for Kafka 3.4: '5' keeps more than retention.bytes "
                "(expected -2 or -1)"
            },
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


texts = st.one_of(
    st.sampled_from(["true", "false", "delete", "compact", "-1", "-2", ""]),
    st.integers(-3, 10**19).map(str),
    st.text(max_size=5),
)
configs = st.dictionaries(st.sampled_from(sorted(KEYS)), texts, max_size=6)


@given(configs, st.sampled_from(RELEASES[5:]), st.sampled_from(RELEASES[5:]))
def test_a_range_is_never_laxer_than_its_ends(config, one, other):
    """Whatever an end refuses of the keys that it knows, the range refuses too."""
    low, high = sorted((one, other))
    refused = set(check_all(config, VersionRange(low, high)))
    for end in (low, high):
        known = {key: value for key, value in config.items() if KEYS[key].since <= end}
        assert {key for key in known if check(key, known[key], end)} <= refused
        assert not check_all(known, end) or refused


def test_no_message_grows_with_what_is_declared():
    """Whoever may create Topics may write 8,000 characters into a value, or into a key."""
    for key in (*KEYS, "k" * 60_000):
        for value in ("x" * 8_000, "9" * 8_000, "1," * 4_000):
            assert all(len(each) < 500 for each in check_all({key: value}, SUPPORTED).values())


def test_a_misspelt_key_is_looked_up_once_whatever_its_values_are() -> None:
    told = {check("retenton.ms", str(value), SUPPORTED) for value in range(5_000)}
    assert len(told) == 1
    assert "did you mean 'retention.ms'?" in str(told.pop())
