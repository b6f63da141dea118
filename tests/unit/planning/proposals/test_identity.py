"""The plan's hash is the SHA-256 of canonical JSON, whatever way it is computed."""

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.model.plans import DeleteTopic, Move
from poolkeeper.planning.proposals.identity import plan_hash

REPLICAS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=4, unique=True).map(tuple)
MOVES = st.builds(
    Move,
    topic=st.text(max_size=5),
    topic_id=st.none() | st.text(max_size=5),
    partition=st.integers(0, 2**31 - 1),
    path=st.lists(REPLICAS, min_size=1, max_size=4).map(tuple),
    bytes=st.integers(0, 2**60),
    reason=st.text(max_size=5),
)


@given(st.lists(MOVES, unique_by=lambda move: (move.topic, move.partition)), st.text(max_size=5))
def test_the_hash_is_that_of_canonical_json(moves: list[Move], deleted: str) -> None:
    ordered = sorted(moves, key=lambda move: (move.topic, move.partition))
    form = {
        "moves": [[move.topic, move.topic_id, move.partition, move.path] for move in ordered],
        "steps": [{"kind": "DeleteTopic", "topic": deleted, "topicId": None}],
    }
    text = json.dumps(form, sort_keys=True, separators=(",", ":"))
    expected = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert plan_hash(moves, (DeleteTopic(deleted),)) == expected
