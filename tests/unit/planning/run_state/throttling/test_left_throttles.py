"""Which throttles no run accounts for, from values alone."""

from dataclasses import replace

import pytest

import builders
from builders import topic
from poolkeeper.errors import NodeDamage
from poolkeeper.model.execution.runs import Saved, UnreadableConfig
from poolkeeper.model.execution.throttles import (
    LeftThrottles,
    RecordedThrottles,
    Throttled,
    ThrottleReading,
    ThrottleRecord,
    is_value,
    short_value,
)
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, damage_wait
from poolkeeper.planning.run_state.throttling import left_throttles

LEADERS = "leader.replication.throttled.replicas"
RATE = "leader.replication.throttled.rate"
LOG_DIRS = "replica.alter.log.dirs.io.max.bytes.per.second"


def of_topic(live, original=None):
    record = ThrottleRecord("sha256:p", {LEADERS: "0:1"}, {LEADERS: original})
    return RecordedThrottles(record, None if live == "hidden" else {LEADERS: live})


def of_broker(live, original=None):
    record = ThrottleRecord("sha256:p", {RATE: "7"}, {RATE: original})
    return RecordedThrottles(record, None if live == "hidden" else {RATE: live})


def cluster(value=None):
    config = {"retention.ms": "5"} | ({} if value is None else {LEADERS: value})
    return builders.cluster((1, 2), topic("t", builders.partition(0, 1), config=config))


OURS = ThrottleReading({"t": of_topic("0:1")}, {1: of_broker("7")}, {1: {RATE: "7"}})
BOTH = Throttled(("t",), (1,))


@pytest.mark.parametrize(
    ("value", "reading", "running", "expected"),
    [
        pytest.param(None, ThrottleReading(), (), LeftThrottles(), id="nothing"),
        pytest.param("", ThrottleReading(), (), LeftThrottles(), id="an-empty-list"),
        pytest.param("0:1", OURS, (), LeftThrottles(BOTH, BOTH), id="ours-without-a-run"),
        pytest.param("0:1", OURS, {"sha256:p"}, LeftThrottles(), id="ours-of-the-run"),
        pytest.param(
            "0:1", OURS, "sha256:q", LeftThrottles(BOTH, BOTH), id="ours-of-an-earlier-run"
        ),
        pytest.param(
            "*",
            ThrottleReading(broker_values={1: {RATE: "9"}, 2: {LOG_DIRS: "9"}}),
            (),
            LeftThrottles(others=BOTH),
            id="somebody-s",
        ),
        pytest.param(
            None,
            ThrottleReading(default_values={RATE: "9", LOG_DIRS: "9"}),
            (),
            LeftThrottles(others=Throttled(default=True)),
            id="somebody-s-default",
        ),
        pytest.param(
            None,
            ThrottleReading(default_values={RATE: None, LOG_DIRS: "9"}),
            {"sha256:p"},
            LeftThrottles(),
            id="a-default-for-log-directories",
        ),
        pytest.param(
            "*",
            ThrottleReading({"t": of_topic("*")}, {1: of_broker("9")}, {1: {RATE: "9"}}),
            (),
            LeftThrottles(recorded=BOTH, others=BOTH),
            id="somebody-changed-ours",
        ),
        pytest.param(
            None,
            ThrottleReading({"t": of_topic(None)}, {1: of_broker(None)}),
            (),
            LeftThrottles(recorded=BOTH),
            id="somebody-removed-ours",
        ),
        pytest.param(
            "0:1",
            ThrottleReading({"t": of_topic("0:1", "0:1")}),
            (),
            LeftThrottles(recorded=Throttled(("t",)), others=Throttled(("t",))),
            id="it-was-so-before",
        ),
        pytest.param(
            None,
            ThrottleReading({}, {1: of_broker("hidden")}, {}, {"/config/brokers/1": "no JSON"}),
            (),
            LeftThrottles(ours=Throttled((), (1,)), damaged={"/config/brokers/1": "no JSON"}),
            id="it-cannot-be-read",
        ),
    ],
)
def test_what_is_left(value, reading, running, expected):
    assert left_throttles.find(cluster(value), reading, running) == expected


SAVED = Saved({"t": {LEADERS: None}}, {1: {RATE: None}})
LIVE = ThrottleReading(broker_values={1: {RATE: "9"}, 2: {RATE: "9"}})


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        pytest.param(
            LIVE, LeftThrottles(others=Throttled((), (2,))), id="of-a-run-without-records"
        ),
        pytest.param(
            replace(LIVE, topics={"u": of_topic("0:1")}),
            LeftThrottles(others=Throttled(("t",), (1, 2))),
            id="of-a-run-with-records",
        ),
    ],
)
def test_a_run_of_an_earlier_release_accounts_for_what_it_saved(reading, expected):
    assert left_throttles.find(cluster("0:1"), reading, {"sha256:p"}, SAVED) == expected


def test_everything_that_is_left_is_named_ours_first():
    damage = NodeDamage("/r", "it is empty")
    left = LeftThrottles(BOTH, BOTH, Throttled((), (2,)), {"/p": "no JSON"}, (damage,))
    ours = Wait(WaitReason.THROTTLES_LEFT, topics=("t",), brokers=(1,))
    assert left_throttles.waits(left) == (
        ours,
        damage_wait(damage),
        Wait(WaitReason.THROTTLED_CONFIG_DAMAGED, path="/p", detail="no JSON"),
        Wait(WaitReason.THROTTLES_UNACCOUNTED, brokers=(2,)),
    )
    assert left_throttles.waits_for_ours(left) == (ours,)
    assert left_throttles.waits(LeftThrottles()) == ()


def test_throttles_of_the_run_that_cannot_be_read_are_not_told_as_somebody_else_s():
    unreadable = UnreadableConfig(1, "/config/brokers/1", "hidden")
    hidden = replace(of_broker("hidden"), unreadable=unreadable)
    reading = ThrottleReading({"t": of_topic("*")}, {1: hidden})
    assert left_throttles.changed_throttles(reading, {"sha256:p"}) == (
        Wait(
            WaitReason.THROTTLES_UNREADABLE,
            brokers=(1,),
            path="/config/brokers/1",
            detail="hidden",
        ),
        Wait(WaitReason.THROTTLES_YIELDED, topics=("t",)),
    )
    assert left_throttles.changed_throttles(reading, {"sha256:q"}) == ()
    topic = replace(of_topic("hidden"), unreadable=UnreadableConfig("t", "/config/topics/t", "-"))
    reading = ThrottleReading({"t": topic})
    assert len(left_throttles.changed_throttles(reading, {"sha256:p"})) == 1
    assert left_throttles.changed_throttles(reading, {"sha256:p"}, {"t": "-"}) == ()


def test_throttles_left_in_a_hidden_config_are_named_with_it_and_stay():
    unreadable = UnreadableConfig(1, "/config/brokers/1", "hidden")
    hidden = replace(of_broker("hidden"), unreadable=unreadable)
    reading = ThrottleReading({"t": of_topic("0:1")}, {1: hidden})
    left = left_throttles.find(cluster("0:1"), reading, ())
    topic = Throttled(("t",))
    assert left == LeftThrottles(BOTH, topic, hidden=(unreadable,))
    there = Wait(WaitReason.THROTTLES_LEFT, brokers=(1,), detail="/config/brokers/1: hidden")
    assert left_throttles.waits_for_ours(left) == (
        Wait(WaitReason.THROTTLES_LEFT, topics=("t",)),
        there,
    )
    assert left_throttles.waits_for_ours(left.staying) == (there,)


def test_a_long_value_is_known_by_its_digest():
    long = ",".join(f"{n}:1" for n in range(1000))
    assert (short_value("0:1"), short_value(None), len(short_value(long))) == ("0:1", None, 71)
    assert is_value(long, short_value(long))
    assert not is_value(f"{long},2000:1", short_value(long))
    assert not is_value(None, short_value(long))
