"""The request's bytes, the reply's, and reading with a server that is a function."""

import struct
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kazoo.exceptions import ConnectionLoss, NoAuthError, NoNodeError
from kazoo.protocol.states import ZnodeStat

from poolkeeper.errors import Unavailable
from poolkeeper.zk.client import multiread
from poolkeeper.zk.client.failures import READ_ATTEMPTS
from poolkeeper.zk.client.multiread import BODIES, NODES, MultiRead, Reply
from poolkeeper.zk.client.nodes import UNREADABLE, Node

NODE = Node(b"body", 3, 10, 11, 12, 4)


def header(kind: int, done: bool, error: int) -> bytes:
    return struct.pack("!iBi", kind, done, error)


def answer(node: Node | int) -> bytes:
    """Return a server's answer to one read; stat fields that nobody wants are -7."""
    if isinstance(node, int):
        return header(-1, False, node) + struct.pack("!i", node)
    stat = struct.pack(
        "!qqqqiiiqiiq",
        *(node.czxid, node.mzxid, -7, -7, node.version, -7, -7),
        *(node.ephemeral_owner, len(node.data), node.children, -7),
    )
    return header(4, False, 0) + struct.pack("!i", len(node.data)) + node.data + stat


def reply(*nodes: Node | int) -> Reply:
    body = b"".join(map(answer, nodes)) + header(-1, True, -1)
    return Reply(b"sixteen bytes of" + body, 16)


def paths_of(request: MultiRead) -> list[str]:
    """Read a request as a server does."""
    found, offset = [], 0
    while True:
        kind, done, error = struct.unpack_from("!iBi", request.body, offset)
        offset += 9
        if done:
            assert (kind, error, offset) == (-1, -1, len(request.body))
            return found
        assert (kind, error) == (4, -1)
        (length,) = struct.unpack_from("!i", request.body, offset)
        offset += 4 + length + 1
        assert request.body[offset - 1] == 0, "no watch"
        found.append(request.body[offset - 1 - length : offset - 1].decode())


class Result:
    """Kazoo's asynchronous result, with its outcome there already."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    def get(self, block: bool, timeout_s: float) -> Any:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def test_a_request_holds_the_paths_below_the_chroot() -> None:
    request, count = multiread.encode(("/a", "/b/é"), "/kafka")
    assert (paths_of(request), count) == (["/kafka/a", "/kafka/b/é"], 2)


def test_a_request_stops_before_its_bound_but_holds_at_least_one_path() -> None:
    request, count = multiread.encode(["/" + "x" * 990] * 1000)
    assert count == 256 * 1024 // (9 + 4 + 991 + 1)
    assert len(request.body) <= multiread.REQUEST_BYTES_MAX + 9
    assert multiread.encode(["/" + "x" * 300_000] * 2)[1] == 1


def test_kazoo_is_given_what_it_asks_of_a_request() -> None:
    request = MultiRead(b"body")
    assert (request.type, request.serialize()) == (22, b"body")
    assert MultiRead.deserialize(b"buffer", 16) == Reply(b"buffer", 16)


def test_a_reply_holds_nodes_and_errors_in_order() -> None:
    nodes = (NODE, -101, Node(b"", 0, 1, 1, 0, 0), -102)
    assert NODES.many(reply(*nodes), 4) == list(nodes)


def test_a_node_without_data_reads_as_empty() -> None:
    empty = answer(NODE._replace(data=b"")).replace(struct.pack("!iBii", 4, 0, 0, 0), b"")
    body = header(4, False, 0) + struct.pack("!i", -1) + empty
    assert NODES.many(Reply(body, 0), 1) == [NODE._replace(data=b"")]
    assert BODIES.many(Reply(body, 0), 1) == [b""]
    assert BODIES.one(None, None) == b""


nodes = st.builds(
    Node,
    st.binary(max_size=20),
    st.integers(0, 2**31 - 1),
    *[st.integers(0, 2**63 - 1)] * 2,
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**31 - 1),
)


@given(st.lists(nodes | st.sampled_from([-101, -102]), max_size=30))
def test_whatever_a_server_answers_is_read_back(found: list[Node | int]) -> None:
    assert NODES.many(reply(*found), len(found)) == found
    bodies = [each if isinstance(each, int) else each.data for each in found]
    assert BODIES.many(reply(*found), len(found)) == bodies


def serving(
    tree: Callable[[str], Node | int], seen: list[int], lost: Callable[[int], bool]
) -> Callable[[MultiRead], Result]:
    """Return a server: it answers from `tree`, and drops the n-th request if `lost(n)`."""

    def ask(request: MultiRead) -> Result:
        wanted = paths_of(request)
        seen.append(len(wanted))
        if lost(len(seen)):
            return Result(ConnectionLoss())
        return Result(reply(*map(tree, wanted)))

    return ask


def leaf(path: str) -> Node | int:
    number = int(path.removeprefix("/n"))
    return -101 if number % 7 == 0 else NODE._replace(version=number)


def test_slices_grow_while_replies_are_small() -> None:
    seen: list[int] = []
    paths = [f"/n{i}" for i in range(3000)]
    found = multiread.read(paths, serving(leaf, seen, lambda n: False), 1, NODES)
    assert found == [leaf(path) for path in paths]
    assert seen[:4] == [100] * 4
    assert max(seen) == multiread.PATHS_MAX


@pytest.mark.slow
def test_slices_shrink_where_replies_are_large() -> None:
    seen: list[int] = []
    large = NODE._replace(data=bytes(100_000))
    ask = serving(lambda path: large, seen, lambda n: False)
    found = multiread.read(["/n"] * 1000, ask, 1, NODES)
    assert found == [large] * 1000
    assert set(seen[4:]) == {10}


def test_a_slice_that_costs_the_connection_is_halved() -> None:
    seen: list[int] = []
    paths = [f"/n{i}" for i in range(100)]
    found = multiread.read(paths, serving(leaf, seen, lambda n: n == 1), 1, NODES)
    assert found == [leaf(path) for path in paths]
    assert seen == [100, 50, 50]


def test_a_connection_that_is_lost_again_and_again_is_not_asked_for_ever() -> None:
    seen: list[int] = []
    with pytest.raises(ConnectionLoss):
        multiread.read(["/n1"], serving(leaf, seen, lambda n: True), 1, NODES)
    assert len(seen) == multiread.ATTEMPTS


@pytest.mark.parametrize("limit", [128 * 1024, 16 * 1024, 5 * 1024])
def test_a_server_that_hangs_up_on_long_requests_is_asked_in_short_ones(limit: int) -> None:
    seen: list[int] = []
    lost: list[int] = []
    bound = multiread.RequestBound()
    paths = [f"/n{i:0240}" for i in range(3000)]

    def ask(request: MultiRead) -> Result:
        seen.append(len(request.body))
        if len(request.body) > limit:
            lost.append(len(request.body))
            return Result(ConnectionLoss())
        return Result(reply(*map(leaf, paths_of(request))))

    for _ in range(2):
        assert multiread.read(paths, ask, 1, NODES, "", bound) == [leaf(path) for path in paths]
    assert 0 < len(lost) <= multiread.IN_FLIGHT * 8
    assert max(seen[len(seen) // 2 :]) <= limit, "what was learned stays known to the session"


def test_a_short_request_that_is_lost_makes_no_other_shorter() -> None:
    bound = multiread.RequestBound()
    paths = [f"/n{i}" for i in range(100)]
    found = multiread.read(paths, serving(leaf, [], lambda n: n == 1), 1, NODES, "", bound)
    assert found == [leaf(path) for path in paths]
    assert bound.bytes_max == multiread.REQUEST_BYTES_MAX


def test_a_single_long_path_is_not_asked_for_ever() -> None:
    seen: list[int] = []
    path = f"/n{1:05000}"
    with pytest.raises(ConnectionLoss):
        multiread.read([path, path], serving(leaf, seen, lambda n: True), 1, NODES)
    assert len(seen) <= 2 * multiread.ATTEMPTS + 2


@given(st.integers(0, 1500), st.sets(st.integers(1, 8), max_size=2))
def test_every_path_gets_its_own_answer_whatever_is_lost(count: int, lost: set[int]) -> None:
    paths = [f"/n{i}" for i in range(count)]
    found = multiread.read(paths, serving(leaf, [], lambda n: n in lost), 1, NODES)
    assert found == [leaf(path) for path in paths]


def test_single_reads_give_the_same_and_keep_a_window() -> None:
    waiting = 0
    most = 0

    class Counting(Result):
        def get(self, block: bool, timeout_s: float) -> Any:
            nonlocal waiting
            waiting -= 1
            return super().get(block, timeout_s)

    def ask(path: str) -> Result:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        node = leaf(path)
        if isinstance(node, int):
            return Counting(NoNodeError())
        stat = ZnodeStat(10, 11, 0, 0, node.version, 0, 0, 12, 4, 4, 0)
        return Counting((node.data, stat))

    paths = [f"/n{i}" for i in range(100)]
    assert multiread.read_singly(paths, ask, 1, NODES, window=10) == [leaf(path) for path in paths]
    assert (waiting, most) == (0, 10)


@given(st.sets(st.integers(0, 200), max_size=60))
def test_single_reads_whose_connection_is_lost_are_asked_again(lost: set[int]) -> None:
    asked: list[str] = []

    def ask(path: str) -> Result:
        asked.append(path)
        if len(asked) in lost:
            return Result(ConnectionLoss())
        return Result((path.encode(), ZnodeStat(10, 11, 0, 0, 3, 0, 0, 12, 4, 4, 0)))

    paths = [f"/n{i}" for i in range(100)]
    try:
        found = multiread.read_singly(paths, ask, 1, BODIES, window=10)
    except ConnectionLoss:
        assert max(Counter(asked).values()) == READ_ATTEMPTS
    else:
        assert found == [path.encode() for path in paths]


def test_a_forbidden_node_reads_as_such_one_by_one() -> None:
    assert multiread.read_singly(["/a"], lambda path: Result(NoAuthError()), 1, NODES) == [-102]


@pytest.mark.parametrize(
    ("found", "unreadable", "node"),
    [
        pytest.param(NODE, None, NODE, id="a-node-is-itself"),
        pytest.param(-101, None, None, id="no-node-is-none"),
        pytest.param(-102, UNREADABLE, UNREADABLE, id="a-forbidden-node-where-that-is-fine"),
    ],
)
def test_an_answer_becomes_a_node(
    found: Node | int, unreadable: Node | None, node: Node | None
) -> None:
    assert multiread.found_node("/a", found, unreadable) == node


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-102, "reading /a is not allowed for this ZooKeeper identity"),
        (-127, "ZooKeeper has more requests than it can answer (reading /a)"),
    ],
)
def test_any_other_answer_is_an_error_that_names_the_path(code: int, message: str) -> None:
    with pytest.raises(Unavailable) as raised:
        multiread.found_node("/a", code, None)
    assert str(raised.value) == message
