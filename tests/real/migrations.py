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
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from archives import archive_classes
from conditions import until
from frozen import freeze
from poolkeeper.model.topology import Partition
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from real.executors import Executor
from real.isr_law import Faults, reasonless
from real.migrated_topic import BATCH_BYTES, DELIVERY_S, ORIGIN, PARTITIONS, TOPIC, Clients, fill
from real.support import (
    HOLDER,
    REQUEST,
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

SLOW = {"throttle": {"mode": "Fixed", "rate": "64Ki"}}
FAST = {"throttle": {"mode": "Fixed", "rate": "50Mi"}}
SESSION_MS = 6_000
"""How long ZooKeeper keeps a session: a broker's, and that of who executes."""
SETTINGS = (
    ("replication.quota.window.num", "2"),
    ("replica.fetch.max.bytes", str(BATCH_BYTES)),
    ("compression.type", "uncompressed"),
)

DELETED_S = 20
THROTTLES = "/poolkeeper/records/throttles"


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
        """Change what is declared, and write the manifests.

        That is pool, left, right, factor, execution, mode, heal or brokers.
        """
        self.declared.update(changed)
        said = {"execution": FAST, "left": {}, "right": {}, "brokers": True, **self.declared}
        pools = {
            "left": {"brokers": {"ids": [1, 2]}, **said["left"]},
            "right": {"brokers": {"ids": [3, 4, 5]}, **said["right"]},
        }
        topic = {"partitions": PARTITIONS, "replicationFactor": said.get("factor", 2)}
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
            return Executor.start(words, Path(output.name))

    @contextmanager
    def applying(self, *words: object) -> Iterator[Executor]:
        """Apply in a process of its own, which is at work; it is killed in the end."""
        with self.start(*(words or ("apply", "--yes"))) as executor:
            self.await_executor(executor)
            yield executor

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
        assert {len(replicas) for replicas in self.replicas()} == {self.declared.get("factor", 2)}
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


def pass_time(seconds: float) -> None:
    """Let time pass: what is tried is that somebody is away for so long."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() >= end, "time passes", seconds + 60)


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
