"""What is remembered of balance, and what waits for it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from builders import cluster_spec, pool_spec, topic_spec
from matrices import every
from poolkeeper.errors import Fenced, Refused
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import State
from poolkeeper.model.execution.records import BalanceRecord
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import (
    Approval,
    ApprovalPolicy,
    Balancing,
    Execution,
    Heal,
    Mode,
    Throttle,
    ThrottleMode,
)
from poolkeeper.planning.planner import make_plan
from poolkeeper.reconcile.authority import Authority, authority_of
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper import Fault, FaultKind, faults
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk import znodes
from poolkeeper.zk.journal import journal
from poolkeeper.zk.journal import records as zk_records
from poolkeeper.zk.reading import observe
from simulation.executors import Executor

COOL_S = 600
SPEC = cluster_spec(
    "c",
    mode=Mode.APPLY,
    approval=Approval(ApprovalPolicy.AUTO),
    execution=Execution(throttle=Throttle(ThrottleMode.NONE)),
    balancing=Balancing(cool_down_s=COOL_S),
    heal=Heal(enabled=True, after_s=30),
)
OTHERS = topic_spec("others", "p", replication_factor=2)
UNEVEN = topic_spec("uneven", "p", replication_factor=2)
DESIRED = Desired(SPEC, (pool_spec("p", 1, 2, 3, 4, cluster="c"),), (OTHERS, UNEVEN))
AT_FIRST = {str(n): [1, 2] for n in range(6)}


@pytest.fixture
def cluster() -> SimulatedCluster:
    found = SimulatedCluster(SimulationSpec(spread(4), kafka="2.8.2"))
    found.start()
    return found


def session(cluster: SimulatedCluster) -> FakeSession:
    return FakeSession(cluster.server, cluster.clock)


def test_when_balance_began_is_remembered_from_holder_to_holder(cluster: SimulatedCluster) -> None:
    for started_ms in (1_000, 2_000):
        with journal.hold(session(cluster), "run", 0, patience_s=30) as held:
            held.commit(held.balance_record(BalanceRecord(started_ms)))
        assert zk_records.read_balance(session(cluster)) == BalanceRecord(started_ms)
    assert cluster.read("/poolkeeper/records/balance") == {"version": 1, "started_ms": 2_000}


def test_without_a_record_it_never_did(cluster: SimulatedCluster) -> None:
    assert zk_records.read_balance(session(cluster)) is None


def test_only_the_holder_writes_it(cluster: SimulatedCluster) -> None:
    with journal.hold(session(cluster), "run", 0, patience_s=30) as dethroned:
        write = dethroned.balance_record(BalanceRecord(1_000))
        epoch = int(cluster.client.get(znodes.EPOCH)[0])
        cluster.set(znodes.EPOCH, str(epoch + 1).encode())
        with pytest.raises(Fenced):
            dethroned.commit(write)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        pytest.param(b"", "it is empty", id="empty"),
        pytest.param(b"{", "it is not JSON", id="cut-off"),
        pytest.param(b'{"version":1}', "started_ms: is missing", id="without-its-time"),
        pytest.param(b'{"version":1,"started_ms":"1"}', "started_ms: is '1'", id="text"),
    ],
)
def test_a_damaged_record_is_named(cluster: SimulatedCluster, body: bytes, problem: str) -> None:
    with journal.hold(session(cluster), "run", 0, patience_s=30):
        cluster.create(znodes.RECORD_OF_BALANCE, body)
    with pytest.raises(Refused, match=f"{znodes.RECORD_OF_BALANCE} is damaged: {problem}"):
        zk_records.read_balance(session(cluster))


# The loop


@pytest.fixture
def cooling(cluster: SimulatedCluster) -> SimulatedCluster:
    """Balance began a moment ago, and somebody has made a topic that is uneven since."""
    cluster.create_topic("others", *[[1, 2]] * 6)
    work(cluster)
    assert {b for ids in cluster.replicas("others").values() for b in ids} == {1, 2, 3, 4}
    cluster.create_topic("uneven", *AT_FIRST.values())
    return cluster


def work(cluster: SimulatedCluster, desired: Desired = DESIRED, **more: object) -> Executor:
    """A process works until the cluster is at rest."""
    told = {"authority": authority_of(desired), **more}
    executor = Executor(cluster, desired, **told)  # type: ignore[arg-type]
    executor.finish(passes_max=150)
    cluster.settle()
    return executor


def began_ms(cluster: SimulatedCluster) -> int:
    return int(cluster.read(znodes.RECORD_OF_BALANCE)["started_ms"])


def whole_plan(cluster: SimulatedCluster) -> Plan:
    session = FakeSession(cluster.server, cluster.clock)
    plan = make_plan(DESIRED, observe.cluster(session, "c").cluster)
    session.close()
    return plan


def waits(cluster: SimulatedCluster) -> bool:
    return cluster.replicas("uneven") == AT_FIRST


def test_balance_waits_until_it_has_cooled_down_whoever_takes_over(
    cooling: SimulatedCluster,
) -> None:
    until_ms = began_ms(cooling) + COOL_S * 1000
    for _ in range(2):
        restarted = work(cooling)
        assert (restarted.passes, restarted.seen[-1].did) == (1, ())
        assert restarted.seen[-1].state is State.CONVERGED
        assert restarted.seen[-1].balance_waits_until_ms == until_ms
        assert waits(cooling)
    cooling.clock.advance(until_ms - cooling.clock.now_ms() - 1000)
    assert work(cooling).seen[-1].balance_waits_until_ms == until_ms
    cooling.clock.advance(1000)
    assert work(cooling).seen[-1].balance_waits_until_ms is None
    assert not waits(cooling)
    assert began_ms(cooling) >= until_ms


@every(3)
def test_balance_is_remembered_wherever_its_process_dies(step: int) -> None:
    def made() -> SimulatedCluster:
        found = SimulatedCluster(SimulationSpec(spread(4), kafka="2.8.2"))
        found.start()
        found.create_topic("others", *AT_FIRST.values())
        return found

    writes = work(made()).writes
    for done in (False, True):
        for number in range(1 + done, writes + 1, step):
            cluster = made()
            dying = faults.at_writes({number: Fault(FaultKind.DIED, done=done)})
            executor = Executor(cluster, DESIRED)
            executor.finish(lambda n, dying=dying: faults.none if n else dying)
            cluster.create_topic("uneven", *AT_FIRST.values())
            assert work(cluster).seen[-1].balance_waits_until_ms is not None, (number, done)
            assert waits(cluster), (number, done)


def drained(cluster: SimulatedCluster) -> Desired:
    pool = replace(DESIRED.pools[0], drain=frozenset({4}))
    return replace(DESIRED, pools=(pool,))


def migrated(cluster: SimulatedCluster) -> Desired:
    pools = tuple(
        pool_spec(name, *ids, cluster="c") for name, ids in (("p", (1, 2, 3)), ("q", (4,)))
    )
    elsewhere = replace(OTHERS, pool="q", replication_factor=1)
    return replace(DESIRED, pools=pools, topics=(elsewhere, UNEVEN))


def lost(cluster: SimulatedCluster) -> Desired:
    cluster.simulation.kill(4)
    assert cluster.clock.run_until(lambda: not cluster.exists("/brokers/ids/4"), 60_000)
    work(cluster, replace(DESIRED, cluster=replace(SPEC, heal=Heal())), at_rest=lambda _: True)
    cluster.clock.advance(40_000)
    return DESIRED


@pytest.mark.parametrize(
    ("change", "then_on"),
    [(drained, {1, 2, 3}), (migrated, {4}), (lost, {1, 2, 3})],
    ids=["a-drain", "a-migration", "a-lost-broker"],
)
def test_nothing_else_waits(
    cooling: SimulatedCluster,
    change: Callable[[SimulatedCluster], Desired],
    then_on: set[int],
) -> None:
    started_ms = began_ms(cooling)
    desired = change(cooling)
    last = work(cooling, desired).seen[-1]
    assert {b for ids in cooling.replicas("others").values() for b in ids} == then_on
    assert waits(cooling)
    assert last.balance_waits_until_ms == started_ms + COOL_S * 1000
    assert began_ms(cooling) == started_ms


def test_what_a_person_approves_by_its_hash_goes_at_once(cooling: SimulatedCluster) -> None:
    started_ms, plan = began_ms(cooling), whole_plan(cooling)
    assert plan.moves
    approved = replace(SPEC, approval=Approval(ApprovalPolicy.AUTO, (plan.hash,)))
    work(cooling, replace(DESIRED, cluster=approved))
    assert not waits(cooling)
    assert began_ms(cooling) == started_ms, "the loop's own balance waits no longer for it"


def test_what_is_applied_by_hand_goes_at_once(cooling: SimulatedCluster) -> None:
    plan = whole_plan(cooling)
    by_hand = Authority(steps=True, plans=frozenset((plan.hash,)))
    work(cooling, authority=by_hand, agreed=plan)
    assert not waits(cooling)


def test_who_approves_plans_waits_for_nothing_else(cooling: SimulatedCluster) -> None:
    spec = replace(SPEC, approval=Approval(plans=(whole_plan(cooling).hash,)))
    work(cooling, replace(DESIRED, cluster=spec))
    assert not waits(cooling)


def test_without_balancing_nothing_is_evened_out_nor_remembered(cluster: SimulatedCluster) -> None:
    cluster.create_topic("uneven", *AT_FIRST.values())
    spec = replace(SPEC, balancing=Balancing(enabled=False, cool_down_s=COOL_S))
    found = work(cluster, replace(DESIRED, cluster=spec, topics=(UNEVEN,))).seen[-1]
    assert (found.state, found.balance_waits_until_ms) == (State.CONVERGED, None)
    assert waits(cluster)
    assert not cluster.exists(znodes.RECORD_OF_BALANCE)
