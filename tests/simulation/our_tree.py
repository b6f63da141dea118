"""A cluster at rest in a fake ZooKeeper, with every node of ours, and commands on it in process.

Nothing acts in it but the command under test: there are no brokers behind their registrations.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import pytest
import yaml

from manifests import kafka_cluster, resource_pool, topic
from poolkeeper.cli import main
from poolkeeper.cli.input.clusters import cluster_reading
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.records import RequestRecord
from poolkeeper.model.execution.runs import Health, Phase, Run, RunDocument, Saved
from poolkeeper.model.plans import Move, Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.sandbox.clock import VirtualClock
from poolkeeper.sandbox.fake_zookeeper import FakeClient, FakeZooKeeper
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode, DeleteNode, WriteNode
from poolkeeper.zk import znodes
from poolkeeper.zk.journal import history, runs

MOVES = (Move("t", None, 0, ((3, 2), (1, 2)), 1, "moved"),)
PLAN = Plan("main", plan_json.plan_hash(MOVES, ()), f"sha256:{'f' * 64}", moves=MOVES)
DOCUMENT = RunDocument(PLAN, Saved(), Health())
CHUNKS = runs.encode_document(DOCUMENT)
RUN = Run(
    plan=PLAN.hash,
    fingerprint=PLAN.fingerprint,
    concern=f"sha256:{'c' * 64}",
    phase=Phase.MOVING,
    digest=runs.digest_of(CHUNKS),
    chunks=len(CHUNKS),
    started_ms=1_700_000_000_000,
)
PENDING = runs.encode_plan(PLAN)


def _json(**body: object) -> bytes:
    return json.dumps(body).encode()


KEPT = {"retention.ms": "1000"}
KAFKA: Mapping[str, bytes] = {
    "/cluster/id": _json(version="1", id="NbXc"),
    "/controller": _json(version=1, brokerid=1, timestamp="1"),
    "/controller_epoch": b"7",
    **{
        f"/brokers/ids/{n}": _json(version=4, endpoints=["PLAINTEXT://h:1"], rack=f"r{n}")
        for n in (1, 2, 3)
    },
    "/brokers/topics/t": _json(version=1, partitions={"0": [1, 2], "1": [2, 3]}),
    "/brokers/topics/t/partitions/0/state": _json(leader=1, leader_epoch=0, isr=[1, 2]),
    "/brokers/topics/t/partitions/1/state": _json(leader=2, leader_epoch=0, isr=[2, 3]),
    "/brokers/topics/u": _json(version=1, partitions={"0": [3, 1]}),
    "/brokers/topics/u/partitions/0/state": _json(leader=3, leader_epoch=0, isr=[3, 1]),
    "/config/topics/t": _json(version=1, config=KEPT),
    "/config/topics/u": _json(version=1, config=KEPT),
    "/config/brokers/1": _json(version=1, config={}),
    "/admin/delete_topics": b"",
    "/config/changes": b"",
}
RECORDS: Mapping[str, bytes] = {
    "/poolkeeper/records/cluster": _json(version=1, id="NbXc"),
    "/poolkeeper/records/brokers": _json(
        version=1, brokers={str(n): {"rack": f"r{n}", "missing_since_s": None} for n in (1, 2, 3)}
    ),
    "/poolkeeper/records/balance": _json(version=1, started_ms=1_700_000_000_000),
    znodes.RECORD_OF_REQUEST: runs.encode_request(
        RequestRecord(PLAN.hash, PLAN.fingerprint, MOVES, "confirmed by jane")
    ),
    "/poolkeeper/records/topics/t": _json(
        version=1, owner="default/t", declared=["retention.ms"], deletion_policy="Retain"
    ),
    "/poolkeeper/records/topics/u": _json(
        version=1, owner="default/u", declared=["retention.ms"], deletion_policy="Retain"
    ),
}
OURS: Mapping[str, bytes] = {
    "/poolkeeper/epoch": b"4",
    "/poolkeeper/stopped": f"sha256:{'e' * 64}".encode(),
    "/poolkeeper/approvals": _json(version=1, plans=[f"sha256:{'d' * 64}"]),
    "/poolkeeper/asked": _json(
        version=1, plan=PLAN.hash, digest=runs.digest_of(PENDING), chunks=len(PENDING)
    ),
    "/poolkeeper/asked/plan-0000": PENDING[0],
    "/poolkeeper/history/0000000003": history.encode(
        FinishedRun(PLAN.hash, 1_700_000_000_000, 1_700_000_009_000, None, 2, 5, 5, 7)
    ),
    **RECORDS,
}
OF_RUN: Mapping[str, bytes] = {
    "/poolkeeper/run": runs.encode_run(RUN),
    "/poolkeeper/run/plan-0000": CHUNKS[0],
}
LEADER_RATE = "leader.replication.throttled.rate"
LEADER_LIST = "leader.replication.throttled.replicas"
THROTTLES: Mapping[str, bytes] = {
    znodes.throttles_of_topic("t"): _json(
        version=1, plan=PLAN.hash, ours={LEADER_LIST: "0:1"}, original={LEADER_LIST: None}
    ),
    znodes.throttles_of_broker(1): _json(
        version=1, plan=PLAN.hash, ours={LEADER_RATE: "777"}, original={LEADER_RATE: "9"}
    ),
}
"""Records of throttles of a run that is gone; nothing is throttled any more."""
IN_FORCE: Mapping[str, bytes] = {
    **THROTTLES,
    "/config/topics/t": _json(version=1, config={**KEPT, LEADER_LIST: "0:1"}),
    "/config/brokers/1": _json(version=1, config={LEADER_RATE: "777", "log.cleaner.threads": "2"}),
}
"""The same with the throttles."""
HOLDER = _json(version=1, host="elsewhere", pid=7, what="apply", since_ms=1_700_000_000_000)


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended, and all that it wrote."""

    code: int
    out: str
    err: str


Repair = Callable[..., Said]
Poisons = Mapping[str, Callable[[bytes], bytes]]


@dataclass(slots=True)
class OurTree:
    """A cluster at rest: `put` poisons a node, `command` runs the command line on it."""

    server: FakeZooKeeper
    clock: VirtualClock
    client: FakeClient

    @classmethod
    def plant(cls, nodes: Mapping[str, bytes | None], holder: bytes | None = None) -> "OurTree":
        """Make all of Kafka's nodes and these; None leaves one out."""
        clock = VirtualClock()
        server = FakeZooKeeper(clock)
        client = FakeClient(server, timeout_ms=3_600_000_000)
        found = cls(server, clock, client)
        present = {path: data for path, data in {**KAFKA, **nodes}.items() if data is not None}
        above = {path[:end] for path in present for end in _ends(path)}
        every = sorted({**dict.fromkeys(above, b""), **present}.items())
        client.commit([CreateNode(path, data) for path, data in every])
        if holder is not None:
            client.commit([CreateNode(znodes.HOLDER, holder, ephemeral=True)])
        return found

    def put(self, path: str, data: bytes) -> None:
        """Write a node, with its parents."""
        missing = [path[:end] for end in _ends(path) if self.client.exists(path[:end]) is None]
        is_new = self.client.exists(path) is None
        write = CreateNode(path, data) if is_new else WriteNode(path, data)
        self.client.commit([*(CreateNode(each, b"") for each in missing), write])

    def delete(self, path: str) -> None:
        """Delete a node."""
        self.client.commit([DeleteNode(path)])

    def read(self, path: str) -> bytes | None:
        """Return the data of a node, None without a node."""
        found = self.client.get(path)
        return None if found is None else bytes(found[0])

    def session(self) -> FakeSession:
        """Open a session of somebody else's."""
        return FakeSession(self.server, self.clock)

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Let commands reach this ZooKeeper, whatever address they are given."""
        with mock.patch.object(cluster_reading, "open_session", side_effect=self._open):
            yield

    def _open(self, _target: object) -> FakeSession:
        return self.session()

    def command(self, *words: str) -> int:
        """Run one command; return its exit code. Whatever else it raises is its fault."""
        with self.reached():
            return main.main(words)

    def said(self, capsys: pytest.CaptureFixture[str], *words: str) -> Said:
        """Run one command, which must not end in a traceback."""
        code = self.command(*words)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Said(code, out, err)


def _ends(path: str) -> list[int]:
    """Where the parents of a path end in it, the root left out."""
    return [at for at, letter in enumerate(path) if letter == "/" and at]


def write_manifests(folder: Path, *, config: Mapping[str, str] = KEPT, **cluster: object) -> Path:
    """Write what is declared: the cluster as it is, with this config of topics."""
    execution = {"throttle": {"mode": "None"}}
    bodies = [
        kafka_cluster("main", "fake:2181", **{"mode": "Apply", "execution": execution, **cluster}),
        resource_pool("p", 1, 2, 3, cluster="main"),
        topic("t", "p", config=dict(config)),
        topic("u", "p", config=dict(config)),
    ]
    file = folder / "main.yaml"
    file.write_text(yaml.safe_dump_all(bodies))
    return file


# Poisons


def _with_field(key: str, value: object) -> Callable[[bytes], bytes]:
    return lambda data: json.dumps({**_object(data), key: value}).encode()


def _object(data: bytes) -> dict[str, object]:
    try:
        body = json.loads(data)
    except ValueError:
        return {"version": 1}
    return body if isinstance(body, dict) else {"version": 1}


def _every_field(value: object) -> Callable[[bytes], bytes]:
    return lambda data: json.dumps(
        {key: value if key != "version" else 1 for key in _object(data)}
    ).encode()


def _first_field_missing(data: bytes) -> bytes:
    body = _object(data)
    return json.dumps({key: body[key] for key in sorted(body)[1:]}).encode()


POISONS: Mapping[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "space": lambda _: b" \n",
    "cut-off": lambda data: data[: len(data) // 2] or b"{",
    "text": lambda _: b"hello",
    "null": lambda _: b"null",
    "list": lambda _: b"[]",
    "number": lambda _: b"7.5",
    "true": lambda _: b"true",
    "no-utf8": lambda _: b"\xff\xfe\x00{}",
    "zeros": lambda _: b"\x00" * 40,
    "nested": lambda _: b"[" * 50_000,
    "nested-object": lambda _: b'{"version":' + b'{"a":' * 5_000,
    "long-number": lambda _: b'{"version":' + b"9" * 5_000 + b"}",
    "nan": lambda _: b'{"version":NaN}',
    "long": lambda _: b'{"version":1,"' + b"x" * 100_000 + b'":1}',
    "later": _with_field("version", 2),
    "no-version": lambda data: json.dumps(
        {k: v for k, v in _object(data).items() if k != "version"}
    ).encode(),
    "text-version": _with_field("version", "1"),
    "true-version": _with_field("version", True),
    "negative-version": _with_field("version", -1),
    "field-missing": _first_field_missing,
    "fields-null": _every_field(None),
    "fields-objects": _every_field({}),
    "fields-lists": _every_field([[]]),
    "fields-texts": _every_field("x"),
    "fields-lines": _every_field("a\nb: c\x1b[2J\x00"),
    "fields-huge": _every_field(10**30),
    "fields-negative": _every_field(-1),
    "fields-nan": _every_field(float("nan")),
    "fields-half-characters": _every_field("\ud800"),
    "gzip-cut": lambda _: CHUNKS[0][:-5],
    "gzip-of-another": lambda _: PENDING[0] + b"x",
}
"""What a node may hold by mistake or malice, made from what it should hold."""


SOME = (
    *("empty", "cut-off", "list", "no-utf8", "nested", "later", "field-missing"),
    *("fields-objects", "fields-huge", "fields-half-characters"),
)
"""One poison of each kind; all of them are tried on the readers alone, and in `make soak`."""
TURNS = 5
poisons = pytest.mark.parametrize(
    "poisons",
    [
        pytest.param({name: POISONS[name] for name in SOME}, id="some"),
        pytest.param(POISONS, id="all", marks=pytest.mark.soak),
    ],
)


def in_turn(poisons: Poisons, turn: int) -> Poisons:
    """Return all poisons, or some of `SOME`: others at the next turn, all after `TURNS`."""
    if len(poisons) > len(SOME):
        return poisons
    return {name: poisons[name] for name in SOME[turn % TURNS :: TURNS]}


def run_with(**changes: object) -> bytes:
    """The run node with fields of another value."""
    return runs.encode_run(replace(RUN, **changes))
