"""What goes on of a run whose record is lost, told from the record of its request."""

import pytest

from builders import cluster, partition, topic
from poolkeeper.model.execution.records import RequestRecord
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Partition, ReassignmentEntry, TopicPartition
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.reassignments import lost_runs

MOVE = Move("t", "id-1", 0, ((1, 2), (3, 4)), 8, "")
RECORD = RequestRecord("sha256:p", "sha256:f", (MOVE,))
UNION = {"adding": (3, 4), "removing": (1, 2)}
OURS = Wait(WaitReason.RUN_LOST, hash="sha256:p", partitions=(TopicPartition("t", 0),))


def told(
    found: Partition, entry: tuple[int, ...] | None, topic_id: str = "id-1"
) -> tuple[Wait, ...]:
    requested = None if entry is None else (ReassignmentEntry("t", 0, entry),)
    live = cluster((1, 2, 3, 4, 5), topic("t", found, topic_id=topic_id), reassignment=requested)
    lost = lost_runs.find(live, RECORD)
    return (*lost.waits(), *gates.foreign(live, lost.owned))


@pytest.mark.parametrize(
    ("found", "entry", "reasons"),
    [
        pytest.param(partition(0, 3, 4), None, (), id="arrived"),
        pytest.param(partition(0, 1, 2), None, (), id="never-requested"),
        pytest.param(partition(0, 1, 2), (3, 4), (WaitReason.RUN_LOST,), id="not-begun"),
        pytest.param(
            partition(0, 3, 4, 1, 2, **UNION), (3, 4), (WaitReason.RUN_LOST,), id="under-way"
        ),
        pytest.param(
            partition(0, 3, 4, 1, 2, **UNION), None, (WaitReason.RUN_LOST,), id="without-request"
        ),
        pytest.param(
            partition(0, 5, 2, 1, adding=(5,), removing=(1,)),
            None,
            (WaitReason.FOREIGN_MOVE,),
            id="somebody-took-it-over",
        ),
    ],
)
def test_what_goes_on_is_ours_or_theirs(
    found: Partition, entry: tuple[int, ...] | None, reasons: tuple[WaitReason, ...]
) -> None:
    assert tuple(wait.reason for wait in told(found, entry)) == reasons


def test_it_is_named_with_its_plan_and_dead_targets() -> None:
    assert told(partition(0, 3, 4, 1, 2, **UNION), (3, 4)) == (OURS,)
    live = cluster((1, 3), topic("t", partition(0, 3, 4, 1, 2, **UNION)))
    (wait,) = lost_runs.find(live, RequestRecord("p", "f", (MOVE._replace(topic_id=None),))).waits()
    assert wait.brokers == (4,)


def test_a_topic_that_was_made_again_is_another_one() -> None:
    found = partition(0, 3, 4, 1, 2, **UNION)
    assert [w.reason for w in told(found, None, "id-2")] == [WaitReason.FOREIGN_MOVE]
