"""Config changes that may lose records, and those that may not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.model.topic_config.destructive_changes import destructive_changes
from poolkeeper.model.topic_config.table import KEYS
from poolkeeper.model.versions import KafkaVersion, VersionRange

V = KafkaVersion.parse


def between(low, high):
    return VersionRange(V(low), V(high))


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
    assert destructive_changes(old, new, V("3.9")) == reasons


def test_unclean_elections_are_the_default_before_0_11():
    safe = {"unclean.leader.election.enable": "false"}
    reason = (
        "unclean.leader.election.enable from false to true (the default): "
        "a replica out of sync may become leader and drop records"
    )
    assert destructive_changes(safe, {}, V("0.10.2")) == [reason]
    assert destructive_changes(safe, {}, V("0.11")) == []
    assert destructive_changes(safe, {}, between("0.10.2", "1.0")) == [reason]
    assert destructive_changes(safe, {}) == [reason]


def test_brokers_defaults_come_before_the_documented_ones():
    hour = {"retention.ms": "3600000"}
    assert destructive_changes({"retention.ms": "7200000"}, {}, V("2.8")) == []
    assert destructive_changes({"retention.ms": "7200000"}, {}, V("2.8"), hour) == [
        "retention.ms from 7200000 to 3600000 (the default): older records are deleted"
    ]


texts = st.one_of(
    st.sampled_from(["true", "false", "delete", "compact", "-1", "-2", ""]),
    st.integers(-3, 10**19).map(str),
    st.text(max_size=5),
)
configs = st.dictionaries(st.sampled_from(sorted(KEYS)), texts, max_size=6)


@given(configs, configs)
def test_going_nowhere_destroys_nothing(old, new):
    """No change, no reason; and a key that does not change is never a reason."""
    assert destructive_changes(old, old) == []
    changed = {key for key in {**old, **new} if old.get(key) != new.get(key)}
    assert {reason.split(" ")[0] for reason in destructive_changes(old, new)} <= changed
