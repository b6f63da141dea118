"""Which moves of a request a controller has begun, as several looks at their topic tell it.

Partitions 0 and 1 of topic t move in the request; partition 2 is somebody else's.
"""

from dataclasses import replace

import pytest

from builders import cluster, move, partition, plan, topic
from poolkeeper.model.execution.runs import Phase, Run
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.returns import ReturnState
from poolkeeper.reconcile.observe.cancelled_moves import cancelled_by_others, note_begun
from poolkeeper.reconcile.pass_memory import PassMemory

PLAN = plan(move("t", 0, (1, 2), (1, 3)), move("t", 1, (1, 2), (1, 3)))
RUN = Run("p", "f", "c", Phase.MOVING, "d", 1, 0, stage=1, step=((0, 1), (1, 1)))
REQUESTED = 7
"""The version of the topic's node as the request was made."""


def look(version: int, *moving: int, partitions: int = 3, kafka: str = "2.8.2") -> Cluster:
    """The topic with these partitions on their way."""
    lists = [
        partition(n, 1, 3, 2, adding=(3,), removing=(2,)) if n in moving else partition(n, 1, 2)
        for n in range(partitions)
    ]
    found = replace(topic("t", *lists), version=version)
    return cluster((1, 2, 3), found, kafka_version=kafka)


@pytest.mark.parametrize(
    ("looks", "begun"),
    [
        pytest.param([look(REQUESTED)], set(), id="nothing-yet"),
        pytest.param([look(REQUESTED + 1, 0)], {0}, id="between-two-writes-of-the-controller"),
        pytest.param([look(REQUESTED + 2, 0)], {0, 1}, id="one-write-for-each"),
        pytest.param([look(REQUESTED + 4)], {0, 1}, id="begun-and-ended-since"),
        pytest.param([look(REQUESTED, 2), look(REQUESTED + 1)], set(), id="theirs-ended-since"),
        pytest.param([look(REQUESTED + 1, 2), look(REQUESTED + 2)], set(), id="theirs-began-since"),
        pytest.param([look(REQUESTED + 1, 2), look(REQUESTED + 2, 0)], {0}, id="one-is-seen"),
        pytest.param([look(REQUESTED + 1, partitions=4)], set(), id="partitions-were-added"),
        pytest.param([look(REQUESTED + 1, 0, kafka="2.3.1")], set(), id="no-node-would-tell"),
    ],
)
def test_what_looks_tell_of_the_begin(looks: list[Cluster], begun: set[int]) -> None:
    memory = PassMemory(requested_nodes={"t": (REQUESTED, 3)})
    for seen in looks:
        note_begun(memory, RUN, PLAN, seen)
    assert memory.begun == begun


def test_what_was_begun_and_is_back_was_cancelled() -> None:
    memory = PassMemory(begun={0, 1})
    states = {0: ReturnState.RETURNED, 1: ReturnState.OUTWARD}
    assert cancelled_by_others(memory, RUN, states) == (0,)
    assert cancelled_by_others(memory, replace(RUN, returning=(0,)), states) == ()
    assert cancelled_by_others(PassMemory(), RUN, states) == ()
