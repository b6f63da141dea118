"""What is written for a stage stays within the transactions of ZooKeeper."""

import pytest

import builders
from builders import partition, topic
from poolkeeper.algorithms.sizes import reassignment_bytes
from poolkeeper.model.execution.records import RequestRecord
from poolkeeper.zk import znodes
from poolkeeper.zk.client.operations import Check, Create, SetData, require_bounds
from poolkeeper.zk.journal.runs import encode_request
from unit.planning.staged import desired, entries, first, move


@pytest.mark.slow
@pytest.mark.parametrize(
    ("topics", "partitions", "factor", "name_length"),
    [
        pytest.param(480, 8, 10, 4, id="long-lists"),
        pytest.param(480, 3, 3, 120, id="long-names"),
        pytest.param(480, 2, 2, 180, id="longer-names"),
        pytest.param(480, 10, 1, 4, id="many-moves"),
    ],
)
def test_what_is_written_for_a_stage_stays_within_a_transaction(
    topics, partitions, factor, name_length
) -> None:
    """The request with its checks and the run's record of it, and before that the journal's."""
    ids = range(10_000, 10_000 + 2 * factor)
    before, after = tuple(ids[:factor]), tuple(ids[factor:])
    lists = {
        f"{n:0{name_length}}": [partition(p, *before) for p in range(partitions)]
        for n in range(topics)
    }
    moves = [
        move(name, p, before, after, gib=1000 * factor)._replace(topic_id="zxid:ffffffffff")
        for name in lists
        for p in range(partitions)
    ]
    observed = builders.cluster(ids, *(topic(name, *of) for name, of in lists.items()))
    wanted = desired(max_moves=99_999, max_moves_per_broker=99_999, max_bytes=2**60)
    stage = entries(first(moves, observed, wanted))
    going = tuple(moves[m] for m, _ in stage)
    record = encode_request(RequestRecord("sha256:" + 64 * "0", "sha256:" + 64 * "0", going))
    require_bounds([SetData(znodes.RECORD_OF_REQUEST, record, 1)])
    request = b"x" * reassignment_bytes((m.topic, m.partition, m.target) for m in going)
    run = b"x" * (1000 + len(str(stage)))
    checks = [Check(znodes.topic(name), 1) for name in {m.topic for m in going}]
    writes = [SetData(znodes.RUN, run, 1), Create(znodes.REASSIGNMENT, request)]
    require_bounds([*checks, *writes])
    assert max(len(record), len(request)) > 100 * 1024
