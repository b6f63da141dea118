"""The loop that keeps a cluster as declared: modes, approvals, edits, ZooKeeper going away."""

import json
from dataclasses import replace
from time import sleep

import pytest
from kazoo.security import make_acl

from builders import cluster_spec, pool_spec
from conditions import until
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.specs import (
    Approval,
    ApprovalPolicy,
    Execution,
    Mode,
    Throttle,
    ThrottleMode,
    TopicSpec,
)
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import journal
from real.kept import kept
from real.support import HOLDER, kazoo

AUTO = Approval(ApprovalPolicy.AUTO)
NO_THROTTLE = Execution(throttle=Throttle(ThrottleMode.NONE))


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


def test_who_works_on_a_cluster_is_told_while_its_passes_are_refused(kafka, topic_name):
    sandbox = kafka()
    limited = Execution(throttle=Throttle(ThrottleMode.FIXED, 2**20))

    def wanted(brokers: tuple[int, ...]) -> Desired:
        before = declared(topic_name, Mode.APPLY, brokers=brokers)
        return replace(before, cluster=replace(before.cluster, execution=limited))

    with kept(sandbox, wanted((1, 2))) as loop, kazoo(sandbox.connect) as zookeeper:
        until(loop.converged, "the topic is created", 60)
        opened, _ = zookeeper.get_acls("/admin")
        zookeeper.set_acls("/admin", [make_acl("world", "anyone", read=True, admin=True)])
        try:
            loop.declare(wanted((1, 3)))
            until(lambda: loop.waits(WaitReason.UNAVAILABLE), "the request is refused", 60)
            holders = {zookeeper.get(HOLDER)[1].ephemeralOwner for _ in range(40) if not sleep(0.1)}
        finally:
            zookeeper.set_acls("/admin", opened)
        assert len(holders) == 1
        until(loop.converged, "it goes on by itself", 90)
        assert replicas(sandbox, topic_name) == {1, 3}
