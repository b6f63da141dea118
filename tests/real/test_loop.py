"""The loop that keeps a cluster as declared: modes, approvals, edits, ZooKeeper going away."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Thread

import pytest

from builders import cluster_spec, pool_spec
from conditions import until
from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller import loop as controller_loop
from poolkeeper.controller.loop import LoopConfig
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.waits import WaitReason, has
from poolkeeper.model.specs import (
    Approval,
    ApprovalPolicy,
    Desired,
    Execution,
    Mode,
    Throttle,
    ThrottleMode,
    TopicSpec,
)
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk import journal
from poolkeeper.zk.client.session import Session

AUTO = Approval(ApprovalPolicy.AUTO)
NO_THROTTLE = Execution(throttle=Throttle(ThrottleMode.NONE))


class Loop:
    """A kept cluster: `desired` may be replaced while it runs, also in the middle of a pass."""

    def __init__(self, sandbox: Sandbox, desired: Desired) -> None:
        self.desired = self._looked_at = desired
        self._reported: list[tuple[Desired, Outcome]] = []
        access = ClusterConnections(lambda: Session.open(sandbox.connect, timeout_s=15))
        self.kept = LoopConfig(access, self._look, self._report)
        self.thread = Thread(target=controller_loop.run_loop, args=(self.kept,))

    def declare(self, desired: Desired) -> None:
        self.desired = desired
        self.again()

    def again(self) -> None:
        """Forget what was reported, and have it look."""
        self._reported.clear()
        self.kept.wake.set()

    @property
    def outcomes(self) -> list[Outcome]:
        """What it reported of that which is declared now."""
        return [outcome for of, outcome in list(self._reported) if of is self.desired]

    def waits(self, reason: WaitReason) -> bool:
        return any(has(outcome.waits, reason) for outcome in self.outcomes)

    def converged(self) -> bool:
        return any(outcome.state is State.CONVERGED for outcome in self.outcomes)

    def _look(self) -> Desired:
        self._looked_at = self.desired
        return self._looked_at

    def _report(self, outcome: Outcome) -> None:
        self._reported.append((self._looked_at, outcome))


@contextmanager
def kept(sandbox: Sandbox, desired: Desired) -> Iterator[Loop]:
    loop = Loop(sandbox, desired)
    loop.thread.start()
    try:
        yield loop
    finally:
        loop.kept.end()
        loop.thread.join(120)
    assert not loop.thread.is_alive()


def declared(topic: str, mode: Mode, approval: Approval = AUTO, brokers=(1, 2)) -> Desired:
    cluster = cluster_spec("c", mode=mode, approval=approval, execution=NO_THROTTLE)
    spec = TopicSpec(topic, "d", topic, "p", partitions=2, replication_factor=2)
    return Desired(cluster, (pool_spec("p", *brokers, cluster="c"),), (spec,))


def replicas(sandbox: Sandbox, topic: str) -> set[int]:
    """Return who has a replica; an observation leaves out what is being created."""
    with Session.open(sandbox.connect) as session:
        node = session.read(f"/brokers/topics/{topic}")
    lists = json.loads(node.data)["partitions"].values() if node else ()
    return {broker for ids in lists for broker in ids}


@pytest.mark.soak
def test_plan_only_writes_nothing_and_says_what_it_would_do(fresh_kafka):
    sandbox = fresh_kafka(brokers=3)
    with kept(sandbox, declared("t", Mode.PLAN_ONLY)) as loop:
        until(lambda: loop.waits(WaitReason.PLAN_ONLY), "the plan is reported", 60)
        assert [step.topic for step in loop.outcomes[0].plan.steps] == ["t"]
        with Session.open(sandbox.connect) as session:
            assert not session.exists("/poolkeeper")
            assert not session.exists("/brokers/topics/t")

        # … and the same loop, allowed to, does it.
        loop.declare(declared("t", Mode.APPLY))
        until(loop.converged, "the topic is created", 60)
        assert replicas(sandbox, "t") == {1, 2}

        # An edited pool is followed; stopped by a person, the same plan is not begun again.
        loop.declare(declared("t", Mode.APPLY, brokers=(2, 3)))
        until(loop.converged, "the topic moved", 60)
        assert replicas(sandbox, "t") == {2, 3}

        # Paused, nothing starts.
        loop.declare(declared("t", Mode.PAUSED, brokers=(1, 3)))
        until(lambda: loop.waits(WaitReason.PAUSED), "it says that it is paused", 60)
        assert replicas(sandbox, "t") == {2, 3}

        # Moves wait for approval by hash; one handed over on the command line is as good.
        loop.declare(declared("t", Mode.APPLY, Approval(), brokers=(1, 3)))
        until(lambda: loop.waits(WaitReason.APPROVAL_REQUIRED), "it asks for approval", 60)
        plan = loop.outcomes[-1].plan
        assert replicas(sandbox, "t") == {2, 3}
        with Session.open(sandbox.connect) as session:
            journal.hand_over_approval(session, plan.hash)
        until(loop.converged, "the approved plan is executed", 60)
        assert replicas(sandbox, "t") == {1, 3}

        # ZooKeeper goes away and comes back.
        sandbox.kill_zookeeper()
        loop.again()
        until(lambda: loop.waits(WaitReason.UNAVAILABLE), "it says so", 60)
        sandbox.start_zookeeper()
        loop.declare(declared("t", Mode.APPLY, brokers=(1, 2)))
        until(loop.converged, "it goes on", 90)
        assert replicas(sandbox, "t") == {1, 2}


def test_an_approval_for_another_plan_approves_nothing(kafka, topic_name):
    sandbox = kafka()
    moved = declared(topic_name, Mode.APPLY, AUTO)
    with kept(sandbox, moved) as loop:
        until(loop.converged, "the topic is created", 60)
        other = Approval(ApprovalPolicy.MANUAL, ("sha256:unknown",))
        loop.declare(replace(declared(topic_name, Mode.APPLY, other, brokers=(2, 3))))
        until(lambda: loop.waits(WaitReason.APPROVAL_REQUIRED), "it asks for approval", 60)
        assert replicas(sandbox, topic_name) == {1, 2}


def test_a_stopped_plan_is_begun_again_only_by_a_person(kafka, topic_name):
    sandbox = kafka()
    one_by_one = replace(NO_THROTTLE, max_moves=1)

    def wanted(brokers: tuple[int, ...]) -> Desired:
        before = declared(topic_name, Mode.APPLY, brokers=brokers)
        topics = (replace(before.topics[0], partitions=6),)
        return replace(before, cluster=replace(before.cluster, execution=one_by_one), topics=topics)

    with kept(sandbox, wanted((1, 2))) as loop, Session.open(sandbox.connect) as session:
        until(loop.converged, "the topic is created", 60)
        loop.declare(wanted((2, 3)))
        until(
            lambda: (run := journal.read_run(session)) is not None and run.stage,
            "a stage is requested",
            60,
        )
        assert journal.request_stop(session) is not None
        until(lambda: loop.waits(WaitReason.STOPPED_BY_PERSON), "the run ended", 60)
        assert replicas(sandbox, topic_name) == {1, 2, 3}
        plan = loop.outcomes[-1].plan
        journal.hand_over_approval(session, plan.hash)
        until(loop.converged, "the rest of the plan is done", 60)
        assert replicas(sandbox, topic_name) == {2, 3}
        until(lambda: not journal.read_approvals(session), "the approval is used up", 60)
