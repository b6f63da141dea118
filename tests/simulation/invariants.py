"""What holds in every run of Poolkeeper, whatever befell it: told from ZooKeeper's log alone.

A `Trail` is the log of one run with the tree it led to. Each law is a function that names what
breaks it, in sentences; an empty answer is a run that kept it.

* *Fenced*: Poolkeeper changes nothing but as the holder, in a transaction that checks the epoch.
  What is excepted makes the holder or unmakes it: the journal's first nodes, the taking over
  itself, and a holder deleting its own ephemeral node.
* *Once*: no list is requested twice for a partition, no topic and no node of its run is made twice.
* *Not half way*: in the end, each list is the one of the beginning or one that was requested.
* *In sync*: our processes die, brokers do not; so a partition never has fewer replicas in sync than
  the shorter of its first and its last list holds, and is never without a leader.
* *Known*: what a run requests is in the record of its request before, which survives the run.
* *Recorded*: a request comes in one transaction with the step of the run that names as many moves,
  and with checks of the controller epoch and of every topic node concerned; so does an election
  with the run. One that ends moves of others (`finishOrphanedMoves`) belongs to no run.
* *Listed*: a run that ends leaves one entry in the history, in the transaction that removes it.
* *Accounted*: a throttle is set in one transaction with the record that it is ours, and the record
  goes in one transaction with the last throttle that it tells of.
* *Throttled*: brokers had time to take a throttle up before a request, and between a request and
  its removal none is written.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kazoo.exceptions import NoNodeError

from authors import broker_by_session
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST
from poolkeeper.sandbox.fake_zookeeper import FakeZooKeeper
from poolkeeper.sandbox.fake_zookeeper.transactions import Operation, Transaction, TransactionKind
from poolkeeper.zk.znodes import ROOT, holder_of_session

HOLDER = "/poolkeeper/holder"
EPOCH = "/poolkeeper/epoch"
RUN = "/poolkeeper/run"
HISTORY = "/poolkeeper/history"
FIRST_NODES = ("/poolkeeper", EPOCH, "/poolkeeper/records", "/poolkeeper/records/topics")
TOPICS = "/brokers/topics/"
CONFIGS = ("/config/topics/", "/config/brokers/")
THROTTLES = "/poolkeeper/records/throttles/"
RECORD_OF_REQUEST = "/poolkeeper/records/request"
CONTROLLER_EPOCH = "/controller_epoch"
LOG_DIRS = "replica.alter.log.dirs.io.max.bytes.per.second"
ELECTION = "/admin/preferred_replica_election"

Partition = tuple[str, int]
Replicas = tuple[int, ...]
Requested = tuple[tuple[str, int, Replicas], ...]


@dataclass(frozen=True, slots=True)
class Trail:
    """What was written after `since_zxid`; `others` are sessions that are not Poolkeeper's."""

    server: FakeZooKeeper
    since_zxid: int
    others: frozenset[int]

    @property
    def transactions(self) -> Iterator[Transaction]:
        """All transactions that took effect, oldest first."""
        for transaction in self.server.log:
            if transaction.zxid > self.since_zxid and not transaction.failed:
                yield transaction

    @property
    def ours(self) -> Iterator[Transaction]:
        """The transactions of Poolkeeper's sessions that changed something."""
        brokers = broker_by_session(self.server.log, "/brokers/ids")
        for transaction in self.transactions:
            someone = transaction.session in self.others or transaction.session in brokers
            if transaction.changes and not someone:
                yield transaction

    def changes(self, chosen: Callable[[Operation], bool]) -> Iterator[tuple[int, Operation]]:
        """Every chosen change with its zxid, whoever made it."""
        for transaction in self.transactions:
            for operation in transaction.changes:
                if chosen(operation):
                    yield transaction.zxid, operation


def requests(trail: Trail) -> tuple[Requested, ...]:
    """Return every request that was created, in order."""
    return tuple(
        _entries(operation)
        for _, operation in trail.changes(lambda o: o.kind.creates and o.path == REQUEST)
    )


def plans(trail: Trail) -> frozenset[str]:
    """Return the hash of every plan that a run node ever named."""
    return frozenset(
        json.loads(operation.data or b"")["plan"]
        for _, operation in trail.changes(
            lambda o: o.path == RUN and o.kind is not TransactionKind.DELETE
        )
    )


def unfenced(trail: Trail) -> list[str]:
    """Name what Poolkeeper wrote without being the holder, or without checking that it is."""
    return [
        f"zxid {transaction.zxid} is not fenced: {_sketch(transaction)}"
        for transaction in trail.ours
        if not _makes_the_holder(transaction) and not _is_fenced(trail, transaction)
    ]


def _is_fenced(trail: Trail, transaction: Transaction) -> bool:
    checked = {o.path for o in transaction.operations if o.kind is TransactionKind.CHECK}
    holder = trail.server.tree.at(HOLDER, transaction.zxid - 1)
    fence = {EPOCH, holder_of_session(transaction.session)}
    return fence <= checked and holder is not None and holder.owner == transaction.session


def _makes_the_holder(transaction: Transaction) -> bool:
    done = [(operation.kind, operation.path) for operation in transaction.changes]
    if len(done) == 1 and done[0][1] in FIRST_NODES:
        return done[0][0].creates
    paths = (HOLDER, holder_of_session(transaction.session))
    return done in (
        [(TransactionKind.SET, EPOCH), *((TransactionKind.CREATE, path) for path in paths)],
        [(TransactionKind.DELETE, path) for path in paths],
    )


def repeated(trail: Trail) -> list[str]:
    """Name what was asked for more than once; a request may keep entries of the one it replaces."""
    counts: Counter[str] = Counter()
    for transaction in trail.transactions:
        made = [o for o in transaction.changes if o.path == REQUEST and o.kind.creates]
        kept = _replaced(trail, transaction)
        counts.update(
            f"the request of {t}-{p} to {list(ids)}"
            for operation in made
            for t, p, ids in _entries(operation)
            if (t, p, ids) not in kept
        )
    counts.update(
        f"the creation of {o.path}"
        for _, o in trail.changes(lambda o: o.kind.creates and _is_topic(o.path))
    )
    return [f"{what} came {times} times" for what, times in counts.items() if times > 1]


def _replaced(trail: Trail, transaction: Transaction) -> Requested:
    """Return the entries of the request that was there before this transaction."""
    node = trail.server.tree.at(REQUEST, transaction.zxid - 1)
    if node is None:
        return ()
    entries = json.loads(node.data or b"")["partitions"]
    return tuple((e["topic"], e["partition"], tuple(e["replicas"])) for e in entries)


def out_of_sync(trail: Trail, first: Mapping[Partition, Replicas]) -> list[str]:
    """Name the moments at which a partition had too few replicas in sync, or no leader.

    `first` holds the lists at the beginning.
    """
    last = assignments(trail.server)
    found = []
    for zxid, operation in trail.changes(lambda o: o.path.endswith("/state") and bool(o.data)):
        topic, _, number, _ = operation.path.removeprefix(TOPICS).split("/")
        state = json.loads(operation.data or b"")
        name = (topic, int(number))
        least = min(len(first.get(name, last[name])), len(last[name]))
        if len(state["isr"]) < least or state["leader"] < 0:
            found.append(f"zxid {zxid}: {topic}-{number} needs {least} in sync: {state}")
    return found


def half_way(trail: Trail, first: Mapping[Partition, Replicas]) -> list[str]:
    """Name the partitions that are neither where they began nor where somebody asked them to be.

    `first` holds the lists at the beginning, in their order.
    """
    asked = {(t, p, ids) for request in requests(trail) for t, p, ids in request}
    return [
        f"{topic}-{number} ends at {list(ids)}, which nobody asked for"
        for (topic, number), ids in assignments(trail.server).items()
        if ids != first.get((topic, number), ids) and (topic, number, ids) not in asked
    ]


def unrecorded(trail: Trail) -> list[str]:
    """Name the requests and elections of a run that came without what belongs to them."""
    found = []
    for transaction in trail.ours:
        made = {
            operation.path: operation
            for operation in transaction.changes
            if operation.kind is not TransactionKind.DELETE
        }
        checked = {o.path for o in transaction.operations if o.kind is TransactionKind.CHECK}
        wanted: set[str] = set()
        if REQUEST in made:
            entries = _entries(made[REQUEST])
            wanted = {CONTROLLER_EPOCH, *(f"{TOPICS}{topic}" for topic, _, _ in entries)}
            step = json.loads(made[RUN].data or b"")["step"] if RUN in made else ()
            if len(step) != len(entries) and (step or not _finishes(trail, transaction, entries)):
                found.append(f"zxid {transaction.zxid}: the run's step is not {entries}: {step}")
        elif ELECTION in made and trail.server.tree.at(RUN, transaction.zxid) and RUN not in made:
            found.append(f"zxid {transaction.zxid}: the run does not tell of the election")
        found.extend(
            f"zxid {transaction.zxid}: the request does not check {path}"
            for path in sorted(wanted - checked)
        )
    return found


def _finishes(trail: Trail, transaction: Transaction, entries: Requested) -> bool:
    """Whether a request without a run ends moves of others: it names replicas that are there."""
    for topic, partition, ids in entries:
        node = trail.server.tree.at(f"{TOPICS}{topic}", transaction.zxid)
        if not {*ids} < {*json.loads(node.data)["partitions"][str(partition)]}:
            return False
    return True


def unknown_requests(trail: Trail) -> list[str]:
    """Name the requests of runs that their record does not tell of."""
    found = []
    for transaction in trail.ours:
        paths = {o.path: o for o in transaction.changes if o.kind is not TransactionKind.DELETE}
        if REQUEST not in paths or RUN not in paths:
            continue
        node = trail.server.tree.at(RECORD_OF_REQUEST, transaction.zxid)
        topics = {} if node is None else json.loads(node.data)["topics"]
        known = {
            (topic, partition, tuple(wanted))
            for topic, body in topics.items()
            for partition, _, wanted, _ in body["moves"]
        }
        if set(_entries(paths[REQUEST])) != known:
            found.append(f"zxid {transaction.zxid}: requested, and recorded are {sorted(known)}")
    return found


def unlisted(trail: Trail) -> list[str]:
    """Name the ends of runs that left no entry in the history, and entries that no run left."""
    found = []
    for transaction in trail.ours:
        ended = any(o.path == RUN and o.kind is TransactionKind.DELETE for o in transaction.changes)
        before = trail.server.tree.at(RUN, transaction.zxid - 1) if ended else None
        begun = before is not None and json.loads(before.data)["phase"] != "STORING"
        entries = sum(
            o.path.startswith(f"{HISTORY}/") and o.kind.creates for o in transaction.changes
        )
        if entries != begun:
            found.append(f"zxid {transaction.zxid}: {entries} entries in the history")
    return found


def unsettled(trail: Trail, settle_ms: int) -> list[str]:
    """Name the requests that came too soon after a throttle was written."""
    found = []
    written_ms = float("-inf")
    for transaction in trail.transactions:
        paths = {operation.path for operation in transaction.changes if operation.data is not None}
        if REQUEST in paths and transaction.time_ms - written_ms < settle_ms:
            found.append(f"zxid {transaction.zxid}: requested before the throttles were in force")
        if any(path.startswith(CONFIGS) for path in paths):
            written_ms = transaction.time_ms
    return found


def rethrottled(trail: Trail) -> list[str]:
    """Name the throttles that were written while a request was there."""
    found: list[str] = []
    busy = False
    for transaction in trail.transactions:
        paths = {operation.path: operation for operation in transaction.changes}
        if REQUEST in paths:
            busy = paths[REQUEST].kind is not TransactionKind.DELETE
        if busy:
            found.extend(
                f"zxid {transaction.zxid}: {path} was written while a request was there"
                for path in paths
                if path.startswith(CONFIGS)
            )
    return found


def unaccounted(trail: Trail) -> list[str]:
    """Name our transactions after which a throttle of ours lacks its record."""
    found = []
    for transaction in trail.ours:
        for operation in transaction.changes:
            if not operation.path.startswith((*CONFIGS, THROTTLES)):
                continue
            entity = _throttled_entity(operation.path)
            config = trail.server.tree.at(f"/config/{entity}", transaction.zxid)
            record = trail.server.tree.at(_throttle_record(entity), transaction.zxid)
            before = trail.server.tree.at(f"/config/{entity}", trail.since_zxid)
            live, first = _throttles(config), _throttles(before)
            known = {} if record is None else json.loads(record.data)["ours"]
            found.extend(
                f"zxid {transaction.zxid}: {key} of {entity} is {value}, recorded: {known}"
                for key, value in live.items()
                if value not in (first.get(key), known.get(key))
            )
    return found


def _throttles(node: Any) -> dict[str, str]:
    config = {} if node is None or not node.data else json.loads(node.data)["config"]
    return {key: value for key, value in config.items() if "throttled" in key or key == LOG_DIRS}


def _throttled_entity(path: str) -> str:
    """Return `topics/t` or `brokers/1`, of the path of a config or of a record of throttles."""
    if path.startswith(THROTTLES):
        return path.removeprefix(THROTTLES).replace(":", "s/", 1)
    return path.removeprefix("/config/")


def _throttle_record(entity: str) -> str:
    return THROTTLES + entity.replace("s/", ":", 1)


def leftovers(server: FakeZooKeeper, allowed: tuple[str, ...] = ()) -> list[str]:
    """Name the nodes that only exist while something is going on."""
    passing = ("/poolkeeper/stopped", "/poolkeeper/approvals", RECORD_OF_REQUEST)
    transient = (RUN, HOLDER, *passing, REQUEST, ELECTION)
    left = [p for p in transient if p not in allowed and server.tree.find(p) is not None]
    ours = server.tree.names(ROOT) if server.tree.find(ROOT) else ()
    left += [f"{ROOT}/{name}" for name in ours if f"{ROOT}/{name}".startswith(f"{HOLDER}-")]
    marked = server.tree.names("/admin/delete_topics")
    records = server.tree.names(THROTTLES.rstrip("/")) if server.tree.find(THROTTLES[:-1]) else ()
    return [f"{path} is left" for path in (*left, *marked, *records)]


def assignments(server: FakeZooKeeper) -> dict[Partition, Replicas]:
    """Return each partition's list."""
    return {
        (topic, int(number)): tuple(ids)
        for topic in server.tree.names("/brokers/topics")
        for number, ids in _body(server, f"{TOPICS}{topic}")["partitions"].items()
    }


def everything(server: FakeZooKeeper) -> dict[str, Any]:
    """Return what a run is about: assignments, states, configs and records, by path.

    Left out are versions, epochs, zxids, times and the order of an ISR. A config without keys is
    none.
    """
    found: dict[str, Any] = {}
    for topic in sorted(server.tree.names("/brokers/topics")):
        path = f"{TOPICS}{topic}"
        body = _body(server, path)
        found[path] = {key: value for key, value in body.items() if key != "topic_id"}
        for number in sorted(body["partitions"]):
            state = _body(server, f"{path}/partitions/{number}/state")
            found[f"{topic}-{number}"] = (state["leader"], sorted(state["isr"]))
    for kind in ("topics", "brokers"):
        for name in _names(server, f"/config/{kind}"):
            config = _body(server, f"/config/{kind}/{name}")["config"]
            found |= {f"/config/{kind}/{name}": config} if config else {}
    found["/poolkeeper/records/cluster"] = _body(server, "/poolkeeper/records/cluster")
    for id_, record in _body(server, "/poolkeeper/records/brokers")["brokers"].items():
        missing, looks = record.pop("missing_since_s") is not None, record.pop("looks", {})
        seen = {"missing": missing, "lost": looks.get("lost", False)}
        found[f"the record of broker {id_}"] = record | seen
    for topic in sorted(server.tree.names("/poolkeeper/records/topics")):
        path = f"/poolkeeper/records/topics/{topic}"
        body = _body(server, path)
        found[path] = {key: value for key, value in body.items() if key != "created_zxid"}
    return found


def _names(server: FakeZooKeeper, path: str) -> list[str]:
    """The names of a node's children; of brokers' configs the oldest releases have no parent."""
    try:
        return sorted(server.tree.names(path))
    except NoNodeError:
        return []


def _body(server: FakeZooKeeper, path: str) -> Any:
    return json.loads(server.tree.get(path).data)


def _entries(operation: Operation) -> Requested:
    entries = json.loads(operation.data or b"{}").get("partitions", ())
    return tuple((e["topic"], e["partition"], tuple(e["replicas"])) for e in entries)


def _is_topic(path: str) -> bool:
    return path.startswith(TOPICS) and "/" not in path.removeprefix(TOPICS)


def _sketch(transaction: Transaction) -> str:
    return ", ".join(f"{o.kind.name} {o.path}" for o in transaction.operations)
