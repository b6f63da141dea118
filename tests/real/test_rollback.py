"""What is in flight is cancelled, on brokers of each era, with clients at work.

Three ways: the brokers' API, a controller failover because ZooKeeper alone is known, and the same
without being asked, for a target that is gone for good and is drained.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import traffic
from conditions import until
from matrices import soak
from poolkeeper.controller.loops.drive import drive
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.model.topology import Partition
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from poolkeeper.zk.journal import journal
from real.support import (
    MIB,
    REQUEST,
    Cut,
    access,
    asking_brokers,
    assert_nothing_left,
    assignment,
    body,
    command,
    create,
    cut_off,
    declare,
    desired,
    ignore,
    kazoo,
    move,
    plan_of,
    run,
    seen,
)

pytestmark = pytest.mark.long

PARTITIONS = 4
FAST = {"throttle": {"mode": "Fixed", "rate": "50Mi"}}
SLOW = {"throttle": {"mode": "Fixed", "rate": "200Ki"}}
ALLOWED = {"remedies": {"allowControllerFailover": True}}


@dataclass
class Declared:
    """A cluster with its manifests: a topic in pool left or right, perhaps a broker drained."""

    sandbox: Sandbox
    folder: Path
    pool: str = "left"
    drain: tuple[int, ...] = ()
    execution: dict[str, object] = field(default_factory=lambda: FAST)
    with_brokers: bool = True
    heal: dict[str, object] = field(default_factory=dict)

    def write(self, **changed: object) -> None:
        for name, value in changed.items():
            setattr(self, name, value)
        pools = {
            "left": {"brokers": {"ids": [1, 2]}},
            "right": {"brokers": {"ids": [3, 4, 5]}, "drain": list(self.drain)},
        }
        topics = {"t": {"pool": self.pool, "partitions": PARTITIONS, "replicationFactor": 2}}
        at = self.sandbox if self.with_brokers else self.sandbox.connect
        declare(self.folder, at, pools, topics, execution=self.execution, heal=self.heal)

    def apply(self) -> None:
        done = run("apply", "-f", self.folder, "--yes")
        assert done.code == 0, done.out + done.err

    @property
    def partitions(self) -> tuple[Partition, ...]:
        found = until(lambda: seen(self.sandbox, "t").topics.get("t"), "the topic is at rest")
        return found.partitions

    @contextmanager
    def applying(self) -> Iterator[subprocess.Popen]:
        """Apply in a process of its own, until the controller works on the request."""
        words = command("apply", "-f", self.folder, "--yes")
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            try:
                until(lambda: self._at_work(process), "a request is worked on", timeout_s=90)
                yield process
            finally:
                process.kill()

    def _at_work(self, process: subprocess.Popen) -> bool:
        assert process.poll() is None, process.stdout.read()
        return any(len(p.replicas) > 2 for p in self.partitions)


@pytest.fixture(params=soak("3.9.2", "2.8.2", "2.0.1"))
def declared(request, tmp_path):
    with Sandbox.start(SandboxSpec(brokers=spread(5, ""), kafka=request.param)) as sandbox:
        yield Declared(sandbox, tmp_path)


def test_what_is_in_flight_is_taken_back(declared):
    declared.write()
    declared.apply()
    first = declared.partitions
    bootstrap = declared.sandbox.bootstrap
    traffic.fill(bootstrap, {"t": PARTITIONS}, 2 * MIB)
    clients = traffic.Traffic(bootstrap, {"t": PARTITIONS}, records_per_s=50)
    with clients:
        taken_back(declared, first, with_brokers=declared.sandbox.spec.kafka != "2.0.1")
        taken_back(declared, first, with_brokers=False)
        a_target_that_is_gone_is_dropped(declared, first)
        tally = clients.finish()
    assert (tally.problems, tally.received) == ([], tally.acknowledged)


def taken_back(declared: Declared, first: tuple[Partition, ...], *, with_brokers: bool) -> None:
    epoch = controller_epoch(declared.sandbox)
    declared.write(pool="right", execution=SLOW, with_brokers=with_brokers)
    with declared.applying() as process:
        more = () if with_brokers else ("--allow-controller-failover",)
        asked = run("rollback", "-f", declared.folder, *more)
        assert asked.code == 0, asked.err
        said = process.communicate(timeout=90)[0].decode()
    assert process.returncode == 1, said
    assert "rolled back" in said
    assert_returned(declared, first)
    assert controller_epoch(declared.sandbox) == epoch + (not with_brokers)


def a_target_that_is_gone_is_dropped(declared: Declared, first: tuple[Partition, ...]) -> None:
    declared.write(pool="right", execution=SLOW, with_brokers=False)
    with declared.applying():
        pass
    declared.sandbox.kill(5)
    declared.sandbox.await_gone(5)
    declared.write(drain=(5,))
    hint = "takes a controller failover"
    refused = subprocess.Popen(
        command("apply", "-f", declared.folder, "--yes"), stdout=subprocess.PIPE, text=True
    )
    with refused:
        try:
            assert any(hint in line for line in refused.stdout)
        finally:
            refused.kill()
    for words in ("status", "plan"):
        told = run(words, "-f", declared.folder)
        assert hint in told.out + told.err
        assert "allowControllerFailover: true" in told.out + told.err
    declared.write(execution=FAST | ALLOWED)
    declared.apply()
    now = declared.partitions
    assert {b for p in now for b in p.replicas} == {3, 4}
    assert [p.leader for p in now] == [p.replicas[0] for p in now]
    assert_nothing_left(declared.sandbox, "t")


@pytest.mark.soak
@pytest.mark.parametrize("kafka", ["3.9.2", "2.8.2"])
def test_the_brokers_drop_a_target_that_is_gone_while_others_go_on(kafka, tmp_path):
    """Three partitions in one request: what waits for broker 5 is cancelled, the rest arrives."""
    with Sandbox.start(SandboxSpec(brokers=spread(5, ""), kafka=kafka)) as sandbox:
        declared = Declared(sandbox, tmp_path)
        declared.write()
        declared.apply()
        traffic.fill(sandbox.bootstrap, {"t": PARTITIONS}, 4 * MIB)
        declared.write(pool="right", execution=SLOW)
        with declared.applying():
            pass
        sandbox.kill(5)
        sandbox.await_gone(5)
        epoch = controller_epoch(sandbox)
        with kazoo(sandbox.connect) as zookeeper:
            asked = {tuple(e["replicas"]) for e in body(zookeeper, REQUEST)["partitions"]}
        assert {5 in replicas for replicas in asked} == {True, False}
        declared.write(drain=(5,))
        declared.apply()
        assert {b for p in declared.partitions for b in p.replicas} == {3, 4}
        assert controller_epoch(sandbox) == epoch
        assert_nothing_left(sandbox, "t")


def assert_returned(declared: Declared, first: tuple[Partition, ...]) -> None:
    now = declared.partitions
    assert [p.replicas for p in now] == [p.replicas for p in first]
    assert [(p.adding, p.removing) for p in now] == [((), ())] * PARTITIONS
    assert [p.leader in p.replicas for p in now] == [True] * PARTITIONS
    assert [sorted(p.isr) for p in now] == [sorted(p.replicas) for p in first]
    assert_nothing_left(declared.sandbox, "t")


def controller_epoch(sandbox: Sandbox) -> int:
    with kazoo(sandbox.connect) as zookeeper:
        return int(zookeeper.get("/controller_epoch")[0])


@pytest.mark.soak
@pytest.mark.parametrize("kafka", ["3.9.2", "2.0.1"])
def test_a_target_that_heal_counts_as_gone_ends_the_run_and_the_next_goes_on(kafka, tmp_path):
    """Without a word from anybody: `apply` ends, and another one plans what is left."""
    with Sandbox.start(SandboxSpec(brokers=spread(5, ""), kafka=kafka)) as sandbox:
        declared = Declared(sandbox, tmp_path, with_brokers=False)
        declared.write()
        declared.apply()
        traffic.fill(sandbox.bootstrap, {"t": PARTITIONS}, 2 * MIB)
        heal = {"enabled": True, "after": "5s"}
        declared.write(pool="right", execution=SLOW | ALLOWED, heal=heal)
        with declared.applying() as process:
            sandbox.kill(5)
            said = process.communicate(timeout=120)[0].decode()
        assert process.returncode == 1, said
        assert f"`poolkeeper apply -f {declared.folder}` plans what is left" in said
        declared.write(execution=FAST | ALLOWED)
        declared.apply()
        assert {b for p in declared.partitions for b in p.replicas} == {3, 4}
        assert_nothing_left(sandbox, "t")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kafka", "with_brokers", "every"),
    [("3.9.2", True, 1), ("3.9.2", False, 1), ("2.0.1", False, 3)],
)
def test_a_rollback_that_is_cut_off_around_any_write_is_taken_up(
    fresh_kafka, topic_name, kafka, with_brokers, every
):
    """One rollback after the other, each cut off `every` writes later than the one before.

    Alternately the write did not happen, or did and nobody heard of it.
    """
    sandbox = fresh_kafka(kafka, brokers=4, racks="")
    first = [(1, 2), (2, 1)]
    create(sandbox, topic_name, *first)
    traffic.fill(sandbox.bootstrap, {topic_name: 2}, 2 * MIB)
    execution = Execution(throttle=Throttle(ThrottleMode.FIXED, MIB // 16))
    wanted = desired(topic_name, execution=execution, brokers=(1, 2, 3, 4))
    stop = StopRequest(at_once=True, allow_failover=not with_brokers)
    write, cut = 1, True
    while cut:
        moves = [
            move(sandbox, topic_name, 0, (1, 2), (4, 1)),
            move(sandbox, topic_name, 1, (2, 1), (1, 3)),
        ]
        plan = plan_of(wanted, sandbox, moves=moves)
        with suppress(Cut):
            drive(asking_brokers(sandbox), wanted, plan, cut_in_flight)
        with access(sandbox).session() as session:
            assert journal.request_stop(session, stop) is not None
        connections = asking_brokers(sandbox) if with_brokers else access(sandbox)
        cut = cut_off(connections, sandbox.connect, wanted, None, write)
        drive(connections, wanted, None, ignore)
        until(lambda: assignment(sandbox, topic_name) == first, "it is back")
        assert_nothing_left(sandbox, topic_name)
        write += every
    assert write > 5


def cut_in_flight(outcome: Outcome) -> None:
    if has(outcome.waits, WaitReason.STAGE_IN_FLIGHT):
        raise Cut
