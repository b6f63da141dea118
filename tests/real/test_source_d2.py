"""What a reassignment's request must never hold, and that it never reaches ZooKeeper.

A plan that would lead to a bad request is refused before a run begins; the writer of requests
refuses it again, whoever asks.
"""

from dataclasses import replace

import pytest

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops.drive import drive
from poolkeeper.errors import Refused
from poolkeeper.model.execution.runs import Phase, Run
from poolkeeper.model.plans import Move, Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.zk import apply
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import journal
from poolkeeper.zk.reading import observe
from real.bare import JOURNAL
from real.support import desired, ignore

BAD_MOVES = {
    "unknown-topic": ([("ghost", 0, [(1, 2), (1, 3)])], "ghost-0 does not exist"),
    "unknown-partition": ([("t", 7, [(1, 2), (1, 3)])], "t-7 does not exist"),
    "dead-broker": ([("t", 0, [(1, 2), (1, 99)])], r"t-0 would gain \[99\], not live"),
    "no-replicas": ([("t", 0, [(1, 2), ()])], r"the list \[\] of t-0 is empty"),
    "a-broker-twice": ([("t", 0, [(1, 2), (3, 3)])], "of t-0 names a broker twice"),
    "no-broker-id": ([("t", 0, [(1, 2), (-1, 2)])], "t-0"),
    "a-text-for-an-id": ([("t", 0, [(1, 2), ("1", 2)])], "t-0"),
    "a-partition-twice": (
        [("t", 0, [(1, 2), (1, 3)]), ("t", 0, [(1, 2), (3, 2)])],
        "a request names t-0 twice",
    ),
    "nothing": ([], "a request names no partition"),
}


@pytest.mark.parametrize(
    ("bad", "said"), [pytest.param(*row, id=id_) for id_, row in BAD_MOVES.items()]
)
def test_a_request_that_could_hurt_a_controller_is_not_written(bare, bad, said):
    with (
        Session.open(bare.connect) as session,
        journal.hold(session, "apply", 0, patience_s=1) as j,
    ):
        cluster = observe.cluster(session, "c").cluster
        run = j.begin(Run("sha256:0", "sha256:0", "sha256:0", Phase.MOVING, "", 0, 0), ())
        after = replace(run, step=tuple((index, 1) for index in range(len(bad))))
        plan = Plan("c", "sha256:0", "sha256:0", moves=moves_of(bad))
        bare.settle()
        with pytest.raises(Refused, match=said):
            apply.request(j, run, after, plan, cluster)
        assert bare.written() == ()
        j.end(run)


@pytest.mark.parametrize(
    "bad", [pytest.param(moves, id=id_) for id_, (moves, _) in BAD_MOVES.items() if moves]
)
def test_a_plan_with_such_a_move_is_refused_before_anything_is_written(bare, bad):
    moves = moves_of(bad)
    wanted = desired("t")
    fingerprint = plan_json.fingerprint(wanted, "the-bare-one", frozenset())
    plan = Plan("c", plan_json.plan_hash(moves, ()), fingerprint, moves=moves)
    bare.settle()
    with pytest.raises(Refused):
        drive(ClusterConnections(lambda: Session.open(bare.connect)), wanted, plan, ignore)
    assert bare.written_paths() <= JOURNAL


def moves_of(bad: list[tuple[str, int, list[tuple]]]) -> tuple[Move, ...]:
    return tuple(Move(topic, None, p, tuple(path), 1, "bad") for topic, p, path in bad)
