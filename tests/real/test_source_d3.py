"""What a reassignment does, step by step, as ZooKeeper's transaction log and the disks show it.

The steps of Kafka's controller, with RAR the target, OAR the origin and AR the topic node's list:
(1) AR := RAR + OAR, (2) a new leader epoch, (3) new replicas on disk, (4) RAR in sync, (7) a leader
out of RAR, (8) OAR − RAR out of sync, (9) their data deleted, (10) AR := RAR, (11) out of the
request, (12) the brokers tell it all.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import groupby

import pytest
from kafka import KafkaAdminClient
from kafka.errors import KafkaError

import traffic
import txnlog
from authors import broker_by_session
from conditions import until
from matrices import soak
from poolkeeper.controller.loops.drive import drive
from poolkeeper.model.execution.outcomes import State
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk.znodes import holder_of_session
from real.support import (
    MIB,
    REQUEST,
    RUN,
    Change,
    asking_brokers,
    create,
    desired,
    history,
    ignore,
    last_zxid,
    move,
    of_path,
    plan_of,
)

VERSIONS = ["3.9.2", *soak("2.0.1")]
TOPIC = "steps"
RATE = 2 * MIB
NEW_AND_OLD = {"2.0.1": "", "3.9.2": ", adding [3, 4], removing [1, 2]"}
ONE_NEW = {"2.0.1": "", "3.9.2": ", adding [3], removing [1]"}


@dataclass
class Traced:
    """One run: what ZooKeeper logged, what the disks and the brokers showed meanwhile."""

    sandbox: Sandbox
    before: tuple[Change, ...]
    changes: tuple[Change, ...]
    folders: "Folders"
    metadata: list[dict[str, object]]


@pytest.fixture(scope="module", params=VERSIONS)
def traced(kafka, request) -> Traced:
    """Two partitions with data move together: one to two other brokers, one keeps its leader."""
    sandbox = kafka(request.param, brokers=4)
    create(sandbox, TOPIC, (1, 2), (2, 1))
    traffic.fill(sandbox.bootstrap, {TOPIC: 2}, 4 * MIB)
    zxid = last_zxid(sandbox)
    # Slow enough for what happens at the start to be seen before what happens at the end.
    slow = Execution(throttle=Throttle(ThrottleMode.FIXED, RATE))
    wanted = desired(TOPIC, execution=slow, brokers=(1, 2, 3, 4))
    moves = [move(sandbox, TOPIC, 0, (1, 2), (3, 4)), move(sandbox, TOPIC, 1, (2, 1), (2, 3))]
    plan = plan_of(wanted, sandbox, moves=moves)
    with Folders(sandbox) as folders, metadata_all_along(sandbox) as metadata:
        assert drive(asking_brokers(sandbox), wanted, plan, ignore).state is State.CONVERGED
        until(lambda: folders.gone(1, 0) and folders.gone(2, 0), "old replicas leave the disks")
    whole = history(sandbox)
    before = tuple(change for change in whole if change.zxid <= zxid)
    after = tuple(change for change in whole if change.zxid > zxid)
    return Traced(sandbox, before, after, folders, metadata)


def test_the_request_comes_with_our_step_and_what_it_relies_on(traced):
    created = of_path(traced.changes, REQUEST)[0]
    assert created.with_ == (
        ("CHECK", "/poolkeeper/epoch"),
        ("CHECK", holder_of_session(created.session)),
        ("SET", RUN),
        ("CHECK", "/controller_epoch"),
        ("CHECK", f"/brokers/topics/{TOPIC}"),
        ("CREATE", REQUEST),
    )
    assert created.body == {
        "version": 1,
        "partitions": [
            {"topic": TOPIC, "partition": 0, "replicas": [3, 4]},
            {"topic": TOPIC, "partition": 1, "replicas": [2, 3]},
        ],
    }
    step = next(c for c in of_path(traced.changes, RUN) if c.zxid == created.zxid)
    assert (step.body["phase"], step.body["stage"]) == ("MOVING", 1)
    assert step.body["step"] == [[0, 1], [1, 1]]


def test_a_partition_that_changes_brokers_goes_through_all_steps(traced):
    assert course(traced, 0) == [
        "requested [3, 4]",
        f"assigned [3, 4, 1, 2]{NEW_AND_OLD[traced.sandbox.state.kafka]}",
        "epoch 1",
        "3 in sync",
        "4 in sync",
        "leader 3, epoch 2",
        "1 out of sync",
        "2 out of sync",
        "assigned [3, 4]",
        "out of the request",
    ]
    assert epochs(traced, 0) == [1, 1, 1, 2, 3, 4]


def test_a_leader_that_stays_gets_a_new_epoch(traced):
    assert course(traced, 1) == [
        "requested [2, 3]",
        f"assigned [2, 3, 1]{ONE_NEW[traced.sandbox.state.kafka]}",
        "epoch 1",
        "3 in sync",
        "epoch 2",
        "1 out of sync",
        "assigned [2, 3]",
        "out of the request",
    ]
    assert epochs(traced, 1) == [1, 1, 2, 3]


def test_all_is_written_by_the_controller_except_what_joins_up_to_2_3(traced):
    authors = broker_by_session(
        txnlog.read_folder(traced.sandbox.transaction_log()),
        f"{traced.sandbox.state.chroot}/brokers/ids",
    )
    controller = of_path(traced.before, "/controller")[-1].body["brokerid"]
    joining = {"2.0.1": 1, "3.9.2": controller}[traced.sandbox.state.kafka]
    writers = {
        sentence.split(" ", 1)[1] if sentence.endswith("in sync") else sentence: authors.get(
            change.session, "us"
        )
        for sentence, change in steps(traced, 0)
    }
    assert writers.pop("requested [3, 4]") == "us"
    assert writers.pop("in sync") == joining
    assert set(writers.values()) == {controller}


def test_new_replicas_are_on_disk_before_they_are_in_sync(traced):
    folders = traced.folders
    for broker in (3, 4):
        joined = time_ms(traced, 0, f"{broker} in sync")
        assert time_ms(traced, 0, "requested [3, 4]") <= folders.came_ms[broker, 0] <= joined


def test_old_replicas_are_deleted_from_disk_after_they_left(traced):
    for broker in (1, 2):
        assert traced.folders.went_ms[broker, 0] >= time_ms(traced, 0, f"{broker} out of sync")
    assert (2, 1) not in traced.folders.went_ms


def test_brokers_tell_the_union_meanwhile_and_the_target_at_the_end(traced):
    assert (1, {1, 2, 3, 4}) in [(now["leader"], now["replicas"]) for now in traced.metadata]
    ended = {"leader": 3, "replicas": {3, 4}, "isr": {3, 4}}
    with closing(KafkaAdminClient(bootstrap_servers=traced.sandbox.bootstrap.split(","))) as admin:
        until(lambda: told(admin, 0) == ended, "the brokers tell the target")


def test_throttles_are_on_before_the_request_and_off_before_the_run_ends(traced):
    rate = str(RATE)
    on = {
        f"/config/topics/{TOPIC}": {
            "leader.replication.throttled.replicas": "0:1,0:2,1:1,1:2",
            "follower.replication.throttled.replicas": "0:3,0:4,1:3",
        },
        **{
            f"/config/brokers/{broker}": {
                "leader.replication.throttled.rate": rate,
                "follower.replication.throttled.rate": rate,
            }
            for broker in (1, 2, 3, 4)
        },
    }
    configs = [c for c in traced.changes if c.path in on]
    requested = of_path(traced.changes, REQUEST)[0].zxid
    ended = of_path(traced.changes, RUN)[-1]
    assert ended.kind == "DELETE"
    assert {c.path: c.body["config"] for c in configs if c.zxid < requested} == on
    off = {c.path: c.body["config"] for c in configs if c.zxid > requested}
    assert off == {path: {} for path in on}
    assert max(c.zxid for c in configs) < ended.zxid


@contextmanager
def metadata_all_along(sandbox: Sandbox) -> Iterator[list[dict[str, object]]]:
    """Ask the brokers again and again; the answers are of use when the block has ended."""
    found: list[dict[str, object]] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(0.05):
            with suppress(KafkaError):  # a busy broker answers late; the next question is asked
                found.append(told(admin, 0))

    thread = threading.Thread(target=ask, daemon=True)
    with closing(KafkaAdminClient(bootstrap_servers=sandbox.bootstrap.split(","))) as admin:
        thread.start()
        try:
            yield found
        finally:
            ended.set()
            thread.join()


def told(admin: KafkaAdminClient, partition: int) -> dict[str, object]:
    """What the brokers' metadata say."""
    (topic,) = admin.describe_topics([TOPIC])
    found = next(p for p in topic["partitions"] if p["partition_index"] == partition)
    return {
        "leader": found["leader_id"],
        "replicas": set(found["replica_nodes"]),
        "isr": set(found["isr_nodes"]),
    }


def time_ms(traced: Traced, partition: int, sentence: str) -> int:
    return next(change.time_ms for said, change in steps(traced, partition) if said == sentence)


def course(traced: Traced, partition: int) -> list[str]:
    """The steps in words; which of two replicas joins or leaves first is chance: it is sorted."""
    said = [sentence for sentence, _ in steps(traced, partition)]
    runs = groupby(said, key=lambda sentence: sentence.partition(" ")[2])
    return [sentence for _, run in runs for sentence in sorted(run)]


def epochs(traced: Traced, partition: int) -> list[int]:
    states = of_path(traced.changes, f"/brokers/topics/{TOPIC}/partitions/{partition}/state")
    return [change.body["leader_epoch"] for change in states]


def steps(traced: Traced, partition: int) -> list[tuple[str, Change]]:
    """The changes that concern one partition, each with what it says beyond the one before.

    Who joins or leaves is enough; an epoch is said where nothing else, or a leader, is.
    """
    state_path = f"/brokers/topics/{TOPIC}/partitions/{partition}/state"
    state = of_path(traced.before, state_path)[-1].body
    lists = assigned(of_path(traced.before, f"/brokers/topics/{TOPIC}")[-1], partition)
    wanted: object = None
    found: list[tuple[str, Change]] = []
    for change in traced.changes:
        if change.path == state_path:
            found.append((moved_on(state, change.body), change))
            state = change.body
        elif change.path == f"/brokers/topics/{TOPIC}" and assigned(change, partition) != lists:
            lists = assigned(change, partition)
            found.append((lists, change))
        elif change.path == REQUEST and requested(change, partition) != wanted:
            wanted = requested(change, partition)
            said = f"requested {wanted}" if wanted else "out of the request"
            found.append((said, change))
    return found


def requested(change: Change, partition: int) -> object:
    entries = change.body["partitions"] if change.body else []
    return next((e["replicas"] for e in entries if e["partition"] == partition), None)


def assigned(change: Change, partition: int) -> str:
    lists = [("assigned", "partitions"), ("adding", "adding_replicas")]
    lists.append(("removing", "removing_replicas"))
    said = [
        f"{word} {change.body[key][str(partition)]}"
        for word, key in lists
        if str(partition) in change.body.get(key, {})
    ]
    return ", ".join(said)


def moved_on(before: dict, after: dict) -> str:
    said = [f"{broker} in sync" for broker in after["isr"] if broker not in before["isr"]]
    said += [f"{broker} out of sync" for broker in before["isr"] if broker not in after["isr"]]
    if after["leader"] != before["leader"]:
        said.append(f"leader {after['leader']}, epoch {after['leader_epoch']}")
    return ", ".join(said) or f"epoch {after['leader_epoch']}"


@dataclass
class Folders:
    """Watches the log directories: when a replica's folder came and went, by (broker, partition).

    A folder that is renamed to be deleted has gone. Times are when it was noticed.
    """

    sandbox: Sandbox
    came_ms: dict[tuple[int, int], int] = field(default_factory=dict)
    went_ms: dict[tuple[int, int], int] = field(default_factory=dict)

    def __enter__(self) -> "Folders":
        self._there = set(self._look())
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join()

    def gone(self, broker: int, partition: int) -> bool:
        return (broker, partition) in self.went_ms

    def _watch(self) -> None:
        while not self._ended.wait(0.01):
            now = set(self._look())
            self._note(self.came_ms, now - self._there)
            self._note(self.went_ms, self._there - now)
            self._there = now

    def _note(self, times: dict[tuple[int, int], int], replicas: Iterable[tuple[int, int]]) -> None:
        times.update(dict.fromkeys(replicas, time.time_ns() // 1_000_000))

    def _look(self) -> Iterator[tuple[int, int]]:
        for broker in (1, 2, 3, 4):
            for directory in self.sandbox.log_dirs(broker):
                for partition in (0, 1):
                    if (directory / f"{TOPIC}-{partition}").is_dir():
                        yield broker, partition
