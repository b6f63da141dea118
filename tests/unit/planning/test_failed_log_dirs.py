"""Failed log directories: which replicas are offline, and what a plan does about them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from builders import partition, pool_spec, topic, topic_spec
from laws import examples
from poolkeeper.model.execution.records import BrokerRecord, Records
from poolkeeper.model.plans import Urgency
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import Heal
from poolkeeper.model.topology import Broker, LogDir
from poolkeeper.planning.audit import audit
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.problem.offline_replicas import offline_on
from poolkeeper.reconcile.observe.gone_brokers import (
    log_dirs_to_rebuild,
    updated_records,
    with_lost_log_dirs,
)

A, B = "/a", "/b"
NOW_MS = 10_000_000
HOUR_AGO_S = NOW_MS // 1000 - 3600
HEAL = Heal(enabled=True, after_s=1800)


def broker(id_, *failed):
    there = {path: LogDir() for path in (A, B) if path not in failed}
    return Broker(
        id_, rack=f"r{id_}", log_dirs=there, failed_log_dirs=dict.fromkeys(failed, "storage error")
    )


def replicas(number, *ids, offline=(), leader=None, isr=None):
    isr = tuple(id_ for id_ in ids if id_ not in offline) if isr is None else isr
    leader = isr[0] if leader is None else leader
    known = {id_: A for id_ in ids if id_ not in offline}
    return partition(number, *ids, isr=isr, leader=leader, log_dirs=known, size_bytes=1)


def cluster(*partitions, failed=(A,), brokers=4):
    live = [broker(1, *failed), *(broker(n) for n in range(2, brokers + 1))]
    return builders.cluster(live, topic("t", *partitions), name="c", kafka_version="3.9")


def desired(*brokers, heal=HEAL, **spec):
    pool = pool_spec("p", *brokers, cluster="c", goals=())
    found = builders.desired(pool, topic_spec("t", pool="p", **spec), name="c")
    return replace(found, cluster=replace(found.cluster, heal=heal))


def planned(seen, wanted, since_s=HOUR_AGO_S):
    paths = dict.fromkeys(seen.brokers[1].failed_log_dirs, since_s)
    records = Records(brokers={1: BrokerRecord(log_dirs_failed_s=paths)})
    records = updated_records(records, seen, wanted, NOW_MS)
    seen = with_lost_log_dirs(seen, records, wanted, NOW_MS)
    plan = make_plan(wanted, seen, records)
    audit.enforce(plan, wanted, seen, records, frozenset())
    return plan


@pytest.mark.parametrize(
    ("partition_", "offline"),
    [
        pytest.param(replicas(0, 1, 2, offline=(1,)), (1,), id="in-no-directory-and-not-in-sync"),
        pytest.param(replicas(0, 1, 2), (), id="in-another-directory"),
        pytest.param(replicas(0, 1, 2, offline=(1,), isr=(1, 2)), (), id="in-sync"),
        pytest.param(
            replicas(0, 1, 2, offline=(1,), isr=(1,), leader=-1), (1,), id="the-last-in-sync"
        ),
        pytest.param(
            replicas(0, 1, 2, offline=(1,))._replace(adding=(1,)), (), id="still-to-be-made"
        ),
        pytest.param(replicas(0, 1, 2, offline=(1,))._replace(isr=None), (), id="nothing-known"),
        pytest.param(replicas(0, 2, 3, offline=(2,)), (), id="of-a-broker-without-a-failure"),
    ],
)
def test_which_replicas_are_offline(partition_, offline):
    assert offline_on(partition_, {1: broker(1, A)}) == offline


def test_what_is_offline_is_rebuilt_on_another_broker_and_the_rest_stays():
    seen = cluster(
        replicas(0, 1, 2, offline=(1,)), replicas(1, 1, 2), replicas(2, 2, 1, offline=(1,))
    )
    plan = planned(seen, desired(1, 2, 3, 4))
    assert [(move.partition, move.urgency, move.reason) for move in plan.moves] == [
        (0, Urgency.HEAL, "a log directory of broker 1 has failed"),
        (2, Urgency.HEAL, "a log directory of broker 1 has failed"),
    ]
    assert all(1 not in move.target and 2 in move.target for move in plan.moves)
    [told] = plan.problems
    assert told.reason is ProblemReason.LOG_DIR_FAILED
    assert told.message == (
        "log directory /a of broker 1 has failed: replace its disk and restart the broker; until"
        " then the broker is given no replicas"
    )


@pytest.mark.parametrize(
    ("heal", "since_s", "way"),
    [
        pytest.param(
            Heal(), HOUR_AGO_S, "or set spec.heal.enabled of the KafkaCluster", id="not-allowed"
        ),
        pytest.param(
            HEAL, NOW_MS // 1000 - 60, "once it has failed for 30 min", id="not-long-enough"
        ),
        pytest.param(HEAL, HOUR_AGO_S, "or add a broker to the pool", id="nowhere-to-go"),
    ],
)
def test_what_stays_offline_is_named_with_what_helps(heal, since_s, way):
    brokers = (1, 2) if "add a broker" in way else (1, 2, 3, 4)
    plan = planned(cluster(replicas(0, 1, 2, offline=(1,))), desired(*brokers, heal=heal), since_s)
    assert plan.moves == ()
    [told] = [p for p in plan.problems if p.reason is ProblemReason.LOG_DIR_FAILED]
    assert "log directory /a of broker 1 has failed, and t-0 are offline there" in told.message
    assert way in told.message


def test_nothing_is_moved_whose_only_source_was_in_the_directory():
    seen = cluster(replicas(0, 1, 2, offline=(1,), isr=(1,), leader=-1))
    plan = planned(seen, desired(1, 2, 3, 4))
    assert plan.moves == ()


def test_a_broker_with_a_failed_directory_is_given_no_replicas_but_leads_on():
    seen = cluster(replicas(0, 1, 2), replicas(1, 1, 2), replicas(2, 2, 3), failed=(B,))
    plan = planned(seen, desired(1, 2, 3, 4, replication_factor=3, heal=Heal()))
    assert [move.partition for move in plan.moves] == [0, 1, 2]
    assert all(1 not in set(move.target) - set(move.source) for move in plan.moves)
    assert [move.target[0] for move in plan.moves] == [1, 1, 2]


@pytest.mark.slow
@examples(60)
@given(st.data())
def test_a_plan_after_a_plan_is_empty_and_nothing_goes_to_the_broker(data):
    count = data.draw(st.integers(4, 6))
    ids = tuple(range(1, count + 1))
    lists = st.lists(st.permutations(ids), min_size=2, max_size=10)
    factor, found = data.draw(st.integers(2, 3)), []
    for number, order in enumerate(data.draw(lists)):
        held = tuple(order[:factor])
        offline = (1,) if 1 in held and data.draw(st.booleans()) else ()
        found.append(replicas(number, *held, offline=offline))
    wanted = desired(*ids, heal=data.draw(st.sampled_from([HEAL, Heal()])))
    drain = data.draw(st.sampled_from([frozenset(), frozenset({2})]))
    wanted = replace(wanted, pools=(replace(wanted.pools[0], drain=drain),))
    plan = planned(cluster(*found, brokers=count), wanted)
    assert all(1 not in set(move.target) - set(move.source) for move in plan.moves)
    moved = {move.partition: move.target for move in plan.moves}
    after = []
    for before in found:
        held = moved.get(before.partition, before.replicas)
        stays = 1 in held and 1 not in (before.log_dirs or {})
        after.append(replicas(before.partition, *held, offline=(1,) if stays else ()))
    assert planned(cluster(*after, brokers=count), wanted).moves == ()


@pytest.mark.parametrize(
    ("heal", "records", "lost"),
    [
        pytest.param(HEAL, {1: {A: HOUR_AGO_S}}, {1: frozenset({A})}, id="long-enough"),
        pytest.param(HEAL, {1: {A: HOUR_AGO_S, B: NOW_MS // 1000}}, {1: frozenset({A})}, id="one"),
        pytest.param(Heal(), {1: {A: HOUR_AGO_S}}, {}, id="not-allowed"),
        pytest.param(HEAL, {1: {A: HOUR_AGO_S}, 2: {A: HOUR_AGO_S}}, {}, id="too-many"),
        pytest.param(HEAL, {1: {A: HOUR_AGO_S}, 2: None}, {}, id="and-a-broker-is-missing"),
        pytest.param(HEAL, {9: {A: HOUR_AGO_S}}, {}, id="in-no-pool"),
    ],
)
def test_which_directories_count_as_lost(heal, records, lost):
    found = {
        id_: BrokerRecord(missing_since_s=HOUR_AGO_S)
        if since is None
        else BrokerRecord(log_dirs_failed_s=since)
        for id_, since in records.items()
    }
    assert log_dirs_to_rebuild(Records(brokers=found), desired(1, 2, 3, heal=heal), NOW_MS) == lost


def test_records_keep_since_when_a_directory_failed_until_its_broker_says_otherwise():
    wanted = desired(1)
    first = updated_records(Records(), cluster(replicas(0, 1, 2)), wanted, NOW_MS)
    assert first.brokers[1].log_dirs_failed_s == {A: NOW_MS // 1000}
    silent = builders.cluster([Broker(1)], topic("t", (1, 2)))
    assert updated_records(first, silent, wanted, 2 * NOW_MS).brokers[1].log_dirs_failed_s
    mended = updated_records(first, cluster(replicas(0, 1, 2), failed=()), wanted, 2 * NOW_MS)
    assert mended.brokers[1].log_dirs_failed_s == {}
