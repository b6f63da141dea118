"""A migration of one topic between two pools, with clients at work, for faults to be tried on.

    with migration("3.9.2", tmp_path) as under_way:
        under_way.declare(pool="right")
        with under_way.applying() as executor:
            ...                              # executor.kill(), .freeze(), .thaw(), .said()
        under_way.apply()
        under_way.check()

`check` holds for every fault: each acknowledged record is there, once and in order, both for who
read along and for who reads from the beginning afterwards; replicas left the ISR of a partition for
no other reason than that the fault touched their brokers, and these were not registered; nothing of
ours is left over. A broker that the fault does not touch never leaves an ISR, whatever it does.

Copies are slow enough for faults: brokers fetch single batches of 64 KiB, and a throttle of Kafka's
lets one second's worth pass at once instead of ten.
"""

import json
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kazoo.client import KazooClient

import traffic
from archives import archive_classes
from conditions import until
from frozen import freeze
from poolkeeper.model.topology import Partition
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from real.support import (
    HOLDER,
    REQUEST,
    Change,
    Ran,
    assert_nothing_left,
    body,
    command,
    create,
    declare,
    dying_command,
    history,
    last_zxid,
    run,
    seen,
)

TOPIC = "t"
PARTITIONS = 4
ORIGIN = [(1, 2), (2, 1)] * 2
BATCH_BYTES = 64 * 1024
SLOW = {"throttle": {"mode": "Fixed", "rate": "64Ki"}}
FAST = {"throttle": {"mode": "Fixed", "rate": "50Mi"}}
SESSION_MS = 6_000
REACTION_MS = 20_000
"""How long ZooKeeper keeps a session: a broker's, and that of who executes."""
SETTINGS = (
    ("replication.quota.window.num", "2"),
    ("replica.fetch.max.bytes", str(BATCH_BYTES)),
    ("compression.type", "uncompressed"),
)
DELETED_S = 20
DELIVERY_S = 900
"""Before Kafka 2.4, a leader whose ISR is to grow takes no records while ZooKeeper is away."""
THROTTLES = "/poolkeeper/records/throttles"


class Clients(traffic.Traffic):
    """A producer and a consumer; what was acknowledged is read again in the end."""

    def read_again(self, deadline_s: float = 60) -> list[str]:
        """Return what is wrong with what somebody reads now who begins where these began."""
        wrong: list[str] = []
        found = dict.fromkeys(self._partitions, 0)
        consumer = KafkaConsumer(
            bootstrap_servers=self._bootstrap.split(","), auto_offset_reset="none"
        )
        try:
            consumer.assign(self._partitions)
            for partition, offset in self._begin.items():
                consumer.seek(partition, offset)
            end = time.monotonic() + deadline_s
            while time.monotonic() < end and any(
                found[each] < self._acknowledged[each] for each in self._partitions
            ):
                for partition, records in consumer.poll(timeout_ms=500).items():
                    for record in records:
                        number = int(record.value[: -len(traffic.PAYLOAD)])
                        if number != found[partition]:
                            wrong.append(f"{partition}: {number} where {found[partition]} was due")
                        found[partition] = number + 1
        finally:
            consumer.close()
        missing = {p: self._acknowledged[p] for p in found if found[p] < self._acknowledged[p]}
        return [*wrong, *(f"{p}: {found[p]} of {n} are there" for p, n in missing.items())]


@dataclass
class Executor:
    """A process of `poolkeeper`; its standard output and error are in one file."""

    process: subprocess.Popen[bytes]
    output: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        return self.output.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        self.process.terminate()
        self.process.wait(60)

    def freeze(self) -> None:
        freeze(self.process.pid)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self, timeout_s: float = 300) -> Ran:
        """Wait until it ends by itself."""
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end: {self.said()[-4000:]}") from None
        return Ran(code, self.said(), "")

    def await_said(self, words: str, timeout_s: float = 90) -> None:
        def come() -> bool:
            said = words in self.said()
            assert said or self.process.poll() is None, f"ended without {words!r}: {self.said()}"
            return said

        until(come, f"it says {words!r}", timeout_s)


@dataclass
class Migration:
    """A cluster with its manifests and its clients; `declare` changes what is declared."""

    sandbox: Sandbox
    folder: Path
    zookeeper: KazooClient
    clients: Clients
    since: int
    declared: dict[str, Any] = field(default_factory=dict)
    acknowledged_min: int = 1
    failing: set[int] = field(default_factory=set)
    """Brokers with a log directory that failed, which costs what is in it."""
    touched: set[int] = field(default_factory=set)
    """Brokers that the fault killed, stopped or cut off; all, where ZooKeeper was."""
    lagging: list[tuple[int, int]] = field(default_factory=list)
    """From when to when, in milliseconds since 1970, any follower may lag for a moment."""

    # What is declared and done

    def declare(self, **changed: object) -> None:
        """Change pool, left, right, execution, mode, heal or brokers, and write the manifests."""
        self.declared.update(changed)
        said = {"execution": FAST, "left": {}, "right": {}, "brokers": True, **self.declared}
        pools = {
            "left": {"brokers": {"ids": [1, 2]}, **said["left"]},
            "right": {"brokers": {"ids": [3, 4, 5]}, **said["right"]},
        }
        topic = {"partitions": PARTITIONS, "replicationFactor": 2}
        at = self.sandbox if said["brokers"] else self.sandbox.connect
        cluster = {
            key: said[key] for key in ("execution", "mode", "heal", "approval") if key in said
        }
        topics = {TOPIC: {"pool": said.get("pool", "left"), **topic}}
        declare(self.folder, at, pools, topics, **cluster)

    def run(self, *words: object) -> Ran:
        """Run a command of this cluster's in this process."""
        first, *rest = words
        return run(first, "-f", self.folder, *rest)

    def apply(self, code: int = 0) -> Ran:
        """Apply to the end."""
        done = self.run("apply", "--yes")
        assert done.code == code, done.out + done.err
        return done

    def start(self, *words: object) -> Executor:
        """Start a command in a process of its own."""
        return self._start(command(*words, "-f", self.folder))

    def start_dying(self, number: int, when: str, *words: object) -> Executor:
        """Start one that is killed `before` or `after` its write of this number."""
        return self._start(dying_command(number, when, *words, "-f", self.folder))

    def _start(self, words: Sequence[str]) -> Executor:
        with tempfile.NamedTemporaryFile(dir=self.folder.parent, delete=False) as output:
            process = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT)
        return Executor(process, Path(output.name))

    @contextmanager
    def applying(self, *words: object) -> Iterator[Executor]:
        """Apply in a process of its own, which is at work; it is killed in the end."""
        executor = self.start(*(words or ("apply", "--yes")))
        try:
            self.await_executor(executor)
            yield executor
        except BaseException as failed:
            failed.add_note(executor.said()[-6000:])
            raise
        finally:
            executor.kill()

    def await_executor(self, executor: Executor) -> None:
        """Wait until this process has the journal and its request is worked on."""

        def come() -> bool:
            assert executor.process.poll() is None, executor.said()
            return body(self.zookeeper, HOLDER).get("pid") == executor.pid and self.worked_on()

        until(come, "a request is worked on", timeout_s=180)

    def edit(self, entity: str, changed: Mapping[str, str | None]) -> None:
        """Edit a config as kafka-configs does: rewrite the node, notify the brokers."""
        path = f"/config/{entity}"
        merged = {**body(self.zookeeper, path).get("config", {}), **changed}
        config = {key: value for key, value in merged.items() if value is not None}
        self.zookeeper.set(path, _json({"version": 1, "config": config}))
        notice = _json({"version": 2, "entity_path": entity})
        self.zookeeper.create("/config/changes/config_change_", notice, sequence=True)

    # What is there

    @property
    def partitions(self) -> tuple[Partition, ...]:
        found = until(lambda: seen(self.sandbox, TOPIC).topics.get(TOPIC), "the topic is at rest")
        return found.partitions

    def replicas(self) -> list[list[int]]:
        """What the topic node says, partition by partition."""
        lists = body(self.zookeeper, f"/brokers/topics/{TOPIC}")["partitions"]
        return [lists[str(p)] for p in range(PARTITIONS)]

    def state(self, partition: int) -> dict[str, Any]:
        return body(self.zookeeper, f"/brokers/topics/{TOPIC}/partitions/{partition}/state")

    def worked_on(self) -> bool:
        return any(len(replicas) > 2 for replicas in self.replicas())

    def brokers(self) -> set[int]:
        return {broker for replicas in self.replicas() for broker in replicas}

    def in_sync(self) -> bool:
        """Whether every partition has a leader and all of its replicas in sync."""
        return all(
            sorted(self.state(p).get("isr", ())) == sorted(replicas)
            and self.state(p)["leader"] in replicas
            for p, replicas in enumerate(self.replicas())
        )

    def config(self, entity: str) -> dict[str, str]:
        return body(self.zookeeper, f"/config/{entity}").get("config", {})

    def controller(self) -> int | None:
        return body(self.zookeeper, "/controller").get("brokerid")

    def epoch(self) -> int:
        return int(self.zookeeper.get("/controller_epoch")[0])

    def requested(self) -> list[Any]:
        """What the request in flight asks for."""
        return body(self.zookeeper, REQUEST).get("partitions", [])

    # What is done to servers

    def kill(self, *brokers: int) -> None:
        """Kill brokers, and wait until ZooKeeper has forgotten them."""
        self.touched |= {*brokers}
        for broker in brokers:
            self.sandbox.kill(broker)
        self.sandbox.await_gone(*brokers)

    def freeze_until_gone(self, broker: int) -> None:
        """Stop a broker where it stands until its session has ended, and let it go on."""
        child = self.sandbox.broker(broker)
        self.touched.add(broker)
        freeze(child.pid)
        try:
            self.sandbox.await_gone(broker)
        finally:
            child.signal(signal.SIGCONT)
        self.sandbox.await_ready()

    def zookeeper_away(self, seconds: float) -> None:
        """Kill ZooKeeper, and start it again after a while."""
        self.touched |= self.registered()
        self.sandbox.kill_zookeeper()
        pass_time(seconds)
        self.sandbox.start_zookeeper()
        self.await_connected()

    def await_connected(self) -> None:
        until(lambda: self.zookeeper.connected, "a session of the test's own")

    def elect(self, broker: int) -> None:
        """Let brokers compete until this one is the controller."""
        while until(self.controller, "a controller") != broker:
            self.zookeeper.delete("/controller")

    # What must hold

    def check(self, brokers: Sequence[int]) -> None:
        """Check that all is well, with all replicas on these brokers."""
        until(self.in_sync, "all replicas are in sync")
        assert self.brokers() <= set(brokers)
        assert {len(replicas) for replicas in self.replicas()} == {2}
        planned = self.run("plan")
        assert planned.code == 0, planned
        tally = self.clients.finish()
        assert (tally.problems, tally.received) == ([], tally.acknowledged), tally
        assert tally.acknowledged >= self.acknowledged_min
        missing = self.clients.read_again()
        assert missing == [], missing
        assert_nothing_left(self.sandbox, TOPIC)
        assert self.zookeeper.get_children(THROTTLES) == []
        faults = Faults(frozenset(self.touched), frozenset(self.failing), tuple(self.lagging))
        found = reasonless(history(self.sandbox, self.since), self.registered(), faults)
        assert found == [], found

    def registered(self) -> set[int]:
        """All brokers: every one was there in the beginning."""
        return {broker.id for broker in self.sandbox.spec.brokers}


@dataclass(frozen=True)
class Faults:
    """What may have cost a replica its place in the ISR.

    `touched`: brokers that lose it while they are not registered, or have not been for long: a
    controller acts on a session's end when it gets to it. `failing`: those that lose it at any
    time. `lagging`: from when to when any may (milliseconds since 1970).
    """

    touched: Set[int] = frozenset()
    failing: Set[int] = frozenset()
    lagging: tuple[tuple[int, int], ...] = ()

    def excuse(self, lost: Set[int], there: Set[int], at_ms: int) -> Set[int]:
        """Return those of the lost replicas that the faults cost; `there` are registered."""
        if any(since <= at_ms <= until_ for since, until_ in self.lagging):
            return lost
        return lost & (self.failing | (self.touched - there))


def reasonless(
    changes: Sequence[Change], registered: set[int], faults: Faults, size: int = 2
) -> list[str]:
    """Return where a partition had fewer replicas in sync than its faults alone cost.

    A replica is missing for a reason if the faults excuse its broker when it left the ISR, until it
    is in it again. All others that a partition had before a move, or has after it, are in sync at
    any time. `size` is the replication factor: longer lists are those of moves
    under way.
    """
    found: list[str] = []
    there = dict.fromkeys(registered, -REACTION_MS)
    before = {str(p): set(replicas) for p, replicas in enumerate(ORIGIN)}
    isrs, hurt = dict(before), {p: set[int]() for p in before}
    for at, change in enumerate(changes):
        match change.path.split("/"):
            case ["", "brokers", "ids", broker]:
                there.pop(int(broker), None)
                if change.kind != "DELETE":
                    there[int(broker)] = change.time_ms
            case ["", "brokers", "topics", topic] if topic == TOPIC:
                before |= _lists(change, size)
            case ["", "brokers", "topics", topic, "partitions", p, "state"] if topic == TOPIC:
                isr = set(change.body["isr"])
                settled = {b for b, at_ms in there.items() if change.time_ms - at_ms >= REACTION_MS}
                lost = faults.excuse(isrs[p] - isr, settled, change.time_ms)
                hurt[p] = (hurt[p] | lost) - isr
                isrs[p] = isr
                later = (_lists(each, size).get(p) for each in changes[at:])
                after = next((lists for lists in later if lists), before[p])
                if not any(lists <= isr | hurt[p] for lists in (before[p], after)):
                    found.append(f"{p}: isr {sorted(isr)}, {sorted(there)} registered")
    return found


def _lists(change: Change, size: int) -> dict[str, set[int]]:
    """The lists of the partitions that rest, if this is a change of the topic's node."""
    if change.path != f"/brokers/topics/{TOPIC}" or not change.data:
        return {}
    lists = change.body["partitions"].items()
    return {p: set(replicas) for p, replicas in lists if len(replicas) == size}


def pass_time(seconds: float) -> None:
    """Let time pass: what is tried is that somebody is away for so long."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() >= end, "time passes", seconds + 60)


def fill(bootstrap: str, batches: Sequence[int]) -> None:
    """Put so many batches of 64 KiB into each partition; brokers write them out themselves."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap.split(","), acks="all", compression_type="gzip"
    )
    for number in range(max(batches)):
        for partition in (p for p, count in enumerate(batches) if number < count):
            producer.send(TOPIC, value=b"x" * (BATCH_BYTES - 512), partition=partition)
        producer.flush(timeout=60)
    producer.close(timeout=10)


@contextmanager
def migration(
    kafka: str, folder: Path, batches: int = 24, kind: type[Sandbox] = Sandbox, **spec: Any
) -> Iterator[Migration]:
    """Start five brokers, and a topic on brokers 1 and 2 with its clients at work."""
    with (
        started(kafka, kind, **spec) as sandbox,
        migration_on(sandbox, folder, [batches] * PARTITIONS) as under_way,
    ):
        yield under_way


def started(kafka: str, kind: type[Sandbox] = Sandbox, **spec: Any) -> Sandbox:
    """Return five brokers whose sessions are short and whose copies are slow."""
    archive_classes(kafka)
    said = {
        "session_timeout_ms": SESSION_MS,
        "session_timeout_max_ms": SESSION_MS,
        "settings": SETTINGS,
        "brokers": spread(5, ""),
        **spec,
    }
    return kind.start(SandboxSpec(kafka=kafka, **said))


@contextmanager
def migration_on(sandbox: Sandbox, folder: Path, batches: Sequence[int]) -> Iterator[Migration]:
    """Give the cluster a topic on brokers 1 and 2 with its clients at work, and nothing else."""
    with patient(sandbox.connect) as zookeeper:
        clean(zookeeper)
        create(sandbox, TOPIC, *ORIGIN)
        fill(sandbox.bootstrap, batches)
        since = last_zxid(sandbox)
        topics = {TOPIC: PARTITIONS}
        with Clients(sandbox.bootstrap, topics, records_per_s=24, delivery_s=DELIVERY_S) as clients:
            yield Migration(sandbox, folder / "manifests", zookeeper, clients, since)


def clean(zookeeper: KazooClient) -> None:
    """Delete the topic of an earlier migration, and all that we recorded."""
    if zookeeper.exists("/poolkeeper"):
        zookeeper.delete("/poolkeeper", recursive=True)
    if zookeeper.exists(f"/brokers/topics/{TOPIC}"):
        zookeeper.create(f"/admin/delete_topics/{TOPIC}")
        until(lambda: not zookeeper.exists(f"/config/topics/{TOPIC}"), "the topic is deleted")
        until(lambda: not zookeeper.get_children("/admin/delete_topics"), "the topic is deleted")


def is_clean(sandbox: Sandbox) -> bool:
    """Delete the topic of an earlier migration, and say whether the brokers deleted its logs.

    A broker may keep one that was cancelled before anything was copied (seen on 2.8.2). It has the
    id of that topic, and no topic of the same name is ever copied there.
    """

    def kept() -> list[Path]:
        brokers = (broker.id for broker in sandbox.spec.brokers)
        folders = (Path(folder) for broker in brokers for folder in sandbox.log_dirs(broker))
        logs = (log for folder in folders for log in folder.glob(f"{TOPIC}-*"))
        return [log for log in logs if not log.name.endswith("-delete")]

    with patient(sandbox.connect) as zookeeper:
        clean(zookeeper)
    try:
        until(lambda: not kept(), "the topic's logs are deleted", DELETED_S)
    except AssertionError:
        return False
    return True


@contextmanager
def patient(connect: str) -> Iterator[KazooClient]:
    """A client that comes back soon after a server was away, for however long."""
    client = KazooClient(connect, connection_retry={"max_tries": -1, "max_delay": 0.5})
    client.start(timeout=120)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
