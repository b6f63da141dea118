"""What a process remembers of the progress of its run."""

import builders
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.progress.move_progress import classify
from poolkeeper.planning.run_state.reassignments.requests import SeenStall, Stall
from poolkeeper.reconcile.pass_memory import PassMemory

MOVE = builders.move("t", 0, (1, 2), (3, 2), bytes=100)
PLAN = builders.plan(MOVE)


def arrived(*seen: Cluster) -> list[tuple[int, int]]:
    """How many moves have arrived and how many are given up after each look."""
    memory, found = PassMemory(), []
    for cluster in seen:
        memory.note_all_moves(PLAN, classify(PLAN.moves, cluster), cluster)
        found.append((len(memory.arrived - memory.given_up), len(memory.given_up)))
    return found


def test_a_move_whose_topic_is_made_again_has_not_arrived() -> None:
    gone = builders.cluster((1, 2, 3))
    again = builders.cluster((1, 2, 3), builders.topic("t", (1, 2)))
    moving = builders.partition(0, 3, 2, 1, adding=(3,), removing=(1,), isr=(1, 2), leader=1)
    at_work = builders.cluster((1, 2, 3), builders.topic("t", moving))
    done = builders.cluster((1, 2, 3), builders.topic("t", (3, 2)))
    assert arrived(gone, gone, again) == [(0, 1), (0, 1), (0, 0)]
    assert arrived(gone, at_work, done) == [(0, 1), (0, 0), (1, 0)]
    assert arrived(done, again) == [(1, 0), (1, 0)]


def test_how_long_something_has_lasted_is_counted_anew_in_the_next_run() -> None:
    memory = PassMemory()
    memory.stall = SeenStall(Stall.IGNORED, 7, 1000)
    memory.unheard_since_ms = memory.electing_since_ms = 1000
    memory.overdue = {0: 1000}
    memory.forget_run()
    lasting = (memory.stall, memory.unheard_since_ms, memory.electing_since_ms, memory.overdue)
    assert lasting == (None, None, None, {})
