"""Topics that exist and are nobody's, or somebody else's: what a Topic that names them gets."""

from dataclasses import replace
from typing import Any

import pytest

from builders import cluster_spec, pool_spec, topic_spec
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.specs import DeletionPolicy, TopicSpec, UnmanagedTopics
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy
from poolkeeper.planning.planner import make_plan
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.decide.hand_over import hand_over
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper import Call, Fault, FaultKind, Faults
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk.client import operations
from simulation.executors import EVERYTHING, Executor

ERAS = ["2.0.1", "2.8.2", "3.9.2"]
ASKED = cluster_spec(
    "c", adoption=Adoption(AdoptionPolicy.APPROVE), system_topics=("ops",), topic_prefix=None
)
POOLS = (pool_spec("p", 1, 2, cluster="c"), pool_spec("q", 3, 4, cluster="c"))
HOSTILE = {"config": {"retention.ms": "1"}, "deletion_policy": DeletionPolicy.DELETE}
HERE = ("_schemas", "audit", "orders")


def named(topic: str, owner: str, **fields: Any) -> TopicSpec:
    namespace, _, name = owner.partition("/")
    return replace(topic_spec(topic, "q"), namespace=namespace, name=name, **fields)


def wanted(*specs: TopicSpec, policy: UnmanagedTopics = UnmanagedTopics.IGNORE) -> Desired:
    ordered = sorted(specs, key=lambda spec: (spec.topic, spec.owner))
    return Desired(replace(ASKED, unmanaged_topics=policy), POOLS, tuple(ordered))


GRASPING = wanted(*(named(topic, f"evil/{topic.strip('_')}", **HOSTILE) for topic in HERE))
LEAVING = replace(
    GRASPING, topics=(), doomed=frozenset(Claim(t.topic, t.owner) for t in GRASPING.topics)
)


def made(kafka: str = "2.8.2", names: tuple[str, ...] = HERE) -> SimulatedCluster:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start()
    for name in names:
        cluster.create_topic(name, [1, 2], [2, 1])
    return cluster


def everything_of(cluster: SimulatedCluster, *names: str) -> dict[str, Any]:
    """What a topic is, and whether it is being deleted."""
    return {
        name: (
            cluster.replicas(name),
            cluster.read(f"/config/topics/{name}"),
            cluster.exists(f"/admin/delete_topics/{name}"),
        )
        for name in names
    }


def owner_of(cluster: SimulatedCluster, topic: str) -> str | None:
    body = cluster.read(f"/poolkeeper/records/topics/{topic}")
    return None if body is None else str(body["owner"])


def requests(executor: Executor) -> dict[str, str]:
    """The hash that each namespace waits for."""
    last = executor.seen[-1].last_observation
    assert last is not None
    found = (each for each in last.unaccounted if each.reason is WaitReason.ADOPTION_REQUIRED)
    return {each.name: each.hash for each in found}


def work(cluster: SimulatedCluster, desired: Desired, *approved: str) -> Executor:
    authority = replace(EVERYTHING, approved_by_name=frozenset(approved))
    executor = Executor(cluster, desired, authority)
    executor.finish(passes_max=60)
    cluster.settle()
    return executor


def done(executor: Executor, kind: ActionKind) -> int:
    return sum(action.kind is kind for outcome in executor.seen for action in outcome.did)


@pytest.mark.parametrize("kafka", ERAS)
@pytest.mark.parametrize("policy", [AdoptionPolicy.APPROVE, AdoptionPolicy.NONE])
def test_whoever_may_create_topics_gets_nothing_that_exists(
    kafka: str, policy: AdoptionPolicy
) -> None:
    cluster = made(kafka)
    before = everything_of(cluster, *HERE)
    for desired in (GRASPING, LEAVING):
        spec = replace(desired.cluster, adoption=Adoption(policy))
        executor = work(cluster, replace(desired, cluster=spec))
        asked = {"evil"} if (policy, desired) == (AdoptionPolicy.APPROVE, GRASPING) else set()
        assert requests(executor).keys() == asked
    assert everything_of(cluster, *HERE) == before
    assert [owner_of(cluster, name) for name in HERE] == [None] * 3


@pytest.mark.parametrize("kafka", ERAS)
def test_what_is_approved_is_taken_over_and_nothing_else(kafka: str) -> None:
    cluster = made(kafka)
    kept = everything_of(cluster, "_schemas")
    hash_ = requests(work(cluster, GRASPING))["evil"]
    executor = work(cluster, GRASPING, hash_)
    assert done(executor, ActionKind.TOPICS_ADOPTED) == 1
    for name in ("audit", "orders"):
        assert owner_of(cluster, name) == f"evil/{name}"
        assert cluster.read(f"/config/topics/{name}")["config"] == {"retention.ms": "1"}
        assert {id_ for ids in cluster.replicas(name).values() for id_ in ids} == {3, 4}
    assert everything_of(cluster, "_schemas") == kept, "its name is the platform's"
    work(cluster, LEAVING)
    assert [cluster.exists(f"/brokers/topics/{name}") for name in HERE] == [True, False, False]


def test_a_config_that_is_set_keeps_how_its_topic_was_come_by() -> None:
    """What two namespaces were promised goes to the one that is left, without a second question."""
    cluster = made(names=("audit", "orders"))
    rival = named("audit", "bank/audit")
    both = wanted(*GRASPING.topics[1:], rival)
    hashes = requests(work(cluster, both))
    executor = work(cluster, both, *hashes.values())
    assert requests(executor).keys() == {"evil", "bank"}, "neither gets what both were promised"
    assert owner_of(cluster, "orders") == "evil/orders"
    assert cluster.read("/config/topics/orders")["config"] == {"retention.ms": "1"}
    assert cluster.read("/poolkeeper/records/topics/orders")["adoption"] == hashes["evil"]
    work(cluster, wanted(*GRASPING.topics[1:]), *hashes.values())
    assert owner_of(cluster, "audit") == "evil/audit"


def test_a_topic_with_another_owner_was_not_come_by_as_the_one_before() -> None:
    cluster = made(names=("orders",))
    own = wanted(named("orders", "shop/orders"))
    work(cluster, own, requests(work(cluster, own))["shop"])
    renamed = replace(own.topics[0], name="renamed", config={"retention.ms": "2"})
    work(cluster, wanted(renamed))
    record = cluster.read("/poolkeeper/records/topics/orders")
    assert (record["owner"], record.get("adoption")) == ("shop/renamed", None)


@pytest.mark.parametrize("policy", UnmanagedTopics)
def test_a_topic_that_is_asked_for_lives_where_it_would_without(policy: UnmanagedTopics) -> None:
    cluster, other = made(), made()
    for each, specs in ((cluster, GRASPING.topics), (other, ())):
        desired = wanted(*specs, policy=policy)
        spec = replace(desired.cluster, default_pool="q")
        pools = (replace(POOLS[0], drain=frozenset({1})), replace(POOLS[1], claims=("aud.*",)))
        work(each, replace(desired, cluster=spec, pools=pools))
    assert everything_of(cluster, *HERE) == everything_of(other, *HERE)


@pytest.mark.parametrize("kafka", ERAS)
def test_a_topic_that_somebody_made_again_is_nobodys(kafka: str) -> None:
    cluster = made(kafka, ())
    fields = {"partitions": 2, "replication_factor": 2, "deletion_policy": DeletionPolicy.DELETE}
    own = wanted(named("t", "shop/t", **fields))
    work(cluster, own)
    assert owner_of(cluster, "t") == "shop/t"
    cluster.create("/admin/delete_topics/t", b"")
    assert cluster.clock.run_until(lambda: not cluster.exists("/brokers/topics/t"), 20_000)
    cluster.settle()
    cluster.delete_all("/config/topics/t")
    cluster.create_topic("t", [1, 2], [2, 1])
    before = everything_of(cluster, "t")
    shortened = replace(own.topics[0], config={"retention.ms": "1"})
    executor = work(cluster, wanted(shortened))
    gone = replace(wanted(), doomed=frozenset({Claim("t", "shop/t")}))
    for desired in (gone, wanted(replace(shortened, name="other"))):
        work(cluster, desired)
    assert everything_of(cluster, "t") == before
    assert owner_of(cluster, "t") is None
    work(cluster, wanted(shortened), requests(executor)["shop"])
    assert owner_of(cluster, "t") == "shop/t"
    assert cluster.read("/config/topics/t")["config"] == {"retention.ms": "1"}


@pytest.mark.parametrize("policy", DeletionPolicy)
def test_the_loser_of_a_conflict_gets_nothing_of_its_owner(policy: DeletionPolicy) -> None:
    cluster = made(names=())
    fields = {"partitions": 2, "replication_factor": 2}
    own = named("t", "shop/t", deletion_policy=policy, **fields)
    loser = named("t", "evil/t", **(HOSTILE | fields))
    work(cluster, wanted(own))
    first = cluster.read("/brokers/topics/t")["topic_id"]
    before = everything_of(cluster, "t")
    assert requests(work(cluster, wanted(own, loser))) == {}
    doomed = frozenset({Claim("t", "shop/t")}) if policy is DeletionPolicy.DELETE else frozenset()
    executor = work(cluster, replace(wanted(loser), doomed=doomed))
    if policy is DeletionPolicy.DELETE:
        # The topic is gone with all its data; its name is free, and what is there now is new.
        work(cluster, wanted(loser))
        assert cluster.read("/brokers/topics/t")["topic_id"] != first
    else:
        assert everything_of(cluster, "t") == before
        assert requests(executor).keys() == {"evil"}
        assert owner_of(cluster, "t") == "shop/t"
        assert requests(work(cluster, wanted(replace(own, name="renamed")))) == {}
        assert owner_of(cluster, "t") == "shop/renamed"


def test_without_its_records_a_cluster_asks_again() -> None:
    cluster = made(names=())
    own = wanted(named("t", "shop/t", partitions=2, replication_factor=2))
    work(cluster, own)
    cluster.delete("/poolkeeper/records/topics/t")
    executor = work(cluster, wanted(replace(own.topics[0], config={"retention.ms": "1"})))
    assert requests(executor).keys() == {"shop"}
    assert cluster.read("/config/topics/t")["config"] == {}


@pytest.mark.parametrize("kafka", ERAS)
def test_what_an_earlier_release_recorded_stays_owned(kafka: str) -> None:
    cluster = made(kafka)
    path = "/poolkeeper/records/topics/orders"
    work(cluster, wanted())
    old = {"version": 1, "owner": "shop/orders", "declared": [], "deletion_policy": "Retain"}
    cluster.create(path, old)
    executor = work(cluster, wanted(named("orders", "shop/orders")))
    assert requests(executor) == {}
    assert {id_ for ids in cluster.replicas("orders").values() for id_ in ids} == {3, 4}
    noted = cluster.read(path)
    assert noted.keys() - old.keys() >= {"created_zxid"}
    assert ("topic_id" in noted) == (kafka != "2.0.1")


def test_a_cluster_that_gets_topic_ids_asks_nothing() -> None:
    """Kafka 2.8 gives the topics of an older cluster their ids; they stay the same topics."""
    cluster = made("2.0.1", ())
    own = wanted(named("t", "shop/t", partitions=2, replication_factor=2))
    work(cluster, own)
    body = cluster.read("/brokers/topics/t")
    cluster.set("/brokers/topics/t", {**body, "version": 3, "topic_id": "id"})
    executor = work(cluster, own)
    assert requests(executor) == {}
    assert cluster.read("/poolkeeper/records/topics/t")["topic_id"] == "id"


def test_a_confirmed_plan_takes_over_what_its_manifests_approve() -> None:
    cluster = made()
    looking = work(cluster, GRASPING)
    hash_, seen = requests(looking)["evil"], looking.seen[-1].last_observation
    assert seen is not None
    records = hand_over(GRASPING, seen.cluster, seen.records, {hash_}).after(seen.records)
    agreed = make_plan(GRASPING, seen.cluster, records, seen.gone)
    assert {move.topic for move in agreed.moves} == {"audit", "orders"}
    authority = Authority(True, frozenset({agreed.hash}), approved_by_name=frozenset({hash_}))
    Executor(cluster, GRASPING, authority, agreed=agreed).finish(passes_max=60)
    assert [owner_of(cluster, name) for name in HERE] == [None, "evil/audit", "evil/orders"]
    assert cluster.read("/config/topics/orders")["config"] == {"retention.ms": "1"}


def test_an_open_cluster_asks_nothing() -> None:
    cluster = made()
    spec = replace(ASKED, adoption=Adoption(), system_topics=None)
    work(cluster, replace(GRASPING, cluster=spec))
    assert [owner_of(cluster, name) for name in HERE] == [f"evil/{n.strip('_')}" for n in HERE]


@pytest.mark.parametrize(("done_", "processes"), [(False, 3), (True, 2)], ids=["before", "after"])
def test_an_approval_survives_the_death_of_its_process(
    done_: bool, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records take three transactions; each process dies at its second one."""
    monkeypatch.setattr(operations, "BATCH_OPERATIONS", 4)
    names = tuple(f"t{number}" for number in range(9))
    cluster = made(names=names)
    desired = wanted(*(named(name, f"shop/{name}") for name in names))
    hash_ = requests(work(cluster, desired))["shop"]
    authority: Authority = replace(EVERYTHING, approved_by_name=frozenset({hash_}))
    executor = Executor(cluster, desired, authority, at_rest=_nothing_asked)
    fault = Fault(FaultKind.DIED, done=done_)
    assert executor.finish(lambda _: _at_second_record(fault)) == processes
    assert {owner_of(cluster, name) for name in names} == {f"shop/{name}" for name in names}


def _at_second_record(fault: Fault) -> Faults:
    """Strike the second transaction that a process writes records of topics in."""
    records = 0

    def strike(call: Call) -> Fault | None:
        nonlocal records
        records += call.write and any("/records/topics/" in path for path in call.paths)
        return fault if records == 2 else None

    return strike


def _nothing_asked(outcome: Outcome) -> bool:
    last = outcome.last_observation
    return last is not None and not any(
        wait.reason is WaitReason.ADOPTION_REQUIRED for wait in last.unaccounted
    )
