"""Topics that are deleted and made again under their name."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from builders import desired, pool_spec, topic_spec
from poolkeeper.errors import Refused, Stale, StalePlan
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import AddPartitions, DeleteTopic, Plan
from poolkeeper.model.specs import DeletionPolicy
from poolkeeper.model.topology import Cluster, ReassignmentEntry
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.run_state import deletions
from poolkeeper.reconcile.authority import Authority
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper import Fault, FaultKind
from poolkeeper.sandbox.fake_zookeeper.faults import Call
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk import apply, znodes
from poolkeeper.zk.cluster_access import ZooKeeperView
from poolkeeper.zk.journal import journal
from poolkeeper.zk.journal.journal import Journal
from poolkeeper.zk.reading import observe
from simulation.executors import Executor

MB = 1_000_000
LISTS = {"version": 1, "partitions": {"0": [1, 2], "1": [2, 1]}}
TOPIC = topic_spec(
    "t", "p", partitions=2, replication_factor=2, deletion_policy=DeletionPolicy.DELETE
)


@pytest.mark.parametrize("kafka", ["1.1.1", "2.0.1", "2.8.2", "3.9.2"])
def test_a_topic_made_again_is_another_one_and_moves_like_any(kafka: str) -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start()
    declared = desired(pool_spec("p", 1, 2, cluster="c"), TOPIC, name="c")
    gone = replace(declared, topics=(), doomed=frozenset({Claim("t", "shop/t")}))
    moved = replace(declared, pools=(pool_spec("p", 3, 4, cluster="c"),))
    for wanted in (declared, gone, declared, moved):
        Executor(cluster, wanted).finish()
        cluster.settle()
    for partition, replicas in cluster.replicas("t").items():
        leader, isr, _ = cluster.state("t", int(partition))
        assert (leader, set(replicas), set(isr)) == (replicas[0], {3, 4}, {3, 4})
    assert cluster.simulation.strays(1) == ()


@pytest.mark.parametrize("kafka", ["1.1.1", "2.8.2", "3.9.2"])
def test_an_empty_broker_of_the_missing_id_ends_a_deletion(kafka: str) -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(3), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", [1, 2], [2, 1])
    cluster.request({("t", 0): [1, 99]})
    cluster.settle()
    cluster.create("/admin/delete_topics/t", b"")
    cluster.clock.advance(20_000)
    assert cluster.exists("/brokers/topics/t")
    cluster.simulation.add_broker(replace(spread(1)[0], id=99))
    assert cluster.clock.run_until(lambda: not cluster.exists("/brokers/topics/t"), 20_000)


@pytest.mark.parametrize("kafka", ["0.10.2.2", "2.0.1", "3.9.2"])
def test_a_topic_made_again_at_once_gets_its_states(kafka: str) -> None:
    """A controller forgets the name with the last node, so that it finds a new topic."""
    cluster = SimulatedCluster(SimulationSpec(spread(3), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", [1, 2])
    cluster.create("/admin/delete_topics/t", b"")
    marked = "/admin/delete_topics/t"
    assert cluster.clock.run_until(lambda: not cluster.exists(marked), 20_000)
    cluster.create("/brokers/topics/t", {"version": 1, "partitions": {"0": [3, 2]}})
    cluster.settle()
    assert cluster.state("t", 0)[:2] == (3, [3, 2])


@pytest.mark.parametrize("kafka", ["2.8.2", "3.9.2"])
def test_the_api_moves_no_partition_of_a_topic_that_is_being_deleted(kafka: str) -> None:
    """Real brokers answer UNKNOWN_TOPIC_OR_PARTITION: the deletion would never end."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", [1, 3], [1, 2])
    cluster.simulation.kill(3)
    cluster.create("/admin/delete_topics/t", b"")
    cluster.settle()
    cluster.simulation.alter_reassignments({("t", 0): [2]})
    cluster.settle()
    assert cluster.replicas("t") == {"0": [1, 3], "1": [1, 2]}
    cluster.simulation.start_broker(3)
    assert cluster.clock.run_until(lambda: not cluster.exists("/brokers/topics/t"), 20_000)


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_a_topic_made_again_since_the_plan_is_not_deleted(kafka: str) -> None:
    """A plan in a file may be old; up to Kafka 2.7 topics have no ids."""
    cluster = SimulatedCluster(SimulationSpec(spread(2), kafka=kafka))
    cluster.start()
    declared = desired(pool_spec("p", 1, 2, cluster="c"), TOPIC, name="c")
    Executor(cluster, declared).finish()
    gone = replace(declared, topics=(), doomed=frozenset({Claim("t", "shop/t")}))
    asking = Executor(cluster, gone, Authority(), at_rest=lambda outcome: outcome.plan is not None)
    asking.finish()
    plan = asking.seen[-1].plan
    assert plan is not None
    assert [type(step) for step in plan.steps] == [DeleteTopic]
    cluster.create("/admin/delete_topics/t", b"")
    cluster.settle()
    cluster.create_topic("t", [1, 2], [2, 1])
    with pytest.raises(Refused):
        Executor(cluster, gone, agreed=plan).finish(passes_max=20)
    cluster.settle()
    assert cluster.exists("/brokers/topics/t")


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_a_topic_made_again_in_mid_run_is_not_deleted(kafka: str) -> None:
    """Deletions of a plan come after its moves: what is there by then may be another topic."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start()
    moving = topic_spec("u", "p", partitions=1, replication_factor=2)
    declared = desired(pool_spec("p", 1, 2, cluster="c"), TOPIC, moving, name="c")
    Executor(cluster, declared).finish()
    cluster.settle()
    cluster.simulation.set_size("u", 0, 800 * MB)
    moved = pool_spec("p", 3, 4, cluster="c")
    doomed = frozenset({Claim("t", "shop/t")})
    gone = replace(declared, pools=(moved,), topics=(moving,), doomed=doomed)
    asking = Executor(cluster, gone, Authority(), at_rest=lambda outcome: outcome.plan is not None)
    asking.finish()
    plan = asking.seen[-1].plan
    assert plan is not None
    assert [type(step) for step in plan.steps] == [DeleteTopic]

    def make_again() -> None:
        cluster.create(znodes.deletion("t"), b"")
        cluster.clock.after(5_000, lambda: cluster.create(znodes.topic("t"), LISTS))

    cluster.client.exists(znodes.REASSIGNMENT, lambda _: cluster.clock.after(50, make_again))
    executor = Executor(cluster, gone, agreed=plan)
    with suppress(StalePlan):
        executor.finish(passes_max=60)
    cluster.settle()
    assert ActionKind.RUN_ENDED in {a.kind for outcome in executor.seen for a in outcome.did}
    assert set(cluster.replicas("u")["0"]) == {3, 4}
    assert cluster.exists("/brokers/topics/t")


def ask_for_deletion(held: Journal, observed: Cluster) -> None:
    apply.delete_topic(held, DeleteTopic("t", None), observed)


def ask_for_move(held: Journal, observed: Cluster) -> None:
    apply.request_moves(held, [ReassignmentEntry("t", 0, (2, 3))], observed)


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
@pytest.mark.parametrize("write", [ask_for_deletion, ask_for_move])
@pytest.mark.parametrize("lag", [0, 1000], ids=["in-time", "lagging"])
def test_nothing_is_asked_of_a_topic_made_again_since_it_was_observed(
    kafka: str, write: Callable[[Journal, Cluster], None], lag: int
) -> None:
    """Its node has the version of the node before, which is all that a transaction checks."""
    cluster = SimulatedCluster(SimulationSpec(spread(3), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", [1, 2])
    cluster.settle()
    lags = [0]

    def trouble(call: Call) -> Fault | None:
        return Fault(FaultKind.STALE, lag=lags[0]) if call.what != "sync" else None

    session = FakeSession(cluster.server, cluster.clock, plan=trouble)
    with journal.hold(session, "apply", 0, patience_s=30) as held:
        observed = observe.cluster(session, "c").cluster
        cluster.create(znodes.deletion("t"), b"")
        assert cluster.clock.run_until(lambda: not cluster.exists(znodes.deletion("t")), 20_000)
        cluster.create_topic("t", [1, 2])
        cluster.settle()
        assert cluster.version(znodes.topic("t")) == observed.topics["t"].version
        lags[0] = lag
        with pytest.raises(Stale, match="topic t was deleted since it was observed"):
            write(held, observed)
    assert not cluster.exists(znodes.deletion("t"))
    assert not cluster.exists(znodes.REASSIGNMENT)


def ask_for_partitions(held: Journal, observed: Cluster) -> None:
    apply.add_partitions(held, AddPartitions("t", 2, ((1, 2),)))


@pytest.mark.parametrize("write", [ask_for_deletion, ask_for_partitions])
@pytest.mark.parametrize("lagging", [False, True], ids=["right-before", "unseen-by-its-server"])
def test_a_topic_made_again_right_before_a_transaction_keeps_its_lists(
    write: Callable[[Journal, Cluster], None], lagging: bool
) -> None:
    """Its node has the version of the one before; its states do not, which had more of a life."""
    cluster = SimulatedCluster(SimulationSpec(spread(3), kafka="2.0.1"))
    cluster.start()
    cluster.create_topic("t", [1, 2], [2, 1])
    cluster.simulation.stop_broker(1)
    cluster.settle()
    cluster.simulation.start_broker(1)
    cluster.settle()
    made_again = {"version": 1, "partitions": {"0": [3, 2], "1": [2, 3]}}
    due, lag = False, 0

    def make_again() -> None:
        cluster.delete_all(znodes.topic("t"))
        cluster.create(znodes.topic("t"), made_again)

    def trouble(call: Call) -> Fault | None:
        nonlocal due
        if due and call.write:
            due = False
            make_again()
        return Fault(FaultKind.STALE, lag=lag) if lag and call.what != "sync" else None

    session = FakeSession(cluster.server, cluster.clock, plan=trouble)
    with journal.hold(session, "apply", 0, patience_s=30) as held:
        observed = observe.cluster(session, "c").cluster
        if lagging:
            make_again()
            lag = 1000
        else:
            due = True
        with suppress(Stale):
            write(held, observed)
    assert not due
    lists = cluster.replicas("t")
    assert {partition: lists[partition] for partition in "01"} == made_again["partitions"]
    assert lagging or len(lists) == 2
    assert not cluster.exists(znodes.deletion("t"))


def confirm(cluster: SimulatedCluster, wanted: Desired) -> Plan:
    """The plan that a person confirms."""
    with FakeSession(cluster.server, cluster.clock) as session:
        view = ZooKeeperView(session)
        return make_plan(wanted, view.observe("c").cluster, view.read_records())


def undeletable(wanted: Desired, *, by_person: bool = False) -> tuple[SimulatedCluster, Executor]:
    """Brokers that run with delete.topic.enable=false, and whose topic t is to be deleted."""
    spec = SimulationSpec(spread(2), kafka="3.9.2", deletes_topics=False)
    cluster = SimulatedCluster(spec)
    cluster.start()
    Executor(cluster, replace(wanted, topics=(TOPIC,), doomed=frozenset())).finish()
    executor = Executor(cluster, wanted)
    if by_person:
        executor.agreed = confirm(cluster, wanted)
    return cluster, executor


def asked(executor: Executor) -> int:
    did = (action for outcome in executor.seen for action in outcome.did)
    return sum(action.kind is ActionKind.DELETE_TOPIC for action in did)


DELETED = desired(
    pool_spec("p", 1, 2, cluster="c"), name="c", doomed=frozenset({Claim("t", "shop/t")})
)


def test_a_deletion_that_the_controller_takes_back_is_asked_for_again_after_a_while() -> None:
    cluster, executor = undeletable(DELETED)

    def at_rest(outcome: Outcome) -> bool:
        if len(executor.seen) == 100:
            assert asked(executor) == 1
            assert outcome.state is State.WAITING
            assert Wait(WaitReason.DELETION_TAKEN_BACK, topic="t") in outcome.waits
            cluster.simulation.world.deletes_topics = True
        return not cluster.exists("/brokers/topics/t")

    executor.at_rest = at_rest
    executor.finish(passes_max=700)
    assert asked(executor) == 2
    assert len(executor.seen) > 500


def test_of_a_plan_that_a_person_confirmed_it_is_left_undone() -> None:
    _, executor = undeletable(DELETED, by_person=True)
    executor.at_rest = lambda outcome: outcome.state is State.CONVERGED
    executor.finish(passes_max=30)
    assert asked(executor) == 1
    assert Action(ActionKind.DELETION_TAKEN_BACK, topic="t") in executor.seen[-1].did


@pytest.mark.parametrize("back", [False, True])
def test_a_person_does_not_wait_for_ever_for_a_broker_that_holds_a_deletion_up(back: bool) -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(2), kafka="3.9.2"))
    cluster.start()
    Executor(cluster, replace(DELETED, topics=(TOPIC,), doomed=frozenset())).finish()
    cluster.simulation.kill(2)
    cluster.clock.advance(20_000)
    executor = Executor(cluster, DELETED, agreed=confirm(cluster, DELETED))
    asked_ms = cluster.clock.now_ms()

    def at_rest(outcome: Outcome) -> bool:
        late = cluster.clock.now_ms() - asked_ms
        if back and late > deletions.RESTART_MS / 2 and not cluster.exists("/brokers/ids/2"):
            cluster.simulation.start_broker(2)
        return outcome.state is State.CONVERGED

    executor.at_rest = at_rest
    executor.finish(passes_max=300)
    waits = {wait.reason: wait.brokers for wait in executor.seen[-1].waits}
    assert waits == ({} if back else {WaitReason.DELETION_AWAITS_BROKERS: (2,)})
    assert cluster.exists("/brokers/topics/t") is not back
    waited_ms = cluster.clock.now_ms() - asked_ms
    assert (waited_ms < deletions.RESTART_MS) is back
