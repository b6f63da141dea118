"""What is wrong with a cluster that is as declared: of the whole, of its pools, of its topics."""

from dataclasses import replace

import pytest

from builders import cluster, desired, partition, pool_spec, topic, topic_spec, without_brokers
from poolkeeper.model.execution.records import Records
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    LaterEpochs,
    LogDir,
    ReassignmentEntry,
    TopicPartition,
)
from poolkeeper.planning.diagnosis.health import cluster_health, problems

R = ProblemReason
SIX = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
FAST, SLOW = pool_spec("p", 1, 2, 3), pool_spec("q", 4, 5, 6)
LATER = LaterEpochs(57, 1, TopicPartition("t", 0))
HOMES = {"t": "p", "u": "q", "v": ""}
T = topic("t", (1, 2, 3), (2, 3, 1), config={"min.insync.replicas": "2"})
U = topic("u", (4, 5), (5, 6))
WELL = cluster(SIX, T, U, controller=Controller(1, 1))


def without(*dead: int, **fields: object) -> Cluster:
    return replace(without_brokers(WELL, *dead), **fields)


@pytest.mark.parametrize(
    ("seen", "of_cluster", "of_pools", "of_topics"),
    [
        pytest.param(WELL, [], {}, {}, id="nothing"),
        pytest.param(
            without(3),
            [R.UNDER_REPLICATED, R.BROKERS_MISSING],
            {"p": [R.TOO_FEW_LIVE_BROKERS, R.BROKERS_MISSING]},
            {"t": [R.UNDER_REPLICATED]},
            id="one-broker",
        ),
        pytest.param(
            without(2, 3),
            [R.UNDER_MIN_ISR, R.BROKERS_MISSING],
            {"p": [R.TOO_FEW_LIVE_BROKERS, R.BROKERS_MISSING]},
            {"t": [R.UNDER_MIN_ISR]},
            id="too-few-for-producers",
        ),
        pytest.param(
            without(4, 5, 6),
            [R.PARTITIONS_OFFLINE, R.BROKERS_MISSING],
            {"q": [R.NO_LIVE_BROKER]},
            {"u": [R.PARTITIONS_OFFLINE]},
            id="a-whole-pool-half-of-the-cluster",
        ),
        pytest.param(
            replace(WELL, brokers={}, controller=Controller(None, 1)),
            [R.NO_CONTROLLER, R.PARTITIONS_OFFLINE, R.BROKERS_MISSING],
            {"p": [R.NO_LIVE_BROKER], "q": [R.NO_LIVE_BROKER]},
            {"t": [R.PARTITIONS_OFFLINE], "u": [R.PARTITIONS_OFFLINE]},
            id="all-brokers-and-nobody-to-notice",
        ),
        pytest.param(
            replace(WELL, damaged={"v": "empty"}), [R.TOPICS_DAMAGED], {}, {}, id="a-damaged-topic"
        ),
        pytest.param(
            replace(WELL, controller=replace(WELL.controller, later=LATER)),
            [R.CONTROLLER_EPOCH_BEHIND],
            {},
            {},
            id="an-epoch-that-was-restored",
        ),
        pytest.param(
            replace(without(3), deleting=frozenset({"t"})),
            [R.BROKERS_MISSING],
            {"p": [R.TOO_FEW_LIVE_BROKERS, R.BROKERS_MISSING]},
            {},
            id="a-topic-that-is-being-deleted-misses-nothing",
        ),
        pytest.param(
            replace(WELL, topics={"t": topic("t", partition(0, 1, 2, 3, adding=(3,), isr=(1, 2)))}),
            [],
            {},
            {},
            id="a-replica-that-is-being-added-is-not-missed",
        ),
        pytest.param(
            replace(
                WELL,
                topics={"t": topic("t", partition(0, 1, 2, 3, isr=(1, 2)))},
                reassignment=(ReassignmentEntry("t", 0, (3, 2)),),
            ),
            [],
            {},
            {},
            id="nor-one-of-a-request-on-old-brokers",
        ),
        pytest.param(
            replace(WELL, topics={"t": topic("t", partition(0, 9, 1, leader=9, isr=(9, 1)))}),
            [R.ELECTION_PENDING],
            {},
            {"t": [R.ELECTION_PENDING]},
            id="a-leader-that-died-a-moment-ago",
        ),
        pytest.param(
            replace(WELL, topics={"t": topic("t", partition(0, 9, 1, leader=9, isr=(9,)))}),
            [R.PARTITIONS_OFFLINE],
            {},
            {"t": [R.PARTITIONS_OFFLINE]},
            id="a-leader-that-nobody-can-follow",
        ),
        pytest.param(
            replace(WELL, topics={"t": topic("t", partition(0, 1, 2, leader=None, isr=None))}),
            [],
            {},
            {},
            id="what-is-unknown-is-no-trouble",
        ),
        pytest.param(
            replace(
                WELL,
                brokers={
                    **WELL.brokers,
                    1: Broker(1, "a", log_dirs={"/d": LogDir(1000, 19), "/e": LogDir(1000, 20)}),
                },
            ),
            [],
            {"p": [R.DISK_FULL]},
            {},
            id="a-full-disk",
        ),
    ],
)
def test_each_trouble_is_told_of_the_whole_and_of_its_part(
    seen: Cluster,
    of_cluster: list[ProblemReason],
    of_pools: dict[str, list[ProblemReason]],
    of_topics: dict[str, list[ProblemReason]],
) -> None:
    found = cluster_health(desired((FAST, SLOW)), seen, HOMES)
    assert [p.reason for p in found.cluster] == of_cluster
    pools = {name: [p.reason for p in told] for name, told in found.pools.items() if told}
    assert pools == of_pools
    assert {name: [p.reason for p in told] for name, told in found.topics.items()} == of_topics


def test_a_broker_that_is_drained_may_be_off() -> None:
    drained = replace(SLOW, drain=frozenset({4, 5, 6}))
    seen = replace(without(4, 5, 6), topics={"t": WELL.topics["t"]})
    found = cluster_health(desired((FAST, drained)), seen, HOMES)
    assert (found.cluster, any(found.pools.values()), found.topics) == ((), False, {})


@pytest.mark.parametrize(
    ("declared", "live", "expected"),
    [
        pytest.param({"replication_factor": 1}, ("2", 2), (1, 2), id="declared-below-what-is-set"),
        pytest.param(
            {"replication_factor": 2, "config": {"min.insync.replicas": "3"}},
            None,
            (2, 3),
            id="before-it-is-created",
        ),
        pytest.param(
            {"replication_factor": 3, "config": {"min.insync.replicas": "3"}},
            ("1", 2),
            None,
            id="declared-as-high-as-needed",
        ),
        pytest.param({}, ("3", 2), (2, 3), id="as-found"),
        pytest.param(None, ("3", 2), (2, 3), id="claimed-by-a-pool"),
        pytest.param({}, ("1", 1), None, id="one-of-one"),
        pytest.param({}, ("\u00b2", 1), None, id="no-number-that-kafka-reads"),
        pytest.param({}, ("9" * 5000, 1), None, id="a-number-of-5000-digits"),
    ],
)
def test_fewer_replicas_than_must_be_in_sync_are_told(
    declared: dict[str, object] | None,
    live: tuple[str, int] | None,
    expected: tuple[int, int] | None,
) -> None:
    specs = [] if declared is None else [topic_spec("t", **declared)]
    topics = []
    if live is not None:
        config = {"min.insync.replicas": live[0]}
        topics = [topic("t", tuple(range(1, live[1] + 1)), config=config)]
    found = cluster_health(desired((FAST,), *specs), cluster(SIX, *topics), {"t": "p"})
    told = [p.facts for p in found.topics.get("t", ())]
    assert [(each.factor, each.needed) for each in told] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("new", [R.MIN_ISR_UNREACHABLE], id="one-that-nobody-has"),
        pytest.param("t", [], id="one-that-exists-and-is-not-its-own"),
    ],
)
def test_what_a_topic_may_not_have_is_not_judged_by_it(
    name: str, expected: list[ProblemReason]
) -> None:
    spec = topic_spec(name, replication_factor=1, config={"min.insync.replicas": "2"})
    asks = Adoption(AdoptionPolicy.APPROVE)
    found = problems(desired((FAST, SLOW), spec, adoption=asks), WELL, Records())
    assert [problem.reason for problem in found] == expected
