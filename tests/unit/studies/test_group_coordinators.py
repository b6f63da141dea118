"""What a loss of brokers does to consumer groups: their coordinators, and who leads them."""

import pytest

from builders import cluster, partition, topic
from poolkeeper.algorithms.groups import ListedMember
from poolkeeper.studies.broker_loss import lose
from poolkeeper.studies.group_coordinators import (
    OFFSETS_TOPIC,
    CoordinatorFate,
    ListedGroup,
    groups_after,
    lost_first,
)
from poolkeeper.studies.loss_settings import LossSettings

SESSION = LossSettings({"zookeeper.session.timeout.ms": "6000"})
UNCLEAN = {"unclean.leader.election.enable": "true"}
A, B, C = (ListedMember(f"{name}-1", name, "h") for name in "abc")


@pytest.mark.parametrize(
    ("offsets", "config", "lost", "expected"),
    [
        pytest.param(
            partition(0, 1, 2), {}, 2, (CoordinatorFate.KEPT, 1, 1, 0), id="a follower is lost"
        ),
        pytest.param(
            partition(0, 1, 2), {}, 3, (CoordinatorFate.KEPT, 1, 1, 0), id="it has no replica there"
        ),
        pytest.param(
            partition(0, 1, 2),
            {},
            1,
            (CoordinatorFate.MOVED, 1, 2, 6),
            id="the coordinator is lost",
        ),
        pytest.param(
            partition(0, 1, 2, isr=(1,)),
            UNCLEAN,
            1,
            (CoordinatorFate.OFFSETS_LOST, 1, 2, 6),
            id="the next one is not in sync",
        ),
        pytest.param(
            partition(0, 1), {}, 1, (CoordinatorFate.NONE, 1, -1, None), id="there is no next one"
        ),
        pytest.param(
            partition(0, 9, leader=-1),
            {},
            1,
            (CoordinatorFate.NONE, -1, -1, None),
            id="there was none before",
        ),
    ],
)
def test_what_becomes_of_the_coordinator(offsets, config, lost, expected) -> None:
    observed = cluster((1, 2, 3), topic(OFFSETS_TOPIC, offsets, config=config))
    study = lose(observed, [lost], SESSION)
    (found,) = groups_after(study, observed, {"g": ListedGroup()})
    pause = None if found.pause_s is None else round(found.pause_s)
    assert (found.fate, found.coordinator_before, found.coordinator, pause) == expected


@pytest.mark.parametrize(
    ("offsets", "lost", "fate", "refuses"),
    [
        pytest.param(partition(0, 1, 2, 3), 1, CoordinatorFate.MOVED, False, id="enough are left"),
        pytest.param(
            partition(0, 1, 2, 3, isr=(1, 2)), 1, CoordinatorFate.MOVED, True, id="the next one"
        ),
        pytest.param(
            partition(0, 1, 2, 3, isr=(1, 2)), 2, CoordinatorFate.KEPT, True, id="the same one"
        ),
        pytest.param(partition(0, 1), 1, CoordinatorFate.NONE, False, id="there is none"),
    ],
)
def test_a_coordinator_with_too_few_in_sync_refuses_commits(offsets, lost, fate, refuses) -> None:
    config = {"min.insync.replicas": "2"}
    observed = cluster((1, 2, 3), topic(OFFSETS_TOPIC, offsets, config=config))
    study = lose(observed, [lost], SESSION)
    (found,) = groups_after(study, observed, {"g": ListedGroup()})
    assert (found.fate, found.refuses_commits) == (fate, refuses)
    assert (found.pause_s is None) == (refuses or fate is CoordinatorFate.NONE)


def test_groups_that_lose_most_come_first() -> None:
    offsets = topic(OFFSETS_TOPIC, partition(0, 1), partition(1, 1, 2), partition(2, 2))
    observed = cluster((1, 2), offsets)
    groups = {name: ListedGroup() for name in ("a", "b", "c", "d")}  # of partitions 1, 2, 0, 1
    found = lost_first(groups_after(lose(observed, [1], SESSION), observed, groups))
    assert [(each.group, each.partition) for each in found] == [
        ("c", 0),
        ("a", 1),
        ("d", 1),
        ("b", 2),
    ]


@pytest.mark.parametrize(
    ("listed", "leader", "next_leader"),
    [
        pytest.param(
            ListedGroup((A, B, C), "b-1"), B, A, id="the first one that is listed is next"
        ),
        pytest.param(ListedGroup((A, B, C), "a-1"), A, B, id="the leader is listed first"),
        pytest.param(ListedGroup((A,), "a-1"), A, None, id="it is alone"),
        pytest.param(ListedGroup((A, B), "c-1"), None, None, id="it has left since"),
        pytest.param(ListedGroup((A, B)), None, None, id="it is not known"),
        pytest.param(ListedGroup(), None, None, id="nobody tells"),
    ],
)
def test_who_leads_and_takes_over(listed, leader, next_leader) -> None:
    assert (listed.leader, listed.next_leader) == (leader, next_leader)
