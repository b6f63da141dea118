"""Which partitions of a topic node that says so still get replicas."""

import json

import pytest

from poolkeeper.zk.codecs.assignments import TopicAssignment
from poolkeeper.zk.codecs.state_nodes import StateColumns
from poolkeeper.zk.reading.ended_growths import without_ended

PLAIN = TopicAssignment.decode(b'{"version": 1, "partitions": {"0": [1], "1": [2]}}')


def state(*isr: int) -> bytes:
    body = {"version": 1, "leader": 1, "leader_epoch": 0, "controller_epoch": 1, "isr": isr}
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("replicas", "removing", "isr", "adds"),
    [
        pytest.param([1, 2, 3], [], state(1, 2), True, id="it-is-copied"),
        pytest.param([1, 2, 3], [], state(1, 3), True, id="another-is-behind"),
        pytest.param([1, 2, 3], [], state(3, 1, 2), False, id="all-are-in-sync"),
        pytest.param([1, 2, 3], [2], state(1, 2, 3), True, id="one-is-yet-to-leave"),
        pytest.param([1, 2, 3], [], None, True, id="nobody-knows"),
        pytest.param([1, 2, 3], [], b"no", True, id="nobody-can-tell"),
    ],
)
def test_what_is_added(
    replicas: list[int], removing: list[int], isr: bytes | None, adds: bool
) -> None:
    body = {
        "version": 3,
        "partitions": {"0": [1, 2], "1": replicas},
        "adding_replicas": {"1": [3]},
        "removing_replicas": {"1": removing} if removing else {},
    }
    node = TopicAssignment.decode(json.dumps(body).encode())
    states = StateColumns.decode([state(1), state(2), state(1, 2), isr, state(1)])
    found = without_ended([PLAIN, node, PLAIN], states)
    assert found == [{}, {1: (3,)} if adds else {}, {}]
