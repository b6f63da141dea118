"""What goes between a process and its workers arrives as it was."""

import io
from dataclasses import replace

import pytest
from hypothesis import given

from builders import cluster_spec
from laws import examples
from poolkeeper.errors import InvalidInput, PoolkeeperError, Problem, Refused, Unavailable
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import BrokerRecord, Records, TopicRecord
from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    LogDir,
    Partition,
    ReassignmentEntry,
    Topic,
)
from poolkeeper.planning.planner import make_plan
from poolkeeper.workers import wire
from poolkeeper.workers.wire import PlanningRequest
from unit.planning.instances import instances

FULL = PlanningRequest(
    Desired(cluster_spec()),
    Cluster(
        "main",
        {1: Broker(1, "a", ("PLAINTEXT://b1:9092",), {"k": "v"}, {"/d": LogDir(10, 5)})},
        {
            "orders": Topic(
                "orders",
                (
                    Partition(0, (1, 2), (2,), (1,), 1, (1,), 7, 100, 2.5, {1: "/d"}),
                    Partition(3, (1,), leader=-1),
                ),
                "id",
                {"retention.ms": "1"},
                4,
            ),
            "empty": Topic("empty", ()),
        },
        "c1",
        "2.4",
        Controller(1, 2, 3),
        (ReassignmentEntry("orders", 0, (2,)),),
        electing=True,
        deleting=frozenset({"old"}),
        torn=frozenset({"torn"}),
        damaged={"bad": "no JSON"},
        restart_locked=True,
    ),
    Records("c1", {"orders": TopicRecord("shop/orders", ("retention.ms",))}, {9: BrokerRecord()}),
    frozenset({9}),
)


def test_a_request_arrives_as_it_was() -> None:
    assert wire.unpack_request(wire.pack_request(FULL)) == FULL


def test_pieces_are_short_and_keep_the_order_of_topics() -> None:
    size = wire.PIECE
    topics = {
        name: Topic(name, tuple(Partition(p, (1, 2)) for p in range(partitions)))
        for name, partitions in [("z", size), ("b", size - 2), ("a", 1), ("c", 0), ("d", 5)]
    }
    request = replace(FULL, cluster=replace(FULL.cluster, topics=topics))
    pieces = list(wire.pack_request(request))
    assert len(pieces) == 4, "what is not topics, z, b with a, c with d"
    arrived = wire.unpack_request(pieces)
    assert list(arrived.cluster.topics.items()) == list(topics.items())


@examples(6)
@given(instances())
def test_every_request_and_its_plan_arrive_as_they_were(
    instance: tuple[Desired, Cluster, frozenset[int]],
) -> None:
    desired, cluster, gone = instance
    request = PlanningRequest(desired, cluster, Records(), gone)
    assert wire.unpack_request(wire.pack_request(request)) == request
    plan = make_plan(desired, cluster, Records(), gone)
    assert wire.unpack_response(wire.pack_plan(plan)) == plan


def test_a_plan_of_many_pieces_arrives_as_it_was() -> None:
    desired, cluster = Desired(cluster_spec()), FULL.cluster
    plan = make_plan(desired, cluster)
    move = Move("orders", "id", 0, ((1, 2), (1, 3)), 700, "balance")
    many = replace(plan, moves=tuple(move._replace(partition=p) for p in range(2 * wire.PIECE + 1)))
    pieces = list(wire.pack_plan(many))
    assert len(pieces) == 2 + 3
    assert wire.unpack_response(pieces) == many


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        pytest.param(Refused("no"), Refused, "no", id="refusal"),
        pytest.param(
            InvalidInput([Problem("f", 1, "spec", "is wrong")]),
            Refused,
            "f:1: spec: is wrong",
            id="problems-become-their-text",
        ),
        pytest.param(Unavailable("away"), PoolkeeperError, "away", id="another-of-ours"),
        pytest.param(
            KeyError("topic"),
            RuntimeError,
            "planning failed in a worker process:\nTraceback …",
            id="a-defect-with-its-traceback",
        ),
    ],
)
def test_an_error_arrives_as_one(error: Exception, kind: type[Exception], text: str) -> None:
    arrived = wire.unpack_response(wire.pack_error(error, "Traceback …"))
    assert (type(arrived), str(arrived)) == (kind, text)


def test_what_is_written_is_read() -> None:
    pipe = io.BytesIO()
    wire.write(pipe, [b"one", b"two"])
    wire.write(pipe, [])
    wire.write(pipe, [b"three"])
    pipe.seek(0)
    assert [list(wire.read(pipe)) for _ in range(3)] == [[b"one", b"two"], [], [b"three"]]


@pytest.mark.parametrize(
    "came",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\0\0", id="half-a-length"),
        pytest.param(b"\0\0\0\x05abc", id="half-a-piece"),
        pytest.param(b"\0\0\0\x03abc", id="no-end"),
        pytest.param(b"\xff\xff\xff\xff", id="a-length-beyond-all-bounds"),
    ],
)
def test_what_ends_early_is_an_end(came: bytes) -> None:
    with pytest.raises(EOFError):
        list(wire.read(io.BytesIO(came)))


def test_an_empty_plan_arrives() -> None:
    plan = Plan("main", "h", "f")
    assert wire.unpack_response(wire.pack_plan(plan)) == plan
