"""A run that is cut off anywhere is taken up where it was: nothing twice, nothing lost."""

from collections.abc import Sequence

import pytest

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loop import drive
from poolkeeper.model.execution.outcomes import State
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import Desired, Execution, Throttle, ThrottleMode
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk.client.operations import Operation
from poolkeeper.zk.client.session import Session
from real.support import (
    MIB,
    asking_brokers,
    assert_nothing_left,
    assignment,
    create,
    desired,
    history,
    ignore,
    last_zxid,
    move,
    plan_of,
    requested_steps,
    seen,
    steps_of,
)


class Cut(BaseException):
    """The end of a process, as far as its code can tell."""


class Mortal(Session):
    """A session whose process dies around its `commits_left`th write from now."""

    commits_left = 0
    dies_after = False

    def commit(self, wanted: Sequence[Operation]) -> tuple[str, ...]:
        Mortal.commits_left -= 1
        if Mortal.commits_left == 0 and not Mortal.dies_after:
            raise Cut
        answers = super().commit(wanted)
        if Mortal.commits_left == 0:
            raise Cut
        return answers


@pytest.mark.parametrize(
    ("version", "ways", "first", "last"),
    [
        pytest.param(
            "3.9.2",
            [[(1, 2), (3, 2)], [(2, 1), (2, 3)]],
            2,  # the first is the journal's own
            99,
            id="3.9.2-any-write",
        ),
        pytest.param(
            "2.0.1",
            [[(1, 2), (3, 2)], [(2, 1), (2, 3), (1, 3)]],
            8,
            12,
            id="2.0.1-requests-of-two-stages",
        ),
    ],
)
def test_a_run_that_is_cut_off_around_any_write_is_taken_up(
    kafka, topic_name, version, ways, first, last
):
    """One run after the other, there and back, each cut off one write later than the one before.

    Alternately the write did not happen, or did and nobody heard of it.
    """
    sandbox = kafka(version)
    create(sandbox, topic_name, *(way[0] for way in ways))
    execution = Execution(throttle=Throttle(ThrottleMode.FIXED, 10 * MIB))
    wanted = desired(topic_name, execution=execution)
    write, cut = first, True
    while cut and write <= last:
        moves = [move(sandbox, topic_name, p, *way) for p, way in enumerate(ways)]
        plan = plan_of(wanted, sandbox, moves=moves)
        zxid = last_zxid(sandbox)
        cut = cut_off(sandbox, wanted, plan, write)
        if cut:
            outcome = drive(asking_brokers(sandbox), wanted, plan, ignore)
            assert outcome.state is State.CONVERGED
        assert assignment(sandbox, topic_name) == [m.target for m in moves]
        topic = seen(sandbox, topic_name).topics[topic_name]
        assert [p.leader for p in topic.partitions] == [m.target[0] for m in moves]
        assert requested_steps(history(sandbox, zxid)) == steps_of(moves)
        assert_nothing_left(sandbox, topic_name)
        write += 1
        ways = [way[::-1] for way in ways]
    assert write > 12


def cut_off(sandbox: Sandbox, wanted: Desired, plan: Plan, write: int) -> bool:
    """Drive until around the `write`th write; return false if there were fewer."""
    mortal = ClusterConnections(
        lambda: Mortal.open(sandbox.connect, timeout_s=6), asking_brokers(sandbox).brokers
    )
    Mortal.commits_left, Mortal.dies_after = write, write % 2 == 0
    try:
        drive(mortal, wanted, plan, ignore)
    except Cut:
        return True
    finally:
        Mortal.commits_left = 0
    return False
