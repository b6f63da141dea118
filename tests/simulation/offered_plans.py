"""A cluster that is uneven, and the plan of a Rebalance that is offered to its loop."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from builders import cluster_spec, pool_spec, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action
from poolkeeper.model.execution.outcomes import ExternalPlanState, ExternalPlanStatus, Outcome
from poolkeeper.model.execution.refusals import Drift
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import Approval, Execution, Throttle, ThrottleMode
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.decide.external_plan import ExternalPlan, declaration
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.sandbox.simulation.zookeeper.session import Event
from poolkeeper.zk.reading import observe
from simulation.executors import Executor

NOTHING_APPROVED = Authority(steps=True)
CLUSTER = cluster_spec(
    "c", approval=Approval(), execution=Execution(throttle=Throttle(ThrottleMode.NONE), max_moves=2)
)
POOL = pool_spec("p", 1, 2, 3, cluster="c")
TOPIC = topic_spec("t", "p")
DESIRED = Desired(CLUSTER, (POOL,), (TOPIC,))
UNEVEN = [[1, 2]] * 6
NIGHT = Wait(WaitReason.OUTSIDE_REBALANCE_WINDOW, until="tomorrow")


@dataclass
class Ground:
    """A cluster that is uneven, the plan that evens it out, and all that was requested."""

    cluster: SimulatedCluster
    plan: Plan
    requested: list[tuple[str, int]]

    def offer(self, **more: object) -> ExternalPlan:
        """The plan as it is offered."""
        told = {"declaration": declaration(DESIRED, self.plan), **more}
        return ExternalPlan(self.plan.hash, self.plan, **told)  # type: ignore[arg-type]

    def executor(self, offer: Callable[[], ExternalPlan | None], **more: object) -> Executor:
        """Somebody to whom it is offered, until there is an end to the errand."""
        told = {"desired": DESIRED, "authority": NOTHING_APPROVED, "at_rest": ended, **more}
        return Executor(self.cluster, offer=offer, **told)  # type: ignore[arg-type]

    def somebody_moves(self, partition: int, replicas: list[int]) -> None:
        """Move a partition by hand, to the end."""
        self.cluster.request({("t", partition): replicas})
        arrived = lambda: (  # noqa: E731 - asked again and again
            self.cluster.replicas("t")[str(partition)] == replicas
            and not self.cluster.exists(REQUEST)
        )
        assert self.cluster.clock.run_until(arrived, 60_000)

    def even(self) -> bool:
        """Whether the topic is on all brokers of its pool."""
        return {b for ids in self.cluster.replicas("t").values() for b in ids} == {1, 2, 3}


def ended(outcome: Outcome) -> bool:
    done = (ExternalPlanState.DONE, ExternalPlanState.REFUSED)
    return outcome.external is not None and outcome.external.state in done


def waits_for(reason: WaitReason) -> Callable[[Outcome], bool]:
    def found(outcome: Outcome) -> bool:
        why = () if outcome.external is None else outcome.external.why
        return any(isinstance(each, Wait) and each.reason is reason for each in why)

    return found


def done(ground: Ground, *why: Action) -> ExternalPlanStatus:
    return ExternalPlanStatus(ground.plan.hash, ExternalPlanState.DONE, why)


def drifts(errand: ExternalPlanStatus) -> list[Drift]:
    return [fact for why in errand.why for fact in getattr(why, "facts", ())]


def made(
    kafka: str = "2.8.2", topics: tuple[str, ...] = ("t",), wanted: Desired = DESIRED
) -> Ground:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start()
    for topic in topics:
        cluster.create_topic(topic, *UNEVEN)
    cluster.settle()
    session = FakeSession(cluster.server, cluster.clock)
    seen = observe.cluster(session, "c").cluster
    session.close()
    plan = make_plan(wanted, seen)
    plan = replace(plan, steps=(), hash=plan_json.plan_hash(plan.moves, ()))
    assert plan.moves
    requested: list[tuple[str, int]] = []

    def watch() -> None:
        # Kafka's controller rewrites the node as partitions arrive: what is new is of version 0.
        if cluster.client.exists(REQUEST, note) is not None and not cluster.version(REQUEST):
            entries = cluster.read(REQUEST)["partitions"]
            requested.extend((each["topic"], each["partition"]) for each in entries)

    def note(event: Event) -> None:
        cluster.clock.after(0, watch)

    watch()
    return Ground(cluster, plan, requested)


def all_moves(ground: Ground) -> list[tuple[str, int]]:
    return sorted((move.topic, move.partition) for move in ground.plan.moves)


def begun(ground: Ground) -> Callable[[Outcome], bool]:
    return lambda outcome: bool(ground.requested)
