"""What the tests of the execution share: plans made by hand, and a cluster as it is and as it was.

`history` reads ZooKeeper's transaction log with paths as the cluster sees them, without its chroot.
"""

import io
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

import builders
import manifests
import txnlog
from builders import pool_spec, topic_spec
from conditions import until
from poolkeeper.algorithms.throttles import LOG_DIRS_RATE
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.cli.main import main
from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops.drive import drive
from poolkeeper.errors import PoolkeeperError
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.plans import CreateTopic, Move, Plan, Step
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.proposals import plan_json
from poolkeeper.sandbox import Sandbox
from poolkeeper.sandbox.fake_zookeeper.transactions import Operation as LoggedOperation
from poolkeeper.zk.client.operations import Operation
from poolkeeper.zk.client.session import SentTransaction, Session
from poolkeeper.zk.reading import observe

MIB = 1024 * 1024
NO_THROTTLE = Execution(throttle=Throttle(ThrottleMode.NONE))
REQUEST = "/admin/reassign_partitions"
RUN = "/poolkeeper/run"
HOLDER = "/poolkeeper/holder"
DYING = Path(__file__).parent / "dying.py"


def access(sandbox: Sandbox) -> ClusterConnections:
    return ClusterConnections(lambda: Session.open(sandbox.connect, timeout_s=15))


def asking_brokers(sandbox: Sandbox) -> ClusterConnections:
    """Brokers tell when a throttle is in force; without them a run waits for it."""
    return replace(access(sandbox), brokers=lambda: BrokerClient.open(sandbox.bootstrap.split(",")))


def topic_config(sandbox: Sandbox, topic: str) -> dict[str, tuple[str | None, str]]:
    """Every key in force, as the brokers tell it, with its source; empty where they know none."""
    client = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap.split(","))
    try:
        asked = ConfigResource(ConfigResourceType.TOPIC, topic)
        found = client.describe_configs([asked], config_filter="all")
    finally:
        client.close()
    entries = found.get("topic", {}).get(topic) or {}
    return {key: (entry["value"], entry["config_source"]) for key, entry in entries.items()}


def ignore(_: Outcome) -> None:
    pass


class Cut(BaseException):
    """The end of a process, as far as its code can tell."""


class Mortal(Session):
    """A session whose process dies around its `writes_left`th write from now."""

    writes_left = 0
    dies_after = False

    def send(self, transaction: Sequence[Operation]) -> SentTransaction:
        Mortal.writes_left -= 1
        if Mortal.writes_left == 0 and not Mortal.dies_after:
            raise Cut
        sent = super().send(transaction)
        if Mortal.writes_left == 0:
            with suppress(PoolkeeperError):  # what asks whether a write is allowed is to fail
                self.answer(sent)
            raise Cut
        return sent


def cut_off(
    connections: ClusterConnections, connect: str, wanted: Desired, plan: Plan | None, write: int
) -> bool:
    """Drive until around the `write`th write; return false if there were fewer.

    Every second write happens, and nobody hears of it.
    """
    mortal = replace(connections, session=lambda: Mortal.open(connect, timeout_s=6))
    Mortal.writes_left, Mortal.dies_after = write, write % 2 == 0
    try:
        drive(mortal, wanted, plan, ignore)
    except Cut:
        return True
    finally:
        Mortal.writes_left = 0
    return False


def desired(
    *topics: str,
    execution: Execution = NO_THROTTLE,
    brokers: tuple[int, ...] = (1, 2, 3),
    **said: object,
) -> Desired:
    pool = pool_spec("p", *brokers, cluster="c")
    specs = (topic_spec(name, namespace="default", **said) for name in sorted(topics))
    return builders.desired(pool, *specs, name="c", execution=execution)


def plan_of(
    wanted: Desired, sandbox: Sandbox, steps: Sequence[Step] = (), moves: Sequence[Move] = ()
) -> Plan:
    with access(sandbox).session() as session:
        cluster_id = observe.cluster(session, "c", topics=()).cluster.id
    return Plan(
        "c",
        plan_json.plan_hash(moves, steps),
        plan_json.fingerprint(wanted, cluster_id, frozenset()),
        tuple(steps),
        tuple(moves),
    )


def seen(sandbox: Sandbox, *topics: str) -> Cluster:
    with access(sandbox).session() as session:
        return observe.cluster(session, "c", topics=topics).cluster


def create(sandbox: Sandbox, name: str, *replicas: tuple[int, ...]) -> None:
    wanted = desired(name, brokers=tuple(seen(sandbox).brokers))
    step = CreateTopic(name, "p", replicas)
    outcome = drive(access(sandbox), wanted, plan_of(wanted, sandbox, [step]), ignore)
    assert outcome.state is State.CONVERGED


def move(sandbox: Sandbox, topic: str, partition: int, *path: tuple[int, ...]) -> Move:
    return Move(topic, seen(sandbox, topic).topics[topic].topic_id, partition, path, MIB, "test")


def assignment(sandbox: Sandbox, topic: str) -> list[tuple[int, ...]]:
    """Return the replica lists of a topic, once it was read in one piece: it may be changing."""
    live = until(lambda: seen(sandbox, topic).topics.get(topic), f"{topic} is read")
    return [p.replicas for p in live.partitions]


@contextmanager
def kazoo(connect: str) -> Iterator[KazooClient]:
    client = KazooClient(connect)
    client.start(timeout=120)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def configure(zookeeper: KazooClient, entity: str, config: dict[str, str]) -> None:
    """Do as kafka-configs does: write the config, notify the brokers."""
    path = f"/config/{entity}"
    zookeeper.ensure_path(path)
    zookeeper.set(path, json.dumps({"version": 1, "config": config}).encode())
    notice = json.dumps({"version": 2, "entity_path": entity}).encode()
    zookeeper.create("/config/changes/config_change_", notice, sequence=True)


def body(zookeeper: KazooClient, path: str) -> dict:
    """A node's JSON; an absent node is empty."""
    try:
        return json.loads(zookeeper.get(path)[0])
    except NoNodeError:
        return {}


def assert_nothing_left(sandbox: Sandbox, *topics: str) -> None:
    """No throttle, no run, no request."""
    with kazoo(sandbox.connect) as zookeeper:
        assert_nothing_left_in(zookeeper, *topics)


def assert_nothing_left_in(zookeeper: KazooClient, *topics: str) -> None:
    """The same, for a client that may read everything."""
    configs = [f"/config/topics/{topic}" for topic in topics]
    brokers = zookeeper.get_children("/config/brokers")
    configs += [f"/config/brokers/{broker}" for broker in brokers]
    throttled = [
        (path, key)
        for path in configs
        for key in body(zookeeper, path).get("config", {})
        if "throttled" in key or key == LOG_DIRS_RATE
    ]
    assert throttled == []
    for path in (RUN, REQUEST, HOLDER, "/admin/preferred_replica_election"):
        assert not zookeeper.exists(path), path


def registrations(sandbox: Sandbox) -> tuple[dict[int, dict], int]:
    """What the brokers registered, by id, and which of them is the controller."""
    with kazoo(sandbox.connect) as zookeeper:
        ids = map(int, zookeeper.get_children("/brokers/ids"))
        found = {id_: body(zookeeper, f"/brokers/ids/{id_}") for id_ in ids}
        return found, body(zookeeper, "/controller")["brokerid"]


@dataclass(frozen=True)
class Change:
    """One node's change; `with_` are the (kind, path) pairs of its whole transaction."""

    zxid: int
    time_ms: int
    session: int
    kind: str
    path: str
    data: bytes | None
    with_: tuple[tuple[str, str], ...]

    @property
    def body(self) -> object:
        return json.loads(self.data) if self.data else None


def last_zxid(sandbox: Sandbox) -> int:
    return txnlog.read_folder(sandbox.transaction_log())[-1].zxid


def history(sandbox: Sandbox, after_zxid: int = 0, chroot: str | None = None) -> tuple[Change, ...]:
    """All changes in the cluster's chroot, in order; kinds are CREATE, SET and DELETE."""
    chroot = chroot or sandbox.state.chroot
    return tuple(
        Change(
            transaction.zxid,
            transaction.time_ms,
            transaction.session,
            _kind(operation),
            operation.path.removeprefix(chroot),
            operation.data,
            tuple((_kind(o), o.path.removeprefix(chroot)) for o in transaction.operations),
        )
        for transaction in txnlog.read_folder(sandbox.transaction_log(), after_zxid)
        for operation in transaction.changes
        if operation.path.startswith(f"{chroot}/")
    )


def of_path(changes: Iterable[Change], path: str) -> tuple[Change, ...]:
    return tuple(change for change in changes if change.path == path)


def of_kind(kind: str, changes: Iterable[Change]) -> list[Change]:
    return [change for change in changes if change.kind == kind]


def requested_steps(changes: Iterable[Change]) -> Counter[tuple[str, int, tuple[int, ...]]]:
    """What was requested of which partition, and how often."""
    return Counter(
        (entry["topic"], entry["partition"], tuple(entry["replicas"]))
        for change in of_kind("CREATE", of_path(changes, REQUEST))
        for entry in change.body["partitions"]
    )


def steps_of(moves: Iterable[Move]) -> Counter[tuple[str, int, tuple[int, ...]]]:
    """Every step of every move, once."""
    return Counter((m.topic, m.partition, list_) for m in moves for list_ in m.path[1:])


def _kind(operation: LoggedOperation) -> str:
    return "CREATE" if operation.kind.creates else operation.kind.name


def command(*words: object) -> list[str]:
    """Return the command line of a process of its own."""
    return [sys.executable, "-m", "poolkeeper", *map(str, words)]


def dying_command(number: int, when: str, *words: object) -> list[str]:
    """Return the same of one that is killed `before` or `after` its write of this number."""
    return [sys.executable, "-P", str(DYING), str(number), when, *map(str, words)]


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


def run(*words: object) -> Ran:
    """Run the command line in this process, without a terminal."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(word) for word in words])
    return Ran(code, out.getvalue(), err.getvalue())


def declare(
    folder: Path,
    at: Sandbox | str,
    pools: Mapping[str, Mapping[str, object]],
    topics: Mapping[str, Mapping[str, object]],
    **cluster: object,
) -> None:
    """Write manifests of cluster `main`: pools and topics by name, each with what its spec says.

    `at` is the cluster or a ZooKeeper alone. A topic's `pool` stands for its `poolRef`.
    """
    spec = {"zookeeper": {"connect": at if isinstance(at, str) else at.connect}, **cluster}
    if isinstance(at, Sandbox):
        spec["brokers"] = {"bootstrapServers": at.bootstrap}
    documents_ = [manifests.body("KafkaCluster", "main", spec)]
    for name, said in pools.items():
        of_pool = {"clusterRef": {"name": "main"}, **said}
        documents_.append(manifests.body("ResourcePool", name, of_pool))
    for name, said in topics.items():
        rest = {key: value for key, value in said.items() if key != "pool"}
        documents_.append(manifests.topic(name, said["pool"], "tests", **rest))
    text = "\n---\n".join(json.dumps(document, indent=1) for document in documents_)
    folder.mkdir(exist_ok=True)
    (folder / "all.yaml").write_text(text + "\n")
