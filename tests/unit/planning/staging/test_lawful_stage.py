"""One stage while it is filled: what joins in the end, and how often."""

from itertools import permutations

import pytest

import builders
from builders import desired, pool_spec
from poolkeeper.model import specs
from poolkeeper.planning.rules import Rules
from poolkeeper.planning.staging.candidates import packer_for
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.lawful.lawful_stage import LawfulStage
from poolkeeper.planning.staging.limits import DEFAULT_BOUNDS
from poolkeeper.planning.staging.queues import Backlog
from poolkeeper.planning.staging.stage_capacity import StageCapacity


@pytest.mark.parametrize("offers", sorted(set(permutations([0, 0, 1, 2]))))
def test_a_step_that_is_offered_twice_joins_once(offers) -> None:
    """Broker 3 is full: t-0 may go there only once another leaves it; two do."""
    cluster = builders.cluster([1, 2, 3], builders.topic("t", (1,), (3,), (3,)))
    pool = pool_spec("p", 1, 2, 3, capacity=specs.Capacity(replicas=2), claims=("t",))
    moves = [builders.move("t", 0, (1,), (3,))]
    moves += [builders.move("t", number, (3,), (2,)) for number in (1, 2)]
    table = EntryTable(moves, cluster)
    backlog = Backlog(table)
    rules = Rules(desired(pool), cluster, frozenset())
    checks = packer_for(rules, DEFAULT_BOUNDS, moves, table).checks
    room = StageCapacity(table, specs.Execution(), DEFAULT_BOUNDS, checks.caps, 2**60)
    stage = LawfulStage(checks, backlog, room)
    for move in offers:
        row = table.move.index(move)
        if not backlog.gone[row]:
            stage.try_to_join(row)
    stage.make_up()
    assert sorted(table.move[row] for row in room.taken) == [0, 1, 2]
