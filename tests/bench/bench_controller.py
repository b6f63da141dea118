"""What a controller does in ZooKeeper, request by request, pipelined and batched.

    python tests/bench/bench_controller.py [--scale 1]

The two workloads by which Kafka 1.1 was measured when its controller began to send requests without
waiting for each answer, here on one server of this machine:

* start: 2,000 topics of 50 partitions, RF 1: all topics and all states are read.
* controlled shutdown of one of 5 brokers: 25,000 topics of one partition, RF 2. The states of its
  10,000 partitions are read, leaders are elected and ISRs shrink, and the states are written under
  the controller's epoch.

The ways: a request at a time, as until 1.0; 1,000 requests in flight, as since 1.1; and requests of
many nodes each (multiRead of 1,000, transactions of 200 writes), which no release of Kafka has.
What is decided, and the nodes' forms, are the simulated controller's own (`sandbox/simulation`).

`processor` is what this process used of processors, which other work on the machine does not
stretch as it does `seconds`. `requests` is how many are sent, `waits` how often the sender has
nothing to do but wait for an answer. Kafka's figures are from five servers in a network, where a
wait is a millisecond or so and most of the time; the last column adds that millisecond to ours. On
one machine an answer is there at once, and what is left of the difference is the work of a request.

It fails unless the same states come out of every way, and the others wait a tenth as often.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import trees
from rich.console import Console
from rich.table import Table

from poolkeeper.sandbox import Sandbox, SandboxSpec
from poolkeeper.sandbox.clock import RealClock
from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.codecs import PartitionState, Tp
from poolkeeper.sandbox.simulation.controller import election_rules
from poolkeeper.sandbox.simulation.profiles import Profile
from poolkeeper.sandbox.simulation.zookeeper.kazoo_session import (
    IN_FLIGHT,
    TOGETHER,
    KazooSession,
)
from poolkeeper.sandbox.simulation.zookeeper.session import CheckNode, Operation, Read, WriteNode

BULK = 200
DISTANCE_S = 0.001
LEAVING = 1
BROKERS = 5
START = trees.Size(100_000, brokers=BROKERS, partitions_per_topic=50, replicas=1)
SHUTDOWN = trees.Size(25_000, brokers=BROKERS, partitions_per_topic=1, replicas=2)
PUBLISHED = {"start": "28 s → 14 s", "controlled shutdown": "6.5 min → 3 s"}
PROFILE = Profile.of("3.9.2")


class RequestByRequest:
    """A request, its answer, the next request. Counts requests and waits, as all ways do."""

    name = "request by request"

    def __init__(self, session: KazooSession, fence: CheckNode) -> None:
        self.session = session
        self.fence = fence
        self.requests = 0
        self.waits = 0

    def read(self, paths: Sequence[str]) -> list[Read | None]:
        """Read nodes."""
        self._count(len(paths), len(paths))
        return [self.session.get(path) for path in paths]

    def write(self, operations: Sequence[Operation]) -> None:
        """Write each while the epoch is ours."""
        self._count(len(operations), len(operations))
        for operation in operations:
            self.session.commit((self.fence, operation))

    def _count(self, requests: int, waits: int) -> None:
        self.requests += requests
        self.waits += waits


class Pipelined(RequestByRequest):
    """Many requests in flight."""

    name = "pipelined"

    def read(self, paths: Sequence[str]) -> list[Read | None]:
        """Read nodes."""
        parts = _parts(paths, min(IN_FLIGHT, TOGETHER))
        self._count(len(paths), len(parts))
        return [node for part in parts for node in self.session.read_many(part)]

    def write(self, operations: Sequence[Operation]) -> None:
        """Write each while the epoch is ours."""
        self._count(len(operations), len(_parts(operations, IN_FLIGHT)))
        _require(self.session.commit_many([(self.fence, one) for one in operations]))


class Batched(RequestByRequest):
    """Many nodes in a request; reads of a batch are waited for, writes are in flight."""

    name = "batched"

    def read(self, paths: Sequence[str]) -> list[Read | None]:
        """Read nodes."""
        parts = len(_parts(paths, TOGETHER))
        self._count(parts, parts)
        return self.session.read_many(paths)

    def write(self, operations: Sequence[Operation]) -> None:
        """Write each while the epoch is ours."""
        parts = _parts(operations, BULK)
        self._count(len(parts), 1)
        _require(self.session.commit_many([(self.fence, *part) for part in parts]))


WAYS = (RequestByRequest, Pipelined, Batched)


@dataclass(frozen=True)
class Measured:
    """One workload done in one way."""

    way: str
    seconds: float
    processor_s: float
    requests: int
    waits: int
    states: dict[Tp, PartitionState]

    @property
    def at_a_distance_s(self) -> float:
        """What it would take if every answer needed a millisecond more."""
        return self.seconds + self.waits * DISTANCE_S


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both workloads in all ways, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=int, default=1, help="1/SCALE of the topics")
    scale = parser.parse_args(arguments).scale
    wrong = []
    for workload, size in (("start", START), ("controlled shutdown", SHUTDOWN)):
        size = replace(size, partitions=size.partitions // scale)
        spec = SandboxSpec(zookeeper_heap_mib=trees.HEAP_MIB, tree=trees.cached(size))
        with Sandbox.start(spec, ready_s=trees.READY_S) as sandbox:
            session = KazooSession(sandbox.connect, RealClock(), 30.0)
            _measured(workload, Batched, session)  # the server compiles what it does often
            found = [_measured(workload, way, session) for way in WAYS]
            session.close()
        _print(workload, size, found)
        if any(each.states != found[0].states for each in found):
            wrong.append(f"{workload}: other states by another way")
        if not found[0].waits > 10 * max(each.waits for each in found[1:]):
            wrong.append(f"{workload}: requests are waited for one by one")
    if wrong:
        sys.exit("; ".join(wrong))


def _measured(workload: str, kind: type[RequestByRequest], session: KazooSession) -> Measured:
    found = session.get(codecs.EPOCH)
    assert found is not None, "a controller has been in office"
    way = kind(session, CheckNode(codecs.EPOCH, found[1].version))
    names = session.children(codecs.TOPICS) or ()
    if workload == "start":
        began = _now()
        states, _ = _read_all(way, names)
        return Measured(way.name, *_since(began), way.requests, way.waits, states)
    before, replicas = _read_all(Batched(session, way.fence), names)
    began = _now()
    _shut_down(way, before, replicas)
    took = _since(began)
    reset = Batched(session, way.fence)
    after, _ = _read_all(reset, names)
    reset.write([WriteNode(codecs.state_path(tp), _encoded(before[tp])) for tp in before])
    return Measured(way.name, *took, way.requests, way.waits, after)


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(began: tuple[float, float]) -> tuple[float, float]:
    """Return seconds, and processor seconds of this process."""
    return time.perf_counter() - began[0], time.process_time() - began[1]


def _read_all(
    way: RequestByRequest, names: Sequence[str]
) -> tuple[dict[Tp, PartitionState], dict[Tp, tuple[int, ...]]]:
    """Read topics and states, as a controller that begins."""
    topics = way.read([codecs.topic_path(name) for name in names])
    bodies = [codecs.decode_topic(PROFILE, node[0]) for node in topics if node is not None]
    replicas = {
        Tp(name, number): assignment.replicas
        for name, body in zip(names, bodies, strict=True)
        for number, assignment in body.partitions.items()
    }
    nodes = way.read([codecs.state_path(tp) for tp in replicas])
    states = {
        tp: replace(codecs.decode_state(node[0], 0), version=0)
        for tp, node in zip(replicas, nodes, strict=True)
        if node is not None
    }
    assert len(states) == len(replicas), "every partition has its state"
    return states, replicas


def _shut_down(
    way: RequestByRequest,
    known: dict[Tp, PartitionState],
    replicas: dict[Tp, tuple[int, ...]],
) -> None:
    """Take a broker out of leaderships and ISRs."""
    hosted = [tp for tp in known if LEAVING in replicas[tp]]
    nodes = way.read([codecs.state_path(tp) for tp in hosted])
    others = set(range(1, BROKERS + 1)) - {LEAVING}
    writes: list[Operation] = []
    for tp, node in zip(hosted, nodes, strict=True):
        assert node is not None, f"{tp} has its state"
        state = codecs.decode_state(node[0], node[1].version)
        after: PartitionState | None = state.without(LEAVING)
        if state.leader == LEAVING:
            after = election_rules.elect_for_shutdown(replicas[tp], state, others, LEAVING)
        assert after is not None, f"another broker leads {tp}"
        writes.append(WriteNode(codecs.state_path(tp), _encoded(after)))
    way.write(writes)


def _encoded(state: PartitionState) -> bytes:
    return codecs.encode_state(state)


def _parts(items: Sequence[Operation] | Sequence[str], most: int) -> list[Sequence]:
    return [items[start : start + most] for start in range(0, len(items), most)]


def _require(answers: Sequence[tuple | Exception]) -> None:
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer


def _print(workload: str, size: trees.Size, found: Sequence[Measured]) -> None:
    topics = size.partitions // size.partitions_per_topic
    table = Table(
        title=f"{workload}: {topics:,} topics × {size.partitions_per_topic}, RF {size.replicas}, "
        f"{size.brokers} brokers (Kafka's figures: {PUBLISHED[workload]})"
    )
    columns = (
        "way",
        "requests",
        "waits",
        "seconds",
        "processor",
        "times faster",
        "+ 1 ms a wait",
        "times",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "way" else "right")
    first = found[0]
    for each in found:
        table.add_row(
            each.way,
            f"{each.requests:,}",
            f"{each.waits:,}",
            f"{each.seconds:.2f}",
            f"{each.processor_s:.2f}",
            f"{first.seconds / each.seconds:.1f}",
            f"{each.at_a_distance_s:.2f}",
            f"{first.at_a_distance_s / each.at_a_distance_s:.1f}",
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
