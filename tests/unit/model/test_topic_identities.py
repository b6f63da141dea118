"""What tells a topic from a later one of its name, with and without an id of Kafka."""

from dataclasses import replace

import pytest

from builders import move, plan
from poolkeeper.model.columns.move_columns import ColumnMoves, MoveColumns
from poolkeeper.model.plans import DeleteTopic
from poolkeeper.model.topology import Topic
from poolkeeper.planning.proposals.identity import for_copies, plan_hash

BEFORE = Topic("t", (), created_zxid=30)
WITH_ID = replace(BEFORE, topic_id="id-1")
OF_SNAPSHOT = Topic("t", ())


@pytest.mark.parametrize(
    ("then", "now", "is_another"),
    [
        pytest.param(BEFORE, BEFORE, False, id="the-same"),
        pytest.param(BEFORE, replace(BEFORE, created_zxid=31), True, id="made-again"),
        pytest.param(BEFORE, WITH_ID, False, id="it-got-an-id"),
        pytest.param(BEFORE, replace(WITH_ID, created_zxid=31), True, id="made-again-with-an-id"),
        pytest.param(BEFORE, OF_SNAPSHOT, False, id="nobody-knows-when-it-was-made"),
        pytest.param(OF_SNAPSHOT, BEFORE, False, id="nor-when-that-of-the-plan-was"),
        pytest.param(WITH_ID, replace(WITH_ID, created_zxid=31), False, id="copied-with-its-id"),
        pytest.param(WITH_ID, replace(WITH_ID, topic_id="id-2"), True, id="another-id"),
        pytest.param(WITH_ID, BEFORE, False, id="its-id-is-not-known"),
    ],
)
def test_another_topic_of_the_name(then: Topic, now: Topic, is_another: bool) -> None:
    assert now.is_another(then.identity) is is_another


def test_when_a_topic_was_made_changes_no_hash_and_is_left_out_for_copies() -> None:
    found = []
    for identity in (BEFORE.identity, None):
        moved = move("t", 0, (1, 2), (3, 2))._replace(topic_id=identity)
        found.append(plan(moved, steps=(DeleteTopic("u", identity),)))
    told, untold = found
    copied = for_copies(told)
    assert tuple(copied.moves) == untold.moves
    assert copied.steps == untold.steps
    columns = ColumnMoves(MoveColumns.of(told.moves))
    hashes = {plan_hash(m, told.steps) for m in (told.moves, columns, untold.moves, copied.moves)}
    assert len(hashes) == 1
    of_id = plan(move("t", 0, (1, 2), (3, 2))._replace(topic_id="id-1"))
    assert tuple(for_copies(of_id).moves) == of_id.moves
