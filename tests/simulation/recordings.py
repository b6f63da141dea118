"""Histories of reassignments: recorded ones, those of logs, and how simulated brokers repeat them.

A recording holds what was read from ZooKeeper's transaction log while brokers did one reassignment:
for each write its author, kind, path, data, the other operations of its transaction, and the new
data version. Times and made-up values (ids, timestamps, ports) are left out.

The order between partitions is chance, so a history is cut into one stream for each partition: its
state's writes, the writes of the topic node and of the request that changed something for it, in
their order. What real controllers chose by chance (who is taken up first, who joins first, who
leaves first, who is elected) the simulated one is told to choose as well.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from authors import broker_by_session
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import (
    REQUEST,
    SimulatedCluster,
    state_path,
)
from poolkeeper.sandbox.fake_zookeeper.transactions import Operation, Transaction, TransactionKind
from poolkeeper.sandbox.simulation import Randomness, SimulationSpec, spread
from poolkeeper.sandbox.simulation.codecs import Tp

ISR_CHANGE = "/isr_change_notification/isr_change_"


@dataclass(frozen=True)
class Write:
    """One change of one node; `with_` are the other operations of its transaction."""

    by: str
    kind: str
    path: str
    data: Any
    with_: tuple[str, ...]
    version: int | None

    def of(self, seen: Any) -> tuple[Any, ...]:
        return (self.by, self.kind, self.path, seen, self.with_)


@dataclass(frozen=True)
class Trace:
    kafka: str
    topic: str
    controller: int
    epoch: int
    killed: int | None
    before: dict[str, list[int]]
    after: dict[str, list[int]]
    writes: tuple[Write, ...]

    @classmethod
    def read(cls, file: Path) -> "Trace":
        body = json.loads(file.read_text())
        events = body.pop("events")
        writes = (Write(*e[:4], tuple(e[4]), e[5]) for e in events)
        return cls(**body, writes=tuple(writes))

    def states(self, partition: str) -> list[Write]:
        path = f"/brokers/topics/{self.topic}/partitions/{partition}/state"
        return [write for write in self.writes if write.path == path]

    def isr_changes(self, partition: str, *, joining: bool) -> list[int]:
        """Return who joined, or left, in this order."""
        isrs = [w.data["isr"] for w in self.states(partition)]
        changes: list[int] = []
        for one, other in pairwise(isrs):
            before, after = (one, other) if joining else (other, one)
            changes.extend(id_ for id_ in after if id_ not in before)
        return changes


class Recorded(Randomness):
    """Chooses what was chosen when the trace was recorded."""

    def __init__(self, trace: Trace, join_after_ms: int) -> None:
        super().__init__()
        self._trace = trace
        self._join_after_ms = join_after_ms
        self._elected = [
            int(w.by.removeprefix("broker ")) for w in trace.writes if w.path == "/controller"
        ]

    def order(self, what: str, items: Iterable[Any]) -> list[Any]:
        if what == "request":
            paths = [write.path for write in self._trace.writes]
            return sorted(items, key=lambda tp: paths.index(state_path(*tp)))
        if what.startswith("removed "):
            left = self._trace.isr_changes(what.rpartition("-")[2], joining=False)
            return sorted(items, key=left.index)
        return super().order(what, items)

    def join_ms(self, tp: Tp, broker: int) -> float:
        joined = self._trace.isr_changes(str(tp.partition), joining=True)
        return self._join_after_ms + 300 * joined.index(broker)

    def notice_ms(self, broker: int) -> float:
        return 1 if broker in self._elected else 100


def streams(trace: Trace, writes: Iterable[Write]) -> dict[str, list[tuple[Any, ...]]]:
    """Cut a history into streams; see the module's docstring.

    A write of the topic node that changes nothing belongs to the partition whose state was written
    last; one of the request that changes nothing is a stream of its own.
    """
    found: dict[str, list[tuple[Any, ...]]] = {p: [] for p in trace.before}
    found |= {"office": [], "registrations": [], "notifications": [], "unchanged requests": []}
    topic = {p: (ids, (), ()) for p, ids in trace.before.items()}
    request: dict[str, Any] = {}
    latest = "0"
    for write in writes:
        if match := re.fullmatch(
            rf"/brokers/topics/{trace.topic}/partitions/(\d+)/state", write.path
        ):
            latest = match[1]
            found[latest].append((*write.of(write.data), write.version))
        elif write.path == f"/brokers/topics/{trace.topic}":
            now = _topic_seen(write.data)
            changed = [p for p in now if now[p] != topic[p]] or [latest]
            for p in changed:
                found[p].append(write.of(now[p]))
            topic = now
        elif write.path == REQUEST:
            now = {} if write.data is None else _request_seen(write.data)
            changed = [p for p in trace.before if now.get(p) != request.get(p)]
            for p in changed:
                # Which partition was the last one is chance, and so who deletes the node.
                kind = write.kind if write.by == "client" else "REWRITE"
                found[p].append((write.by, kind, now.get(p), write.with_))
            if not changed:
                found["unchanged requests"].append(write.of(now))
            request = now
        else:
            found[_elsewhere(write.path)].append((*write.of(write.data), write.version))
    return found


def _elsewhere(path: str) -> str:
    if path.startswith("/controller"):
        return "office"
    return "notifications" if path == ISR_CHANGE else "registrations"


def _topic_seen(body: Any) -> dict[str, Any]:
    keys = tuple(sorted(body.keys() - {"partitions", "adding_replicas", "removing_replicas"}))
    assert keys in (("version",), ("topic_id", "version"))
    adding, removing = body.get("adding_replicas", {}), body.get("removing_replicas", {})
    return {
        p: (ids, tuple(adding.get(p, ())), tuple(removing.get(p, ())))
        for p, ids in body["partitions"].items()
    }


def _request_seen(body: Any) -> dict[str, Any]:
    assert body.keys() == {"version", "partitions"}
    return {str(entry["partition"]): entry["replicas"] for entry in body["partitions"]}


def history(
    log: Iterable[Transaction], topic: str, after_zxid: int, chroot: str = ""
) -> Iterator[Write]:
    """Yield the changes that a trace of that topic's reassignment holds, from a log."""
    log = tuple(log)
    authors = broker_by_session(log, f"{chroot}/brokers/ids")
    ours = ("/controller", "/brokers/ids/", REQUEST, ISR_CHANGE)
    for transaction in log:
        if transaction.zxid <= after_zxid or transaction.kind is TransactionKind.CLOSE_SESSION:
            continue
        for operation in transaction.changes:
            path = operation.path.removeprefix(chroot)
            of_topic = f"{path}/".startswith(f"/brokers/topics/{topic}/")
            if not of_topic and not path.startswith(ours):
                continue
            others = [o for o in transaction.operations if o is not operation]
            with_ = tuple(f"{_kind(o)} {o.path.removeprefix(chroot)}" for o in others)
            author = authors.get(transaction.session)
            by = "client" if author is None else f"broker {author}"
            if path.startswith(ISR_CHANGE):
                path = path[:-10]
            data = _comparable(path, operation.data)
            yield Write(by, _kind(operation), path, data, with_, operation.version)


def _kind(operation: Operation) -> str:
    return "CREATE" if operation.kind.creates else operation.kind.name


def _comparable(path: str, data: bytes | None) -> Any:
    body = json.loads(data) if data else None
    if isinstance(body, dict):
        body |= {key: "" for key in ("timestamp", "topic_id") if key in body}
        if path.startswith("/brokers/ids/"):
            body = dict.fromkeys(body, "")
    return body


def replay(trace: Trace, name: str) -> dict[str, list[tuple[Any, ...]]]:
    """Let simulated brokers go through what the real ones went through."""
    killed_controller = "kill-controller" in name
    choices = Recorded(trace, join_after_ms=7000 if killed_controller else 300)
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=trace.kafka), choices)
    had_terms(cluster, trace)
    cluster.start(first=trace.controller)
    assert (cluster.simulation.controller, cluster.epoch()) == (trace.controller, trace.epoch)
    cluster.create_topic(trace.topic, *trace.before.values())
    since = cluster.server.zxid
    cluster.request({(trace.topic, int(p)): ids for p, ids in trace.after.items()})
    if trace.killed is not None:
        cluster.clock.advance(150)
        if "without-request" in name:
            cluster.delete(REQUEST)
        cluster.simulation.kill(trace.killed)
        cluster.clock.advance(16_000)
        cluster.simulation.start_broker(trace.killed)
    # The recording ended where the request was gone, unless a broker was still to be started.
    assert cluster.clock.run_until(lambda: not cluster.exists(REQUEST), 20_000)
    cluster.clock.advance(3_000)
    return streams(trace, history(cluster.server.log, trace.topic, since))


def had_terms(cluster: SimulatedCluster, trace: Trace) -> None:
    """Leave an epoch behind as that release's controllers would have."""
    fenced = cluster.simulation.profile.fenced
    epochs = range(0 if fenced else 1, trace.epoch)
    for i, epoch in enumerate(epochs):
        (cluster.set if i else cluster.create)("/controller_epoch", b"%d" % epoch)
