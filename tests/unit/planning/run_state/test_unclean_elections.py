"""Unclean elections, told from what was seen before and after."""

from dataclasses import replace

import pytest

import builders
from builders import partition, topic
from poolkeeper.model.topology import Cluster, Partition, TopicPartition
from poolkeeper.planning.run_state.unclean_elections import KEY, unclean_elections_between

T0 = TopicPartition("t", 0)


def cluster(state: Partition, live=(1, 2, 3), config=None, topic_id: str | None = None) -> Cluster:
    return builders.cluster(live, topic("t", state, config=config, topic_id=topic_id))


def state(leader: int, *isr: int, epoch: int = 1, replicas=(1, 2), **more) -> Partition:
    return partition(0, *replicas, leader=leader, isr=isr, leader_epoch=epoch, **more)


ALLOWED = {KEY: "true"}
BEFORE = cluster(state(1, 1, epoch=1))


@pytest.mark.parametrize(
    ("after", "found"),
    [
        pytest.param(cluster(state(1, 1, 2, epoch=1)), (), id="it-caught-up"),
        pytest.param(cluster(state(-1, 1, epoch=2), live=(2, 3)), (), id="none-is-elected"),
        pytest.param(cluster(state(2, 2, epoch=3), live=(2, 3)), (T0,), id="nobody-else-is-left"),
        pytest.param(
            cluster(state(2, 2, 1, epoch=3), config=ALLOWED), (T0,), id="allowed-and-he-returned"
        ),
        pytest.param(cluster(state(2, 2, 1, epoch=3)), (), id="it-may-have-caught-up"),
        pytest.param(
            cluster(state(2, 2, epoch=9, replicas=(2, 3)), live=(2, 3)), (), id="it-was-moved"
        ),
        pytest.param(
            cluster(state(2, 2, epoch=3, adding=(2,)), live=(2, 3)), (), id="it-is-being-moved"
        ),
        pytest.param(cluster(state(2, 2, epoch=0), live=(2, 3)), (), id="of-another-topic"),
        pytest.param(
            cluster(state(2, 2, epoch=3), live=(2, 3), topic_id="new"), (), id="created-again"
        ),
        pytest.param(replace(BEFORE, topics={}), (), id="deleted"),
    ],
)
def test_who_was_elected_uncleanly(after: Cluster, found: tuple[TopicPartition, ...]) -> None:
    assert unclean_elections_between(BEFORE, after) == found


UNION = (3, 4, 1, 2)
MOVING = cluster(state(1, 1, 2, replicas=UNION, adding=(3, 4)), live=(1, 2, 3, 4), config=ALLOWED)
TARGETS_LIVE = {"live": (3, 4), "config": ALLOWED}


@pytest.mark.parametrize(
    ("after", "found"),
    [
        pytest.param(
            cluster(state(3, 3, epoch=2, replicas=UNION, adding=(3, 4)), **TARGETS_LIVE),
            (T0,),
            id="a-target-leads-with-what-it-had",
        ),
        pytest.param(
            cluster(state(3, 3, 4, epoch=3, replicas=(3, 4)), **TARGETS_LIVE),
            (T0,),
            id="and-the-move-was-done-then",
        ),
        pytest.param(
            cluster(state(3, 3, 4, epoch=5, replicas=(3, 4)), (1, 2, 3, 4), ALLOWED),
            (),
            id="the-move-was-done",
        ),
        pytest.param(
            cluster(state(3, 3, epoch=2, replicas=UNION, adding=(3, 4)), live=(3, 4)),
            (),
            id="nobody-allows-it",
        ),
        pytest.param(
            cluster(state(5, 5, epoch=9, replicas=(5, 6)), (5, 6), ALLOWED),
            (),
            id="it-was-moved-elsewhere-meanwhile",
        ),
    ],
)
def test_a_target_elected_in_the_middle_of_a_move(
    after: Cluster, found: tuple[TopicPartition, ...]
) -> None:
    assert unclean_elections_between(MOVING, after) == found


def test_a_target_elected_soon_after_the_request() -> None:
    before = cluster(state(1, 1, 2), live=(1, 2, 3, 4), config=ALLOWED)
    elected = state(3, 3, epoch=2, replicas=UNION, adding=(3, 4))
    assert unclean_elections_between(before, cluster(elected, **TARGETS_LIVE)) == (T0,)
