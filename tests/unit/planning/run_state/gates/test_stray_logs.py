"""Logs on brokers that are no replicas: what would be cut or lost is named and waits."""

from dataclasses import replace

import pytest

import builders
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Step, Urgency
from poolkeeper.model.specs import Execution, Remedies
from poolkeeper.model.topology import Broker, Cluster, StrayLog, TopicPartition
from poolkeeper.planning.run_state.gates import stray_logs

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
MOVE = builders.move("t", 0, (1, 2), (1, 2, 3), (3, 2), bytes=10)
R = WaitReason
LARGER = Wait(R.TARGET_LOG_LARGER, partitions=(T0,), brokers=(3,), count=9, of=8)


def cluster(*logs: tuple[int, TopicPartition, StrayLog]) -> Cluster:
    """Brokers 1 to 4 with these stray logs, and a topic on 1 and 2."""
    held: dict[int, dict[TopicPartition, StrayLog]] = {broker: {} for broker in (1, 2, 3, 4)}
    for broker, name, log in logs:
        held[broker][name] = log
    brokers = [Broker(id_, stray_logs=found) for id_, found in held.items()]
    return builders.cluster(brokers, builders.topic("t", (1, 2)))


def wanted(*, overwrite: bool = False) -> Desired:
    execution = Execution(remedies=Remedies(overwrite_larger_logs=overwrite))
    return builders.desired((), execution=execution)


@pytest.mark.parametrize(
    ("log", "place", "waits"),
    [
        pytest.param((3, T0, StrayLog(9, 8)), 0, {0: (LARGER,)}, id="larger-than-the-leader's"),
        pytest.param((3, T0, StrayLog(8, 8)), 0, {}, id="as-large"),
        pytest.param((3, T0, StrayLog(9, None)), 0, {}, id="the-leader-does-not-tell"),
        pytest.param((4, T0, StrayLog(9, 8)), 0, {}, id="on-a-broker-that-is-no-target"),
        pytest.param((3, T1, StrayLog(9, 8)), 0, {}, id="of-another-partition"),
        pytest.param((3, T0, StrayLog(9, 8)), 1, {}, id="the-replica-was-added-before"),
        pytest.param((3, T0, StrayLog(9, 8)), 2, {}, id="the-move-is-done"),
        pytest.param((3, T0, StrayLog(9, 8)), None, {}, id="the-move-does-not-go-on"),
    ],
)
@pytest.mark.parametrize("urgency", [Urgency.HEAL, Urgency.BALANCE])
def test_a_replica_is_not_added_where_a_larger_log_lies(
    log: tuple[int, TopicPartition, StrayLog],
    place: int | None,
    waits: dict[int, tuple[Wait, ...]],
    urgency: Urgency,
) -> None:
    move = MOVE._replace(urgency=urgency)
    found = stray_logs.endangered_by_moves((move,), (place,), cluster(log), wanted())
    assert found == waits


CREATE = CreateTopic("u", "default", ((1, 2), (2, 3)))
ADD = AddPartitions("t", 1, ((1, 2),))


@pytest.mark.parametrize(
    ("step", "name", "held"),
    [
        pytest.param(CREATE, U0, True, id="a-topic-made-after-the-backup"),
        pytest.param(CREATE, TopicPartition("u", 1), True, id="a-later-partition-of-it"),
        pytest.param(CREATE, TopicPartition("u", 2), False, id="a-partition-that-nobody-creates"),
        pytest.param(ADD, T1, True, id="a-partition-added-after-the-backup"),
        pytest.param(ADD, T0, False, id="a-partition-that-exists"),
        pytest.param(DeleteTopic("t"), T0, False, id="no-creation"),
    ],
)
@pytest.mark.parametrize("broker", [2, 4])
def test_nothing_is_created_of_which_a_log_exists(
    step: Step, name: TopicPartition, held: bool, broker: int
) -> None:
    live = cluster((broker, name, StrayLog(5)))
    wait = Wait(R.LOG_OF_NEW_PARTITION, partitions=(name,), brokers=(broker,), count=5)
    assert stray_logs.endangered_by_step(step, live, wanted()) == (wait if held else None)


def silenced(live: Cluster, *silent: int) -> Cluster:
    brokers = {n: replace(each, silent=n in silent) for n, each in live.brokers.items()}
    return replace(live, brokers=brokers)


@pytest.mark.parametrize(
    ("silent", "held"), [((3,), True), ((1, 2, 4), False)], ids=["a-target", "others"]
)
def test_a_target_that_has_not_told_its_logs_is_waited_for(
    silent: tuple[int, ...], held: bool
) -> None:
    wait = Wait(R.LOGS_NOT_TOLD, partitions=(T0,), brokers=(3,))
    live = silenced(cluster(), *silent)
    found = stray_logs.endangered_by_moves((MOVE,), (0,), live, wanted())
    assert found == ({0: (wait,)} if held else {})
    assert stray_logs.endangered_by_moves((MOVE,), (0,), live, wanted(overwrite=True)) == {}


def test_nothing_is_created_before_all_brokers_have_told_their_logs() -> None:
    wait = Wait(R.LOGS_NOT_TOLD, partitions=(U0,), brokers=(3, 4))
    live = silenced(cluster(), 4, 3)
    assert stray_logs.endangered_by_step(CREATE, live, wanted()) == wait
    assert stray_logs.endangered_by_step(ADD, live, wanted()) == replace(wait, partitions=(T1,))
    assert stray_logs.endangered_by_step(DeleteTopic("t"), live, wanted()) is None
    assert stray_logs.endangered_by_step(CREATE, live, wanted(overwrite=True)) is None


def test_a_log_that_is_known_is_told_before_those_that_are_not() -> None:
    live = silenced(cluster((2, U0, StrayLog(5))), 4)
    found = stray_logs.endangered_by_step(CREATE, live, wanted())
    assert found is not None
    assert found.reason is R.LOG_OF_NEW_PARTITION


def test_a_plan_is_told_with_one_wait_for_each_broker() -> None:
    other = builders.move("t", 1, (1, 2), (3, 4), bytes=10)
    live = cluster(
        (3, T0, StrayLog(9, 8)),
        (3, T1, StrayLog(5, 1)),
        (4, T1, StrayLog(7, 1)),
        (1, U0, StrayLog(3)),
    )
    found = stray_logs.endangered_by_plan((MOVE, other), (CREATE,), live, wanted())
    assert found == (
        replace(LARGER, partitions=(T0, T1), count=14, of=9),
        Wait(R.TARGET_LOG_LARGER, partitions=(T1,), brokers=(4,), count=7, of=1),
        Wait(R.LOG_OF_NEW_PARTITION, partitions=(U0,), brokers=(1,), count=3),
    )


def test_a_person_may_allow_all_of_it() -> None:
    live, allowing = cluster((3, T0, StrayLog(9, 8)), (1, U0, StrayLog(3))), wanted(overwrite=True)
    assert stray_logs.endangered_by_moves((MOVE,), (0,), live, allowing) == {}
    assert stray_logs.endangered_by_plan((MOVE,), (CREATE,), live, allowing) == ()
    assert stray_logs.endangered_by_step(CREATE, live, allowing) is None
