"""One Topic among fifty is refused, or cannot be written: all others are as declared all the same.

Every kind of refusal is thrown at one Topic. It is named for it, the pass is not stopped by it, and
the cluster comes to what it would be without that Topic.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from builders import desired, move, pool_spec, topic_spec
from matrices import soak
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.records import Records
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    Plan,
    SetConfig,
    Step,
)
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import (
    AllowedNamespaces,
    Capacity,
    Quotas,
    Strategy,
    Throttle,
    ThrottleMode,
    TopicSpec,
)
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor

FEW, FIFTY = 9, 49
OTHERS = pytest.mark.parametrize("others", [FEW, *soak(FIFTY)])
"""How many other topics there are: few prove as much, and cost a third."""
OLD = 5
"""How many of the others exist already, on brokers of the wrong pool."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A Topic, and what is said of it: the reason of a plan's problem, or of a wait."""

    topic: TopicSpec
    reason: ProblemReason | WaitReason
    found: tuple[tuple[int, ...], ...] = ()
    pool: Mapping[str, Any] | None = None


def bad(**fields: Any) -> TopicSpec:
    return topic_spec("bad", **fields)


def pinned(*lists: tuple[int, ...]) -> TopicSpec:
    return bad(strategy=Strategy.MANUAL, assignment=lists)


R = ProblemReason
LARGE = {"cleanup.policy": ",".join(["delete"] * 75_000)}
STOPS = {"retention.ms": "-5"}
"""What no broker of 2.2 or later starts with."""
REFUSALS: Mapping[str, Refusal] = {
    "20,000 partitions": Refusal(bad(partitions=20_000, replication_factor=2), R.TOPIC_TOO_LARGE),
    "100,000 partitions by hand": Refusal(pinned(*[(1, 2)] * 100_000), R.TOPIC_TOO_LARGE),
    "growth to 30,000": Refusal(
        bad(partitions=30_000, replication_factor=2), R.TOPIC_TOO_LARGE, found=((1, 2),)
    ),
    "more replicas than brokers": Refusal(
        bad(partitions=1, replication_factor=9), R.TOO_FEW_BROKERS
    ),
    "more replicas than brokers, later": Refusal(
        bad(replication_factor=9), R.TOO_FEW_BROKERS, found=((1, 2),)
    ),
    "no partitions declared": Refusal(bad(replication_factor=2), R.PARTITIONS_UNDECLARED),
    "no factor declared": Refusal(bad(partitions=2), R.REPLICATION_FACTOR_UNDECLARED),
    "a name that Kafka refuses": Refusal(
        topic_spec("bad name", partitions=1, replication_factor=2), R.ILLEGAL_NAME
    ),
    "fewer partitions": Refusal(
        bad(partitions=1, replication_factor=2), R.PARTITIONS_NEVER_SHRINK, found=((1, 2), (2, 1))
    ),
    "keys that would move": Refusal(
        bad(partitions=3, replication_factor=2, keyed=True), R.KEYS_WOULD_MOVE, found=((1, 2),)
    ),
    "a pool that is not there": Refusal(
        bad(pool="nowhere", partitions=1, replication_factor=2), R.POOL_UNAVAILABLE
    ),
    "a pool that is not there, later": Refusal(
        bad(pool="nowhere"), R.POOL_UNAVAILABLE, found=((1, 2),)
    ),
    "a namespace that is not admitted": Refusal(
        bad(namespace="evil", partitions=1, replication_factor=2),
        R.NAMESPACE_NOT_ADMITTED,
        pool={"allowed_namespaces": AllowedNamespaces(names=("shop",))},
    ),
    "a quota": Refusal(
        bad(namespace="evil", partitions=7, replication_factor=2),
        R.QUOTA_EXCEEDED,
        pool={"quotas": Quotas(per_namespace={"evil": Quotas(partitions=3)})},
    ),
    "lists on brokers of another pool": Refusal(pinned((8, 1)), R.PINNED_BROKERS_UNUSABLE),
    "lists on another pool's brokers, later": Refusal(
        pinned((8, 1)), R.PINNED_BROKERS_UNUSABLE, found=((1, 2),)
    ),
    "a list that names a broker twice": Refusal(pinned((1, 1)), R.INVALID_ASSIGNMENT),
    "an empty list": Refusal(pinned((1,), ()), R.INVALID_ASSIGNMENT),
    "lists that overfill a broker": Refusal(
        pinned(*[(1,)] * 300),
        R.CAPACITY_EXCEEDED,
        pool={"capacity": Capacity(replicas=200)},
    ),
    "lists that overfill a broker, later": Refusal(
        pinned(*[(1,)] * 300),
        R.CAPACITY_EXCEEDED,
        found=((2,),) * 300,
        pool={"capacity": Capacity(replicas=400), "capacity_of": {1: Capacity(replicas=200)}},
    ),
    "a config that stops brokers": Refusal(
        bad(partitions=1, replication_factor=2, config=STOPS), R.INVALID_CONFIG
    ),
    "a config that stops brokers, later": Refusal(
        bad(config=STOPS), R.INVALID_CONFIG, found=((1, 2),)
    ),
    "a key that no release knows": Refusal(
        bad(config={"retension.ms": "5"}), R.INVALID_CONFIG, found=((1, 2),)
    ),
    "a config that fits into no transaction": Refusal(
        bad(partitions=1, replication_factor=2, config=LARGE),
        WaitReason.TOPIC_TOO_LARGE,
    ),
    "such a config, later": Refusal(
        bad(config=LARGE),
        WaitReason.TOPIC_TOO_LARGE,
        found=((1, 2),),
    ),
}


def made(refusal: Refusal, others: int) -> tuple[SimulatedCluster, Desired]:
    """Return eight brokers, four of them a pool, with the other topics on the wrong ones."""
    cluster = SimulatedCluster(SimulationSpec(spread(8), kafka="3.9.2"))
    cluster.start(first=1)
    for number in range(OLD):
        cluster.create_topic(f"t{number}", (5, 6), (7, 8))
    counts = {"partitions": 2, "replication_factor": 2}
    topics = [topic_spec(f"t{number}", **counts) for number in range(others)]
    topics.append(refusal.topic)
    if refusal.found:
        cluster.create_topic("bad", *refusal.found)
    cluster.settle()
    wanted = desired(
        pool_spec("p", 1, 2, 3, 4, cluster="c", **refusal.pool or {}), *topics, name="c"
    )
    execution = replace(wanted.cluster.execution, throttle=Throttle(ThrottleMode.NONE))
    return cluster, replace(wanted, cluster=replace(wanted.cluster, execution=execution))


def others_are_placed(cluster: SimulatedCluster, others: int) -> bool:
    bodies = [cluster.read(f"/brokers/topics/t{number}") for number in range(others)]
    return all(
        body is not None
        and all({*replicas} <= {1, 2, 3, 4} for replicas in body["partitions"].values())
        and not body.get("adding_replicas")
        for body in bodies
    )


def at_rest(cluster: SimulatedCluster, others: int) -> Callable[[Outcome], bool]:
    """Return whether no run is under way, nothing was done, and the others are as declared."""

    def done(outcome: Outcome) -> bool:
        idle = outcome.progress is None and outcome.state is not State.PROGRESSED
        return idle and others_are_placed(cluster, others)

    return done


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
@OTHERS
def test_what_is_refused_for_one_topic_is_that_topics_alone(refusal: Refusal, others: int) -> None:
    cluster, wanted = made(refusal, others)
    executor = Executor(cluster, wanted, at_rest=at_rest(cluster, others))
    executor.finish(passes_max=60)
    last = executor.seen[-1]
    if isinstance(refusal.reason, WaitReason):
        assert refusal.reason in {wait.reason for wait in last.waits}
    else:
        assert last.plan is not None
        name = refusal.topic.topic
        assert refusal.reason in {p.reason for p in last.plan.problems if p.topic == name}
    found = cluster.read("/brokers/topics/bad")
    assert (found is not None) == bool(refusal.found)
    config = cluster.read("/config/topics/bad")
    assert not (config or {}).get("config")
    if refusal.found:
        assert len(found["partitions"]) == len(refusal.found)
    if refusal.found and refusal.topic.manual is not None:
        assert found["partitions"] == {str(p): [*ids] for p, ids in enumerate(refusal.found)}


# What no rule of the planner foresees: its plan is unlawful, and the audit says whose fault it is.


@dataclass(frozen=True, slots=True)
class FaultyPlanner:
    """A planner that adds something unlawful about `bad` to its plans, as long as it may."""

    fault: Callable[[Plan], Plan]

    def __call__(
        self, wanted: Desired, cluster: Cluster, records: Records, gone: frozenset[int]
    ) -> Plan:
        made = make_plan(wanted, cluster, records, gone)
        if any("bad" in (each.topic, each.pool) for each in wanted.kept):
            return made
        faulty = self.fault(made)
        return replace(faulty, hash=plan_json.plan_hash(faulty.moves, faulty.steps))


def moved(*path: tuple[int, ...]) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, moves=(*plan.moves, move("bad", 0, *path)))


def stepped(step: Step) -> Callable[[Plan], Plan]:
    def fault(plan: Plan) -> Plan:
        others = tuple(each for each in plan.steps if getattr(each, "topic", "") != "bad")
        return replace(plan, steps=(*others, step))

    return fault


FAULTS: Mapping[str, tuple[Callable[[Plan], Plan], str, tuple[tuple[int, ...], ...]]] = {
    "a move out of its pool": (moved((1, 2), (7, 8)), "target", ((1, 2),)),
    "a move to a broker that is not there": (moved((1, 2), (9, 2)), "target", ((1, 2),)),
    "a list that names a broker twice": (moved((1, 2), (3, 3)), "list", ((1, 2),)),
    "an empty list": (moved((1, 2), ()), "list", ((1, 2),)),
    "fewer replicas than declared": (moved((1, 2), (1,)), "replicas", ((1, 2),)),
    "a deletion that nobody wants": (stepped(DeleteTopic("bad")), "deletion", ((1, 2),)),
    "a config that nobody declared": (
        stepped(SetConfig("bad", {"retention.ms": "1"})),
        "config",
        ((1, 2),),
    ),
    "throttles": (
        stepped(SetConfig("bad", {"leader.replication.throttled.replicas": "*"})),
        "throttle",
        ((1, 2),),
    ),
    "partitions that nobody declared": (
        stepped(AddPartitions("bad", 1, ((1, 2), (3, 4)))),
        "growth",
        ((1, 2),),
    ),
    "a creation outside its pool": (
        stepped(CreateTopic("bad", "p", ((7, 8),), {})),
        "target",
        (),
    ),
    "a creation of another size": (
        stepped(CreateTopic("bad", "p", ((1, 2), (2, 3), (3, 4)), {})),
        "creation",
        (),
    ),
}


@pytest.mark.parametrize(("fault", "law", "found"), FAULTS.values(), ids=FAULTS)
@OTHERS
def test_a_plan_that_is_unlawful_for_one_topic_is_made_again_without_it(
    fault: Callable[[Plan], Plan], law: str, found: tuple[tuple[int, ...], ...], others: int
) -> None:
    asked = bad(partitions=len(found) or 1, replication_factor=2)
    refusal = Refusal(asked, R.UNLAWFUL, found)
    cluster, wanted = made(refusal, others)
    executor = Executor(
        cluster, wanted, at_rest=at_rest(cluster, others), plan=FaultyPlanner(fault)
    )
    executor.finish(passes_max=60)
    last = executor.seen[-1]
    assert last.plan is not None
    told = [p for p in last.plan.problems if p.topic == "bad" and p.reason is R.UNLAWFUL]
    assert law in {p.law for p in told}, told
    body = cluster.read("/brokers/topics/bad")
    assert (body["partitions"] if body else {}) == {
        str(number): [*ids] for number, ids in enumerate(found)
    }
