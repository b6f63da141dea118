"""What a person approves once is done wholly: plans of several parts, on real brokers.

The plan drains a broker that holds data, shortens a topic's retention and deletes another topic.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from kafka import KafkaConsumer, TopicPartition

from builders import cluster_spec, pool_spec, topic_spec
from conditions import until
from matrices import soak
from operated import PARTITIONS, fill
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import (
    Approval,
    ApprovalPolicy,
    DeletionPolicy,
    Execution,
    Mode,
    Throttle,
    ThrottleMode,
)
from poolkeeper.sandbox import Sandbox
from real.kept import Loop, kept
from real.support import asking_brokers, assert_nothing_left, body, declare, kazoo, run

pytestmark = pytest.mark.long

VERSIONS = ["3.9.2", *soak("2.8.2", "2.3.1", "2.0.1")]
QUICK = Execution(throttle=Throttle(ThrottleMode.NONE), max_moves=2)
BATCHES = 3
LONG, SHORT = "900000000", "800000000"
EVERYTHING = {"drain", "config", "deletion"}
DEADLINE_S = 240


@dataclass(frozen=True)
class Topics:
    """The names of a test's topics: one moves, one is configured, one is deleted."""

    moved: str
    kept_shorter: str
    deleted: str

    def done(self, sandbox: Sandbox) -> set[str]:
        """What of the plan is done."""
        with kazoo(sandbox.connect) as zookeeper:
            lists = [
                replicas
                for name in (self.moved, self.kept_shorter)
                for replicas in body(zookeeper, f"/brokers/topics/{name}")["partitions"].values()
            ]
            config = body(zookeeper, f"/config/topics/{self.kept_shorter}")["config"]
            found = {
                "drain": not any(1 in replicas for replicas in lists),
                "config": config["retention.ms"] == SHORT,
                "deletion": zookeeper.exists(f"/brokers/topics/{self.deleted}") is None,
            }
        return {name for name, is_done in found.items() if is_done}


@pytest.fixture
def topics(topic_name: str) -> Topics:
    return Topics(*(f"{topic_name}-{what}" for what in ("moved", "shorter", "deleted")))


def records(sandbox: Sandbox, topic: str) -> int:
    """How many records can be read."""
    consumer = KafkaConsumer(bootstrap_servers=sandbox.bootstrap.split(","))
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    first, last = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    consumer.close()
    return sum(last[p] - first[p] for p in partitions)


class Mixed:
    """A loop that made the topics, and then is told to do everything at once."""

    def __init__(self, loop: Loop, sandbox: Sandbox, topics: Topics) -> None:
        self.loop, self.sandbox, self.topics = loop, sandbox, topics
        until(loop.converged, "the topics are made", DEADLINE_S)
        fill(sandbox.bootstrap, topics.moved, BATCHES)
        self.wanted = after(topics)
        self.approved: tuple[str, ...] = ()

    def asked(self) -> Plan:
        """Declare it all, with what is approved, and wait until a person is asked."""
        self.loop.declare(self._approving())
        until(lambda: self.questions(), "a person is asked", DEADLINE_S)
        plan = self.questions()[-1].plan
        assert plan is not None
        return plan

    def approve(self, *hashes: str) -> None:
        self.approved = hashes
        self.loop.declare(self._approving())

    def questions(self) -> list[Outcome]:
        """The passes that wait for a person and for nothing else."""
        return [
            outcome
            for outcome in self.loop.outcomes
            if has(outcome.waits, WaitReason.APPROVAL_REQUIRED)
            and outcome.progress is None
            and not any(wait.reason is WaitReason.SETTLING for wait in outcome.waits)
        ]

    def done(self) -> set[str]:
        return self.topics.done(self.sandbox)

    def _approving(self) -> Desired:
        approval = Approval(ApprovalPolicy.MANUAL, self.approved)
        return replace(self.wanted, cluster=replace(self.wanted.cluster, approval=approval))


def before(topics: Topics) -> Desired:
    cluster = cluster_spec(
        "c", mode=Mode.APPLY, approval=Approval(ApprovalPolicy.AUTO), execution=QUICK
    )
    some = {"partitions": PARTITIONS, "replication_factor": 2, "namespace": "shop"}
    plain = {"compression.type": "uncompressed"}
    return Desired(
        cluster,
        # Other topics are on these brokers: nothing is balanced against them.
        (pool_spec("p", 1, 2, 3, cluster="c", goals=()),),
        (
            topic_spec(topics.deleted, deletion_policy=DeletionPolicy.DELETE, **some),
            topic_spec(topics.moved, config=plain, **some),
            topic_spec(topics.kept_shorter, config={"retention.ms": LONG}, **some),
        ),
    )


def after(topics: Topics) -> Desired:
    first = before(topics)
    gone, moved, shorter = first.topics
    return replace(
        first,
        pools=(replace(first.pools[0], drain=frozenset({1})),),
        topics=(moved, replace(shorter, config={"retention.ms": SHORT})),
        doomed=frozenset({Claim(gone.topic, gone.owner)}),
    )


@pytest.fixture(params=VERSIONS)
def mixed(request, kafka, topics: Topics) -> Iterator[Mixed]:
    sandbox = kafka(request.param)
    with kept(sandbox, before(topics), asking_brokers(sandbox)) as loop:
        yield Mixed(loop, sandbox, topics)
    assert_nothing_left(sandbox, topics.moved, topics.kept_shorter)


def hash_of(plan: Plan, name: str) -> str:
    return next(part.hash for part in plan.parts if part.name == name)


def test_one_approval_does_all_of_a_mixed_plan(mixed: Mixed) -> None:
    kept_records = records(mixed.sandbox, mixed.topics.moved)
    plan = mixed.asked()
    names = {"drain", f"topic/{mixed.topics.kept_shorter}", f"topic/{mixed.topics.deleted}"}
    assert {part.name for part in plan.parts} == names
    assert mixed.done() == set()
    mixed.approve(plan.hash)
    until(mixed.loop.converged, "everything is done", DEADLINE_S)
    assert mixed.questions() == []
    assert mixed.done() == EVERYTHING
    assert records(mixed.sandbox, mixed.topics.moved) == kept_records > 0


def test_a_part_is_done_while_the_others_wait(mixed: Mixed) -> None:
    deletion, config = (
        f"topic/{name}" for name in (mixed.topics.deleted, mixed.topics.kept_shorter)
    )
    mixed.approve(hash_of(mixed.asked(), deletion))
    until(lambda: mixed.done() == {"deletion"}, "the topic is deleted", DEADLINE_S)
    left = mixed.asked()
    assert {part.name for part in left.parts} == {"drain", config}
    mixed.approve(hash_of(left, "drain"))
    until(lambda: mixed.done() == {"deletion", "drain"}, "the broker is drained", DEADLINE_S)
    left = mixed.asked()
    assert [part.name for part in left.parts] == [config]
    assert mixed.done() == {"deletion", "drain"}
    mixed.approve(hash_of(left, config))
    until(mixed.loop.converged, "the rest is done", DEADLINE_S)
    assert mixed.questions() == []
    assert mixed.done() == EVERYTHING


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plan_with_prune_is_done_by_one_command(kafka, topics, tmp_path, version) -> None:
    sandbox = kafka(version)
    pool = {"brokers": {"ids": [1, 2, 3]}, "balance": {}}
    said = {"pool": "p", "partitions": PARTITIONS, "replicationFactor": 2}
    first = {
        topics.moved: said,
        topics.kept_shorter: said | {"config": {"retention.ms": LONG}},
        topics.deleted: said | {"deletionPolicy": "Delete"},
    }
    folder, file = tmp_path / "declared", tmp_path / "plan.json"
    declare(folder, sandbox, {"p": pool}, first)
    assert run("apply", "-f", folder, "--yes").code == 0
    fill(sandbox.bootstrap, topics.moved, BATCHES)
    kept_records = records(sandbox, topics.moved)
    then = {
        topics.moved: said,
        topics.kept_shorter: said | {"config": {"retention.ms": SHORT}},
    }
    declare(folder, sandbox, {"p": pool | {"drain": [1]}}, then)
    assert run("plan", "-f", folder, "--prune", "--out", file).code == 2
    assert topics.done(sandbox) == set()
    done = run("apply", "-f", folder, "--plan", file, "--yes")
    # Topics of other tests may stay on the drained broker, which is told.
    assert all("not managed" in line for line in done.err.splitlines())
    assert done.code == (4 if done.err else 0)
    assert topics.done(sandbox) == EVERYTHING
    assert records(sandbox, topics.moved) == kept_records > 0
    assert run("plan", "-f", folder, "--prune").code == done.code
    assert_nothing_left(sandbox, topics.moved, topics.kept_shorter)
