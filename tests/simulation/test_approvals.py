"""An approval holds although what is in the cluster changes while a person thinks: simulated."""

from dataclasses import replace

import pytest

from builders import cluster_spec, pool_spec
from poolkeeper.cli.commands.plans.show import stored_plan
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import UnmanagedTopics
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import make_plan
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.observe.observation import observe_cluster
from poolkeeper.reconcile.pass_memory import PendingPlan
from poolkeeper.reconcile.plan_to_approve import renew
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk import znodes
from poolkeeper.zk.client.operations import Delete
from poolkeeper.zk.cluster_access import ZooKeeperView
from poolkeeper.zk.journal import pending_plan
from simulation.executors import Executor, converged

MIB = 1024**2
SPEC = cluster_spec("c", unmanaged_topics=UnmanagedTopics.MANAGE)
DESIRED = Desired(SPEC, (pool_spec("p", 1, 2, 3, cluster="c", claims=(".*",)),))
A_LITTLE = [100 + n for n in range(12)]
A_LOT = [2**n for n in range(12)]


class Asking:
    """A loop that waits for approval while what is in its cluster grows and shrinks."""

    def __init__(self, sizes_mib: list[int]) -> None:
        self.cluster = SimulatedCluster(SimulationSpec(spread(3), kafka="2.8.2"))
        self.cluster.start()
        self.cluster.create_topic("t", *([1, 2], [2, 1]) * 6)
        self.asked: list[str] = []
        self.fresh: list[str] = []
        self._sizes_mib = sizes_mib
        self._passes_max = 4
        self._executor = Executor(
            self.cluster, DESIRED, Authority(steps=True), self._look, enrich=self.enrich
        )

    def wait(self) -> Plan:
        """Pass four times, each with other sizes; return the plan that is waited for in the end."""
        self._executor.finish()
        plan = self._executor.seen[-1].plan
        assert plan is not None
        return plan

    def approve(self, plan: Plan) -> None:
        """Go on with that plan approved, to the end."""
        self._executor.authority = Authority(steps=True, plans=frozenset((plan.hash,)))
        self._executor.at_rest = converged
        self._executor.finish()

    def session(self) -> FakeSession:
        """Open a session of somebody else's."""
        return FakeSession(self.cluster.server, self.cluster.clock)

    def wait_again(self) -> None:
        """Pass once more, as a process that took over."""
        self._passes_max += 1
        self._executor.finish()

    def enrich(self, cluster: Cluster) -> Cluster:
        topic, sizes = cluster.topics["t"], self._sizes_mib
        shift = len(self.asked)
        partitions = tuple(
            p._replace(size_bytes=sizes[(p.partition + shift) % len(sizes)] * MIB)
            for p in topic.partitions
        )
        enriched = replace(cluster, topics={"t": replace(topic, partitions=partitions)})
        self.fresh.append(make_plan(DESIRED, enriched).hash)
        return enriched

    def _look(self, outcome: Outcome) -> bool:
        assert outcome.plan is not None
        assert outcome.waits == (Wait(WaitReason.APPROVAL_REQUIRED, hash=outcome.plan.hash),)
        self.asked.append(outcome.plan.hash)
        return len(self.asked) == self._passes_max


def test_what_is_to_be_approved_stays_while_sizes_change_a_little() -> None:
    asking = Asking(A_LITTLE)
    plan = asking.wait()
    assert len(set(asking.fresh)) > 1, "the sizes make no difference: nothing is shown here"
    assert asking.asked == [asking.fresh[0]] * 4
    asking.approve(plan)
    lists = asking.cluster.replicas("t")
    moved = {str(move.partition): list(move.target) for move in plan.moves}
    assert {partition: lists[partition] for partition in moved} == moved
    assert not asking.cluster.exists(znodes.ASKED)


def test_a_plan_that_would_copy_much_more_than_a_fresh_one_is_not_asked_about_any_longer() -> None:
    asking = Asking(A_LOT)
    asking.wait()
    assert asking.asked == asking.fresh
    assert len(set(asking.asked)) > 1


def test_who_takes_over_asks_about_the_same_plan_and_show_prints_it() -> None:
    asking = Asking(A_LITTLE)
    plan = asking.wait()
    asking.wait_again()
    assert asking.fresh[4] != asking.fresh[0]
    assert asking.asked == [asking.fresh[0]] * 5
    assert stored_plan(asking.session(), plan.hash[:20]) == plan


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param([znodes.plan_chunk(0, znodes.ASKED)], id="a-chunk"),
        pytest.param([znodes.plan_chunk(0, znodes.ASKED), znodes.ASKED], id="all"),
    ],
)
def test_a_plan_that_was_not_recorded_to_its_end_is_asked_about_no_more(lost: list[str]) -> None:
    asking = Asking(A_LITTLE)
    asking.wait()
    session = asking.session()
    for path in lost:
        node = session.read(path)
        assert node is not None
        session.commit((Delete(path, node.version),))
    assert pending_plan.read(session) is None
    asking.wait_again()
    assert asking.asked[4] == asking.fresh[4] != asking.fresh[0]
    found = pending_plan.read(session)
    assert found is not None
    assert found.hash == asking.fresh[4]


def test_somebody_who_confirms_beside_the_loop_confirms_what_it_asks_about() -> None:
    asking = Asking(A_LITTLE)
    plan = asking.wait()
    session = asking.session()
    view, now_ms = ZooKeeperView(session), asking.cluster.clock.now_ms()
    observed = observe_cluster(view, DESIRED, now_ms, asking.enrich)
    fresh = make_plan(DESIRED, observed.cluster, observed.records)
    assert fresh.hash != plan.hash
    found = renew(PendingPlan(pending_plan.read(session)), fresh, DESIRED, observed)
    assert (found.hash, found.moves) == (plan.hash, plan.moves)
