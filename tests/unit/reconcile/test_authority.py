"""What a pass may do, who counts as gone, and what is remembered of brokers."""

from dataclasses import replace

import pytest

import builders
from builders import pool_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Deletion
from poolkeeper.model.execution.records import BrokerRecord, Looks, Records
from poolkeeper.model.plans import DeleteTopic, Plan
from poolkeeper.model.specs import Approval, ApprovalPolicy, Heal, Mode
from poolkeeper.model.topology import Broker, Cluster
from poolkeeper.reconcile.authority import DELETIONS_WITHIN_MS, Authority, authority_of
from poolkeeper.reconcile.observe.gone_brokers import gone_brokers, updated_records

NOW_MS = 10_000_000
HOUR_AGO_S = NOW_MS // 1000 - 3600


def desired(mode=Mode.APPLY, approval=None, heal=None, brokers=(1, 2, 3, 4)) -> Desired:
    return builders.desired(
        pool_spec("p", *brokers, cluster="c"),
        name="c",
        mode=mode,
        approval=approval or Approval(),
        heal=heal or Heal(enabled=True),
    )


MANUAL = Approval(ApprovalPolicy.MANUAL, ("sha256:a",))
AUTO = Approval(ApprovalPolicy.AUTO)


@pytest.mark.parametrize(
    ("mode", "approval", "handed_over", "expected"),
    [
        pytest.param(Mode.PLAN_ONLY, AUTO, (), Authority(), id="plan-only-writes-nothing"),
        pytest.param(Mode.PAUSED, AUTO, (), Authority(paused=True), id="paused"),
        pytest.param(Mode.ROLL_BACK, AUTO, (), Authority(paused=True), id="rolling-back"),
        pytest.param(Mode.APPLY, AUTO, (), Authority(steps=True, plans=None), id="auto"),
        pytest.param(
            Mode.APPLY,
            MANUAL,
            ("sha256:b",),
            Authority(
                steps=True,
                plans=frozenset({"sha256:a", "sha256:b"}),
                approved_by_name=frozenset({"sha256:a", "sha256:b"}),
                approvers={
                    "sha256:a": "approved by its hash",
                    "sha256:b": "approved with poolkeeper apply",
                },
            ),
            id="manual-by-spec-and-by-command-line",
        ),
    ],
)
def test_a_loop_may_do_what_mode_and_approval_say(mode, approval, handed_over, expected):
    assert authority_of(desired(mode, approval), handed_over) == expected


EARLIER = 1 - DELETIONS_WITHIN_MS


def doomed(**counts: int) -> dict[str, str]:
    """Topics that are being deleted, with their namespaces."""
    return {f"{name}-{n}": name for name, count in counts.items() for n in range(count)}


@pytest.mark.parametrize(
    ("due", "before", "at_ms", "allowed"),
    [
        pytest.param({"a": 10}, {}, 0, {"a"}, id="ten-of-one"),
        pytest.param({"a": 11}, {}, 0, set(), id="eleven-of-one"),
        pytest.param({"a": 11, "b": 1}, {}, 0, {"b"}, id="one-does-not-hold-up-another"),
        pytest.param({"a": 1, "b": 1}, {"a": 10}, 0, {"b"}, id="with-those-before"),
        pytest.param({"a": 1, "b": 1}, {"a": 10}, EARLIER - 1, {"a", "b"}, id="long-before"),
        pytest.param({"a": 10, "b": 10}, {"c": 10}, 0, {"a", "b"}, id="thirty-of-three"),
        pytest.param({"a": 10, "b": 10, "d": 1}, {"c": 10}, 0, set(), id="more-of-all"),
        pytest.param({"a": 11, "b": 10}, {"c": 20}, 0, {"b"}, id="who-waits-is-not-counted"),
    ],
)
def test_many_deletions_wait_for_a_person(due, before, at_ms, allowed):
    namespaces = doomed(**due)
    plan = Plan("c", "sha256:a", "f", steps=tuple(map(DeleteTopic, namespaces)))
    earlier = [Deletion(at_ms, name) for name in doomed(**before).values()]
    auto = Authority(steps=True, plans=None)
    found = auto.may_delete(plan, namespaces, earlier, 0)
    assert {namespaces[topic] for topic in found} == allowed
    by_name = replace(auto, approved_by_name=frozenset({plan.hash}))
    assert by_name.may_delete(plan, namespaces, earlier, 0) == set(namespaces)
    manual = replace(by_name, plans=frozenset())
    assert manual.may_delete(plan, namespaces, earlier, 0) == frozenset()


NAMED = Approval(plans=("sha256:a",), by={"sha256:a": "jane", "sha256:old": "joe"})


@pytest.mark.parametrize(
    ("approval", "verified", "told"),
    [
        pytest.param(NAMED, True, "approved by jane", id="a-user-who-is-made-sure-of"),
        pytest.param(NAMED, False, "approved by jane (unverified)", id="a-user-who-is-not"),
        pytest.param(
            replace(NAMED, by={"sha256:a": "system:serviceaccount:argo:app"}, commit="3f2a91c"),
            True,
            "approved by system:serviceaccount:argo:app, commit 3f2a91c",
            id="a-controller-and-its-commit",
        ),
        pytest.param(MANUAL, True, "approved by its hash", id="nobody-says-who"),
    ],
)
def test_who_approved_is_named_by_hash(approval, verified, told):
    authority = authority_of(desired(approval=approval), verified=verified)
    assert authority.approvers == {"sha256:a": told}


def records(**missing: int | None) -> Records:
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    return Records(
        brokers={n: BrokerRecord(racks[n], missing.get(f"b{n}")) for n in racks},
    )


@pytest.mark.parametrize(
    ("known", "heal", "expected"),
    [
        pytest.param(records(b3=HOUR_AGO_S), Heal(), set(), id="healing-is-off"),
        pytest.param(records(b3=HOUR_AGO_S), Heal(enabled=True), {3}, id="one-is-gone"),
        pytest.param(
            records(b3=NOW_MS // 1000 - 60), Heal(enabled=True), set(), id="not-long-enough"
        ),
        pytest.param(
            records(b1=HOUR_AGO_S, b3=HOUR_AGO_S),
            Heal(enabled=True),
            set(),
            id="more-than-may-be-healed",
        ),
        pytest.param(
            records(b1=HOUR_AGO_S, b3=HOUR_AGO_S),
            Heal(enabled=True, max_brokers=2),
            {1, 3},
            id="two-where-two-may",
        ),
        pytest.param(
            records(b1=HOUR_AGO_S, b2=HOUR_AGO_S),
            Heal(enabled=True, max_brokers=4),
            set(),
            id="a-whole-rack-is-an-outage",
        ),
    ],
)
def test_brokers_count_as_gone_only_as_healing_allows(known, heal, expected):
    assert gone_brokers(known, desired(heal=heal), NOW_MS) == frozenset(expected)


def test_a_missing_broker_keeps_its_rack_and_the_time_it_went():
    known = Records(
        "id",
        brokers={
            1: BrokerRecord("a"),
            2: BrokerRecord("b", missing_since_s=5),
            3: BrokerRecord("b", missing_since_s=6),
        },
    )
    seen = Cluster("c", {1: Broker(1, "z"), 3: Broker(3, "b")}, {}, id="id")
    off = desired(brokers=(1, 2, 3, 4), heal=Heal())
    after = updated_records(known, seen, off, NOW_MS)
    assert after == Records(
        "id",
        brokers={
            1: BrokerRecord("z"),
            2: BrokerRecord("b", 5),
            3: BrokerRecord("b"),
            4: BrokerRecord(None, NOW_MS // 1000),
        },
    )


def test_a_broker_without_a_rack_is_known_to_have_been_there_while_it_is_away():
    """It joins, goes, is away, and comes back; broker 2 is declared and never came."""
    off, records, there = desired(brokers=(1, 2), heal=Heal()), Records(), {1: Broker(1, None)}
    known = []
    for brokers in (there, {}, {}, there):
        records = updated_records(records, Cluster("c", brokers, {}), off, NOW_MS)
        known.append([records.brokers[id_].was_live for id_ in (1, 2)])
    assert known == [[True, False]] * 4


def test_looks_are_noted_of_declared_brokers_where_heal_is_on():
    known = Records("id", brokers={3: BrokerRecord("b"), 9: BrokerRecord("b")})
    seen = Cluster("c", {1: Broker(1, "a"), 2: Broker(2, "a"), 4: Broker(4, "b")}, {}, id="id")
    now_s = NOW_MS // 1000
    after = updated_records(known, seen, desired(), NOW_MS)
    assert after.brokers[3] == BrokerRecord("b", now_s, looks=Looks(now_s), seen=True)
    assert after.brokers[9] == BrokerRecord("b", now_s, seen=True)
    few = replace(seen, brokers={1: Broker(1, "a")})
    after = updated_records(known, few, desired(), NOW_MS)
    held = Looks(now_s, in_outage=True)
    assert after.brokers[3] == BrokerRecord("b", now_s, looks=held, seen=True)
