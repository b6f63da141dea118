"""A run that is cut off anywhere is taken up where it was: nothing twice, nothing lost."""

import pytest

from poolkeeper.controller.loops.drive import drive
from poolkeeper.model.execution.outcomes import State
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from real.support import (
    MIB,
    asking_brokers,
    assert_nothing_left,
    assignment,
    create,
    cut_off,
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


@pytest.mark.parametrize(
    ("version", "ways", "writes"),
    [
        pytest.param(
            "3.9.2",
            [[(1, 2), (3, 2)], [(2, 1), (2, 3)]],
            range(2, 99, 3),  # the first is the journal's own
            id="3.9.2-every-third-write",
        ),
        pytest.param(
            "3.9.2",
            [[(1, 2), (3, 2)], [(2, 1), (2, 3)]],
            range(2, 99),
            id="3.9.2-any-write",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            "2.0.1",
            [[(1, 2), (3, 2)], [(2, 1), (2, 3), (1, 3)]],
            range(8, 13),
            id="2.0.1-requests-of-two-stages",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_a_run_that_is_cut_off_around_any_write_is_taken_up(
    kafka, topic_name, version, ways, writes
):
    """One run after the other, there and back, each cut off some writes later than the one before.

    Alternately the write did not happen, or did and nobody heard of it.
    """
    sandbox = kafka(version)
    create(sandbox, topic_name, *(way[0] for way in ways))
    execution = Execution(throttle=Throttle(ThrottleMode.FIXED, 10 * MIB))
    wanted = desired(topic_name, execution=execution)
    for write in writes:
        moves = [move(sandbox, topic_name, p, *way) for p, way in enumerate(ways)]
        plan = plan_of(wanted, sandbox, moves=moves)
        zxid = last_zxid(sandbox)
        cut = cut_off(asking_brokers(sandbox), sandbox.connect, wanted, plan, write)
        if cut:
            outcome = drive(asking_brokers(sandbox), wanted, plan, ignore)
            assert outcome.state is State.CONVERGED
        assert assignment(sandbox, topic_name) == [m.target for m in moves]
        topic = seen(sandbox, topic_name).topics[topic_name]
        assert [p.leader for p in topic.partitions] == [m.target[0] for m in moves]
        assert requested_steps(history(sandbox, zxid)) == steps_of(moves)
        assert_nothing_left(sandbox, topic_name)
        ways = [way[::-1] for way in ways]
        if not cut:
            break
    assert write >= 12
