import pytest

import builders
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.topology import Partition, Topic
from poolkeeper.planning.constraints.sources import problems, rows_without_source
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.facts.pools import DataLost
from poolkeeper.planning.problem.partitions import table_of
from poolkeeper.planning.problem.pool_membership import TopicHome, TopicRole


def lost(*partitions: Partition, gone: tuple[int, ...] = (3,), live: tuple[int, ...] = (1, 2)):
    cluster = builders.cluster(live, Topic("t", partitions))
    return tuple(problems(cluster, {"t": TopicHome(TopicRole.PLACED, "p")}, gone))


@pytest.mark.parametrize(
    "partition",
    [
        pytest.param(Partition(0, (1, 3), isr=(1, 3)), id="another-is-in-sync"),
        pytest.param(Partition(0, (1, 3)), id="another-holds-it-and-nobody-told-who-is-in-sync"),
        pytest.param(Partition(0, (9,), isr=(9,)), id="on-a-broker-that-may-come-back"),
        pytest.param(Partition(0, (3, 9), isr=(3, 9)), id="also-on-a-broker-that-may-come-back"),
    ],
)
def test_nothing_is_lost(partition) -> None:
    assert lost(partition) == ()


def test_what_only_a_gone_broker_had_in_sync_is_named() -> None:
    partitions = (Partition(0, (1, 3), isr=(3,)), Partition(1, (1, 3), isr=(1,)))
    assert lost(*partitions) == (
        PlanProblem("p", "", DataLost((3,), Names.of(["t-0"]), told=True)),
    )
    assert str(lost(*partitions)[0].facts) == (
        "data is lost: broker 3 held the only replica in sync of 1 partition: t-0"
    )


def test_many_are_counted() -> None:
    partitions = tuple(Partition(n, (3, 4)) for n in range(1_200))
    (problem,) = lost(*partitions, gone=(3, 4))
    assert problem.message == (
        "data is lost: brokers 3, 4 held the only replica known to be in sync of 1,200 partitions:"
        " t-0, t-1, t-2, t-3, t-4 and 1,195 more"
    )


def test_rows_without_a_source_are_found_whoever_leads() -> None:
    parts = (
        Partition(0, (1, 3), leader=1, isr=(1, 3)),
        Partition(1, (1, 3), leader=-1, isr=(3,)),
        Partition(2, (3, 1), leader=3, isr=(3,)),
        Partition(3, (3, 1)),
        Partition(4, (3,)),
        Partition(5, (3, 2), leader=3, isr=(2, 3)),
    )
    cluster = builders.cluster((1, 2), Topic("t", parts))
    blocked = [False, True, True, False, True, False]
    assert rows_without_source(cluster, table_of(cluster)).tolist() == blocked
